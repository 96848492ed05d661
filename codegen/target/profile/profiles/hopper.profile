# Hopper (H100, H200), measured on an H200 (docs/tuning/gpu.md).
like = nvidia
processors = sm_90

gpu.busy_tiles = 128
gpu.warp_elements = 512
gpu.unrolled = 8
gpu.scan_least = 32
gpu.transpose_least = 32

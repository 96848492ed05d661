# What x86-64 without AVX has, and every other profile where it says nothing else. The fields are described in
# docs/tuning/profiles.md.

prefetch.distance = 4096
prefetch.two_inputs = 24
prefetch.large_input = 1048576
prefetch.row_least = 512
prefetch.row_most = 65536
prefetch.gathered = 16384
prefetch.gathered_rows = 64

stores.least_vectors = 8

rows.shared_least = 8192
rows.many = 8
rows.some = 4
rows.few = 2
rows.short = 12
rows.least_vectors = 8

loops.speculated = 4
loops.collapsed_work = 24
loops.transposed_most = 16

loops.inner_least = 8
loops.short_body = 12
loops.paired_most = 100
columns.strip_bytes = 16384
columns.results_bytes = 131072
columns.rows = 4
columns.near_rows = 8
columns.second_rows = 2
columns.near_bytes = 16777216
columns.ahead = 1
columns.sums = 4

reduce.fused_registers = 24
reduce.argument_vectors = 8
reduce.kept = 64
reduce.long_body = 25
reduce.follows = 24
reduce.streams = 1
reduce.ahead = 0

transpose.tile_rows = 256
transpose.tile_columns = 256
transpose.ahead = 512
transpose.narrow_columns = 512
transpose.rows_ahead = 8
transpose.interleaved = 8

matmul.stack_bytes = 524288
matmul.beside_block = 1048576
matmul.beside_steps = 512
matmul.beside_tiles = 16
matmul.beside_panels = 16
matmul.beside_bytes = 4096
matmul.low_steps = 48
matmul.low_tiles = 16
matmul.piece_steps = 384
matmul.band_tiles = 8
matmul.chunk_rows = 64
matmul.across_ahead = 16
matmul.straight = 16
matmul.far_chain = 128
matmul.vector_ahead = 131072
matmul.vector_lines = 1
matmul.vector_turns = 2
matmul.stream_rows = 8
matmul.behind = 512

ntt.ahead = 1024
ntt.together = 16
ntt.words = 0
ntt.alike = 0
sort.ahead = 512
sort.sampled = 2048

effort.quick = 20
effort.least = 4
effort.objects = 3
effort.kernels = 24

fusion.byte_cost = 25
fusion.launch_cost = 2000
fusion.few_threads = 32
fusion.small_work = 32768
fusion.step_work = 8192
fusion.packed_cols = 384
fusion.right_pieces = 4
fusion.piece_rows = 128
fusion.shared_least = 6
fusion.tile_gain = 8
fusion.many_elems = 256

plan.stream_traffic = 33554432
plan.stream_output = 4194304
plan.cache_bytes = 262144
plan.recompute = 6
plan.slow_operation = 8
plan.split_least = 131072
plan.split_results = 64
plan.part_bytes = 128
plan.unit_rows = 32
plan.unit_bytes = 256
plan.wide_units = 4
plan.once_least = 8192
plan.near_bytes = 65536
plan.both_arms = 8
plan.even_units = 16
plan.copied = 12
threads.op_time = 10
threads.byte_time = 8
threads.region_time = 5000
threads.wake_time = 30
threads.caller_spin = 50
threads.worker_spin = 50
threads.worker_reach = 200
gpu.busy_tiles = 64
gpu.busy_groups = 256
gpu.busy_threads = 65536
gpu.busy_warps = 1024
gpu.busy_blocks = 512
gpu.vector_instrs = 400
gpu.shared_least = 16
gpu.warp_elements = 1024
gpu.short_column = 64
gpu.unrolled = 4
gpu.cache_bytes = 36864
gpu.scan_least = 64
gpu.scatter_least = 2048
gpu.scatter_partitions = 64
gpu.scatter_rows = 16384
gpu.scatter_ahead = 4
gpu.tile_elements = 1024
gpu.tile_least = 8
gpu.tile_bytes = 40960
gpu.tile_fetched = 64
gpu.unknown_rows = 8
gpu.unrolled_steps = 4
gpu.transpose_least = 16
gpu.loop_bytes = 16384
gpu.loop_work = 65536
gpu.loop_kernels = 16
stage.bytes = 1048576
stage.row_bytes = 64
stage.ahead = 64
stage.fewest = 4

# Sapphire Rapids and Emerald Rapids: Intel. AVX-512, 48 KiB and 2 MiB a core.
like = base
processors = sapphirerapids emeraldrapids
identify = GenuineIntel 6 143 207
otherwise = GenuineIntel amx_tile
otherwise = GenuineIntel avx512_fp16
ntt.alike = 1
ntt.next = 262144
ntt.long_first = 1
ntt.next_result = 262144
columns.few_bytes = 2048
columns.near_rows = 16
matmul.vector_along = 512
matmul.vector_lines = 8
reduce.streams = 2
reduce.ahead = 4096
reduce.free_streams = 2

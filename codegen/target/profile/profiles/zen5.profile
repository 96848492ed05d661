# Zen 5: AMD Turin, Granite Ridge. AVX-512, 48 KiB and 1 MiB a core. What is not here is that of Zen 4.
like = zen4
processors = znver5
identify = AuthenticAMD 26
otherwise = AuthenticAMD avx512_vp2intersect
stores.written_most = 50331648
loops.fours_most = 60
matmul.vector_along = 256
matmul.vector_lines = 16
matmul.square_turns = 2
ntt.short_back = 1
reduce.free_streams = 2

# Zen 5: AMD Turin, Granite Ridge. AVX-512, 48 KiB and 1 MiB a core.
like = zen4
processors = znver5
identify = AuthenticAMD 26
otherwise = AuthenticAMD avx512_vp2intersect
loops.fours_most = 60
matmul.vector_along = 256
matmul.vector_lines = 16
matmul.square_turns = 2

# Zen 4: AMD Genoa, Bergamo, Raphael. AVX-512 by two halves of 256 bits, 32 KiB and 1 MiB a core.
like = base
processors = znver4
identify = AuthenticAMD 25 16-31 96-127 160-175
otherwise = AuthenticAMD avx512f
ntt.words = 1

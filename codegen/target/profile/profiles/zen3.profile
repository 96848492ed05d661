# Zen 3: AMD Milan, Vermeer, Cezanne. AVX2, 32 KiB and 512 KiB a core.
like = base
processors = znver1 znver2 znver3
identify = AuthenticAMD 23
identify = AuthenticAMD 25 0-15 32-95
otherwise = AuthenticAMD avx2

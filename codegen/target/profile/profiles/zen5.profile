# Zen 5: AMD Turin, Granite Ridge. AVX-512, 48 KiB and 1 MiB a core. Nothing was measured on it yet.
like = zen4
processors = znver5
identify = AuthenticAMD 26
otherwise = AuthenticAMD avx512_vp2intersect

# Granite Rapids: Intel. AVX-512, 48 KiB and 2 MiB a core. Nothing was measured on it yet.
like = sapphire-rapids
processors = graniterapids diamondrapids
identify = GenuineIntel 6 173 174
otherwise = GenuineIntel amx_fp16

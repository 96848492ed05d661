# AArch64, whatever it is. Vectors of 128 bits, 32 registers. Nothing was measured on it yet.
like = base

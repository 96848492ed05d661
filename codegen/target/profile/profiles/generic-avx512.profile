# Any other processor with AVX-512.
like = base
processors = x86-64-v4 skylake-avx512 skx cascadelake cooperlake cannonlake icelake tigerlake rocketlake knl knm
otherwise = any avx512f
matmul.vector_along = 512
matmul.vector_lines = 8
reduce.free_streams = 2

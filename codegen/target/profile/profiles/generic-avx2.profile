# Any other processor with AVX2.
like = base
processors = x86-64-v3 haswell core-avx2 broadwell skylake bdver4 alderlake raptorlake meteorlake arrowlake lunarlake
processors = pantherlake sierraforest gracemont grandridge clearwaterforest
otherwise = any avx2

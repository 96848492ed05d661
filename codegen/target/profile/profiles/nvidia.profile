# Devices of NVIDIA. Of those before Hopper none was measured: the numbers follow from what the vendor documents.
like = base
processors = sm_

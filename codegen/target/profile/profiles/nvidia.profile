# Devices of NVIDIA. Nothing was measured on one yet: the numbers follow from what the vendor documents.
like = base
processors = sm_

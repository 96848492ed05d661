package tensorfile

import "healc/runtime/tensor/tensortest"

// The tests call these often.
var (
	noLeaks    = tensortest.NoLeaks
	must       = tensortest.Must
	iota32     = tensortest.Iota32
	wantTensor = tensortest.Want
)

package tensorfile

import (
	"testing"

	"healc/runtime/tensor/tensortest"
)

func TestMain(m *testing.M) { tensortest.Main(m, new(int64)) }

// The tests call these often.
var (
	noLeaks    = tensortest.NoLeaks
	must       = tensortest.Must
	iota32     = tensortest.Iota32
	wantTensor = tensortest.Want
)

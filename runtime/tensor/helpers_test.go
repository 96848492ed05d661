package tensor_test

import (
	"testing"

	"healc/runtime/tensor/tensortest"
)

func TestMain(m *testing.M) { tensortest.Main(m, &pinned) }

// The tests call these often.
var (
	noLeaks    = tensortest.NoLeaks
	must       = tensortest.Must
	iota32     = tensortest.Iota32
	wantTensor = tensortest.Want
)

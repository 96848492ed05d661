package scaling

import (
	"testing"

	"healc/ir"
	"healc/ir/exchange"
	"healc/lang/types"
	"healc/runtime/abi"
)

// TestComplete: what is sent by each operation by which ranks exchange parts is known.
func TestComplete(t *testing.T) {
	shape := []types.Dim{types.Lit(16), types.Lit(16)}
	view := abi.View{Shape: shape, Strides: []types.Dim{types.Lit(16), types.Lit(1)}}
	h := &abi.HostCall{Args: []abi.View{view, view, view}, Attrs: map[string]string{"extent": "64", "block": "16",
		"size": "16", "to": "1", "to_block": "4", "windows": "[0 17 15 33 31 49 47 64]"}}
	f := &abi.Function{Buffers: []abi.Buffer{{DType: types.I32}}}
	p := &predictor{Setting: Setting{Ranks: 4}}
	known := 0
	for _, op := range ir.Ops() {
		if !exchange.Is(op.Name) {
			continue
		}
		h.Name = op.Name
		switch m, ok := p.exchanged(f, h); {
		case !ok:
			t.Errorf("%s: nobody knows what ranks send", op.Name)
		case m.busy == 0:
			t.Errorf("%s: four ranks send nothing", op.Name)
		}
		known++
	}
	if known < 9 {
		t.Errorf("there are %d exchanges", known)
	}
}

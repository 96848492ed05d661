package ops_test

import (
	"testing"

	"healc/ir"
	_ "healc/ir/ops"
)

// TestEveryOperationHasAGradient: a rule, a definition by operations that have one, or the reason why not.
func TestEveryOperationHasAGradient(t *testing.T) {
	for _, d := range ir.Ops() {
		if d.VJP != nil && d.NoGrad != "" {
			t.Errorf("%s has a rule and a reason why it has none", d.Name)
		}
		if d.VJP == nil && d.NoGrad == "" && d.Expand == nil {
			t.Errorf("%s has neither a rule, an expansion nor a reason", d.Name)
		}
	}
}

package passes

import (
	"healc/ir"
	"healc/ir/ops"
)

// Barriers removes what kept equal values apart: the operations behind a barrier have been kept from being merged with
// those before it, and are compiled like any others.
//
// Requires: that nothing merges equal operations afterwards. Establishes: no operation `barrier` is left.
//
//	%0: f32[N] = exp %x
//	%1: f32[N] = barrier %x
//	%2: f32[N] = exp %1
//
// becomes
//
//	%0: f32[N] = exp %x
//	%1: f32[N] = exp %x
func Barriers(m *ir.Module, remark Remark) error {
	for _, f := range m.Funcs {
		if n := remove(f, func(op *ir.Op) bool { return op.Def == ops.Barrier }); n > 0 {
			remark("removed %d barriers of %s", n, ir.FormatSym(f.Name))
		}
	}
	return nil
}

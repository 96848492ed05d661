package ir

import "healc/lang/types"

// NeedsSteps reports that op cannot be part of a kernel, because something in it is done by steps of the
// plan: a loop whose state is too large for registers, an operation on strings, an effect, or a call that
// passes tensors or whose function has one of these.
func (m *Module) NeedsSteps(op *Op) bool { return m.needsSteps(op, map[string]bool{}) }

// needsSteps does not look again into the functions in seen: recursion.
func (m *Module) needsSteps(op *Op, seen map[string]bool) bool {
	switch {
	case op.Def.Traits.Has(Effect), op.IsLoop() && !op.SmallState():
		return true
	case op.Def == OpCall:
		return m.callNeedsSteps(op, seen)
	case op.Def.Class == Host:
		return true
	}
	for _, t := range append(ArgTypes(op.Args), ArgTypes(op.Results)...) {
		if t.Elem == types.String && op.Def != OpConst {
			return true
		}
	}
	for _, r := range op.Regions {
		for _, in := range r.Ops {
			if m.needsSteps(in, seen) {
				return true
			}
		}
	}
	return false
}

func (m *Module) callNeedsSteps(op *Op, seen map[string]bool) bool {
	for _, t := range append(ArgTypes(op.Args), ArgTypes(op.Results)...) {
		if !t.IsScalar() || t.Elem == types.String {
			return true
		}
	}
	name := op.Str("callee")
	if seen[name] {
		return false
	}
	seen[name] = true
	f := m.Func(name)
	if f == nil || f.IO {
		return true
	}
	for _, in := range f.Body.Ops {
		if m.needsSteps(in, seen) {
			return true
		}
	}
	return false
}

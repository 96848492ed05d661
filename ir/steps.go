package ir

import (
	"healc/lang/types"
)

// Stops reports that o is a loop whose region yields, after the state, whether it ends.
func (o *Op) Stops() bool { return len(o.Regions[0].Yields) > len(o.Results) }

// IsLoop reports that o carries a state through steps.
func (o *Op) IsLoop() bool { return o.Def.Traits.Has(Loop) }

// IsCall reports that o calls a function of the module.
func (o *Op) IsCall() bool { return o.Def.Name == "call" }

// MaxSmallState is the number of scalars that the state of a loop may have when it is in a kernel.
const MaxSmallState = 32

// SmallState reports that the state of a loop is few scalars, so that registers can hold it: all its
// extents are literal, and there are at most MaxSmallState elements.
func (o *Op) SmallState() bool {
	total := int64(0)
	for _, r := range o.Results {
		n := int64(1)
		for _, d := range r.Type.Shape {
			c, ok := d.Const()
			if !ok || c > MaxSmallState {
				return false
			}
			if n *= c; n > MaxSmallState {
				return false
			}
		}
		total += n
	}
	return total <= MaxSmallState
}

// NeedsSteps reports that op cannot be part of a kernel, because something in it is done by steps of the
// plan: a loop whose state is too large for registers, an operation on strings, an effect, or a call that
// passes tensors or whose function has one of these.
func (m *Module) NeedsSteps(op *Op) bool { return m.needsSteps(op, map[string]bool{}) }

// needsSteps does not look again into the functions in seen: recursion.
func (m *Module) needsSteps(op *Op, seen map[string]bool) bool {
	switch {
	case op.Def.Traits.Has(Effect), op.IsLoop() && !op.SmallState():
		return true
	case op.IsCall():
		return m.callNeedsSteps(op, seen)
	case op.Def.Class == Host:
		return true
	}
	for _, t := range append(ArgTypes(op.Args), ArgTypes(op.Results)...) {
		if t.Elem == types.String && op.Def.Name != "const" {
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

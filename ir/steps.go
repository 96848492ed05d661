package ir

import (
	"slices"

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

// Steps knows which functions of a module have something that is done by steps of the plan. It holds while functions
// keep that, which passes that put operations into kernels or loops do.
type Steps struct {
	funcs map[string]*Func
	needs map[string]bool // by name
}

// NewSteps looks at each function once, and follows the calls back from those that need steps themselves: a function
// that only calls others, or itself, needs none on its own.
func NewSteps(m *Module) *Steps {
	s := &Steps{funcs: map[string]*Func{}, needs: map[string]bool{}}
	for _, f := range m.Funcs {
		s.funcs[f.Name] = f
	}
	callers := map[string][]string{}
	var found []string
	for _, f := range m.Funcs {
		needs := f.IO || slices.ContainsFunc(f.Body.Ops, func(op *Op) bool {
			return s.own(op, func(callee string) { callers[callee] = append(callers[callee], f.Name) })
		})
		if needs {
			s.needs[f.Name] = true
			found = append(found, f.Name)
		}
	}
	for len(found) > 0 {
		last := found[len(found)-1]
		found = found[:len(found)-1]
		for _, name := range callers[last] {
			if !s.needs[name] {
				s.needs[name] = true
				found = append(found, name)
			}
		}
	}
	return s
}

// Needs reports that op cannot be part of a kernel, because something in it is done by steps of the
// plan: a loop whose state is too large for registers, an operation on strings, an effect, or a call that
// passes tensors or whose function has one of these.
func (s *Steps) Needs(op *Op) bool {
	needs := false
	return s.own(op, func(callee string) { needs = needs || s.needs[callee] }) || needs
}

// own is Needs without what stands in the functions that op calls; calls gets their names.
func (s *Steps) own(op *Op, calls func(callee string)) bool {
	switch {
	case op.Def.Traits.Has(Effect), op.IsLoop() && !op.SmallState():
		return true
	case op.IsCall():
		for _, t := range append(ArgTypes(op.Args), ArgTypes(op.Results)...) {
			if !t.IsScalar() || t.Elem == types.String {
				return true
			}
		}
		name := op.Str("callee")
		calls(name)
		return s.funcs[name] == nil
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
			if s.own(in, calls) {
				return true
			}
		}
	}
	return false
}

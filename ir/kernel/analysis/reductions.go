package analysis

import (
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
)

// HotWork counts the instructions of the body of a reduction, without rare arms, which it notes. ok is false where it
// does more than to read and compute.
func HotWork(b *kernel.Block, rareIfs map[*kernel.If]bool) (work int, ok bool) {
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.Let:
			if st.In.Op != scalar.Const {
				work++
			}
		case *kernel.Load, *kernel.DimValue:
			work++
		case *kernel.If:
			if !Pure(st.Then) || !Pure(st.Else) {
				return 0, false
			}
			n, ok := HotWork(st.Else, rareIfs)
			if !ok {
				return 0, false
			}
			if len(st.Then.Stmts) >= kernel.RareArm {
				rareIfs[st] = true
			} else if m, _ := HotWork(st.Then, rareIfs); m > 0 {
				work += m
			}
			work += n
		default:
			return 0, false
		}
	}
	return work, true
}

// ReadsAny reports that a plain statement reads one of refs.
func ReadsAny(st kernel.Stmt, refs map[kernel.Ref]bool) bool {
	switch st := st.(type) {
	case *kernel.Let:
		for _, a := range st.In.Args {
			if refs[a] {
				return true
			}
		}
	case *kernel.Load:
		for _, t := range st.At.Terms {
			if refs[t.Var] {
				return true
			}
		}
	}
	return false
}

// IsArgument reports that s finds the position of an extreme.
func IsArgument(s *kernel.Reduce) bool {
	return s.Kind == ir.ReduceArgMax || s.Kind == ir.ReduceArgMin
}

// SameSpace reports that two reductions run over the same elements in one numbering.
func SameSpace(x, y *kernel.Reduce) bool {
	if len(x.Axes) != len(y.Axes) || x.Chunk != y.Chunk || x.Chunk != scalar.None &&
		x.Order.Chunk() != y.Order.Chunk() {
		return false
	}
	for i, a := range x.Axes {
		b := y.Axes[i]
		if a.Begin != b.Begin || a.Extent.Div != b.Extent.Div || !a.Extent.Dim.Equal(b.Extent.Dim) {
			return false
		}
	}
	return true
}

// LoadsFrom reports that a block reads memory of these parameters.
func LoadsFrom(b *kernel.Block, params map[int]bool) bool {
	found := false
	kernel.Each(b, func(l *kernel.Load) { found = found || params[l.Param] })
	return found
}

// Reads reports that the reduction reads one of refs.
func Reads(s *kernel.Reduce, refs map[kernel.Ref]bool) bool {
	found := false
	var walk func(b *kernel.Block)
	walk = func(b *kernel.Block) {
		for _, st := range b.Stmts {
			switch st := st.(type) {
			case *kernel.Let:
				for _, a := range st.In.Args {
					found = found || refs[a]
				}
			case *kernel.Load:
				for _, t := range st.At.Terms {
					found = found || refs[t.Var]
				}
			case *kernel.DimValue:
			case *kernel.If:
				found = found || refs[st.Cond]
				for _, r := range append(append([]kernel.Ref{}, st.ThenVals...), st.ElseVals...) {
					found = found || refs[r]
				}
				walk(st.Then)
				walk(st.Else)
			default:
				found = true // not looked into
			}
		}
	}
	walk(s.Body)
	return found || refs[s.Val] || refs[s.Chunk]
}

// RareBranches finds the branches of a body whose rare arms can be put off; nil when the body is not so plain that its
// vectors can be computed before anything is stored.
func RareBranches(body *kernel.Block) map[*kernel.If]bool {
	out := map[*kernel.If]bool{}
	var find func(b *kernel.Block)
	find = func(b *kernel.Block) {
		for _, st := range b.Stmts {
			if s, ok := st.(*kernel.If); ok && len(s.Then.Stmts) >= kernel.RareArm {
				out[s] = true
				find(s.Else)
			}
		}
	}
	find(body)
	for _, st := range body.Stmts {
		switch st := st.(type) {
		case *kernel.DimValue, *kernel.Load, *kernel.Store:
		case *kernel.Let:
			if st.In.Op == scalar.Check {
				return nil
			}
		case *kernel.If:
			if !Pure(st.Then) || !Pure(st.Else) {
				return nil
			}
		default:
			return nil
		}
	}
	return out
}

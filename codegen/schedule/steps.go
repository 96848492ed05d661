package schedule

import (
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// TransposedLoop is a sequential loop along rows, in vectors over neighbouring rows, whose elements are read along the
// rows and transposed in registers: Note [Transposed loops] in codegen/llvm/transpose.
type TransposedLoop struct {
	Loop   *kernel.Loop
	Loads  map[*kernel.Load]bool
	Stores map[*kernel.Store]bool
	Bytes  int // of the widest element
}

// Count is how many steps are done at once in vectors of w: the side of the squares.
func (t *TransposedLoop) Count(c Code, w int) int {
	return min(w, c.Machine.VectorBits/8/max(t.Bytes, 4))
}

// MaxShuffled is the largest stride that is read by whole vectors and shuffles. One of s reads s times what it needs,
// all of it in lines that are read anyway while a line has more than one of the elements.
const MaxShuffled = 4

// TransposedLoopOf recognises such a loop in the body of a vectorised axis; it returns nil for any other. across tells
// which values count the vector's iterations, and wide which others differ between them.
func (c Code) TransposedLoopOf(l *kernel.Loop, across, wide func(kernel.Ref) bool) *TransposedLoop {
	if l.Parallel || l.Axis.Extent.Div > 1 {
		return nil
	}
	inside := map[kernel.Ref]bool{}
	for _, r := range l.Vars {
		inside[r] = true
	}
	for _, s := range l.Body.Stmts {
		analysis.Define(inside, s)
	}
	t := &TransposedLoop{Loop: l, Loads: map[*kernel.Load]bool{}, Stores: map[*kernel.Store]bool{}}
	along := func(param int, at kernel.Access) bool {
		p := c.Params[param]
		if p.Work || p.Local {
			return false
		}
		far, next := false, false
		for _, term := range at.Terms {
			by, known := term.Coef.Const()
			switch {
			case across(term.Var):
				if far || known && by >= -MaxShuffled && by <= MaxShuffled {
					return false
				}
				far = true
			case term.Var == l.Axis.Var:
				if next || !known || by != 1 && by != -1 {
					return false
				}
				next = true
			case inside[term.Var], wide(term.Var):
				return false
			}
		}
		if far && next {
			t.Bytes = max(t.Bytes, p.DType.Bytes())
		}
		return far && next
	}
	for _, s := range l.Body.Stmts {
		switch s := s.(type) {
		case *kernel.Load:
			if along(s.Param, s.At) {
				t.Loads[s] = true
			}
		case *kernel.Store:
			if along(s.Param, s.At) {
				t.Stores[s] = true
			}
		case *kernel.Let, *kernel.If, *kernel.DimValue:
		default:
			return nil
		}
	}
	if len(t.Loads)+len(t.Stores) == 0 {
		return nil
	}
	return t
}

// none is no value.
func none(kernel.Ref) bool { return false }

// transposedLoop is TransposedLoopOf where the body is worth it: it stands in the code once for each of the steps.
func (s *scope) transposedLoop(l *kernel.Loop, across, wide func(kernel.Ref) bool) *TransposedLoop {
	if s.brief || analysis.Statements(l.Body) > maxTransposedStatements {
		return nil
	}
	return s.TransposedLoopOf(l, across, wide)
}

// stepsWidth is the width of the vectors over v for a body with such a loop, else 0.
func (s *scope) stepsWidth(v kernel.Ref, body *kernel.Block) int {
	for _, st := range body.Stmts {
		if l, ok := st.(*kernel.Loop); ok {
			if t := s.transposedLoop(l, func(r kernel.Ref) bool { return r == v }, none); t != nil {
				return max(2*t.Count(s.Code, s.Machine.Profile.Loops.TransposedMost), 4)
			}
		}
	}
	return 0
}

// insideVector decides the loops inside of a body that is vectors of w over v.
func (s *scope) insideVector(v kernel.Ref, body *kernel.Block, w int) []*kernel.Directive {
	a := &analysis.Analysis{Types: s.Types, Wide: map[kernel.Ref]bool{v: true}, Checks: true}
	a.Block(body)
	counts := map[kernel.Ref]bool{v: true} // the vector's iterations, from some number on
	var out []*kernel.Directive
	var walk func(b *kernel.Block)
	walk = func(b *kernel.Block) {
		for _, st := range b.Stmts {
			switch st := st.(type) {
			case *kernel.Let:
				x, y := st.In.Args[0], st.In.Args[1]
				uniform := func(r kernel.Ref) bool { return r != scalar.None && !a.Wide[r] && !counts[r] }
				switch {
				case st.In.Type != types.I64:
				case st.In.Op == scalar.Add:
					counts[st.ID] = counts[x] && uniform(y) || counts[y] && uniform(x)
				case st.In.Op == scalar.Sub:
					counts[st.ID] = counts[x] && uniform(y)
				case st.In.Op == scalar.Rem && s.phase != scalar.None && st.ID == s.phase:
					counts[st.ID] = counts[x]
				}
			case *kernel.Loop:
				t := s.transposedLoop(st, func(r kernel.Ref) bool { return counts[r] },
					func(r kernel.Ref) bool { return a.Wide[r] && !counts[r] })
				if t != nil {
					out = append(out, kernel.NewDirective("steps", st.Axis.Var, int64(t.Count(s.Code, w))).
						Because("an element of each row is a line of its own"))
				}
				walk(st.Body)
			case *kernel.Iterate:
				walk(st.Body)
			case *kernel.Reduce:
				walk(st.Body)
			case *kernel.If:
				walk(st.Then)
				walk(st.Else)
			}
		}
	}
	walk(body)
	return unique(out)
}

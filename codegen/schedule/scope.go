package schedule

import (
	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// LineBytes are the bytes of a line of the caches.
const LineBytes = 64

// Code is what a decision about a piece of code is made from: the scalars and buffers that it names, and the target.
type Code struct {
	Types   []types.DType
	Params  []kernel.Param
	Lets    map[kernel.Ref]*scalar.Instr // the instructions of what was computed before it
	Machine target.Machine
}

// scope is the code of a place in a kernel.
type scope struct {
	Code
	k        *kernel.Kernel
	settled  map[kernel.Ref]bool // conditions that are constants here, with their values
	agreed   map[kernel.Ref]bool // conditions on a collapsed axis, which all of its positions may agree on
	phase    kernel.Ref          // the position along a collapsed axis; None when there is none
	outer    int64               // extent of the outermost axis; 0 when it is not known
	tiled    bool                // the loops go by tiles that fetch for themselves
	jammed   int                 // vectors are of so many iterations, because rows go side by side; 0: they do not
	vector   bool                // the code is that of a vector: no loop inside of it is one
	least    bool                // so briefly that loops stay as they stand in the kernel
	brief    bool                // the program runs briefly: code is written once
	rejected *[]kernel.Rejection
}

// reject notes what was considered and not taken.
func (s *scope) reject(what, why string) {
	for _, r := range *s.rejected {
		if r.What == what {
			return // of several arms the first
		}
	}
	*s.rejected = append(*s.rejected, kernel.Rejection{What: what, Why: why})
}

// InPlace reports that the kernel reads an output: an iteration that is repeated would read what it wrote.
func (c Code) InPlace() bool {
	for _, p := range c.Params {
		if p.InPlace || p.Work {
			return true
		}
	}
	return false
}

// SizeOf is the size of a buffer in bytes, if it is known.
func (c Code) SizeOf(param int) (int64, bool) {
	p := c.Params[param]
	n := float64(p.DType.Bytes())
	for _, e := range p.Shape {
		d, known := e.Dim.Const()
		if !known {
			return 0, false
		}
		n *= float64(d) / float64(max(e.Div, 1))
	}
	return int64(min(n, 1<<62)), true
}

// constant is the value of a bool where it is known here.
func (s *scope) constant(r kernel.Ref) (x, known bool) {
	if x, known := s.settled[r]; known {
		return x, true
	}
	if in := s.Lets[r]; in != nil && in.Op == scalar.Const {
		return in.Imm != 0, true
	}
	return false, false
}

// define notes the instructions of statements, those of the arms that are taken included.
func (s *scope) define(stmts []kernel.Stmt) {
	for _, st := range stmts {
		switch st := st.(type) {
		case *kernel.Let:
			if st.ID != scalar.None {
				s.Lets[st.ID] = &st.In
			}
		case *kernel.If:
			switch x, known := s.constant(st.Cond); {
			case !known:
				s.define(st.Then.Stmts)
				s.define(st.Else.Stmts)
			case x:
				s.define(st.Then.Stmts)
			default:
				s.define(st.Else.Stmts)
			}
		case *kernel.Loop:
			s.define(st.Body.Stmts)
		case *kernel.Iterate:
			s.define(st.Body.Stmts)
		case *kernel.Reduce:
			s.define(st.Body.Stmts)
		}
	}
}

// bounds is the range of a loop, as far as it is known.
type bounds struct {
	lo, hi           int64
	loKnown, hiKnown bool
	split            bool // a part that the runtime chose
}

// axisBounds is the range of an axis.
func axisBounds(a kernel.Axis) bounds {
	b := bounds{lo: a.Begin, loKnown: true}
	if n, known := a.Extent.Dim.Const(); known {
		d := max(a.Extent.Div, 1)
		b.hi, b.hiKnown = (n+d-1)/d, true
	}
	return b
}

// shorter reports that a range is known to have fewer iterations than n.
func (b bounds) shorter(n int) bool { return b.loKnown && b.hiKnown && b.hi-b.lo < int64(n) }

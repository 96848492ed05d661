package analysis

import (
	"math"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Which axis is vectorised]
//
// Three places can become vector code:
//
//   - the innermost parallel axis, when neighbouring outputs take the same path (no check, branch or call
//     that differs between them). Sequential loops and column sums inside it then carry vectors.
//   - the innermost axis of a Reduce, when the parallel axis is not vectorised: the 128 lanes of
//     section 9 are vectors, whatever the width of the machine.
//   - an inner Parallel loop.
//
// A kernel whose body holds a long reduction along the axis that is contiguous in memory is vectorised there; one whose
// reduction runs across rows (column sums, matrix products) over the outputs. Where a kernel could be vectorised over
// an axis and over an inner loop, it is the one along which more of the accesses are to neighbours. The width is as
// many elements of the widest type as one AVX-512 register holds, or two of AVX2. Bodies that carry state through a
// sequential loop use four times that, so that four independent chains hide the latency of an add or an fma; column
// sums go by strips instead, see Note [Outer-axis reductions]; short element-wise bodies use twice. So do longer ones:
// in one instruction after the other of two vectors, a processor finds something to do that does not wait. In f64 with
// AVX-512 there is less to gain, and more values have no register. With AVX2, two vectors are four registers, and most
// constants of a function lie in memory anyway. Which bodies gain is measured: docs/tuning/elementwise.md.
//
// What does not fill a vector is done by a last vector that overlaps the one before; see Note [Tails] for the
// rest.

// Unrolled is the longest reduction that is written out as a tree when the outputs are vectorised.
const Unrolled = 16

// CheckInstrs is what a check that may differ between the iterations of a vector counts as: the code has these
// iterations one by one, too, beside the vector.
const CheckInstrs = 25

// Shape has the properties of a block that decide about vector code for it.
type Shape struct {
	Instrs   int  // scalar instructions, those of inner loops once
	MaxBytes int  // of the widest type computed with
	Loops    bool // a sequential loop or a reduction across rows is inside
	Floats   bool // something computed with is a float
	Columns  bool // a long reduction across rows is inside
	Long     bool // a reduction is inside that is better vectorised itself
}

func (s *Shape) add(o Shape) {
	s.Instrs += o.Instrs
	s.MaxBytes = max(s.MaxBytes, o.MaxBytes)
	s.Loops = s.Loops || o.Loops
	s.Floats = s.Floats || o.Floats
	s.Columns = s.Columns || o.Columns
	s.Long = s.Long || o.Long
}

// Analysis decides whether a block can run for several iterations of an axis at once.
type Analysis struct {
	Types []types.DType
	Wide  map[kernel.Ref]bool // differs between the iterations
	// Checks says that a check may differ between them, see Note [Checks in vectors].
	Checks bool
}

// CanVectorise reports whether body can be vectorised over v.
func CanVectorise(ts []types.DType, v kernel.Ref, body *kernel.Block) (Shape, bool) {
	a := &Analysis{Types: ts, Wide: map[kernel.Ref]bool{v: true}}
	return a.Block(body)
}

func (a *Analysis) Any(refs ...kernel.Ref) bool {
	for _, r := range refs {
		if r != scalar.None && a.Wide[r] {
			return true
		}
	}
	return false
}

func (a *Analysis) Mark(wide bool, refs ...kernel.Ref) {
	for _, r := range refs {
		if r != scalar.None {
			a.Wide[r] = wide
		}
	}
}

func (a *Analysis) access(at kernel.Access) bool {
	for _, t := range at.Terms {
		if a.Wide[t.Var] && !t.Coef.IsConst(0) {
			return true
		}
	}
	return false
}

func (a *Analysis) Block(b *kernel.Block) (Shape, bool) {
	var sum Shape
	for _, s := range b.Stmts {
		one, ok := a.stmt(s)
		if !ok {
			return sum, false
		}
		sum.add(one)
	}
	return sum, true
}

func (a *Analysis) stmt(s kernel.Stmt) (Shape, bool) {
	switch s := s.(type) {
	case *kernel.Let:
		wide := a.Any(s.In.Args[:]...)
		if s.In.Op == scalar.Check {
			if wide && a.Checks {
				return Shape{Instrs: CheckInstrs}, true
			}
			return Shape{Instrs: 1}, !wide
		}
		if s.In.Op == scalar.Const {
			return Shape{}, true
		}
		a.Mark(wide, s.ID)
		sh := Shape{Instrs: 1, Floats: wide && s.In.Type.IsFloat()}
		switch {
		case wide && s.In.Type == types.I64: // an index, which most kernels have and few compute much with
			sh.MaxBytes = 4
		case wide || s.In.Type == types.F64:
			sh.MaxBytes = ArithmeticType(s.In.Type).Bytes()
		}
		return sh, true
	case *kernel.DimValue:
		return Shape{}, true
	case *kernel.Load:
		a.Mark(a.access(s.At), s.ID)
		return Shape{Instrs: 1, MaxBytes: ArithmeticType(a.Types[s.ID]).Bytes()}, true
	case *kernel.Store:
		return Shape{Instrs: 1, MaxBytes: ArithmeticType(a.Types[s.Val]).Bytes()}, a.access(s.At)
	case *kernel.Loop:
		a.Mark(true, s.Vars...)
		a.Mark(true, s.IDs...)
		sh, ok := a.Block(s.Body)
		sh.Loops = sh.Loops || !s.Parallel
		return sh, ok
	case *kernel.Iterate:
		if a.Any(s.Count) {
			return Shape{}, false
		}
		a.Mark(true, s.Vars...)
		a.Mark(true, s.IDs...)
		checks := a.Checks
		a.Checks = checks && s.Until == scalar.None // see Note [Checks in vectors]
		sh, ok := a.Block(s.Body)
		a.Checks = checks
		sh.Instrs += len(s.Vars) // the values of iterations that have ended are kept
		return sh, ok && (s.Until == scalar.None || !Stores(s.Body))
	case *kernel.Reduce:
		sh, ok := a.Block(s.Body)
		if a.Any(s.Chunk) {
			ok = false
		}
		a.Mark(true, s.ID)
		if n, out := WrittenOut(s, Unrolled); !out {
			if a.readsAlong(s) {
				sh.Long = true
			}
			sh.Loops, sh.Columns = true, true
		} else {
			sh.Instrs *= int(n)
		}
		return sh, ok
	case *kernel.If:
		if a.Any(s.Cond) {
			if !Pure(s.Then) || !Pure(s.Else) {
				return Shape{}, false
			}
		}
		x, ok1 := a.Block(s.Then)
		y, ok2 := a.Block(s.Else)
		x.add(y)
		a.Mark(a.Any(s.Cond) || a.Any(s.ThenVals...) || a.Any(s.ElseVals...), s.IDs...)
		return x, ok1 && ok2
	case *kernel.Call:
		return Shape{Instrs: 20}, !a.Any(s.Args...)
	}
	return Shape{}, false
}

// WrittenOut reports whether a reduction of no more than most elements is written out, as a tree of its n elements. A
// loop in it would be written as often, and its lanes would have as many places in the frame: no more than maxWritten
// comes of it.
func WrittenOut(s *kernel.Reduce, most int64) (n int64, out bool) {
	n, known := ReduceCount(s)
	return n, known && n <= most && s.Chunk == scalar.None && !rareInside(s) &&
		(n <= 1 || n*written(s.Body, most) <= maxWritten)
}

// written is how many statements become of a block whose reductions are written out, each loop with one for each of the
// lanes that it keeps.
func written(b *kernel.Block, most int64) int64 {
	sum := int64(0)
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.Reduce:
			if n, out := WrittenOut(st, most); out {
				sum += n * written(st.Body, most)
			} else {
				sum += kernel.NumLanes + written(st.Body, most)
			}
		case *kernel.Loop:
			sum += kernel.NumLanes + written(st.Body, most)
		case *kernel.Iterate:
			sum += kernel.NumLanes + written(st.Body, most)
		case *kernel.If:
			sum += written(st.Then, most) + written(st.Else, most)
		default:
			sum++
		}
	}
	return sum
}

// maxWritten is the most statements that one reduction becomes.
const maxWritten = 64 * kernel.NumLanes

// rareInside reports that a reduction has a rare arm in its body, and can be a loop whatever its length: to write it
// out would repeat the arm for each element.
func rareInside(s *kernel.Reduce) bool {
	found := false
	kernel.Each(s.Body, func(b *kernel.If) { found = found || len(b.Then.Stmts) >= kernel.RareArm })
	return found && s.Order == kernel.Any
}

// StridedWork reports that the places in work memory move with the vectorised axis v by strides alone. Where they
// depend on data, as in a sort, each iteration goes its own way and vectors gain nothing.
func (a *Analysis) StridedWork(params []kernel.Param, v kernel.Ref, body *kernel.Block) bool {
	strided := func(param int, at kernel.Access) bool {
		if !params[param].Work {
			return true
		}
		for _, t := range at.Terms {
			if t.Var != v && a.Wide[t.Var] {
				return false
			}
		}
		return true
	}
	for _, st := range body.Stmts {
		ok := true
		switch st := st.(type) {
		case *kernel.Load:
			ok = strided(st.Param, st.At)
		case *kernel.Store:
			ok = strided(st.Param, st.At)
		case *kernel.Loop:
			ok = a.StridedWork(params, v, st.Body)
		case *kernel.If:
			ok = a.StridedWork(params, v, st.Then) && a.StridedWork(params, v, st.Else)
		}
		if !ok {
			return false
		}
	}
	return true
}

// Pure reports whether a block may run although its result is not wanted: arithmetic alone.
func Pure(b *kernel.Block) bool {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *kernel.DimValue:
		case *kernel.Let:
			if s.In.Op == scalar.Check {
				return false
			}
		case *kernel.If:
			if !Pure(s.Then) || !Pure(s.Else) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// Stores reports whether a block writes to memory.
func Stores(b *kernel.Block) bool {
	found := false
	kernel.Each(b, func(*kernel.Store) { found = true })
	return found
}

// ReduceCount is the number of elements of a reduction when it is known.
func ReduceCount(r *kernel.Reduce) (int64, bool) {
	n := int64(1)
	for _, a := range r.Axes {
		c, ok := a.Extent.Dim.Const()
		if !ok {
			return 0, false
		}
		if a.Extent.Div > 1 {
			c = (c + a.Extent.Div - 1) / a.Extent.Div
		}
		n *= max(c-a.Begin, 0)
	}
	return n, true
}

// readsAlong reports whether the body of r reads neighbouring elements along its last axis, or nearer ones than those
// of the vectorised axis, so that it is better vectorised itself than over the outputs around it.
func (a *Analysis) readsAlong(r *kernel.Reduce) bool {
	if r.Order == kernel.Columns || len(r.Axes) == 0 {
		return false
	}
	v := r.Axes[len(r.Axes)-1].Var
	found := false
	kernel.Each(r.Body, func(l *kernel.Load) {
		near, far, known := int64(0), int64(0), true
		for _, t := range l.At.Terms {
			n, is := t.Coef.Const()
			switch {
			case t.Var == v:
				near, known = max(n, -n), known && is
				found = found || n == 1
			case a.Wide[t.Var] && !is:
				far = math.MaxInt64 // some number of times an extent, as a rule
			case a.Wide[t.Var]:
				far = max(far, max(n, -n))
			}
		}
		found = found || known && near > 0 && near < far
	})
	return found
}

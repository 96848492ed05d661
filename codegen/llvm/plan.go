package llvm

import (
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
// sums go by strips instead, see Note [Reductions across rows]; short element-wise bodies use twice. So do longer ones:
// in one instruction after the other of two vectors, a processor finds something to do that does not wait, and needs to
// look ahead half as far. In f64 with AVX-512 there is less to gain and more values that have no register. With AVX2,
// two vectors are four registers, and most constants of a function lie in memory anyway: f32[16384] on a Zen 3, one
// vector and two, exp 6.55 us, 5.75, tanh 8.7, 7.3, sigmoid 10.3, 9.1, sinh 17.0, 15.2, in f64 softplus 30.1, 24.5, sin
// 33, 29; what has less of a chain loses: erf, gelu and cbrt 4%, atan 8%. Four vectors gain and lose as much again.
//
// What does not fill a vector is done by a last vector that overlaps the one before; see Note [Short vectors] for the
// rest.

// unrolled is the longest reduction that is written out as a tree when the outputs are vectorised.
const unrolled = 16

// longBody is the number of instructions from which the body of a reduction stands in the code once, and not once
// for every group of lanes.
const longBody = 25

// shortBody is the number of instructions up to which a body is written out for two vectors anyway.
const shortBody = 12

// shape is what decides about vector code for one block.
type shape struct {
	instrs   int  // scalar instructions, those of inner loops once
	maxBytes int  // of the widest type computed with
	loops    bool // a sequential loop or a reduction across rows is inside
	floats   bool // something computed with is a float
	columns  bool // a long reduction across rows is inside
	long     bool // a reduction is inside that is better vectorised itself
}

func (s *shape) add(o shape) {
	s.instrs += o.instrs
	s.maxBytes = max(s.maxBytes, o.maxBytes)
	s.loops = s.loops || o.loops
	s.floats = s.floats || o.floats
	s.columns = s.columns || o.columns
	s.long = s.long || o.long
}

// width is the number of iterations that one vector holds.
func (s shape) width() int {
	w := 64 / max(s.maxBytes, 1)
	switch {
	case s.loops && s.instrs <= shortBody:
		return 4 * min(w, 16)
	case s.loops:
		return min(w, 16)
	case s.instrs <= shortBody:
		return 2 * w
	}
	return w
}

// pairs reports that a body of one vector is worth writing out for two, where vectors have so many bits. Beyond some
// hundred instructions too many values lie in memory in between.
func (s shape) pairs(bits int) bool {
	kind := s.maxBytes <= 4
	if bits < 512 {
		kind = s.floats
	}
	return kind && s.instrs > shortBody && s.instrs <= 100
}

// analysis decides whether a block can run for several iterations of an axis at once.
type analysis struct {
	types []types.DType
	wide  map[kernel.Ref]bool // differs between the iterations
	// checks says that a check may differ between them, see Note [Checks in vectors].
	checks bool
}

// canVectorise reports whether body can be vectorised over v.
func canVectorise(ts []types.DType, v kernel.Ref, body *kernel.Block) (shape, bool) {
	a := &analysis{types: ts, wide: map[kernel.Ref]bool{v: true}}
	return a.block(body)
}

func (a *analysis) any(refs ...kernel.Ref) bool {
	for _, r := range refs {
		if r != scalar.None && a.wide[r] {
			return true
		}
	}
	return false
}

func (a *analysis) mark(wide bool, refs ...kernel.Ref) {
	for _, r := range refs {
		if r != scalar.None {
			a.wide[r] = wide
		}
	}
}

func (a *analysis) access(at kernel.Access) bool {
	for _, t := range at.Terms {
		if a.wide[t.Var] && !t.Coef.IsConst(0) {
			return true
		}
	}
	return false
}

func (a *analysis) block(b *kernel.Block) (shape, bool) {
	var sum shape
	for _, s := range b.Stmts {
		one, ok := a.stmt(s)
		if !ok {
			return sum, false
		}
		sum.add(one)
	}
	return sum, true
}

func (a *analysis) stmt(s kernel.Stmt) (shape, bool) {
	switch s := s.(type) {
	case *kernel.Let:
		wide := a.any(s.In.Args[:]...)
		if s.In.Op == scalar.Check {
			if wide && a.checks {
				return shape{instrs: longBody}, true
			}
			return shape{instrs: 1}, !wide
		}
		if s.In.Op == scalar.Const {
			return shape{}, true
		}
		a.mark(wide, s.ID)
		sh := shape{instrs: 1, floats: wide && s.In.Type.IsFloat()}
		switch {
		case wide && s.In.Type == types.I64: // an index, which most kernels have and few compute much with
			sh.maxBytes = 4
		case wide || s.In.Type == types.F64:
			sh.maxBytes = regDType(s.In.Type).Bytes()
		}
		return sh, true
	case *kernel.DimValue:
		return shape{}, true
	case *kernel.Load:
		a.mark(a.access(s.At), s.ID)
		return shape{instrs: 1, maxBytes: regDType(a.types[s.ID]).Bytes()}, true
	case *kernel.Store:
		return shape{instrs: 1, maxBytes: regDType(a.types[s.Val]).Bytes()}, a.access(s.At)
	case *kernel.Loop:
		a.mark(true, s.Vars...)
		a.mark(true, s.IDs...)
		sh, ok := a.block(s.Body)
		sh.loops = sh.loops || !s.Parallel
		return sh, ok
	case *kernel.Iterate:
		if a.any(s.Count) {
			return shape{}, false
		}
		a.mark(true, s.Vars...)
		a.mark(true, s.IDs...)
		checks := a.checks
		a.checks = checks && s.Until == scalar.None // see Note [Checks in vectors]
		sh, ok := a.block(s.Body)
		a.checks = checks
		sh.instrs += len(s.Vars) // the values of iterations that have ended are kept
		return sh, ok && (s.Until == scalar.None || !stores(s.Body))
	case *kernel.Reduce:
		sh, ok := a.block(s.Body)
		if a.any(s.Chunk) {
			ok = false
		}
		a.mark(true, s.ID)
		if n, isConst := reduceCount(s); !isConst || n > unrolled || s.Chunk != scalar.None || rareInside(s) {
			if readsAlong(s) {
				sh.long = true
			}
			sh.loops, sh.columns = true, true
		} else {
			sh.instrs *= int(n)
		}
		return sh, ok
	case *kernel.If:
		if a.any(s.Cond) {
			if !pure(s.Then) || !pure(s.Else) {
				return shape{}, false
			}
		}
		x, ok1 := a.block(s.Then)
		y, ok2 := a.block(s.Else)
		x.add(y)
		a.mark(a.any(s.Cond) || a.any(s.ThenVals...) || a.any(s.ElseVals...), s.IDs...)
		return x, ok1 && ok2
	case *kernel.Call:
		return shape{instrs: 20}, !a.any(s.Args...)
	}
	return shape{}, false
}

// rareInside reports that a reduction has a rare arm in its body, and can be a loop whatever its length: to write it
// out would repeat the arm for each element.
func rareInside(s *kernel.Reduce) bool {
	found := false
	kernel.Each(s.Body, func(b *kernel.If) { found = found || len(b.Then.Stmts) >= kernel.RareArm })
	return found && s.Order == kernel.Any
}

// stridedWork reports that the places in work memory move with the vectorised axis v by strides alone. Where they
// depend on data, as in a sort, each iteration goes its own way and vectors gain nothing.
func (a *analysis) stridedWork(params []kernel.Param, v kernel.Ref, body *kernel.Block) bool {
	strided := func(param int, at kernel.Access) bool {
		if !params[param].Work {
			return true
		}
		for _, t := range at.Terms {
			if t.Var != v && a.wide[t.Var] {
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
			ok = a.stridedWork(params, v, st.Body)
		case *kernel.If:
			ok = a.stridedWork(params, v, st.Then) && a.stridedWork(params, v, st.Else)
		}
		if !ok {
			return false
		}
	}
	return true
}

// pure reports whether a block may run although its result is not wanted: arithmetic alone.
func pure(b *kernel.Block) bool {
	for _, s := range b.Stmts {
		switch s := s.(type) {
		case *kernel.DimValue:
		case *kernel.Let:
			if s.In.Op == scalar.Check {
				return false
			}
		case *kernel.If:
			if !pure(s.Then) || !pure(s.Else) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// stores reports whether a block writes to memory.
func stores(b *kernel.Block) bool {
	found := false
	kernel.Each(b, func(*kernel.Store) { found = true })
	return found
}

// reduceCount is the number of elements of a reduction when it is known.
func reduceCount(r *kernel.Reduce) (int64, bool) {
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

// readsAlong reports whether the body of r reads neighbouring elements along its last axis, so that it
// is better vectorised itself than over the outputs around it.
func readsAlong(r *kernel.Reduce) bool {
	if r.Order == kernel.Columns || len(r.Axes) == 0 {
		return false
	}
	v := r.Axes[len(r.Axes)-1].Var
	found := false
	kernel.Each(r.Body, func(l *kernel.Load) {
		for _, t := range l.At.Terms {
			if t.Var == v && t.Coef.IsConst(1) {
				found = true
			}
		}
	})
	return found
}

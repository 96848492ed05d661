package analysis

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Windows]
//
// A kernel that works in place often changes a part of its elements, which comparisons of indices bound:
//
//	over i, j { m[i, j] = where(i > k && j > k, fma(-l[i], u[j], m[i, j]), m[i, j]) }
//
// Elsewhere an element gets the value that it has. So the loops go over the part alone, its window: steps of a
// factorisation change a part of a matrix that gets smaller, and a step that sets one row changes that row. The window
// of an axis is a range that holds all indices at which something may change, whatever the others are. Its ends are
// numbers that are known before the loops. Comparisons that hold at every index of a window are not made in it
// (Decided): they would be masks in each vector.

// A Window is a range of the indices of an axis. A limit that is nil is the end of the axis.
type Window struct {
	Low, High *Limit // the first index, and the one behind the last
	none      bool   // it has no index
}

// Bounded reports that a window is less than the axis.
func (w Window) Bounded() bool { return w.none || w.Low != nil || w.High != nil }

// A Limit is an index: a scalar, which is an I32 or an I64, and a number that is added to it, or one of two others.
// With neither it is 0.
type Limit struct {
	Of     kernel.Ref // None where it is one of A and B, or 0
	Plus   int64
	A, B   *Limit
	Larger bool // the larger of A and B, else the smaller
}

// WindowOf is the window of the axis with the variable v, of a kernel or of a parallel loop in it. body is what stands
// in the loops of the kernel, before what is computed before them.
func WindowOf(k *kernel.Kernel, before []kernel.Stmt, body *kernel.Block, v kernel.Ref) Window {
	f := finderOf(k, before, v)
	stores := f.stores(body, v)
	if len(stores) == 0 {
		return Window{}
	}
	f.bounds(body, v)
	w := Window{none: true}
	for _, s := range stores {
		f.store = s
		w = either(w, f.changed(s.Val))
	}
	if w.none {
		w.Low, w.High = &Limit{Of: scalar.None}, &Limit{Of: scalar.None}
	}
	return w
}

// Decided says of the comparisons of the index v in body that come out alike at every index of its window w whether
// they hold there: of those that bound the window most do. before and body are those of WindowOf.
func Decided(k *kernel.Kernel, before []kernel.Stmt, body *kernel.Block, v kernel.Ref, w Window) map[kernel.Ref]bool {
	f := finderOf(k, before, v)
	if !w.Bounded() || len(f.stores(body, v)) == 0 {
		return nil
	}
	f.bounds(body, v)
	out := map[kernel.Ref]bool{}
	for ref, st := range f.defs {
		let, ok := st.(*kernel.Let)
		if !ok || !isComparison(let.In.Op) {
			continue
		}
		for _, holds := range []bool{true, false} {
			if w.within(f.compared(let.In.Op, let.In.Args[0], let.In.Args[1], holds)) {
				out[ref] = holds
			}
		}
	}
	return out
}

func isComparison(op scalar.Op) bool {
	return op == scalar.Eq || op == scalar.Ne || op == scalar.Lt || op == scalar.Le
}

// within reports that w has no index beyond the limits of x, which are those of a comparison.
func (w Window) within(x Window) bool {
	return (x.Low != nil || x.High != nil) && (x.Low == nil || w.Low.beyond(x.Low, true, map[*Limit]bool{})) &&
		(x.High == nil || w.High.beyond(x.High, false, map[*Limit]bool{}))
}

// beyond reports that l is x or more, or x or less without `above`, whatever the scalars are. x is a scalar and a
// number.
func (l *Limit) beyond(x *Limit, above bool, known map[*Limit]bool) bool {
	if l == nil {
		return false
	}
	if l.A == nil {
		return l.Of == x.Of && (l.Plus == x.Plus || l.Plus > x.Plus == above)
	}
	is, looked := known[l]
	if !looked {
		is = l.A.beyond(x, above, known)
		if is != (l.Larger == above) {
			is = l.B.beyond(x, above, known)
		}
		known[l] = is
	}
	return is
}

// ParallelAxes are the axes of a kernel, and of the parallel loops that stand in body, which is what stands in its
// loops.
func ParallelAxes(k *kernel.Kernel, body *kernel.Block) []kernel.Axis {
	out := slices.Clone(k.Axes)
	for _, st := range body.Stmts {
		if along(st) != scalar.None {
			out = append(out, st.(*kernel.Loop).Axis)
		}
	}
	return out
}

// along is the variable of a parallel loop, None for any other statement.
func along(st kernel.Stmt) kernel.Ref {
	if l, ok := st.(*kernel.Loop); ok && l.Parallel {
		return l.Axis.Var
	}
	return scalar.None
}

// A windowFinder looks at what is stored in one place.
type windowFinder struct {
	k     *kernel.Kernel
	known map[kernel.Ref]bool
	axis  kernel.Ref
	defs  map[kernel.Ref]kernel.Stmt
	store *kernel.Store
	found map[asked]Window // a value is looked at once for each question, however many read it
}

// asked is where a condition may hold, or fail, or where a value may be another than the element whose place it is
// stored in.
type asked struct {
	ref   kernel.Ref
	holds bool
	store *kernel.Store // nil for a condition
}

func finderOf(k *kernel.Kernel, before []kernel.Stmt, v kernel.Ref) *windowFinder {
	f := &windowFinder{k: k, known: map[kernel.Ref]bool{}, axis: v, defs: map[kernel.Ref]kernel.Stmt{},
		found: map[asked]Window{}}
	for _, st := range before {
		Define(f.known, st)
		if let, ok := st.(*kernel.Let); ok {
			f.defs[let.ID] = let
		}
	}
	return f
}

// bounds notes what stands in body before a loop over v: it is known there, too.
func (f *windowFinder) bounds(body *kernel.Block, v kernel.Ref) {
	if at := slices.IndexFunc(body.Stmts, func(st kernel.Stmt) bool { return along(st) == v }); at >= 0 {
		for _, st := range body.Stmts[:at] {
			Define(f.known, st)
		}
	}
}

// once is what find says, which is asked once.
func (f *windowFinder) once(a asked, find func() Window) Window {
	w, known := f.found[a]
	if !known {
		w = find()
		f.found[a] = w
	}
	return w
}

// stores notes what body defines, and returns its stores, those in a parallel loop over v alone where there is one.
// There are none where one is not in place, or stands in another loop or a branch, or where something can fail, which
// has to be looked at for each element.
func (f *windowFinder) stores(body *kernel.Block, v kernel.Ref) []*kernel.Store {
	var out, inside []*kernel.Store
	all, plain := 0, true
	for _, st := range body.Stmts {
		stmts := []kernel.Stmt{st}
		axis := along(st)
		if axis != scalar.None {
			stmts = st.(*kernel.Loop).Body.Stmts
		}
		for _, st := range stmts {
			if s, ok := st.(*kernel.Store); ok {
				plain = plain && f.k.Params[s.Param].InPlace
				out = append(out, s)
				if axis == v {
					inside = append(inside, s)
				}
			}
		}
	}
	body.Walk(func(st kernel.Stmt) {
		switch st := st.(type) {
		case *kernel.Let:
			f.defs[st.ID] = st
			plain = plain && st.In.Op != scalar.Check
		case *kernel.Load:
			f.defs[st.ID] = st
		case *kernel.If:
			for _, r := range st.IDs {
				f.defs[r] = st
			}
		case *kernel.Store:
			all++
		case *kernel.DimValue, *kernel.Loop, *kernel.Iterate, *kernel.Reduce:
		default:
			plain = false
		}
	})
	switch {
	case !plain || all != len(out):
		return nil
	case len(inside) > 0:
		return inside
	}
	return out
}

// changed is where ref may be another value than the element in whose place it is stored.
func (f *windowFinder) changed(ref kernel.Ref) Window {
	return f.once(asked{ref: ref, store: f.store}, func() Window { return f.findChanged(ref) })
}

func (f *windowFinder) findChanged(ref kernel.Ref) Window {
	switch st := f.defs[ref].(type) {
	case *kernel.Load:
		if st.Param == f.store.Param && sameAccess(st.At, f.store.At) {
			return Window{none: true}
		}
	case *kernel.Let:
		if c := st.In.Args; st.In.Op == scalar.Select {
			return either(both(f.where(c[0], true), f.changed(c[1])), both(f.where(c[0], false), f.changed(c[2])))
		}
	case *kernel.If:
		return f.ofArms(st, ref, f.changed)
	}
	return Window{}
}

// ofArms is where of holds for a result of a branch.
func (f *windowFinder) ofArms(st *kernel.If, ref kernel.Ref, of func(kernel.Ref) Window) Window {
	for i, r := range st.IDs {
		if r == ref {
			return either(both(f.where(st.Cond, true), of(st.ThenVals[i])),
				both(f.where(st.Cond, false), of(st.ElseVals[i])))
		}
	}
	return Window{}
}

// where is where the condition ref may be holds.
func (f *windowFinder) where(ref kernel.Ref, holds bool) Window {
	return f.once(asked{ref: ref, holds: holds}, func() Window { return f.findWhere(ref, holds) })
}

func (f *windowFinder) findWhere(ref kernel.Ref, holds bool) Window {
	if st, ok := f.defs[ref].(*kernel.If); ok {
		return f.ofArms(st, ref, func(r kernel.Ref) Window { return f.where(r, holds) })
	}
	let, ok := f.defs[ref].(*kernel.Let)
	if !ok {
		return Window{}
	}
	a := let.In.Args
	switch op := let.In.Op; op {
	case scalar.Const:
		return Window{none: (let.In.Imm != 0) != holds}
	case scalar.Not:
		return f.where(a[0], !holds)
	case scalar.And, scalar.Or:
		x, y := f.where(a[0], holds), f.where(a[1], holds)
		if (op == scalar.And) == holds {
			return both(x, y)
		}
		return either(x, y)
	case scalar.Select:
		return either(both(f.where(a[0], true), f.where(a[1], holds)), both(f.where(a[0], false), f.where(a[2], holds)))
	case scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le:
		return f.compared(op, a[0], a[1], holds)
	}
	return Window{}
}

// compared is where x compared with y may be holds.
func (f *windowFinder) compared(op scalar.Op, x, y kernel.Ref, holds bool) Window {
	left, right := f.isIndex(x) && f.isBound(y), f.isIndex(y) && f.isBound(x)
	at := func(r kernel.Ref, plus int64) *Limit { return &Limit{Of: r, Plus: plus} }
	switch {
	case !left && !right:
	case op == scalar.Eq && holds, op == scalar.Ne && !holds:
		if right {
			y = x
		}
		return Window{Low: at(y, 0), High: at(y, 1)}
	case op == scalar.Lt && left && holds:
		return Window{High: at(y, 0)}
	case op == scalar.Le && left && holds:
		return Window{High: at(y, 1)}
	case op == scalar.Lt && left:
		return Window{Low: at(y, 0)}
	case op == scalar.Le && left:
		return Window{Low: at(y, 1)}
	case op == scalar.Lt && holds:
		return Window{Low: at(x, 1)}
	case op == scalar.Le && holds:
		return Window{Low: at(x, 0)}
	case op == scalar.Lt:
		return Window{High: at(x, 1)}
	case op == scalar.Le:
		return Window{High: at(x, 0)}
	}
	return Window{}
}

// isIndex reports that ref is the index along the axis, perhaps as an i32, which every extent fits.
func (f *windowFinder) isIndex(ref kernel.Ref) bool {
	if let, ok := f.defs[ref].(*kernel.Let); ok && let.In.Op == scalar.Cast && let.In.Type == types.I32 {
		ref = let.In.Args[0]
	}
	return ref == f.axis
}

// isBound reports that ref is a number with a sign that is there before the loops.
func (f *windowFinder) isBound(ref kernel.Ref) bool {
	return f.known[ref] && (f.k.Types[ref] == types.I32 || f.k.Types[ref] == types.I64)
}

// both is where x and y have an index in common, and perhaps a few more.
func both(x, y Window) Window {
	if x.none || y.none {
		return Window{none: true}
	}
	return Window{Low: oneOf(x.Low, y.Low, true, false), High: oneOf(x.High, y.High, false, false)}
}

// either is a range that holds those of x and of y.
func either(x, y Window) Window {
	switch {
	case x.none:
		return y
	case y.none:
		return x
	}
	return Window{Low: oneOf(x.Low, y.Low, false, true), High: oneOf(x.High, y.High, true, true)}
}

// oneOf is the larger or the smaller of two limits. Where one is the end of the axis, it is that one if ends is true,
// else the other.
func oneOf(x, y *Limit, larger, ends bool) *Limit {
	switch {
	case x == nil && y == nil:
		return nil
	case x == nil || y == nil:
		if ends {
			return nil
		}
		if x == nil {
			return y
		}
		return x
	case *x == *y:
		return x
	}
	return &Limit{Of: scalar.None, A: x, B: y, Larger: larger}
}

package lower

import (
	"cmp"
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// storage is memory of the device: what its elements are changes with each write.
type storage struct {
	elem    types.DType
	shape   []int64
	strides []int64 // of its own view; not row-major for a host tensor in Fortran order
	now     *version
}

// version is what a storage holds at one time, or an operand computed by a step; exactly one of the fields input,
// fill and value says where it is.
type version struct {
	typ   types.Tensor
	input int     // index of a host tensor, or -1
	fill  *uint64 // the bits of the one number that all elements are, or nil
	step  *step   // which computes value
	value *ir.Value
}

// view is a tensor: the elements of a storage at places that its chain of links finds, with axes of extent 1 then
// repeated. shape, strides and offset (in elements of the storage) say the same, for the questions whether it is
// contiguous and what it overlaps.
type view struct {
	st             *storage
	links          []link
	inner          []int64 // the shape behind the links: 1 where an axis is repeated, else as shape
	shape, strides []int64
	offset         int64
}

// link is one step from a storage to a view, each an operation of the IR with its inverse.
type link interface {
	// apply reads: x is the tensor before the link.
	apply(l *lowerer, x *ir.Value) *ir.Value
	// replace writes: it gives the tensor before the link, x, with the elements that the link shows replaced by v.
	replace(l *lowerer, x, v *ir.Value) *ir.Value
}

// permute reorders axes: axis i of the result is axis perm[i].
type permute struct{ perm []int64 }

func (p permute) apply(l *lowerer, x *ir.Value) *ir.Value {
	return l.emit(ops.Permute, ir.A{"perm": p.perm}, x)
}

func (p permute) replace(l *lowerer, _, v *ir.Value) *ir.Value {
	back := make([]int64, len(p.perm))
	for i, a := range p.perm {
		back[a] = int64(i)
	}
	return l.emit(ops.Permute, ir.A{"perm": back}, v)
}

// reshape changes the axes of elements that keep their order.
type reshape struct{ from, to []int64 }

func (r reshape) apply(l *lowerer, x *ir.Value) *ir.Value { return l.reshape(x, r.to) }

func (r reshape) replace(l *lowerer, _, v *ir.Value) *ir.Value { return l.reshape(v, r.from) }

// slice takes evenly spaced elements along each axis.
type slice struct{ starts, steps, shape []int64 }

func (s slice) attrs() ir.A {
	return ir.A{"starts": dims(s.starts), "steps": s.steps, "shape": dims(s.shape)}
}

func (s slice) apply(l *lowerer, x *ir.Value) *ir.Value { return l.emit(ops.Slice, s.attrs(), x) }

func (s slice) replace(l *lowerer, x, v *ir.Value) *ir.Value {
	return l.emit(ops.Update, s.attrs(), x, v)
}

// whole is the view of all of a storage.
func (st *storage) whole() *view {
	return &view{st: st, inner: st.shape, shape: st.shape, strides: st.strides}
}

// behind returns the view behind another link; nil stands for none.
func (v *view) behind(k link, inner, shape, strides []int64, offset int64) *view {
	w := &view{st: v.st, links: v.links, inner: inner, shape: shape, strides: strides, offset: offset}
	if k != nil {
		w.links = append(slices.Clone(v.links), k)
	}
	return w
}

// reshaped views the elements of a contiguous tensor, in row-major order, with other axes.
func (v *view) reshaped(shape []int64) *view {
	if slices.Equal(shape, v.shape) {
		return v
	}
	if slices.Contains(shape, 0) { // no element that could be shared
		return fresh(filled(v.st.elem, shape, 0))
	}
	return v.behind(reshape{v.inner, shape}, shape, shape, rowMajor(shape), v.offset)
}

// squeezed drops an axis of extent 1.
func (v *view) squeezed(axis int) *view {
	drop := func(s []int64) []int64 { return slices.Delete(slices.Clone(s), axis, axis+1) }
	return v.behind(reshape{v.inner, drop(v.inner)}, drop(v.inner), drop(v.shape), drop(v.strides), v.offset)
}

// unsqueezed adds an axis of extent 1.
func (v *view) unsqueezed(axis int) *view {
	add := func(s []int64) []int64 { return slices.Insert(slices.Clone(s), axis, 1) }
	return v.behind(reshape{v.inner, add(v.inner)}, add(v.inner), add(v.shape), add(v.strides), v.offset)
}

func (v *view) permuted(perm []int64) *view {
	identity := true
	for i, a := range perm {
		identity = identity && int64(i) == a
	}
	if identity {
		return v
	}
	order := func(s []int64) []int64 {
		out := make([]int64, len(perm))
		for i, a := range perm {
			out[i] = s[a]
		}
		return out
	}
	return v.behind(permute{perm}, order(v.inner), order(v.shape), order(v.strides), v.offset)
}

func (v *view) sliced(s slice) *view {
	strides, offset, all := make([]int64, len(s.shape)), v.offset, true
	k := slice{slices.Clone(s.starts), slices.Clone(s.steps), slices.Clone(s.shape)}
	for i, n := range s.shape {
		strides[i] = v.strides[i] * s.steps[i]
		if n > 0 {
			offset += s.starts[i] * v.strides[i]
		}
		if v.inner[i] != v.shape[i] { // repeated: which of the equal elements are taken does not matter
			k.starts[i], k.steps[i], k.shape[i] = 0, 1, 1
		}
		all = all && k.shape[i] == v.inner[i] && (k.steps[i] == 1 || k.shape[i] <= 1)
	}
	if all {
		return v.behind(nil, k.shape, s.shape, strides, offset)
	}
	return v.behind(k, k.shape, s.shape, strides, offset)
}

// repeated expands axis, of extent 1, to n elements at one place.
func (v *view) repeated(axis int, n int64) *view {
	shape, strides := slices.Clone(v.shape), slices.Clone(v.strides)
	if n == 1 {
		return v
	}
	shape[axis], strides[axis] = n, 0
	return v.behind(nil, v.inner, shape, strides, v.offset)
}

// contiguous reports whether the elements lie in row-major order without gaps.
func (v *view) contiguous() bool {
	want := int64(1)
	for i := len(v.shape) - 1; i >= 0; i-- {
		if v.shape[i] == 0 {
			return true
		}
		if v.shape[i] != 1 && v.strides[i] != want {
			return slices.Contains(v.shape, 0)
		}
		want *= v.shape[i]
	}
	return true
}

// writable reports whether every element has a place of its own.
func (v *view) writable() bool {
	for i, n := range v.shape {
		if n > 1 && v.strides[i] == 0 {
			return false
		}
	}
	return true
}

// apart reports whether strides of a file, which may be any, give each element a place of its own: each axis steps over
// what those with smaller strides reach. That is not so for a tensor that was expanded before it was saved; on the
// device its elements are apart, so that a write changes no other one.
func apart(shape, strides []int64) bool {
	if slices.Contains(shape, 0) {
		return true
	}
	magnitude := func(i int) int64 { return max(strides[i], -strides[i]) }
	var axes []int
	for i, n := range shape {
		if n > 1 {
			axes = append(axes, i)
		}
	}
	slices.SortFunc(axes, func(i, k int) int { return cmp.Compare(magnitude(i), magnitude(k)) })
	reach := int64(0) // within the memory of the tensor, so that nothing overflows
	for _, i := range axes {
		if magnitude(i) <= reach {
			return false
		}
		reach += (shape[i] - 1) * magnitude(i)
	}
	return true
}

// overlaps reports whether the ranges of elements of two views of one storage meet.
func (v *view) overlaps(o *view) bool {
	if v.st != o.st || slices.Contains(v.shape, 0) || slices.Contains(o.shape, 0) {
		return false
	}
	vlo, vhi := v.span()
	olo, ohi := o.span()
	return vlo <= ohi && olo <= vhi
}

func (v *view) span() (lo, hi int64) {
	lo, hi = v.offset, v.offset
	for i, n := range v.shape {
		if reach := (n - 1) * v.strides[i]; reach < 0 {
			lo += reach
		} else {
			hi += reach
		}
	}
	return lo, hi
}

// typ is the view's type.
func (v *view) typ() types.Tensor { return types.Of(v.st.elem, v.shape...) }

// rowMajor is the strides of a dense tensor.
func rowMajor(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	n := int64(1)
	for i := len(shape) - 1; i >= 0; i-- {
		strides[i] = n
		n *= max(shape[i], 1)
	}
	return strides
}

func dims(n []int64) types.Shape {
	s := make(types.Shape, len(n))
	for i, d := range n {
		s[i] = types.Lit(d)
	}
	return s
}

// read gives the elements of a view as a value of the current step.
func (l *lowerer) read(v *view) *ir.Value {
	x := l.load(v.st.now)
	for _, k := range v.links {
		x = k.apply(l, x)
	}
	return l.broadcast(x, v.shape)
}

// write replaces the elements of a view that is writable.
func (l *lowerer) write(v *view, x *ir.Value) {
	if slices.Contains(v.shape, 0) {
		return
	}
	for i := len(v.links) - 1; i >= 0; i-- {
		before := l.load(v.st.now)
		for _, k := range v.links[:i] {
			before = k.apply(l, before)
		}
		x = v.links[i].replace(l, before, x)
	}
	v.st.now = l.version(x)
}

// version is a value of the current step as something that later steps may read.
func (l *lowerer) version(x *ir.Value) *version {
	w := &version{typ: x.Type, input: -1, step: l.step, value: x}
	l.step.made = append(l.step.made, w)
	l.step.have[w] = x
	return w
}

// load is a version as a value of the current step: a number repeated, a value of this step, or a parameter of it.
func (l *lowerer) load(w *version) *ir.Value {
	if x := l.step.have[w]; x != nil {
		return x
	}
	var x *ir.Value
	if w.fill != nil {
		x = l.broadcast(l.number(w.typ.Elem, *w.fill), extents(w.typ))
	} else {
		x = l.step.body.Param("", w.typ, l.span())
		l.step.from = append(l.step.from, w)
	}
	l.step.have[w] = x
	return x
}

// fresh makes a storage that holds w, in row-major order.
func fresh(w *version) *view {
	shape := extents(w.typ)
	st := &storage{elem: w.typ.Elem, shape: shape, strides: rowMajor(shape), now: w}
	return st.whole()
}

// filled is a version all of whose elements are one number.
func filled(d types.DType, shape []int64, bits uint64) *version {
	return &version{typ: types.Of(d, shape...), input: -1, fill: &bits}
}

// extents are the extents of a type without shape parameters.
func extents(t types.Tensor) []int64 {
	n, ok := t.Shape.Ints()
	if !ok {
		panic("BUG: a symbolic extent in a transcript")
	}
	return n
}

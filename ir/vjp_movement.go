package ir

import "healc/lang/types"

// The derivatives of operations that move elements: each takes the cotangents back to where the elements come from.

func init() { // init: see rule
	movementRules()
	indexRules()
	updateRules()
}

func lits(rank int, n int64) types.Shape {
	out := make(types.Shape, rank)
	for i := range out {
		out[i] = types.Lit(n)
	}
	return out
}

// unbroadcast sums g, of a shape to which from broadcasts, over what broadcasting repeated.
func (t *Tape) unbroadcast(g *Value, from types.Shape) *Value {
	to := g.Type.Shape
	var axes []int64
	for k, d := range to {
		if j := k - (len(to) - len(from)); j < 0 || !from[j].Equal(d) {
			axes = append(axes, int64(k))
		}
	}
	if len(axes) > 0 {
		g = t.Emit(OpReduceSum, A{"axes": axes}, g)
	}
	return t.reshape(g, from)
}

func (t *Tape) reshape(x *Value, to types.Shape) *Value {
	if x.Type.Shape.Equal(to) {
		return x
	}
	return t.Emit(OpReshape, A{"shape": to}, x)
}

func (t *Tape) broadcast(x *Value, to types.Shape) *Value {
	if x.Type.Shape.Equal(to) {
		return x
	}
	return t.Emit(OpBroadcast, A{"shape": to}, x)
}

// permute reorders axes; the identity costs nothing.
func (t *Tape) permute(x *Value, perm []int64) *Value {
	for k, a := range perm {
		if int64(k) != a {
			return t.Emit(OpPermute, A{"perm": perm}, x)
		}
	}
	return x
}

func inverse(perm []int64) []int64 {
	out := make([]int64, len(perm))
	for k, a := range perm {
		out[a] = int64(k)
	}
	return out
}

func ones(n int) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = 1
	}
	return out
}

func movementRules() {
	rule(OpBroadcast, func(t *Tape, op *Op, cts []*Value) {
		t.Add(op.Args[0], t.unbroadcast(cts[0], op.Args[0].Type.Shape))
	})
	rule(OpReshape, func(t *Tape, op *Op, cts []*Value) { t.Add(op.Args[0], t.reshape(cts[0], op.Args[0].Type.Shape)) })
	rule(OpPermute, func(t *Tape, op *Op, cts []*Value) {
		t.Add(op.Args[0], t.permute(cts[0], inverse(op.Ints("perm"))))
	})
	rule(OpSlice, func(t *Tape, op *Op, cts []*Value) {
		attrs := A{"starts": op.Dims("starts"), "steps": op.Ints("steps"), "shape": op.Dims("shape")}
		t.addAt(op.Args[0], cts[0], attrs, func(x *Value) *Value { return t.Emit(OpSlice, attrs, x) })
	})
	rule(OpConcat, func(t *Tape, op *Op, cts []*Value) {
		axis := op.Int("axis")
		begin := types.Lit(0)
		for _, x := range op.Args {
			starts := lits(x.Type.Rank(), 0)
			starts[axis] = begin
			var err error
			if begin, err = begin.Add(x.Type.Shape[axis]); err != nil {
				panic("BUG: the extent of a tensor overflows: " + err.Error())
			}
			if t.Needs(x) {
				t.Add(x, t.Emit(OpSlice, A{"starts": starts, "steps": ones(x.Type.Rank()), "shape": x.Type.Shape},
					cts[0]))
			}
		}
	})
}

// addAt adds g to the elements of v's gradient that read gives and an update with these attributes, at these
// positions, replaces. Where there is no gradient yet, nothing is read.
func (t *Tape) addAt(v, g *Value, attrs A, read func(x *Value) *Value, positions ...*Value) {
	if !t.Needs(v) {
		return
	}
	sum := t.cotangents[v]
	if sum == nil {
		sum = t.Zeros(v.Type)
	} else {
		g = t.add(t.reshape(read(sum), g.Type.Shape), g)
	}
	g = t.reshape(g, attrs["shape"].(types.Shape))
	t.cotangents[v] = t.Emit(OpUpdate, attrs, append([]*Value{sum, g}, positions...)...)
}

func indexRules() {
	rule(OpIndex, func(t *Tape, op *Op, cts []*Value) {
		x, axes := op.Args[0], op.Ints("axes")
		shape := append(types.Shape{}, x.Type.Shape...)
		for _, a := range axes {
			shape[a] = types.Lit(1)
		}
		r := x.Type.Rank()
		attrs := A{"axes": axes, "sizes": lits(len(axes), 1), "starts": lits(r, 0), "steps": ones(r), "shape": shape}
		read := func(sum *Value) *Value {
			return t.Emit(OpIndex, A{"axes": axes}, append([]*Value{sum}, op.Args[1:]...)...)
		}
		t.addAt(x, cts[0], attrs, read, op.Args[1:]...)
	})
	rule(OpDynamicSlice, func(t *Tape, op *Op, cts []*Value) {
		x, axes, sizes := op.Args[0], op.Ints("axes"), op.Dims("sizes")
		r := x.Type.Rank()
		attrs := A{"axes": axes, "sizes": sizes, "starts": lits(r, 0), "steps": ones(r), "shape": op.Type().Shape}
		read := func(sum *Value) *Value {
			return t.Emit(OpDynamicSlice, A{"axes": axes, "sizes": sizes}, append([]*Value{sum}, op.Args[1:]...)...)
		}
		t.addAt(x, cts[0], attrs, read, op.Args[1:]...)
	})
	rule(OpTakeAlongAxis, func(t *Tape, op *Op, cts []*Value) {
		t.AddInto(op.Args[0], func(sum *Value) *Value {
			return t.Emit(OpScatterAdd, A{"axis": op.Int("axis")}, sum, op.Args[1], cts[0])
		})
	})
	rule(OpGather, gatherRule)
	rule(OpSort, func(t *Tape, op *Op, cts []*Value) {
		at := t.Emit(OpArgsort, A{"axis": op.Int("axis")}, op.Args[0])
		t.AddInto(op.Args[0], func(sum *Value) *Value {
			return t.Emit(OpScatterAdd, A{"axis": op.Int("axis")}, sum, at, cts[0])
		})
	})
	rule(OpScatterAdd, func(t *Tape, op *Op, cts []*Value) {
		t.Add(op.Args[0], cts[0])
		if t.Needs(op.Args[2]) {
			t.Add(op.Args[2], t.Emit(OpTakeAlongAxis, A{"axis": op.Int("axis")}, cts[0], op.Args[1]))
		}
	})
}

// gatherRule adds the cotangents at their positions, with the listed axes as one.
func gatherRule(t *Tape, op *Op, cts []*Value) {
	x, axes := op.Args[0], op.Ints("axes")
	var at *Value
	for k, p := range op.Args[1:] {
		p = t.Emit(OpCast, A{"to": types.I64}, p)
		if at == nil {
			at = p
			continue
		}
		extent := t.Emit(OpCast, A{"to": types.I64}, t.Emit(OpDim, A{"dim": x.Type.Shape[axes[k]]}))
		at = t.add(t.mul(at, t.broadcast(extent, p.Type.Shape)), p)
	}
	t.scatter(x, axes, at, cts[0])
}

func elems(s types.Shape) types.Dim {
	n, err := s.Elems()
	if err != nil {
		panic("BUG: the size of a tensor overflows: " + err.Error())
	}
	return n
}

func updateRules() {
	rule(OpUpdate, func(t *Tape, op *Op, cts []*Value) {
		x, v, positions := op.Args[0], op.Args[1], op.Args[2:]
		axes, sizes := op.Ints("axes"), op.Dims("sizes")
		attrs := A{"starts": op.Dims("starts"), "steps": op.Ints("steps"), "shape": op.Dims("shape")}
		for _, a := range axes {
			if x.Type.Shape[a].IsConst(0) {
				return // no position is in range: the update stops the program
			}
		}
		if t.Needs(v) {
			g := cts[0]
			if len(axes) > 0 {
				g = t.Emit(OpDynamicSlice, A{"axes": axes, "sizes": sizes}, append([]*Value{g}, positions...)...)
			}
			t.Add(v, t.Emit(OpSlice, attrs, g))
		}
		if t.Needs(x) {
			if len(axes) > 0 {
				attrs["axes"], attrs["sizes"] = axes, sizes
			}
			t.Add(x, t.Emit(OpUpdate, attrs, append([]*Value{cts[0], t.Zeros(v.Type)}, positions...)...))
		}
	})
}

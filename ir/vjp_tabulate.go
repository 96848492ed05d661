package ir

import "healc/lang/types"

// Note [Gradients of tabulate]: the function of a tabulate reads elements of what it captures, at positions that it
// computes. Its derivative by an element that is read is a tabulate again, of the derivative at each index; these
// are then added at the positions, in row-major order of the index. Where the positions are the index itself, as in
// a `map`, they are the gradient. Of what is captured and used as a whole, the gradients are summed over all indices.

func init() { // init: see rule
	rule(OpTabulate, tabulateRule)
}

func tabulateRule(t *Tape, op *Op, cts []*Value) {
	region := op.Regions[0]
	shape := op.Dims("shape")
	caps := t.variedCaptures(region)
	body, err := NewCloner().Block(region)
	if err != nil {
		panic("BUG: copying without substitution: " + err.Error())
	}
	expandAll(body, op.Span)
	captured := map[*Value]bool{}
	for _, v := range caps {
		captured[v] = true
	}
	var reads []*Op // of elements of what is captured
	for _, o := range body.Ops {
		if o.Def == OpIndex && len(o.Args) > 1 && captured[o.Args[0]] {
			reads = append(reads, o)
		}
	}
	// each is the tensor of what value gives at every index, after the operations of the body.
	each := func(value func(b *Builder, c *Cloner, index []*Value) *Value) *Value {
		r := &Block{}
		c := NewCloner()
		for _, p := range body.Params {
			c.Values[p] = r.Param(p.Name, p.Type, p.Span)
		}
		if err := c.Append(r, body); err != nil {
			panic("BUG: copying without substitution: " + err.Error())
		}
		r.Yields = []*Value{value(&Builder{Block: r, Span: op.Span}, c, r.Params)}
		tidy(r, op.Span)
		return t.b.EmitOp(OpTabulate, A{"shape": shape}, nil, []*Block{r}).Results[0]
	}
	// The function of the index and of what is read, which captures the rest.
	inner := NewCloner()
	given := &Block{}
	for _, p := range body.Params {
		inner.Values[p] = given.Param(p.Name, p.Type, p.Span)
	}
	for _, o := range reads {
		inner.Values[o.Result()] = given.Param("", o.Type(), o.Span)
	}
	isRead := map[*Op]bool{}
	for _, o := range reads {
		isRead[o] = true
	}
	for _, o := range body.Ops {
		if isRead[o] {
			continue
		}
		cp, err := inner.Op(o)
		if err != nil {
			panic("BUG: copying without substitution: " + err.Error())
		}
		given.Ops = append(given.Ops, cp)
	}
	given.Yields = inner.ValueList(body.Yields)
	whole := t.variedCaptures(given)
	var by []int64
	for i := range reads {
		by = append(by, int64(len(body.Params)+i))
	}
	// gradient is number k of the derivatives by the reads and then by the rest.
	gradient := func(k int) *Value {
		return each(func(b *Builder, c *Cloner, index []*Value) *Value {
			args := append([]*Value{}, index...)
			for _, o := range reads {
				args = append(args, c.Value(o.Result()))
			}
			axes := make([]int64, len(shape))
			for i := range axes {
				axes[i] = int64(i)
			}
			ct := b.Emit(OpIndex, A{"axes": axes}, append([]*Value{cts[0]}, index...)...)
			return closureVjp(b, given, args, by, whole, []*Value{ct}, nil)[k]
		})
	}
	for k, o := range reads {
		x, g := o.Args[0], gradient(k)
		if atIndex(body, o, shape) {
			t.Add(x, g)
			continue
		}
		at := each(func(b *Builder, c *Cloner, _ []*Value) *Value {
			var at *Value
			for i, p := range o.Args[1:] {
				p = b.Emit(OpCast, A{"to": types.I64}, c.Value(p))
				if at != nil {
					extent := b.Emit(OpDim, A{"dim": x.Type.Shape[o.Ints("axes")[i]]})
					p = b.Emit(OpAdd, nil, b.Emit(OpMul, nil, at, b.Emit(OpCast, A{"to": types.I64}, extent)), p)
				}
				at = p
			}
			return at
		})
		t.scatter(x, o.Ints("axes"), at, g)
	}
	axes := make([]int64, len(shape))
	for i := range axes {
		axes[i] = int64(i)
	}
	for k, v := range whole {
		t.Add(v, t.Emit(OpReduceSum, A{"axes": axes}, gradient(len(reads)+k)))
	}
}

// atIndex reports that a read of a tabulate's function is of the element at the index, of a tensor of the same extents.
func atIndex(body *Block, read *Op, shape types.Shape) bool {
	if len(read.Args)-1 != len(shape) || !read.Args[0].Type.Shape.Equal(shape) {
		return false
	}
	for i, p := range read.Args[1:] {
		if p != body.Params[i] {
			return false
		}
	}
	return true
}

// scatter adds g to the gradient of x at the positions at, which count the listed axes of x as one.
func (t *Tape) scatter(x *Value, axes []int64, at, g *Value) {
	perm := append([]int64{}, axes...)
	listed := types.Shape{}
	for _, a := range axes {
		listed = append(listed, x.Type.Shape[a])
	}
	for k := range x.Type.Shape {
		if !hasAxis(axes, k) {
			perm = append(perm, int64(k))
		}
	}
	rows, n, width := elems(listed), elems(at.Type.Shape), elems(restOf(x.Type.Shape, axes))
	flat := t.broadcast(t.reshape(at, types.Shape{n, types.Lit(1)}), types.Shape{n, width})
	t.AddInto(x, func(sum *Value) *Value {
		moved := t.permute(sum, perm)
		out := t.Emit(OpScatterAdd, A{"axis": int64(0)}, t.reshape(moved, types.Shape{rows, width}), flat,
			t.reshape(g, types.Shape{n, width}))
		return t.permute(t.reshape(out, moved.Type.Shape), inverse(perm))
	})
}

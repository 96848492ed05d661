package lower

import (
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/abi"
)

// A Unit is the program that kernels are part of: the translation unit.
type Unit interface {
	// Site is the number of the place in the source that fails with kind in op.
	Site(kind scalar.CheckKind, op *ir.Op) int
	// ScalarFunc is the name of the function of the module that a call in a kernel calls.
	ScalarFunc(op *ir.Op, callee string) string
	// Teams says that threads share what one iteration of a kernel's axes does.
	Teams() bool
}

// A Plan is the function of the plan whose buffers kernels read and write. It decides where values live and launches
// the kernels.
type Plan interface {
	Unit
	// View says where v lies in memory, if it lies there.
	View(v *ir.Value) (abi.View, bool)
	// Buffer is the buffer with a number.
	Buffer(i int) *abi.Buffer
	// NewBuffer adds a buffer, and gives its number.
	NewBuffer(b abi.Buffer) int
	// Data is the buffer of a constant.
	Data(a *ir.Array) int
	// Launch takes a kernel of n, without a name, and the buffers of its parameters by their names; the steps of the
	// plan launch it behind the kernels that it took before.
	Launch(n *Nest, k *kernel.Kernel, buffers map[string]int)
}

// An Output is a buffer that a kernel writes, in row-major order.
type Output struct {
	Buffer int
	Value  *ir.Value // of the block
	Rank   int       // it has the first axes of the nest only: an element for each row, say

	elem func(b *body, at []kernel.Ref) kernel.Ref // computes its element, unless Value does
}

// A Nest describes one kernel before its body is written.
type Nest struct {
	Name  string                  // a part of the kernel's
	Block *ir.Block               // whose values are computed
	Args  map[*ir.Value]*ir.Value // the values that the parameters of the block stand for
	Shape types.Shape             // the parallel axes
	Outs  []Output

	chunks *abi.Extent                    // an axis of chunks around them, or nil
	write  func(b *body, at []kernel.Ref) // stores what is no output: more than one element an iteration
	split  map[*ir.Op]*splitReduce
	owner  map[*ir.Value]*ir.Block // of bodies, so that the block is gone through once for all of them
}

// Emit writes the kernel of n, and the partial kernels before it, and has the plan launch it. A kernel without
// iterations is left out.
func (n *Nest) Emit(p Plan) {
	if Empty(n.Shape) {
		return
	}
	b := n.newBody(p)
	var at []kernel.Ref
	if n.chunks != nil {
		at = append(at, b.axis(axisScope, 0, n.chunks.Dim, n.chunks.Div))
	}
	vals, in := make([]kernel.Ref, len(n.Outs)), make([]*scope, len(n.Outs))
	elements := func(rank int) {
		for i, o := range n.Outs {
			switch {
			case o.Rank != rank:
				continue
			case o.elem != nil:
				vals[i] = o.elem(b, at)
			default:
				vals[i] = b.pull(o.Value, at)
			}
			in[i] = b.top()
		}
	}
	elements(0)
	for k, d := range n.Shape {
		if d.IsConst(1) {
			at = append(at, b.E().Int(types.I64, 0))
		} else {
			at = append(at, b.axis(axisScope, 0, d, 1))
		}
		elements(k + 1)
	}
	for i, o := range n.Outs { // all stores last, so that reductions stand next to each other
		shape := n.Shape[:o.Rank]
		strides := RowMajor(shape)
		index := at[:len(at)-len(n.Shape)+o.Rank]
		if n.chunks != nil {
			size := types.Lit(1)
			if len(shape) > 0 {
				size = MustMul(strides[0], shape[0])
			}
			strides = append([]types.Dim{size}, strides...)
		}
		b.storeIn(in[i], o.Buffer, strides, index, vals[i])
	}
	if n.write != nil {
		n.write(b, at)
	}
	n.finish(b, false)
}

// newBody starts the body of a kernel of n.
func (n *Nest) newBody(p Plan) *body {
	b := newBody(p)
	b.plan, b.split, b.home = p, n.split, n.Home()
	if n.owner != nil {
		b.owner = n.owner
	}
	b.leaf = func(v *ir.Value, at []kernel.Ref) kernel.Ref {
		if a, ok := n.Args[v]; ok {
			v = a
		}
		return b.read(v, at)
	}
	b.frame = b.enter(nil, n.Block, nil)
	return b
}

// Home is the place of the first value that n computes, and of its launch.
func (n *Nest) Home() diag.Span {
	for _, o := range n.Outs {
		if o.Value != nil && o.Value.Span.Valid() {
			return o.Value.Span
		}
	}
	for _, y := range n.Block.Yields {
		if y.Span.Valid() {
			return y.Span
		}
	}
	return diag.Span{}
}

// finish makes a kernel of a body whose open scopes are those of the parallel axes, and has the plan launch it.
func (n *Nest) finish(b *body, rows bool) {
	k := &kernel.Kernel{Types: b.types, Source: b.source, Params: b.params}
	assemble(k, b.stack, rows)
	buffers := map[string]int{}
	for i, p := range k.Params {
		buffers[p.Name] = b.bufferOf[i]
	}
	b.plan.Launch(n, k, buffers)
}

// Update is n as a kernel over the elements that up replaces, in the buffer out, which has all elements of its result.
func (n Nest) Update(up *ir.Op, out int) *Nest {
	n.Shape = up.Dims("shape")
	n.write = func(b *body, at []kernel.Ref) {
		val := b.pull(up.Args[1], at)
		b.op = up
		b.store(out, RowMajor(up.Type().Shape), b.updated(up, at), val)
	}
	return &n
}

// updated is the index that element at of the replacement has in the updated tensor. The checks of its positions come
// first.
func (b *body) updated(up *ir.Op, at []kernel.Ref) []kernel.Ref {
	firsts := ops.UpdateFirsts(b, up)
	out := ops.InSlice(b, up, at)
	for k := range out {
		if firsts[k] >= 0 {
			out[k] = b.E().Add(firsts[k], out[k])
		}
	}
	return out
}

// read is the element of a value that is defined outside of the kernel.
func (b *body) read(v *ir.Value, at []kernel.Ref) kernel.Ref {
	op := v.Def
	if op != nil && op.Def.Class == ir.Source {
		return b.element(v, at)
	}
	if w, ok := b.plan.View(v); ok {
		return b.load(w, v.Type.Elem, at)
	}
	if op == nil || !op.Def.Traits.Has(ir.View) {
		panic("BUG: a kernel reads a value that is nowhere")
	}
	saved := b.op
	r := b.element(v, at)
	b.op = saved
	return r
}

// assemble turns the scopes of the parallel axes into the nest of the kernel.
//
// Note [Parallel axes]: a kernel's axes span a perfect nest, so an axis is one of them only when nothing
// but literals and reads of scalars is computed between it and the next; in a matrix product, reads of rows as well.
// What depends on outer axes alone, such as the mean of a row, stays there, and the inner axes become parallel loops in
// the body.
func assemble(k *kernel.Kernel, scopes []*scope, rows bool) {
	n := len(scopes) - 1
	root := scopes[0].block
	for d := n; d > 0; d-- {
		outer := scopes[d-1].block
		outer.Stmts = append(outer.Stmts, &kernel.Loop{Axis: scopes[d].axis, Parallel: true, Body: scopes[d].block})
	}
	transform.DeadCode(root)
	k.Body = root
	var prefix []kernel.Stmt
	for d := 1; d <= n; d++ {
		last := len(k.Body.Stmts) - 1
		loop := k.Body.Stmts[last].(*kernel.Loop)
		rest := k.Body.Stmts[:last]
		if !light(rest, rows) || d > 1 && len(rest) > 0 && !product(scopes[n].block) {
			break
		}
		prefix = append(prefix, rest...)
		k.Axes = append(k.Axes, loop.Axis)
		k.Body = loop.Body
	}
	k.Body = &kernel.Block{Stmts: append(prefix, k.Body.Stmts...)}
}

// product reports that the elements of the innermost axis are each a chain of sums, as those of a matrix product are.
// What is read once for each row, such as a bias along the rows, is then read for each element, so that the axes stay a
// perfect nest: only that is scheduled in tiles, and those read it once again.
func product(inner *kernel.Block) bool {
	for _, st := range inner.Stmts {
		if l, ok := st.(*kernel.Loop); ok && !l.Parallel && len(l.Init) == 1 {
			return true
		}
	}
	return false
}

// light reports that statements cost no more than a few instructions. Beside those of a row, arms of an if do not.
func light(stmts []kernel.Stmt, rows bool) bool {
	for _, st := range stmts {
		switch st := st.(type) {
		case *kernel.Let, *kernel.DimValue, *kernel.Load:
		case *kernel.If:
			if !rows || !light(st.Then.Stmts, rows) || !light(st.Else.Stmts, rows) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

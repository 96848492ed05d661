package bufferize

import (
	"fmt"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/lang/types"
	"healc/runtime/abi"
)

// An output is a buffer that a kernel writes, and how its element is computed.
type output struct {
	buffer int
	elem   func(b *body, at []kernel.Ref) kernel.Ref
	rank   int // it has the first axes of the nest only: an element for each row, say
}

// A nest describes one kernel before its body is written.
type nest struct {
	block  *ir.Block                                              // whose values are computed
	leaf   func(b *body, v *ir.Value, at []kernel.Ref) kernel.Ref // reads what is defined outside of block
	shape  types.Shape                                            // the parallel axes
	chunks *abi.Extent                                            // an axis of chunks around them, or nil
	outs   []output
	write  func(b *body, at []kernel.Ref) // stores what is no output: more than one element an iteration
	split  map[*ir.Op]*splitReduce
	name   string
}

// emit writes the kernel of n and the step that launches it. A kernel without iterations is left out.
func (fn *function) emit(n nest) {
	for _, d := range n.shape {
		if d.IsConst(0) {
			return
		}
	}
	b := newBody(fn.u)
	b.fn, b.split = fn, n.split
	b.leaf = func(v *ir.Value, at []kernel.Ref) kernel.Ref { return n.leaf(b, v, at) }
	b.frame = b.enter(nil, n.block, nil)
	var at []kernel.Ref
	if n.chunks != nil {
		at = append(at, b.axis(axisScope, 0, n.chunks.Dim, n.chunks.Div))
	}
	vals, in := make([]kernel.Ref, len(n.outs)), make([]*scope, len(n.outs))
	elements := func(rank int) {
		for i, o := range n.outs {
			if o.rank == rank {
				vals[i], in[i] = o.elem(b, at), b.top()
			}
		}
	}
	elements(0)
	for k, d := range n.shape {
		if d.IsConst(1) {
			at = append(at, b.E().Int(types.I64, 0))
		} else {
			at = append(at, b.axis(axisScope, 0, d, 1))
		}
		elements(k + 1)
	}
	for i, o := range n.outs { // all stores last, so that reductions stand next to each other
		shape := n.shape[:o.rank]
		strides := rowMajor(shape)
		index := at[:len(at)-len(n.shape)+o.rank]
		if n.chunks != nil {
			size := types.Lit(1)
			if len(shape) > 0 {
				size = mustMul(strides[0], shape[0])
			}
			strides = append([]types.Dim{size}, strides...)
		}
		b.storeIn(in[i], o.buffer, strides, index, vals[i])
	}
	if n.write != nil {
		n.write(b, at)
	}
	k := &kernel.Kernel{Name: fmt.Sprintf("k%d_%s", len(fn.u.out.Kernels), n.name), Types: b.types, Source: b.source,
		Params: b.params, Notes: notes(n.block, fn.u.src.Home())}
	assemble(k, b.stack)
	fn.launch(k, b)
}

// notes lists what went into a kernel, for `healc explain`: the operation, and its line in the file called home, or in
// another.
func notes(block *ir.Block, home string) []string {
	var out []string
	for _, op := range block.Ops {
		note := op.Def.Name
		if op.Span.Valid() {
			note += " (" + op.Span.Line(home) + ")"
		}
		out = append(out, note)
	}
	return out
}

// assemble turns the scopes of the parallel axes into the nest of the kernel.
//
// Note [Parallel axes]: a kernel's axes span a perfect nest, so an axis is one of them only when nothing
// but literals and reads of scalars is computed between it and the next; in a matrix product, reads of rows as well.
// What depends on outer axes alone, such as the mean of a row, stays there, and the inner axes become parallel loops in
// the body.
func assemble(k *kernel.Kernel, scopes []*scope) {
	n := len(scopes) - 1
	root := scopes[0].block
	for d := n; d > 0; d-- {
		outer := scopes[d-1].block
		outer.Stmts = append(outer.Stmts, &kernel.Loop{Axis: scopes[d].axis, Parallel: true, Body: scopes[d].block})
	}
	sweep(root)
	k.Body = root
	var prefix []kernel.Stmt
	for d := 1; d <= n; d++ {
		last := len(k.Body.Stmts) - 1
		loop := k.Body.Stmts[last].(*kernel.Loop)
		rest := k.Body.Stmts[:last]
		if !light(rest) || d > 1 && len(rest) > 0 && !product(scopes[n].block) {
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

// light reports that statements cost no more than a few instructions.
func light(stmts []kernel.Stmt) bool {
	for _, st := range stmts {
		switch st.(type) {
		case *kernel.Let, *kernel.DimValue, *kernel.Load:
		default:
			return false
		}
	}
	return true
}

func mustMul(x, y types.Dim) types.Dim {
	p, err := x.Mul(y)
	if err != nil {
		panic("BUG: the size of a tensor overflows")
	}
	return p
}

// rowMajor gives the strides of a contiguous tensor. Where they overflow the tensor is empty, and they do
// not matter.
func rowMajor(s types.Shape) []types.Dim {
	out := make([]types.Dim, len(s))
	size := types.Lit(1)
	for k := len(s) - 1; k >= 0; k-- {
		out[k] = size
		p, err := size.Mul(s[k])
		if err != nil {
			return make([]types.Dim, len(s))
		}
		size = p
	}
	return out
}

// nestOf starts the kernels of one fusion operation, or of a single operation that stands alone.
func (fn *function) nestOf(op *ir.Op) nest {
	block := &ir.Block{Ops: []*ir.Op{op}, Yields: op.Results}
	leaf := func(b *body, v *ir.Value, at []kernel.Ref) kernel.Ref { return fn.read(b, v, at) }
	if op.Def == ops.Fusion {
		block = op.Regions[0]
		argOf := map[*ir.Value]*ir.Value{}
		for i, p := range block.Params {
			argOf[p] = op.Args[i]
		}
		leaf = func(b *body, v *ir.Value, at []kernel.Ref) kernel.Ref {
			if a, ok := argOf[v]; ok {
				v = a
			}
			return fn.read(b, v, at)
		}
	}
	return nest{block: block, leaf: leaf, name: fn.src.Name}
}

// fuse lowers one fusion operation, or a single operation that stands alone.
func (fn *function) fuse(op *ir.Op) {
	n := fn.nestOf(op)
	block := n.block
	if row := rowOf(block); row != nil {
		fn.emitRows(n, row, fn.allocate(op.Results[0]))
		return
	}
	n.split = fn.splitReductions(n)
	// One kernel for each shape among the results, which also writes those that have its first axes only.
	done := make([]bool, len(op.Results))
	fn.scans(n, op, done)
	for i, r := range op.Results {
		if done[i] {
			continue
		}
		n.shape, n.outs = r.Type.Shape, nil
		for j := i; j < len(op.Results); j++ {
			if s := op.Results[j].Type.Shape; !done[j] && r.Type.Rank() > 0 && len(s) > len(n.shape) &&
				s[:len(n.shape)].Equal(n.shape) {
				n.shape = s
			}
		}
		for j := i; j < len(op.Results); j++ {
			s := op.Results[j]
			rank := s.Type.Rank()
			if done[j] || rank > len(n.shape) || rank == 0 && len(n.shape) > 0 || !s.Type.Shape.Equal(n.shape[:rank]) {
				continue
			}
			done[j] = true
			y := block.Yields[j]
			n.outs = append(n.outs, output{fn.allocate(s), func(b *body, at []kernel.Ref) kernel.Ref {
				return b.pull(y, at)
			}, rank})
		}
		fn.emit(n)
	}
}

// materialise writes a value that is no view of a buffer into buffer.
func (fn *function) materialise(v *ir.Value, buffer int) {
	block := &ir.Block{}
	if v.Def != nil {
		block.Ops = []*ir.Op{v.Def}
	}
	fn.emit(nest{
		block: block,
		leaf:  func(b *body, v *ir.Value, at []kernel.Ref) kernel.Ref { return fn.read(b, v, at) },
		shape: v.Type.Shape,
		outs:  []output{{buffer, func(b *body, at []kernel.Ref) kernel.Ref { return b.pull(v, at) }, v.Type.Rank()}},
		name:  fn.src.Name,
	})
}

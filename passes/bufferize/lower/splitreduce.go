package lower

import (
	"fmt"
	"slices"

	"healc/codegen/target/profile"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Split reductions]: a long reduction with few results would run on one thread. Its order is cut
// into chunks anyway (language.md, section 9), so a first kernel computes one partial result a chunk in
// parallel, and the kernel that wants the result reduces those, in the order Lanes:
//
//	%s = reduce_sum %x : f32[]     k0: p[c] = sum of chunk c of x       (parallel over c)
//	%y = sqrt %s                   k1: y = sqrt(sum of p by lanes)
//
// Kinds whose order is free are cut in the same way. For argmax and argmin a partial result is the position
// in the whole and the element there, which is still in the caches; the second kernel takes the first best chunk.

// splitReduce is the state of one reduction that is computed in two kernels.
type splitReduce struct {
	op      *ir.Op
	mode    splitMode
	found   bool // the operation is one call of Pull.Reduce
	kind    ir.ReduceKind
	dtype   types.DType // of the partial results
	elem    types.DType // of what is reduced
	order   kernel.Order
	extents []types.Dim
	count   types.Dim  // the number of reduced elements
	chunk   kernel.Ref // partial: the chunk
	result  kernel.Ref // partial: the outcome
	best    kernel.Ref // partial: the element there, of a position
	buffer  int        // final: where the partial results are, [chunks, results...]
	bests   int        // final: where the elements are, of positions
	size    types.Dim  // elements for each chunk
}

type splitMode uint8

const (
	splitProbe   splitMode = iota // find out the order and the extents
	splitPartial                  // compute one chunk
	splitFinal                    // combine the chunks
)

// SplitReductions writes the partial kernels of the reductions of n that are worth it. The kernels of n read what those
// have computed.
func (n *Nest) SplitReductions(p Plan) {
	all := map[*ir.Op]*splitReduce{}
	groups := map[string][]*splitReduce{}
	var order []string
	n.owner = map[*ir.Value]*ir.Block{}
	simple := simpleOperands(n.Block)
	for _, op := range n.Block.Ops {
		if op.Def.Class != ir.Reduce || len(ops.ReducedAxes(op)) == 0 || !simple(op.Args[0]) {
			continue
		}
		s := n.probe(p, op)
		if s == nil || !s.worthIt() {
			continue
		}
		key := fmt.Sprint(op.Type().Shape, s.extents, s.order.Chunk())
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], s)
	}
	for _, key := range order {
		n.partialKernel(p, groups[key])
		for _, s := range groups[key] {
			all[s.op] = s
		}
	}
	n.split = all
}

// simpleOperands reports whether a value is computed without loops.
func simpleOperands(block *ir.Block) func(*ir.Value) bool {
	inside := map[*ir.Op]bool{}
	for _, op := range block.Ops {
		inside[op] = true
	}
	known := map[*ir.Value]bool{}
	var simple func(v *ir.Value) bool
	simple = func(v *ir.Value) bool {
		if v.Def == nil || !inside[v.Def] {
			return true
		}
		is, ok := known[v]
		if !ok {
			switch v.Def.Def.Class {
			case ir.Pointwise, ir.Reindex, ir.Source:
				is = !slices.ContainsFunc(v.Def.Args, func(a *ir.Value) bool { return !simple(a) })
			}
			known[v] = is
		}
		return is
	}
	return simple
}

// probe runs the element rule of op once, into nothing, to see what it reduces.
func (n Nest) probe(p Plan, op *ir.Op) *splitReduce {
	s := &splitReduce{op: op, count: types.Lit(1)}
	n.split = map[*ir.Op]*splitReduce{op: s}
	b := n.newBody(p)
	at := make([]kernel.Ref, op.Type().Rank())
	for i := range at {
		at[i] = b.E().Int(types.I64, 0)
	}
	b.pull(op.Result(), at)
	if !s.found {
		return nil
	}
	for _, d := range s.extents {
		count, err := s.count.Mul(d)
		if err != nil {
			return nil
		}
		s.count = count
	}
	size, err := op.Type().Shape.Elems()
	if err != nil {
		return nil
	}
	s.size = size
	return s
}

// worthIt decides the split by sizes. A full reduction of unknown size is split, because when it is small
// the second kernel costs little.
func (s *splitReduce) worthIt() bool {
	outer, known := s.size.Const()
	if !known || outer == 0 {
		return false
	}
	n, known := s.count.Const()
	if !known {
		return outer <= int64(profile.Base().Plan.SplitResults)
	}
	p := profile.Base().Plan
	least, many := 2*s.order.Chunk(), outer > int64(p.SplitResults)
	if s.order == kernel.Columns {
		// Rows of results are written together, so many of them do not hurt; leading results are threads enough.
		lead, _ := s.leading().Const()
		return n >= 2*least && lead <= int64(p.SplitResults) && n*outer >= int64(p.SplitLeast)
	}
	return n >= least && !many && n*outer >= int64(p.SplitLeast)
}

// leading counts the results along the axes before the first reduced one.
func (s *splitReduce) leading() types.Dim {
	n := types.Lit(1)
	first := ops.ReducedAxes(s.op)[0]
	for _, d := range s.op.Args[0].Type.Shape[:first] {
		n = MustMul(n, d)
	}
	return n
}

// partialKernel writes the kernel of the partial results of reductions over one space.
func (n Nest) partialKernel(p Plan, group []*splitReduce) {
	first := group[0]
	chunks := abi.Extent{Dim: first.count, Div: first.order.Chunk()}
	n.Shape, n.chunks, n.Outs = first.op.Type().Shape, &chunks, nil
	n.Name += "_partial"
	n.split = map[*ir.Op]*splitReduce{}
	for _, s := range group {
		shape := []abi.Extent{chunks}
		for _, d := range n.Shape {
			shape = append(shape, abi.Extent{Dim: d})
		}
		partials := func(t types.DType, elem func(b *body, at []kernel.Ref) kernel.Ref) int {
			buffer := p.NewBuffer(abi.Buffer{Kind: abi.Temp, DType: t, Shape: shape})
			n.Outs = append(n.Outs, Output{Buffer: buffer, Rank: len(n.Shape), elem: elem})
			return buffer
		}
		s.mode = splitPartial
		n.split[s.op] = s
		s.buffer = partials(s.dtype, func(b *body, at []kernel.Ref) kernel.Ref {
			s.chunk = at[0]
			b.pull(s.op.Result(), at[1:])
			return s.result
		})
		if s.position() {
			s.bests = partials(s.elem, func(*body, []kernel.Ref) kernel.Ref { return s.best })
		}
	}
	n.Emit(p)
	for _, s := range group {
		s.mode = splitFinal
	}
}

// position reports that a result is where an element is.
func (s *splitReduce) position() bool { return s.kind == ir.ReduceArgMax || s.kind == ir.ReduceArgMin }

// splitPart is Reduce for a reduction in two kernels.
func (b *body) splitPart(s *splitReduce, kind ir.ReduceKind, t types.DType, order kernel.Order, extents []types.Dim,
	f func(at []kernel.Ref) kernel.Ref) kernel.Ref {
	e := b.E()
	switch s.mode {
	case splitProbe:
		s.found, s.kind, s.order, s.extents = true, kind, order, append([]types.Dim{}, extents...)
		s.dtype, s.elem = t, t
		if s.position() {
			s.dtype = types.I64
		}
		return e.Int(s.dtype, 0)
	case splitPartial:
		s.result = b.reduce(kind, t, order, extents, 1, s.chunk, f)
		if s.position() {
			index, rest := make([]kernel.Ref, len(extents)), s.result
			for k := len(extents) - 1; k > 0; k-- {
				n := b.Extent(extents[k])
				index[k] = e.Rem(rest, n)
				rest = e.Div(rest, n)
			}
			index[0] = rest
			s.best = f(index)
		}
		return s.result
	}
	at := b.current[len(b.current)-1].at
	// the first extent is no dim, and never 0
	shape := append(types.Shape{types.Lit(types.MaxExtent)}, s.op.Type().Shape...)
	strides := append([]types.Dim{s.size}, RowMajor(s.op.Type().Shape)...)
	partial := func(buffer int, t types.DType, c kernel.Ref) kernel.Ref {
		w := abi.View{Buffer: buffer, Shape: shape, Strides: strides}
		return b.load(w, t, append([]kernel.Ref{c}, at...))
	}
	from := s.buffer
	if s.position() {
		from = s.bests
	}
	if order == kernel.Columns {
		order = kernel.Lanes
	}
	result := b.reduce(kind, t, order, []types.Dim{s.count}, s.order.Chunk(), scalar.None,
		func(c []kernel.Ref) kernel.Ref { return partial(from, t, c[0]) })
	if s.position() {
		return partial(s.buffer, s.dtype, result)
	}
	return result
}

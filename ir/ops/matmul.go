package ops

import (
	"fmt"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Matmul multiplies matrices.
var Matmul = ir.Declare("matmul")
var _ = ir.Define(Matmul, ir.OpDef{
	Class: ir.Contract, Surface: "@", Arity: 2,
	Sharding: ir.ShardProduct,
	Summary: "Matrix product [B..., M, K] @ [B..., K, N]. Each f32 and f64 element is one chain of fma over k " +
		"ascending, from +0; f16 and bf16 are multiplied in f32, by blocks of 32, and rounded once; integers wrap.",
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) { return inferMatmul(args) },
	Eval:  evalMatmul,
	Element: func(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
		a := op.Args[0].Type
		along, factors := factorsOf(p, op, at)
		if in := accumulator(ir.ReduceSum, a.Elem); in != a.Elem {
			return as(p.E(), a.Elem, productByBlocks(p, along, in, factors))
		}
		zero := p.E().Int(a.Elem, 0)
		sum := p.Loop(along, 0, []scalar.Ref{zero}, func(k, acc []scalar.Ref) []scalar.Ref {
			x, y := factors(k[0])
			return []scalar.Ref{multiplyAdd(p.E(), x, y, acc[0])}
		})
		return sum[0]
	},
	VJP:         productVJP(Matmul),
	Constraints: productConstraints,
	Example:     "[[1, 2], [3, 4]] @ [[5, 6], [7, 8]] == [[19, 22], [43, 50]]",
})

var productConstraints = []ir.Constraint{
	{Name: "C1", Text: "the operands share one element type, number"},
	{Name: "C2", Text: "the operands share one rank, 2 or more"},
	{Name: "C3", Text: "the batch extents agree"},
	{Name: "C4", Text: "the last extent of the left is the last but one of the right"},
}

func inferMatmul(args []types.Tensor) ([]types.Tensor, error) {
	a, b := args[0], args[1]
	if err := requireSameDType("C1", "`@`", a, b); err != nil {
		return nil, err
	}
	if err := requireIn("C1", "`@`", numbers, a); err != nil {
		return nil, err
	}
	r := a.Rank()
	if r < 2 || b.Rank() != r {
		return nil, broken("C2", "`@` needs two operands of one rank, 2 or more, not %s and %s", a, b)
	}
	for i := 0; i < r-2; i++ {
		if !a.Shape[i].Equal(b.Shape[i]) {
			return nil, &types.RuleError{
				Constraint: "C3", Msg: "batch axes of `@` differ", Shapes: []types.Shape{a.Shape, b.Shape},
				Axis: r - i,
				Why:  fmt.Sprintf("%s and %s differ", a.Shape[i], b.Shape[i]),
			}
		}
	}
	if x, y := a.Shape[r-1], b.Shape[r-2]; !x.Equal(y) {
		return nil, &types.RuleError{
			Constraint: "C4", Msg: "inner extents of `@` differ", Shapes: []types.Shape{a.Shape, b.Shape}, Axis: 1,
			Why:  fmt.Sprintf("the rows of the left have %s elements, the columns of the right %s", x, y),
			Help: "transpose one of the operands if its axes are the other way round",
		}
	}
	shape := append(types.Shape{}, a.Shape...)
	shape[r-1] = b.Shape[r-1]
	return []types.Tensor{{Elem: a.Elem, Shape: shape}}, nil
}

// factorsOf is the axis along which the product at an index of the result adds, and the factors at a place of it.
func factorsOf(p ir.Pull, op *ir.Op, at []scalar.Ref) (along []types.Dim,
	factors func(k scalar.Ref) (x, y scalar.Ref)) {
	a := op.Args[0].Type
	r := a.Rank()
	row, col := at[r-2], at[r-1]
	batch := at[: r-2 : r-2]
	return []types.Dim{a.Shape[r-1]}, func(k scalar.Ref) (x, y scalar.Ref) {
		return p.Arg(op, 0, append(batch, row, k)), p.Arg(op, 1, append(batch, k, col))
	}
}

// productVJP are the derivatives of a product: products of the same kind.
func productVJP(d *ir.OpDef) func(ir.Tape, *ir.Op, []*ir.Value) {
	return vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		a, b := op.Args[0], op.Args[1]
		attrs := ir.A{}
		for i, def := range d.Attrs {
			attrs[def.Name] = op.Attrs[i]
		}
		if t.Needs(a) {
			t.Add(a, t.Emit(d, attrs, cts[0], t.transposed(b)))
		}
		if t.Needs(b) {
			t.Add(b, t.Emit(d, attrs, t.transposed(a), cts[0]))
		}
	})
}

// transposed is x with its last two axes exchanged.
func (t *tape) transposed(x *ir.Value) *ir.Value {
	swap := make([]int64, x.Type.Rank())
	for k := range swap {
		swap[k] = int64(k)
	}
	n := len(swap)
	swap[n-2], swap[n-1] = swap[n-1], swap[n-2]
	return t.permute(x, swap)
}

// Note [Products by blocks]
//
// Products of 16-bit floats are computed in f32, as their sums are (Note [Order of reductions]), and rounded once. The
// order is that of processors with instructions for such products: k is cut into blocks of 32, and a
// block has two chains of fma, each from +0: one over its even k, one over its odd k, ascending. The sum of the two
// is added to the sum of the blocks before, which starts as +0. So an element is
//
//	sum = (0 + (even[0] + odd[0])) + (even[1] + odd[1]) + ...
//
// Nothing is flushed: subnormals are kept, as everywhere. A last block that is short has shorter chains. To go on with
// zeros would not change a sum, which is never -0.
//
// The element rule says so in one loop over k. It carries the sum and the two chains, which change places at each step,
// so that the first is always the one that goes on. A block is added where the next one begins, and behind the loop.
const productBlock = 32

// productByBlocks is the sum of the products of the factors along an axis.
func productByBlocks(p ir.Pull, along []types.Dim, in types.DType,
	factors func(k scalar.Ref) (x, y scalar.Ref)) scalar.Ref {
	e := p.E()
	zero, last, none := e.Int(in, 0), e.Int(types.I64, productBlock-1), e.Int(types.I64, 0)
	s := p.Loop(along, 0, []scalar.Ref{zero, zero, zero}, func(k, s []scalar.Ref) []scalar.Ref {
		e := p.E()
		begins := e.Eq(e.And(k[0], last), none)
		sum := e.Select(begins, e.Add(s[0], e.Add(s[1], s[2])), s[0])
		next, other := e.Select(begins, zero, s[1]), e.Select(begins, zero, s[2])
		x, y := factors(k[0])
		return []scalar.Ref{sum, other, p.E().Fma(as(p.E(), in, x), as(p.E(), in, y), next)}
	})
	e = p.E()
	return e.Add(s[0], e.Add(s[1], s[2]))
}

// BlockMatmul is a product of 16-bit floats before it is rounded; its operands are converted already.
var BlockMatmul = ir.Declare("block_matmul")
var _ = ir.Define(BlockMatmul, ir.OpDef{
	Class: ir.Contract, Arity: 2,
	Sharding: ir.ShardProduct,
	Summary: "Matrix product of f32 in the order in which `@` multiplies f16 and bf16: by blocks of 32 along k. The " +
		"expansion of split_matmul makes it.",
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		out, err := inferMatmul(args)
		if err == nil && args[0].Elem != types.F32 {
			err = broken("C1", "a product by blocks is one of f32, not %s", args[0].Elem)
		}
		return out, err
	},
	Eval: evalMatmul,
	Element: func(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
		along, factors := factorsOf(p, op, at)
		return productByBlocks(p, along, types.F32, factors)
	},
	NoGrad:  "it is made when derivatives are taken already",
	Example: "matmul([[1, 2]] as f16, [[3], [4]] as f16, split = 32) == ([[11]] as f16)",
	Constraints: append([]ir.Constraint{{Name: "C1", Text: "the operands share one element type, f32"}},
		productConstraints[1:]...),
})

// multiplyAdd is one step of a matrix product.
func multiplyAdd(e scalar.Emitter, x, y, sum scalar.Ref) scalar.Ref {
	if e.TypeOf(x).IsFloat() {
		return e.Fma(x, y, sum)
	}
	return e.Add(e.Mul(x, y), sum)
}

// evalMatmul makes each element of the result as a chain of multiply-add over k ascending, from +0, or by blocks (Note
// [Products by blocks]). Some rows of the result are made side by side: one where it is long, so many that a step is
// worth its dispatch where it is short.
func evalMatmul(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	const together = 256
	in := accumulator(ir.ReduceSum, args[0].DType)
	a, b := converted(args[0], in), converted(args[1], in)
	r := len(a.Shape)
	m, inner, n := int(a.Shape[r-2]), int(a.Shape[r-1]), int(b.Shape[r-1])
	out := ir.NewArray(in, extents(c, op.Type().Shape)...)
	to := args[0].DType
	if len(out.Bits) == 0 {
		return one(converted(out, to))
	}
	step := vectorOf(op.Def, in, 3, func(e scalar.Emitter, x []scalar.Ref) scalar.Ref {
		return multiplyAdd(e, x[0], x[1], x[2])
	})
	add := vectorOf(ReduceSum, in, 2, func(e scalar.Emitter, x []scalar.Ref) scalar.Ref { return e.Add(x[0], x[1]) })
	byBlocks := in != to || op.Def == BlockMatmul
	group := min(m, max(1, together/n))
	left, tiled := make([]uint64, group*n), make([]uint64, group*n)
	even, odd := make([]uint64, group*n), make([]uint64, group*n)
	for row := 0; row < len(out.Bits)/n; {
		batch := row / m
		rows := min(group, (batch+1)*m-row)
		size := rows * n
		sum := out.Bits[row*n:][:size]
		if err := c.Ended(); err != nil {
			return nil, err
		}
		for k := range inner {
			right := b.Bits[(batch*inner+k)*n:][:n]
			for i := range rows {
				x, line := a.Bits[(row+i)*inner+k], left[i*n:(i+1)*n]
				for j := range line {
					line[j] = x
				}
			}
			if rows > 1 {
				for i := range rows {
					copy(tiled[i*n:(i+1)*n], right)
				}
				right = tiled
			}
			chain := sum
			if byBlocks {
				chain = [][]uint64{even, odd}[k%2][:size]
			}
			step.into(chain, left[:size], right[:size], chain)
			if byBlocks && (k%productBlock == productBlock-1 || k == inner-1) {
				add.into(even[:size], even[:size], odd[:size])
				add.into(sum, sum, even[:size])
				clear(even)
				clear(odd)
			}
		}
		row += rows
	}
	return one(converted(out, to))
}

// Note [Products in blocks of k]
//
// A product with `split = n` cuts k into blocks of n steps, the last of which may be shorter. A block is one chain of
// fma, from +0, as an element of `@` is. What the blocks give is added in order by groups of 256, the sums of groups by
// groups of 256 again, until one is left; to that +0 is added, so that no result is -0. f16 and bf16 are computed in
// f32 and rounded once at the end, and a block of theirs is what `@` gives before it is rounded (Note [Products by
// blocks]); integers wrap, so that their order says nothing.
//
// That is the order of a sum along another axis than the last (Note [Order of reductions]) up to 256 blocks. Blocks do
// not wait for each other: threads, vectors and machines can share them where the result has few elements.
//
// Where k is known, the product becomes products of matrices that lie one behind the other, and a sum (expandSplit).
// Where it is not, a loop over k carries the chain and the sums of each height (splitLoop), which begin with +0: that
// differs from beginning with their first term where all are -0, which the last +0 ends.
const (
	splitGroup = 256
	// splitHeights sums of groups of groups are enough for 2^32 blocks.
	splitHeights = 4
)

// The steps of a block are a multiple of SplitUnit, so that blocks are whole vectors and whole tiles, and at most
// SplitMost.
const (
	SplitUnit = 32
	SplitMost = 1 << 20
)

// SplitMatmul multiplies matrices in blocks of k.
var SplitMatmul = ir.Declare("split_matmul")
var _ = ir.Define(SplitMatmul, ir.OpDef{
	Class: ir.Contract, Arity: 2,
	Sharding: ir.ShardBlocks,
	Summary: "Matrix product whose k is cut into blocks of `split` steps. Each block is a chain of fma from +0; " +
		"their results are added in order by groups of 256, and the sums of groups likewise. f16 and bf16 are " +
		"computed in f32, each block in the order of `@`, and rounded once; integers wrap.",
	Attrs: []ir.AttrDef{{Name: "split", Kind: ir.AttrInt, Doc: "the steps of a block, a multiple of 32"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if n := attrs[0].(int64); n < SplitUnit || n > SplitMost || n%SplitUnit != 0 {
			return nil, broken("C5", "`split` is a multiple of %d from %d to %d, not %d",
				SplitUnit, SplitUnit, SplitMost, n)
		}
		return inferMatmul(args)
	},
	Eval:    evalSplit,
	Expand:  expandSplit,
	Element: splitLoop,
	VJP:     productVJP(SplitMatmul),
	Constraints: append([]ir.Constraint{}, append(productConstraints,
		ir.Constraint{Name: "C5", Text: "the blocks have a multiple of 32 steps, 32 to 2^20"})...),
	Example: "matmul([[1, 2], [3, 4]], [[5, 6], [7, 8]], split = 32) == [[19, 22], [43, 50]]",
})

// splitLoop is the element of a product along an axis of any extent.
func splitLoop(p ir.Pull, op *ir.Op, _ int, at []scalar.Ref) scalar.Ref {
	elem := op.Args[0].Type.Elem
	in := accumulator(ir.ReduceSum, elem)
	along, factors := factorsOf(p, op, at)
	e := p.E()
	zero, none := e.Int(in, 0), e.Int(types.I64, 0)
	halves := in != elem // whose blocks have a sum and two chains
	state := []scalar.Ref{zero}
	for range splitHeights {
		state = append(state, zero)
	}
	if halves {
		state = append(state, zero, zero)
	}
	const turn, other = splitHeights + 1, splitHeights + 2 // the chain that goes on, and the one that did
	s := p.Loop(along, 0, state, func(k, s []scalar.Ref) []scalar.Ref {
		e := p.E()
		next := append([]scalar.Ref{}, s...)
		steps := op.Int("split")
		if halves {
			begins := e.Eq(e.Rem(k[0], e.Int(types.I64, productBlock)), none)
			next[0] = e.Select(begins, e.Add(s[0], e.Add(s[turn], s[other])), s[0])
			next[turn], next[other] = e.Select(begins, zero, s[other]), e.Select(begins, zero, s[turn])
		}
		for h := range splitHeights {
			begins := e.Eq(e.Rem(k[0], e.Int(types.I64, steps)), none)
			next[h+1] = e.Select(begins, e.Add(next[h+1], next[h]), next[h+1])
			next[h] = e.Select(begins, zero, next[h])
			steps *= splitGroup
		}
		x, y := factors(k[0])
		chain := 0
		if halves {
			chain = other
		}
		next[chain] = multiplyAdd(p.E(), as(p.E(), in, x), as(p.E(), in, y), next[chain])
		return next
	})
	e = p.E()
	sum := s[0]
	if halves {
		sum = e.Add(sum, e.Add(s[turn], s[other]))
	}
	for _, higher := range s[1 : splitHeights+1] {
		sum = e.Add(higher, sum)
	}
	return as(e, elem, sum)
}

// expandSplit is the product by operations on whole matrices; nil where k is not known.
func expandSplit(b *ir.Builder, op *ir.Op) []*ir.Value {
	x, y, split := op.Args[0], op.Args[1], op.Int("split")
	if x.Type.Elem.IsInt() {
		return []*ir.Value{b.Emit(Matmul, nil, x, y)}
	}
	r := x.Type.Rank()
	steps, known := x.Type.Shape[r-1].Const()
	if !known {
		return nil
	}
	in := Matmul
	if x.Type.Elem.Bits() == 16 {
		in = BlockMatmul
	}
	x, y = widened(b, x), widened(b, y)
	blocks, rest := steps/split, steps%split
	piece := func(from, n int64) (*ir.Value, *ir.Value) {
		return sliced(b, x, r-1, from, n), sliced(b, y, r-2, from, n)
	}
	product := func(from, n int64) *ir.Value {
		xs, ys := piece(from, n)
		return b.Emit(in, nil, xs, ys)
	}
	var sum *ir.Value
	switch {
	case blocks == 0 || blocks == 1 && rest == 0:
		sum = b.Emit(in, nil, x, y)
	case blocks <= splitInPlace && largeResult(op.Type().Shape[r-2:], split):
		sum = product(0, split)
		for i := int64(1); i < blocks; i++ {
			sum = b.Emit(Add, nil, sum, product(i*split, split))
		}
		if rest > 0 {
			sum = b.Emit(Add, nil, sum, product(blocks*split, rest))
		}
	default:
		xs, ys := piece(0, blocks*split)
		parts := b.Emit(in, nil, inBlocks(b, xs, r-1, blocks, split), inBlocks(b, ys, r-2, blocks, split))
		if rest > 0 {
			last := product(blocks*split, rest)
			shape := append(types.Shape{}, parts.Type.Shape...)
			shape[r-2] = types.Lit(1)
			last = b.Emit(Reshape, ir.A{"shape": shape}, last)
			parts = b.Emit(Concat, ir.A{"axis": int64(r - 2)}, parts, last)
		}
		sum = inGroups(b, parts, r-2)
	}
	zero := b.Emit(Broadcast, ir.A{"shape": sum.Type.Shape}, constant(b, sum.Type.Elem, 0))
	return []*ir.Value{narrowed(b, op, b.Emit(Add, nil, sum, zero))}
}

// splitInPlace is the most blocks that are added to a result one by one: each is a kernel.
const splitInPlace = 64

// largeResult reports that a result has more elements than its factors in a block, so that to write it down for each
// block would take more memory than they do.
func largeResult(shape types.Shape, split int64) bool {
	m, known := shape[0].Const()
	n, known2 := shape[1].Const()
	return known && known2 && m*n > split*(m+n)
}

// inBlocks is x with an axis cut into blocks, which come before the last two axes.
func inBlocks(b *ir.Builder, x *ir.Value, axis int, blocks, split int64) *ir.Value {
	r := x.Type.Rank()
	var shape types.Shape
	perm := []int64{}
	for k := range r + 1 {
		if k != axis {
			perm = append(perm, int64(k))
		}
	}
	perm = append(perm[:r-2], append([]int64{int64(axis)}, perm[r-2:]...)...)
	for k, d := range x.Type.Shape {
		if k == axis {
			shape = append(shape, types.Lit(blocks), types.Lit(split))
		} else {
			shape = append(shape, d)
		}
	}
	x = b.Emit(Reshape, ir.A{"shape": shape}, x)
	for k, a := range perm {
		if int64(k) != a {
			return b.Emit(Permute, ir.A{"perm": perm}, x)
		}
	}
	return x
}

// inGroups adds along an axis by groups, and the sums of these, until one is left.
func inGroups(b *ir.Builder, x *ir.Value, axis int) *ir.Value {
	for {
		n, _ := x.Type.Shape[axis].Const()
		if n <= splitGroup {
			return b.Emit(ReduceSum, ir.A{"axes": []int64{int64(axis)}}, x)
		}
		groups, rest := n/splitGroup, n%splitGroup
		whole := sliced(b, x, axis, 0, groups*splitGroup)
		shape := append(types.Shape{}, x.Type.Shape[:axis]...)
		shape = append(append(shape, types.Lit(groups), types.Lit(splitGroup)), x.Type.Shape[axis+1:]...)
		sums := b.Emit(ReduceSum, ir.A{"axes": []int64{int64(axis + 1)}}, b.Emit(Reshape, ir.A{"shape": shape}, whole))
		if rest > 0 {
			last := b.Emit(ReduceSum, ir.A{"axes": []int64{int64(axis)}, "keep": true},
				sliced(b, x, axis, groups*splitGroup, rest))
			sums = b.Emit(Concat, ir.A{"axis": int64(axis)}, sums, last)
		}
		x = sums
	}
}

// sliced is n elements of x along an axis, from one on.
func sliced(b *ir.Builder, x *ir.Value, axis int, from, n int64) *ir.Value {
	if all, known := x.Type.Shape[axis].Const(); known && all == n {
		return x
	}
	r := x.Type.Rank()
	starts, steps, shape := make(types.Shape, r), make([]int64, r), append(types.Shape{}, x.Type.Shape...)
	for k := range r {
		starts[k], steps[k] = types.Lit(0), 1
	}
	starts[axis], shape[axis] = types.Lit(from), types.Lit(n)
	return b.Emit(Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, x)
}

// evalSplit makes a row of the result at a time.
func evalSplit(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	elem := args[0].DType
	in := accumulator(ir.ReduceSum, elem)
	a, b := converted(args[0], in), converted(args[1], in)
	r := len(a.Shape)
	m, inner, n := int(a.Shape[r-2]), int(a.Shape[r-1]), int(b.Shape[r-1])
	out := ir.NewArray(in, extents(c, op.Type().Shape)...)
	if len(out.Bits) == 0 {
		return one(converted(out, elem))
	}
	step := vectorOf(op.Def, in, 3, func(e scalar.Emitter, x []scalar.Ref) scalar.Ref {
		return multiplyAdd(e, x[0], x[1], x[2])
	})
	add := vectorOf(ReduceSum, in, 2, func(e scalar.Emitter, x []scalar.Ref) scalar.Ref { return e.Add(x[0], x[1]) })
	split := int(op.Int("split"))
	left, zero := make([]uint64, n), make([]uint64, n)
	for row := range len(out.Bits) / n {
		if err := c.Ended(); err != nil {
			return nil, err
		}
		sums := groupedSum{add: add}
		for from := 0; from < inner; from += split {
			end := min(from+split, inner)
			// one chain, or the two of a block in turns
			chains := [][]uint64{make([]uint64, n)}
			sum := chains[0]
			if in != elem {
				sum = make([]uint64, n)
				chains = append(chains, make([]uint64, n))
			}
			for k := from; k < end; k++ {
				for j := range left {
					left[j] = a.Bits[row*inner+k]
				}
				chain := chains[(k-from)%len(chains)]
				step.into(chain, left, b.Bits[(row/m*inner+k)*n:][:n], chain)
				if in != elem && ((k-from)%productBlock == productBlock-1 || k == end-1) {
					add.into(chains[0], chains[0], chains[1])
					add.into(sum, sum, chains[0])
					clear(chains[0])
					clear(chains[1])
				}
			}
			sums.push(0, sum)
		}
		total := zero
		if inner > 0 {
			total = sums.total()
		}
		add.into(out.Bits[row*n:][:n], total, zero)
	}
	return one(converted(out, elem))
}

// groupedSum adds rows in order, by groups of splitGroup and groups of these.
type groupedSum struct {
	add    vector
	sums   [][]uint64 // of the group that is not full yet at each height; nil: of nothing
	counts []int
}

// push adds a row to the group at a height.
func (s *groupedSum) push(height int, row []uint64) {
	if height == len(s.sums) {
		s.sums, s.counts = append(s.sums, nil), append(s.counts, 0)
	}
	if s.sums[height] == nil {
		s.sums[height] = row
	} else {
		s.sums[height] = s.add.must(s.sums[height], row)
	}
	if s.counts[height]++; s.counts[height] == splitGroup {
		full := s.sums[height]
		s.sums[height], s.counts[height] = nil, 0
		s.push(height+1, full)
	}
}

// total is the sum of all groups, those that are not full included.
func (s *groupedSum) total() []uint64 {
	var total []uint64
	for _, sum := range s.sums {
		switch {
		case sum == nil:
		case total == nil:
			total = sum
		default:
			total = s.add.must(sum, total)
		}
	}
	return total
}

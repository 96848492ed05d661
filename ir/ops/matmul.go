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
			if in != to {
				chain = [][]uint64{even, odd}[k%2][:size]
			}
			step.into(chain, left[:size], right[:size], chain)
			if in != to && (k%productBlock == productBlock-1 || k == inner-1) {
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

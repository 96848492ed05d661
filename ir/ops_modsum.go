package ir

import (
	"slices"

	"healc/ir/scalar"
	"healc/lang/types"
)

// Sums modulo p along an axis. No element is reduced on the way: an i64 is cut into a high and a low half of 32
// bits, whose sums of fewer than 2^31 terms are exact in i64, and only the two sums meet the modulus; sums of i32
// are exact in i64 as they are. What is left in the loop are plain additions, in any order. Products of i64 that
// modmul_axis_sum makes are added modulo p one by one instead.

var attrSumAxis = AttrDef{Name: "axis", Kind: AttrInt, Doc: "the axis that is summed; not the last, which the moduli belong to"}

// OpAxisModSum sums along an axis.
var OpAxisModSum = define(&OpDef{
	Name: "axis_modsum", Class: Reindex, Surface: "axis_modsum", Arity: 2, Traits: MayFail, Fails: badModulus,
	Summary: "The sum along an axis modulo p, which is one number or one for each position of the last axis; of nothing 0.",
	Attrs:   []AttrDef{attrSumAxis},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		return inferModSum("`axis_modsum`", args[:1], args[1], attrs[0].(int64))
	},
	Expand: func(b *Builder, op *Op) []*Value {
		return []*Value{b.sumModulo(op.Args[1], func(part func(*Value) *Value) *Value {
			return b.Emit(OpReduceSum, A{"axes": []int64{op.Int("axis")}}, part(op.Args[0]))
		}, op.Type())}
	},
	NoGrad:      noResidueGrad,
	Constraints: modSumConstraints[:3],
	Example:     "axis_modsum([[5, 6], [4, 4]], [7, 11], 0) == [2, 10]",
})

// OpModMulAxisSum sums products along an axis.
var OpModMulAxisSum = define(&OpDef{
	Name: "modmul_axis_sum", Class: Reindex, Surface: "modmul_axis_sum", Arity: 3, Traits: MayFail, Fails: badModulus,
	Summary: "The sum along an axis of the products a * b modulo p, in one pass.",
	Attrs:   []AttrDef{attrSumAxis},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		return inferModSum("`modmul_axis_sum`", args[:2], args[2], attrs[0].(int64))
	},
	Expand: func(b *Builder, op *Op) []*Value {
		a, p := op.Args[0], op.Args[2]
		if n, ok := a.Type.Shape[op.Int("axis")].Const(); ok && n > 0 && a.Type.Elem == types.I64 {
			return []*Value{b.sumProducts(op, n)}
		}
		product := b.Emit(OpModMul, nil, a, op.Args[1], b.Emit(OpBroadcast, A{"shape": a.Type.Shape}, p))
		return []*Value{b.Emit(OpAxisModSum, A{"axis": op.Int("axis")}, product, p)}
	},
	NoGrad:      noResidueGrad,
	Constraints: modSumConstraints,
	Example:     "modmul_axis_sum([[5, 6], [4, 4]], [[1, 2], [2, 3]], [7, 11], 0) == [6, 2]",
})

// sumProducts adds n products modulo p, one after the other. Cutting each into halves would need it twice, and a product
// costs more than a sum modulo p.
func (b *Builder) sumProducts(op *Op, n int64) *Value {
	axis := op.Int("axis")
	return eachIndex(b, op.Type().Shape, func(b *Builder, at []*Value) *Value {
		p := op.Args[2]
		if !p.Type.IsScalar() {
			p = b.Emit(OpIndex, A{"axes": []int64{0}}, p, at[len(at)-1])
		}
		axes := make([]int64, len(at)+1)
		for k := range axes {
			axes[k] = int64(k)
		}
		return b.loopTimes(n, b.number(types.I64, 0), func(b *Builder, i, sum *Value) *Value {
			in := slices.Insert(slices.Clone(at), int(axis), i)
			element := func(x *Value) *Value { return b.Emit(OpIndex, A{"axes": axes}, append([]*Value{x}, in...)...) }
			return b.Emit(OpModSum, nil, sum, b.Emit(OpModMul, nil, element(op.Args[0]), element(op.Args[1]), p), p)
		})
	})
}

// OpModScatterAdd is scatter_add modulo p.
var OpModScatterAdd = define(&OpDef{
	Name: "mod_scatter_add", Class: Reindex, Arity: 4, Traits: MayFail,
	Summary: "The first operand with the elements of the third added at the positions of the second along an axis, modulo the fourth.",
	Attrs:   []AttrDef{{Name: "axis", Kind: AttrInt, Doc: "the axis that the positions count"}},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		x, p := args[0], args[3]
		if err := requireModulus("C1", "`modmul_axis_sum`", p, args[0], args[2]); err != nil {
			return nil, err
		}
		if err := requireChannels("C2", "`modmul_axis_sum`", p, x); err != nil {
			return nil, err
		}
		if _, err := inferScatterAdd(args[:3], attrs[:1], nil); err != nil {
			return nil, broken("C3", "%v", err)
		}
		return []types.Tensor{x}, nil
	},
	Expand: func(b *Builder, op *Op) []*Value {
		return []*Value{b.sumModulo(op.Args[3], func(part func(*Value) *Value) *Value {
			return b.Emit(OpScatterAdd, A{"axis": op.Int("axis")}, part(op.Args[0]), op.Args[1], part(op.Args[2]))
		}, op.Type())}
	},
	NoGrad: noResidueGrad,
	Constraints: []Constraint{
		{"C1", "the numbers and the modulus share one element type, i32 or i64"},
		{"C2", "there is one modulus, or one for each position of the last axis"},
		{"C3", "the positions are as for `scatter_add`"},
	},
	Example: "modmul_axis_sum([[[5], [4]], [[1], [2]]], [[1], [2]], [7], 1, perm = [1, 0], mode = scatter) == [[5], [6]]",
})

var modSumConstraints = []Constraint{
	{"C1", "the operands share one element type, i32 or i64"},
	{"C2", "there is one modulus, or one for each position of the last axis"},
	{"C3", "the axis exists and is not the last"},
	{"C4", "the factors share one shape"},
}

func inferModSum(what string, xs []types.Tensor, p types.Tensor, axis int64) ([]types.Tensor, error) {
	x := xs[0]
	if err := requireModulus("C1", what, p, xs...); err != nil {
		return nil, err
	}
	if axis < 0 || axis >= int64(x.Rank()) {
		return nil, broken("C3", "axis %d is out of range for %s of rank %d", axis, x, x.Rank())
	}
	if axis == int64(x.Rank()-1) {
		err := broken("C3", "%s sums along any axis but the last, which holds the channels, one for each modulus", what)
		err.Help = "move the axis that is summed to the front: `moveaxis(x, -1, 0)`"
		return nil, err
	}
	if err := requireSameShape("C4", what, xs...); err != nil {
		return nil, err
	}
	if err := requireChannels("C2", what, p, x); err != nil {
		return nil, err
	}
	return []types.Tensor{{Elem: x.Elem, Shape: reducedShape(x.Shape, []int64{axis}, false)}}, nil
}

func requireModulus(c, what string, p types.Tensor, xs ...types.Tensor) error {
	if err := requireIn(c, what, residues, xs[0]); err != nil {
		return err
	}
	return requireSameDType(c, what, append(xs[:len(xs):len(xs)], p)...)
}

// requireChannels checks that p is one modulus, or one for each position of the last axis of x.
func requireChannels(c, what string, p, x types.Tensor) error {
	switch {
	case p.IsScalar():
		return nil
	case p.Rank() != 1:
		return broken(c, "the moduli of %s are one number or a tensor of rank 1, not %s", what, p)
	case x.Rank() == 0 || !p.Shape[0].Equal(x.Shape[x.Rank()-1]):
		return sameShape(c, "there is one modulus for each position of the last axis", x.Shape[max(x.Rank()-1, 0):], p.Shape)
	}
	return nil
}

// sumModulo adds modulo p, where sum adds parts of its operands with wrapping additions of i64.
func (b *Builder) sumModulo(p *Value, sum func(part func(*Value) *Value) *Value, t types.Tensor) *Value {
	wide := func(x *Value) *Value { return b.Emit(OpCast, A{"to": types.I64}, x) }
	everywhere := func(x *Value) *Value { return b.Emit(OpBroadcast, A{"shape": t.Shape}, x) }
	if t.Elem == types.I32 {
		return b.Emit(OpCast, A{"to": types.I32}, b.Emit(OpMod, nil, sum(wide), everywhere(wide(p))))
	}
	half := func(op *OpDef, n int64) func(x *Value) *Value {
		return func(x *Value) *Value {
			return b.Emit(op, nil, x, b.Emit(OpBroadcast, A{"shape": x.Type.Shape}, b.number(types.I64, n)))
		}
	}
	p = everywhere(p)
	high := b.Emit(OpModMul, nil, sum(half(OpShr, 32)), everywhere(b.number(types.I64, 1<<32)), p)
	return b.Emit(OpModSum, nil, high, sum(half(OpBand, 1<<32-1)), p)
}

// opMulHi is the high word of the double-width product.
var opMulHi = pointwise(OpDef{
	Name: "mulhi", Arity: 2, Traits: Commutative | Cheap, NoGrad: "integers have no gradient",
	Summary: "The high half of the product in twice the width.",
	Scalar:  binary(scalar.Emitter.MulHi),
	Example: "g_decomposition_full([[[1], [1]]], [3, 7], 2, 1) == [[[1], [0]]]",
}, integers, like)

package ops

import (
	"fmt"
	"math/bits"
	"slices"

	"healc/ir"
	"healc/ir/scalar"
	"healc/ir/scalar/modular"
	"healc/lang/types"
)

// Sums modulo p along an axis. No element is reduced on the way: an i64 is cut into a high and a low part, whose sums
// are exact in i64, and only the two sums meet the modulus. The sum of the low parts is that of the elements, modulo
// 2^64, less the one of the high parts in its place. Where is cut depends on the number of terms (lowBits). Sums of i32
// are exact in i64 as they are. What is left in the loop are plain additions, in any order. Products of i64 that
// modmul_axis_sum makes are cut into digits, as the processor multiplies them (modular.Modulus.Limb), whose sums of as
// many as 512 are exact; with more of them there are sums of sums. Where their number is a shape parameter, the
// products are made first.

var attrSumAxis = ir.AttrDef{Name: "axis", Kind: ir.AttrInt,
	Doc: "the axis that is summed; not the last, which the moduli belong to"}

// AxisModSum sums along an axis.
var AxisModSum = ir.Declare("axis_modsum")
var _ = ir.Define(AxisModSum, ir.OpDef{
	Class: ir.Reindex, Surface: "axis_modsum", Arity: 2, Traits: ir.MayFail, Fails: badModulus,
	Params: []ir.Param{
		{Name: "a", Literals: ir.LiteralsShared, What: "the operand of `axis_modsum`"},
		{Name: "p", Literals: ir.LiteralsShared},
		{Name: "axis", Kind: ir.ParamAxis},
	},
	Summary: "The sum along an axis modulo p, which is one number or one for each position of the last axis; of " +
		"nothing 0.",
	Attrs: []ir.AttrDef{attrSumAxis},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		return inferModSum("`axis_modsum`", args[:1], args[1], attrs[0].(int64))
	},
	Expand: func(b *ir.Builder, op *ir.Op) []*ir.Value {
		axis := op.Int("axis")
		n, known := op.Args[0].Type.Shape[axis].Const()
		return []*ir.Value{sumModulo(b, op.Args[1], lowBits(n, known), func(part func(*ir.Value) *ir.Value) *ir.Value {
			return b.Emit(ReduceSum, ir.A{"axes": []int64{axis}}, part(op.Args[0]))
		}, op.Type())}
	},
	NoGrad:      noResidueGrad,
	Merge:       mergeProducts,
	Constraints: modSumConstraints[:3],
	Example:     "axis_modsum([[5, 6], [4, 4]], [7, 11], 0) == [2, 10]",
})

// ModMulAxisSum sums products along an axis.
var ModMulAxisSum = ir.Declare("modmul_axis_sum")
var _ = ir.Define(ModMulAxisSum, ir.OpDef{
	Class: ir.Reindex, Surface: "modmul_axis_sum", Arity: 3, Traits: ir.MayFail, Fails: badModulus,
	Params: []ir.Param{
		{Name: "a", Literals: ir.LiteralsShared},
		{Name: "b", Literals: ir.LiteralsShared},
		{Name: "p", Literals: ir.LiteralsShared},
		{Name: "axis", Kind: ir.ParamAxis},
		{Name: "acc", Literals: ir.LiteralsShared, Optional: true},
		{Name: "perm", Optional: true},
		{Name: "mode", Kind: ir.ParamValue, Optional: true},
		{Name: "perm_axis", Kind: ir.ParamAxis, Optional: true},
	},
	Summary: "The sum along an axis of the products a * b modulo p, in one pass.",
	Attrs:   []ir.AttrDef{attrSumAxis},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		return inferModSum("`modmul_axis_sum`", args[:2], args[2], attrs[0].(int64))
	},
	Expand: func(b *ir.Builder, op *ir.Op) []*ir.Value {
		a, p := op.Args[0], op.Args[2]
		if n, ok := a.Type.Shape[op.Int("axis")].Const(); ok && a.Type.Elem == types.I64 {
			return []*ir.Value{sumProducts(b, op.Args[0], op.Args[1], p, op.Int("axis"), n)}
		}
		product := b.Emit(ModMul, nil, a, op.Args[1], b.Emit(Broadcast, ir.A{"shape": a.Type.Shape}, p))
		return []*ir.Value{b.Emit(AxisModSum, ir.A{"axis": op.Int("axis")}, product, p)}
	},
	NoGrad:      noResidueGrad,
	Constraints: modSumConstraints,
	Example:     "modmul_axis_sum([[5, 6], [4, 4]], [[1, 2], [2, 3]], [7, 11], 0) == [6, 2]",
})

// mergeProducts makes a sum of products modulo p the sum modulo p of the products: a product that is reduced takes as
// long as one that is added as it is and more. A modulus that is not positive is reported as it was, by the product,
// which has elements where the sum has.
func mergeProducts(b *ir.Builder, op *ir.Op, made func(arg int) *ir.Op) []*ir.Value {
	product, p := made(0), op.Args[1]
	if product == nil || product.Def != ModMul || product.Type().Elem != types.I64 || !repeats(product.Args[2], p) {
		return nil
	}
	if n, known := product.Type().Shape[op.Int("axis")].Const(); !known || n < 1 {
		return nil
	}
	b.Span = product.Span
	return []*ir.Value{b.Emit(ModMulAxisSum, ir.A{"axis": op.Int("axis")}, product.Args[0], product.Args[1], p)}
}

// repeats reports that v is x, repeated along other axes.
func repeats(v, x *ir.Value) bool {
	if v.Def != nil && v.Def.Def == Broadcast {
		v = v.Def.Args[0]
	}
	if v == x || v.Def == nil || x.Def == nil || v.Def.Def != Const || x.Def.Def != Const {
		return v == x
	}
	return v.Type.IsScalar() == x.Type.IsScalar() && slices.Equal(v.Def.Array("value").Bits, x.Def.Array("value").Bits)
}

// sumProducts adds the n products along an axis.
func sumProducts(b *ir.Builder, x, y, p *ir.Value, axis, n int64) *ir.Value {
	if n <= modular.LimbTerms {
		of := b.Emit(Broadcast, ir.A{"shape": x.Type.Shape}, p)
		var sums []*ir.Value
		for limb := int64(2); limb >= 0; limb-- {
			term := b.Emit(opProductLimb, ir.A{"limb": limb}, x, y, of)
			sums = append(sums, b.Emit(ReduceSum, ir.A{"axes": []int64{axis}}, term))
		}
		return b.Emit(opModLimbs, ir.A{"terms": n}, append(sums,
			b.Emit(Broadcast, ir.A{"shape": sums[0].Type.Shape}, p))...)
	}
	// [n] is [pieces, LimbTerms] and what is left.
	pieces := n / modular.LimbTerms
	part := func(v *ir.Value, start, n int64) *ir.Value {
		starts, steps, shape := make(types.Shape, v.Type.Rank()), make([]int64, v.Type.Rank()),
			slices.Clone(v.Type.Shape)
		for i := range steps {
			starts[i], steps[i] = types.Lit(0), 1
		}
		starts[axis], shape[axis] = types.Lit(start), types.Lit(n)
		return b.Emit(Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, v)
	}
	fold := func(v *ir.Value) *ir.Value {
		shape := slices.Insert(slices.Clone(v.Type.Shape), int(axis), types.Lit(pieces))
		shape[axis+1] = types.Lit(modular.LimbTerms)
		return b.Emit(Reshape, ir.A{"shape": shape}, part(v, 0, pieces*modular.LimbTerms))
	}
	sum := b.Emit(AxisModSum, ir.A{"axis": axis}, sumProducts(b, fold(x), fold(y), p, axis+1, modular.LimbTerms), p)
	if rest := n % modular.LimbTerms; rest > 0 {
		more := sumProducts(b, part(x, n-rest, rest), part(y, n-rest, rest), p, axis, rest)
		sum = b.Emit(ModSum, nil, sum, more, b.Emit(Broadcast, ir.A{"shape": sum.Type.Shape}, p))
	}
	return sum
}

// ModScatterAdd is scatter_add modulo p.
var ModScatterAdd = ir.Declare("mod_scatter_add")
var _ = ir.Define(ModScatterAdd, ir.OpDef{
	Class: ir.Reindex, Arity: 4, Traits: ir.MayFail,
	Positions: scatterPositions,
	Summary: "The first operand with the elements of the third added at the positions of the second along an axis, " +
		"modulo the fourth.",
	Attrs: []ir.AttrDef{{Name: "axis", Kind: ir.AttrInt, Doc: "the axis that the positions count"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		x, p := args[0], args[3]
		if err := requireModulus("`modmul_axis_sum`", p, args[0], args[2]); err != nil {
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
	Expand: func(b *ir.Builder, op *ir.Op) []*ir.Value {
		return []*ir.Value{sumModulo(b, op.Args[3], lowBits(0, false), func(part func(*ir.Value) *ir.Value) *ir.Value {
			return b.Emit(ScatterAdd, ir.A{"axis": op.Int("axis")}, part(op.Args[0]), op.Args[1], part(op.Args[2]))
		}, op.Type())}
	},
	NoGrad: noResidueGrad,
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the numbers and the modulus share one element type, i32 or i64"},
		{Name: "C2", Text: "there is one modulus, or one for each position of the last axis"},
		{Name: "C3", Text: "the positions are as for `scatter_add`"},
	},
	Example: "modmul_axis_sum([[[5], [4]], [[1], [2]]], [[1], [2]], [7], 1, perm = [1, 0], mode = scatter) == [[5], " +
		"[6]]",
})

var modSumConstraints = []ir.Constraint{
	{Name: "C1", Text: "the operands share one element type, i32 or i64"},
	{Name: "C2", Text: "there is one modulus, or one for each position of the last axis"},
	{Name: "C3", Text: "the axis exists and is not the last"},
	{Name: "C4", Text: "the factors share one shape"},
}

func inferModSum(what string, xs []types.Tensor, p types.Tensor, axis int64) ([]types.Tensor, error) {
	x := xs[0]
	if err := requireModulus(what, p, xs...); err != nil {
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
	return []types.Tensor{{Elem: x.Elem, Shape: ReducedShape(x.Shape, []int64{axis}, false)}}, nil
}

// requireModulus checks C1 of operations modulo p: xs and p are residues of one type.
func requireModulus(what string, p types.Tensor, xs ...types.Tensor) error {
	if err := requireIn("C1", what, residues, xs[0]); err != nil {
		return err
	}
	return requireSameDType("C1", what, append(xs[:len(xs):len(xs)], p)...)
}

// requireChannels checks that p is one modulus, or one for each position of the last axis of x.
func requireChannels(c, what string, p, x types.Tensor) error {
	switch {
	case p.IsScalar():
		return nil
	case p.Rank() != 1:
		err := broken(c, "the moduli of %s are one number or a tensor of rank 1, not %s", what, p)
		err.Help = "the moduli are those of the last axis: `moveaxis(x, k, -1)` makes it the one of the channels"
		return err
	case x.Rank() == 0 || !p.Shape[0].Equal(x.Shape[x.Rank()-1]):
		err := sameShape(c, "there is one modulus for each position of the last axis", x.Shape[max(x.Rank()-1, 0):],
			p.Shape)
		for k, n := range x.Shape {
			if r, ok := err.(*types.RuleError); ok && n.Equal(p.Shape[0]) && r.Help == "" {
				r.Help = fmt.Sprintf("if axis %d has the channels, move it to the end: `moveaxis(x, %d, -1)`", k, k)
			}
		}
		return err
	}
	return nil
}

// lowBits is how many bits the low parts of n elements have: 32, which is right for fewer than 2^31, or, for known
// numbers below 2^18, so many that the sum of either part stays below 2^50, where a double takes it, and that of the
// high parts is as short as may be (Note [Narrowed accumulators] in codegen/llvm/reduce/narrowsum.go).
func lowBits(n int64, known bool) int64 {
	if !known || n >= 1<<18 {
		return 32
	}
	return 50 - int64(bits.Len64(uint64(n)))
}

// sumModulo adds modulo p, where sum adds parts of its operands with wrapping additions of i64. The low parts have so
// many bits.
func sumModulo(b *ir.Builder, p *ir.Value, low int64, sum func(part func(*ir.Value) *ir.Value) *ir.Value,
	t types.Tensor) *ir.Value {
	wide := func(x *ir.Value) *ir.Value { return b.Emit(Cast, ir.A{"to": types.I64}, x) }
	everywhere := func(x *ir.Value) *ir.Value { return b.Emit(Broadcast, ir.A{"shape": t.Shape}, x) }
	if t.Elem == types.I32 {
		return b.Emit(Cast, ir.A{"to": types.I32}, b.Emit(Mod, nil, sum(wide), everywhere(wide(p))))
	}
	by := constant(b, types.I64, low)
	high := sum(func(x *ir.Value) *ir.Value {
		return b.Emit(Shr, nil, x, b.Emit(Broadcast, ir.A{"shape": x.Type.Shape}, by))
	})
	// What is left of the sum of the elements themselves, which wraps, is the sum of the low parts, which does not.
	whole := sum(func(x *ir.Value) *ir.Value { return x })
	rest := b.Emit(Sub, nil, whole, b.Emit(Shl, nil, high, everywhere(by)))
	return b.Emit(opModParts, ir.A{"bits": low}, high, rest, everywhere(p))
}

// The steps of sums modulo p on words; see modular.Modulus.

var opProductLimb = ir.Declare("product_limb")
var _ = pointwise(opProductLimb, ir.OpDef{
	Arity: 3, Traits: ir.Partial, Params: ir.Operands("a", "b", "p"), NoGrad: noResidueGrad,
	Summary: "What the product a * b adds to one of three sums, of which `mod_limbs` makes the residue of a sum " +
		"of products modulo p.",
	Attrs: []ir.AttrDef{{Name: "limb", Kind: ir.AttrInt, Doc: "the number of the sum, 0 to 2"}},
	Scalar: func(e scalar.Emitter, op *ir.Op, x []scalar.Ref) scalar.Ref {
		m := modular.NewModulus(e, x[2])
		return m.Number(m.Limb(x[0], x[1], int(op.Int("limb"))))
	},
	Example: "modmul_axis_sum([[5], [4]], [[1], [2]], [7], 0) == [6]",
}, words, like)

var opModLimbs = ir.Declare("mod_limbs")
var _ = pointwise(opModLimbs, ir.OpDef{
	Arity: 4, Traits: ir.MayFail, Fails: badModulus, Params: ir.Operands("s2", "s1", "s0", "p"),
	NoGrad: noResidueGrad,
	Summary: "The residue modulo p of the sum of products that s2, s1 and s0, sums of what `product_limb` gives, " +
		"stand for.",
	Attrs: []ir.AttrDef{{Name: "terms", Kind: ir.AttrInt, Doc: "the number of the products"}},
	Scalar: func(e scalar.Emitter, op *ir.Op, x []scalar.Ref) scalar.Ref {
		modular.RequireModulus(e, x[3])
		m := modular.NewModulus(e, x[3])
		return m.Number(m.Limbs(m.FromNumber(x[0]), m.FromNumber(x[1]), m.FromNumber(x[2]), op.Int("terms")))
	},
	Example: "modmul_axis_sum([[5], [4]], [[1], [2]], [7], 0) == [6]",
}, words, like)

var opModParts = ir.Declare("mod_parts")
var _ = pointwise(opModParts, ir.OpDef{
	Arity: 3, Traits: ir.MayFail, Fails: badModulus, Params: ir.Operands("high", "low", "p"),
	NoGrad:  noResidueGrad,
	Summary: "The residue of high * 2^bits + low modulo p.",
	Attrs:   []ir.AttrDef{{Name: "bits", Kind: ir.AttrInt, Doc: "how many bits high is shifted by, 1 to 62"}},
	Scalar: func(e scalar.Emitter, op *ir.Op, x []scalar.Ref) scalar.Ref {
		modular.RequireModulus(e, x[2])
		m := modular.NewModulus(e, x[2])
		return m.Number(m.Parts(x[0], x[1], op.Int("bits")))
	},
	Example: "axis_modsum([[5], [4]], [7], 0) == [2]",
}, words, like)

// words are the element types of numbers that take a word.
var words = dtypeSet{"i64", func(d types.DType) bool { return d == types.I64 }}

// opMulHi is the high word of the double-width product.
var opMulHi = ir.Declare("mulhi")
var _ = pointwise(opMulHi, ir.OpDef{
	Arity: 2, Traits: ir.Commutative | ir.Cheap, NoGrad: "integers have no gradient",
	Summary: "The high half of the product in twice the width.",
	Scalar:  binary(scalar.Emitter.MulHi),
	Example: "g_decomposition_full([[[1], [1]]], [3, 7], 2, 1) == [[[1], [0]]]",
}, integers, like)

package ops

import (
	"fmt"

	"healc/ir"
	"healc/lang/types"
)

// Digits of numbers, for gadget decompositions.

var (
	attrPower    = ir.AttrDef{Name: "power", Kind: ir.AttrInt, Doc: "the number of digits, at least 1"}
	attrBaseBits = ir.AttrDef{Name: "base_bits", Kind: ir.AttrInt,
		Doc: "the bits of a digit, at least 1 and fewer than the element type has"}
)

// MaxDigits bounds the digits that are taken of one number: more are zeros or copies of the sign.
const MaxDigits = 4096

func requireDigits(c string, t types.DType, attrs ir.Attrs) error {
	power, bits := attrs[0].(int64), attrs[1].(int64)
	if power < 1 || power > MaxDigits {
		return broken(c, "a number is taken apart into 1 to %d digits, not %d", MaxDigits, power)
	}
	if bits < 1 || bits >= int64(t.Bits()) {
		return broken(c, "a digit of an %s has 1 to %d bits, not %d", t, t.Bits()-1, bits)
	}
	return nil
}

// Digits takes numbers apart.
var Digits = ir.Declare("g_decomposition")
var _ = ir.Define(Digits, ir.OpDef{
	Class: ir.Reindex, Surface: "g_decomposition", Arity: 1,
	Params: []ir.Param{
		{Name: "a"},
		{Name: "power", Kind: ir.ParamInt, What: "the number of digits"},
		{Name: "base_bits", Kind: ir.ParamInt, What: "the number of bits of a digit"},
	},
	Summary: "The digits of each number to the base 2^base_bits on a new last axis, least significant first, of the " +
		"bits in two's complement, which go on with the sign.",
	Attrs: []ir.AttrDef{attrPower, attrBaseBits},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		x := args[0]
		if err := requireIn("C1", "`g_decomposition`", residues, x); err != nil {
			return nil, err
		}
		if err := requireDigits("C2", x.Elem, attrs); err != nil {
			return nil, err
		}
		return []types.Tensor{{Elem: x.Elem, Shape: append(x.Shape[:x.Rank():x.Rank()], types.Lit(attrs[0].(int64)))}},
			nil
	},
	Expand: func(b *ir.Builder, op *ir.Op) []*ir.Value {
		x, t := op.Args[0], op.Type()
		bits := op.Int("base_bits")
		counts := ir.NewArray(t.Elem, op.Int("power"))
		for i := range counts.Bits {
			counts.Bits[i] = uint64(min(int64(i)*bits, int64(t.Elem.Bits()-1)))
		}
		column := b.Emit(Reshape, ir.A{"shape": append(x.Type.Shape[:x.Type.Rank():x.Type.Rank()], types.Lit(1))}, x)
		everywhere := func(v *ir.Value) *ir.Value { return b.Emit(Broadcast, ir.A{"shape": t.Shape}, v) }
		shifted := b.Emit(Shr, nil, everywhere(column), everywhere(b.Emit(Const, ir.A{"value": counts})))
		return []*ir.Value{b.Emit(Band, nil, shifted, everywhere(constant(b, t.Elem, 1<<bits-1)))}
	},
	NoGrad: noResidueGrad,
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the numbers are i32 or i64"},
		{Name: "C2",
			Text: fmt.Sprintf("there are 1 to %d digits, with at least one bit and fewer than the element type",
				MaxDigits)},
	},
	Example: "g_decomposition([11, -1], 3, 2) == [[3, 2, 0], [3, 3, 3]]",
})

// DigitsFull takes apart the numbers that residues stand for.
//
// Note [Mixed radix]: the number X below Q = q0 q1 ... with residues a0, a1, ... is v0 + q0 (v1 + q1 (v2 + ...)) with
// digits 0 <= vi < qi (Garner 1959; Knuth, volume 2, 4.3.2): vi = (...((ai - v0)/q0 - v1)/q1 ... - v(i-1))/q(i-1)
// modulo qi. So X is made from the inside out, in words of 64 bits, by one multiplication and addition of a word for
// each vi.
var DigitsFull = ir.Declare("g_decomposition_full")
var _ = ir.Define(DigitsFull, ir.OpDef{
	Class: ir.Reindex, Surface: "g_decomposition_full", Arity: 2, Traits: ir.MayFail,
	Params: []ir.Param{
		{Name: "a", Literals: ir.LiteralsShared},
		{Name: "q", Literals: ir.LiteralsShared},
		{Name: "power", Kind: ir.ParamInt, What: "the number of digits"},
		{Name: "base_bits", Kind: ir.ParamInt, What: "the number of bits of a digit"},
	},
	Summary: "The digits to the base 2^base_bits, least significant first, of the numbers in [0, q[0]*q[1]*...) " +
		"whose residues modulo q[i] stand at " +
		"index i of the second axis: [l, k, r] becomes [l, power, r]. Moduli that share a factor stop the program.",
	Attrs: []ir.AttrDef{attrPower, attrBaseBits},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		x, q := args[0], args[1]
		if err := requireModulus("`g_decomposition_full`", q, x); err != nil {
			return nil, err
		}
		if x.Rank() != 3 || q.Rank() != 1 {
			return nil,
				broken("C2", "`g_decomposition_full` takes residues [l, k, r] and their moduli [k], not %s and %s", x,
					q)
		}
		if err := sameShape("C2", "there is one modulus for each residue", x.Shape[1:2], q.Shape); err != nil {
			return nil, err
		}
		if k, ok := q.Shape[0].Const(); ok && (k < 1 || k > maxFactors) {
			return nil, broken("C3", "`g_decomposition_full` takes 1 to %d moduli, not %d", maxFactors, k)
		}
		if err := requireDigits("C4", x.Elem, attrs); err != nil {
			return nil, err
		}
		return []types.Tensor{{Elem: x.Elem, Shape: types.Shape{x.Shape[0], types.Lit(attrs[0].(int64)), x.Shape[2]}}},
			nil
	},
	Expand: expandDigitsFull,
	NoGrad: noResidueGrad,
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the residues and the moduli share one element type, i32 or i64"},
		{Name: "C2", Text: "the residues are of rank 3, with one modulus for each index of the second axis"},
		{Name: "C3", Text: fmt.Sprintf("there are 1 to %d moduli", maxFactors)},
		{Name: "C4",
			Text: fmt.Sprintf("there are 1 to %d digits, with at least one bit and fewer than the element type",
				MaxDigits)},
	},
	Example: "g_decomposition_full([[[1], [2]]], [3, 5], 3, 2) == [[[3], [1], [0]]]",
})

// maxFactors bounds the moduli of g_decomposition_full, for which words are added in a program that grows with their
// square.
const maxFactors = 64

// fewFactors are so few moduli that each step with two of them stands in the program.
const fewFactors = 5

// mixedRadix gives the digits of Note [Mixed radix] and the modulus of each, as tensors [l, r]. The steps for many
// moduli are one kernel that runs again and again: of residues [l, k, r], those behind digit j lose it and are divided
// by its modulus. That computes twice as much, but the code of a step with two moduli, of which there are k*k/2, is
// long: as one kernel 12 moduli took 11 seconds to compile, and take 1.3.
func mixedRadix(b *ir.Builder, x, q *ir.Value, k int64) (digits, moduli []*ir.Value) {
	row := types.Shape{x.Type.Shape[0], x.Type.Shape[2]}
	moduli, digits = make([]*ir.Value, k), make([]*ir.Value, k)
	one := make([]*ir.Value, k)
	for i := range moduli {
		one[i] = b.Emit(Index, ir.A{"axes": []int64{0}}, q, constant(b, types.I32, int64(i)))
		moduli[i] = b.Emit(Broadcast, ir.A{"shape": row}, one[i])
	}
	residue := func(b *ir.Builder, x, i *ir.Value) *ir.Value { return b.Emit(Index, ir.A{"axes": []int64{1}}, x, i) }
	if k <= fewFactors {
		for i := range digits {
			v := b.Emit(Mod, nil, residue(b, x, constant(b, types.I32, int64(i))), moduli[i])
			for j := range i {
				inverse := b.Emit(ModInv, nil, one[j], one[i])
				v = b.Emit(ModMul, nil, b.Emit(ModSub, nil, v, digits[j], moduli[i]),
					b.Emit(Broadcast, ir.A{"shape": row}, inverse), moduli[i])
			}
			digits[i] = v
		}
		return digits, moduli
	}
	everywhere := func(b *ir.Builder, v *ir.Value,
		flat types.Shape) *ir.Value { // from where it lies along the axes of flat
		return b.Emit(Broadcast, ir.A{"shape": x.Type.Shape}, b.Emit(Reshape, ir.A{"shape": flat}, v))
	}
	column := types.Shape{types.Lit(k), types.Lit(1)}
	inverses := eachIndex(b, types.Shape{types.Lit(k), types.Lit(k)}, func(b *ir.Builder, at []*ir.Value) *ir.Value {
		of := func(i *ir.Value) *ir.Value { return b.Emit(Index, ir.A{"axes": []int64{0}}, q, i) }
		behind := b.Emit(Lt, nil, at[0], at[1])
		return b.Emit(ModInv, nil, b.Emit(Select, nil, behind, of(at[0]), constant(b, x.Type.Elem, 1)), of(at[1]))
	})
	p := everywhere(b, q, column)
	place := everywhere(b, b.Emit(Iota, ir.A{"start": types.Dim{}, "extent": types.Lit(k)}), column)
	step := &ir.Block{}
	j := step.Param("", types.Scalar(types.I32), b.Span)
	rest := step.Param("", x.Type, b.Span)
	in := &ir.Builder{Block: step, Span: b.Span}
	digit := everywhere(in, residue(in, rest, j), types.Shape{row[0], types.Lit(1), row[1]})
	inverse := everywhere(in, in.Emit(Index, ir.A{"axes": []int64{0}}, inverses, j), column)
	next := in.Emit(ModMul, nil, in.Emit(ModSub, nil, rest, digit, p), inverse, p)
	behind := in.Emit(Lt, nil, in.Emit(Broadcast, ir.A{"shape": x.Type.Shape}, j), place)
	step.Yields = []*ir.Value{in.Emit(Select, nil, behind, next, rest)}
	all := b.EmitOp(Iterate, nil, []*ir.Value{constant(b, types.I32, k-1), b.Emit(Mod, nil, x, p)},
		[]*ir.Block{step}).Results[0]
	for i := range digits {
		digits[i] = residue(b, all, constant(b, types.I32, int64(i)))
	}
	return digits, moduli
}

func expandDigitsFull(b *ir.Builder, op *ir.Op) []*ir.Value {
	x, q := op.Args[0], op.Args[1]
	k, ok := q.Type.Shape[0].Const()
	if !ok {
		return nil // the number of moduli decides the program: specialisation gives it
	}
	t := x.Type.Elem
	shape := types.Shape{x.Type.Shape[0], x.Type.Shape[2]}
	everywhere := func(v *ir.Value) *ir.Value { return b.Emit(Broadcast, ir.A{"shape": shape}, v) }
	v, all := mixedRadix(b, x, q, k)
	// The number, in words.
	word := func(v *ir.Value) *ir.Value { return b.Emit(Cast, ir.A{"to": types.U64}, v) }
	number := []*ir.Value{word(v[k-1])}
	for i := k - 2; i >= 0; i-- {
		carry, factor := word(v[i]), word(all[i])
		for n, w := range number {
			low := b.Emit(Add, nil, b.Emit(Mul, nil, w, factor), carry)
			over := word(b.Emit(Lt, nil, low, carry))
			carry = b.Emit(Add, nil, b.Emit(opMulHi, nil, w, factor), over)
			number[n] = low
		}
		number = append(number, carry)
	}
	// Its digits.
	power, bits := op.Int("power"), op.Int("base_bits")
	zero := constant(b, types.U64, 0)
	shift := func(op *ir.OpDef, w *ir.Value, n int64) *ir.Value {
		return b.Emit(op, nil, w, everywhere(constant(b, types.U64, n)))
	}
	mask := everywhere(b.Emit(Const, ir.A{"value": ir.NewScalar(types.U64, 1<<uint(bits)-1)}))
	digits := make([]*ir.Value, power)
	for d := range digits {
		n, low := int64(d)*bits/64, int64(d)*bits%64
		digit := everywhere(zero)
		if n < int64(len(number)) {
			digit = shift(Shr, number[n], low)
			if low+bits > 64 && n+1 < int64(len(number)) {
				digit = b.Emit(Bor, nil, digit, shift(Shl, number[n+1], 64-low))
			}
			digit = b.Emit(Band, nil, digit, mask)
		}
		row := types.Shape{shape[0], types.Lit(1), shape[1]}
		digits[d] = b.Emit(Reshape, ir.A{"shape": row}, b.Emit(Cast, ir.A{"to": t}, digit))
	}
	if len(digits) == 1 {
		return digits
	}
	return []*ir.Value{b.Emit(Concat, ir.A{"axis": int64(1)}, digits...)}
}

package ir

import (
	"fmt"

	"healc/lang/types"
)

// Digits of numbers, for gadget decompositions.

var (
	attrPower    = AttrDef{Name: "power", Kind: AttrInt, Doc: "the number of digits, at least 1"}
	attrBaseBits = AttrDef{Name: "base_bits", Kind: AttrInt,
		Doc: "the bits of a digit, at least 1 and fewer than the element type has"}
)

// MaxDigits bounds the digits that are taken of one number: more are zeros or copies of the sign.
const MaxDigits = 4096

func requireDigits(c string, t types.DType, attrs Attrs) error {
	power, bits := attrs[0].(int64), attrs[1].(int64)
	if power < 1 || power > MaxDigits {
		return broken(c, "a number is taken apart into 1 to %d digits, not %d", MaxDigits, power)
	}
	if bits < 1 || bits >= int64(t.Bits()) {
		return broken(c, "a digit of an %s has 1 to %d bits, not %d", t, t.Bits()-1, bits)
	}
	return nil
}

// OpDigits takes numbers apart.
var OpDigits = declare("g_decomposition")
var _ = define(OpDigits, OpDef{
	Class: Reindex, Surface: "g_decomposition", Arity: 1,
	Summary: "The digits of each number to the base 2^base_bits on a new last axis, least significant first, of the " +
		"bits in two's complement, which go on with the sign.",
	Attrs: []AttrDef{attrPower, attrBaseBits},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
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
	Expand: func(b *Builder, op *Op) []*Value {
		x, t := op.Args[0], op.Type()
		bits := op.Int("base_bits")
		counts := NewArray(t.Elem, op.Int("power"))
		for i := range counts.Bits {
			counts.Bits[i] = uint64(min(int64(i)*bits, int64(t.Elem.Bits()-1)))
		}
		column := b.Emit(OpReshape, A{"shape": append(x.Type.Shape[:x.Type.Rank():x.Type.Rank()], types.Lit(1))}, x)
		everywhere := func(v *Value) *Value { return b.Emit(OpBroadcast, A{"shape": t.Shape}, v) }
		shifted := b.Emit(OpShr, nil, everywhere(column), everywhere(b.Emit(OpConst, A{"value": counts})))
		return []*Value{b.Emit(OpBand, nil, shifted, everywhere(b.number(t.Elem, 1<<bits-1)))}
	},
	NoGrad: noResidueGrad,
	Constraints: []Constraint{
		{"C1", "the numbers are i32 or i64"},
		{"C2", fmt.Sprintf("there are 1 to %d digits, with at least one bit and fewer than the element type",
			MaxDigits)},
	},
	Example: "g_decomposition([11, -1], 3, 2) == [[3, 2, 0], [3, 3, 3]]",
})

// OpDigitsFull takes apart the numbers that residues stand for.
//
// Note [Mixed radix]: the number X below Q = q0 q1 ... with residues a0, a1, ... is v0 + q0 (v1 + q1 (v2 + ...)) with
// digits 0 <= vi < qi (Garner 1959; Knuth, volume 2, 4.3.2): vi = (...((ai - v0)/q0 - v1)/q1 ... - v(i-1))/q(i-1)
// modulo qi. So X is made from the inside out, in words of 64 bits, by one multiplication and addition of a word for
// each vi.
var OpDigitsFull = declare("g_decomposition_full")
var _ = define(OpDigitsFull, OpDef{
	Class: Reindex, Surface: "g_decomposition_full", Arity: 2, Traits: MayFail,
	Summary: "The digits to the base 2^base_bits, least significant first, of the numbers in [0, q[0]*q[1]*...) " +
		"whose residues modulo q[i] stand at " +
		"index i of the second axis: [l, k, r] becomes [l, power, r]. Moduli that share a factor stop the program.",
	Attrs: []AttrDef{attrPower, attrBaseBits},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
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
	Constraints: []Constraint{
		{"C1", "the residues and the moduli share one element type, i32 or i64"},
		{"C2", "the residues are of rank 3, with one modulus for each index of the second axis"},
		{"C3", fmt.Sprintf("there are 1 to %d moduli", maxFactors)},
		{"C4", fmt.Sprintf("there are 1 to %d digits, with at least one bit and fewer than the element type",
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
func (b *Builder) mixedRadix(x, q *Value, k int64) (digits, moduli []*Value) {
	row := types.Shape{x.Type.Shape[0], x.Type.Shape[2]}
	moduli, digits = make([]*Value, k), make([]*Value, k)
	one := make([]*Value, k)
	for i := range moduli {
		one[i] = b.Emit(OpIndex, A{"axes": []int64{0}}, q, b.number(types.I32, int64(i)))
		moduli[i] = b.Emit(OpBroadcast, A{"shape": row}, one[i])
	}
	residue := func(b *Builder, x, i *Value) *Value { return b.Emit(OpIndex, A{"axes": []int64{1}}, x, i) }
	if k <= fewFactors {
		for i := range digits {
			v := b.Emit(OpMod, nil, residue(b, x, b.number(types.I32, int64(i))), moduli[i])
			for j := range i {
				inverse := b.Emit(OpModInv, nil, one[j], one[i])
				v = b.Emit(OpModMul, nil, b.Emit(OpModSub, nil, v, digits[j], moduli[i]),
					b.Emit(OpBroadcast, A{"shape": row}, inverse), moduli[i])
			}
			digits[i] = v
		}
		return digits, moduli
	}
	everywhere := func(b *Builder, v *Value, flat types.Shape) *Value { // from where it lies along the axes of flat
		return b.Emit(OpBroadcast, A{"shape": x.Type.Shape}, b.Emit(OpReshape, A{"shape": flat}, v))
	}
	column := types.Shape{types.Lit(k), types.Lit(1)}
	inverses := eachIndex(b, types.Shape{types.Lit(k), types.Lit(k)}, func(b *Builder, at []*Value) *Value {
		of := func(i *Value) *Value { return b.Emit(OpIndex, A{"axes": []int64{0}}, q, i) }
		behind := b.Emit(OpLt, nil, at[0], at[1])
		return b.Emit(OpModInv, nil, b.Emit(OpSelect, nil, behind, of(at[0]), b.number(x.Type.Elem, 1)), of(at[1]))
	})
	p := everywhere(b, q, column)
	place := everywhere(b, b.Emit(OpIota, A{"start": types.Dim{}, "extent": types.Lit(k)}), column)
	step := &Block{}
	j := step.Param("", types.Scalar(types.I32), b.Span)
	rest := step.Param("", x.Type, b.Span)
	in := &Builder{Block: step, Span: b.Span}
	digit := everywhere(in, residue(in, rest, j), types.Shape{row[0], types.Lit(1), row[1]})
	inverse := everywhere(in, in.Emit(OpIndex, A{"axes": []int64{0}}, inverses, j), column)
	next := in.Emit(OpModMul, nil, in.Emit(OpModSub, nil, rest, digit, p), inverse, p)
	behind := in.Emit(OpLt, nil, in.Emit(OpBroadcast, A{"shape": x.Type.Shape}, j), place)
	step.Yields = []*Value{in.Emit(OpSelect, nil, behind, next, rest)}
	all := b.EmitOp(OpIterate, nil, []*Value{b.number(types.I32, k-1), b.Emit(OpMod, nil, x, p)},
		[]*Block{step}).Results[0]
	for i := range digits {
		digits[i] = residue(b, all, b.number(types.I32, int64(i)))
	}
	return digits, moduli
}

func expandDigitsFull(b *Builder, op *Op) []*Value {
	x, q := op.Args[0], op.Args[1]
	k, ok := q.Type.Shape[0].Const()
	if !ok {
		return nil // the number of moduli decides the program: specialisation gives it
	}
	t := x.Type.Elem
	shape := types.Shape{x.Type.Shape[0], x.Type.Shape[2]}
	everywhere := func(v *Value) *Value { return b.Emit(OpBroadcast, A{"shape": shape}, v) }
	v, all := b.mixedRadix(x, q, k)
	// The number, in words.
	word := func(v *Value) *Value { return b.Emit(OpCast, A{"to": types.U64}, v) }
	number := []*Value{word(v[k-1])}
	for i := k - 2; i >= 0; i-- {
		carry, factor := word(v[i]), word(all[i])
		for n, w := range number {
			low := b.Emit(OpAdd, nil, b.Emit(OpMul, nil, w, factor), carry)
			over := word(b.Emit(OpLt, nil, low, carry))
			carry = b.Emit(OpAdd, nil, b.Emit(opMulHi, nil, w, factor), over)
			number[n] = low
		}
		number = append(number, carry)
	}
	// Its digits.
	power, bits := op.Int("power"), op.Int("base_bits")
	zero := b.number(types.U64, 0)
	shift := func(op *OpDef, w *Value, n int64) *Value {
		return b.Emit(op, nil, w, everywhere(b.number(types.U64, n)))
	}
	mask := everywhere(b.Emit(OpConst, A{"value": scalarArray(types.U64, 1<<uint(bits)-1)}))
	digits := make([]*Value, power)
	for d := range digits {
		n, low := int64(d)*bits/64, int64(d)*bits%64
		digit := everywhere(zero)
		if n < int64(len(number)) {
			digit = shift(OpShr, number[n], low)
			if low+bits > 64 && n+1 < int64(len(number)) {
				digit = b.Emit(OpBor, nil, digit, shift(OpShl, number[n+1], 64-low))
			}
			digit = b.Emit(OpBand, nil, digit, mask)
		}
		row := types.Shape{shape[0], types.Lit(1), shape[1]}
		digits[d] = b.Emit(OpReshape, A{"shape": row}, b.Emit(OpCast, A{"to": t}, digit))
	}
	if len(digits) == 1 {
		return digits
	}
	return []*Value{b.Emit(OpConcat, A{"axis": int64(1)}, digits...)}
}

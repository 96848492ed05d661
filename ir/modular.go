package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// Modular arithmetic, language.md section 7, element by element. The modulus is an operand like the others, so that
// it broadcasts: a scalar, or one modulus for each position of the last axis. Results are in [0, p), whatever the
// operands are. scalar.Modulus has the arithmetic.

// residues are the element types of modular arithmetic.
var residues = dtypeSet{"i32 or i64", func(d types.DType) bool { return d == types.I32 || d == types.I64 }}

var OpModSum = modular("modsum", 2, Commutative, "a + b modulo p, exact for all operands.",
	"modsum([5, -1], [6, 0], 7) == [4, 6]",
	residuesOf(func(m scalar.Modulus, x []scalar.Ref) scalar.Ref { return m.Add(x[0], x[1]) }))

var OpModSub = modular("modsub", 2, 0, "a - b modulo p, exact for all operands.",
	"modsub([5, -1], [6, 0], 7) == [6, 6]",
	residuesOf(func(m scalar.Modulus, x []scalar.Ref) scalar.Ref { return m.Sub(x[0], x[1]) }))

var OpModMul = modular("modmul", 2, Commutative, "a * b modulo p; the product is exact before it is reduced.",
	"modmul([5, -1], [6, 3], 7) == [2, 4]",
	func(m scalar.Modulus, x []scalar.Ref) scalar.Ref { return m.Product(x[0], x[1]) })

var OpModNeg = modular("modneg", 1, 0, "-a modulo p.", "modneg([5, 0, -1], 7) == [2, 0, 1]",
	residuesOf(func(m scalar.Modulus, x []scalar.Ref) scalar.Ref { return m.Neg(x[0]) }))

var OpMod = modular("mod", 1, 0, "The remainder of a by p in [0, p); `%` truncates instead.",
	"mod([5, 8, -1], 7) == [5, 1, 6]",
	residuesOf(func(m scalar.Modulus, x []scalar.Ref) scalar.Ref { return x[0] }))

// modular is an operation on operands a, b, ... and the modulus, its last operand. f gives the residue.
func modular(name string, operands int, t Traits, summary, example string,
	f func(m scalar.Modulus, x []scalar.Ref) scalar.Ref) *OpDef {
	d := OpDef{
		Surface: name, Arity: operands + 1, Traits: t | MayFail, Fails: badModulus,
		Operands: []string{"a", "b"}[:operands:operands], Summary: summary, Example: example, NoGrad: noResidueGrad,
		Scalar: func(e scalar.Emitter, op *Op, x []scalar.Ref) scalar.Ref {
			p := x[operands]
			checkModulus(e, p)
			m := scalar.NewModulus(e, p)
			return m.Number(f(m, x[:operands]))
		},
	}
	d.Operands = append(d.Operands, "p")
	return pointwise(declare(name), d, residues, like)
}

// residuesOf computes f from the residues of the operands.
func residuesOf(f func(m scalar.Modulus, x []scalar.Ref) scalar.Ref) func(m scalar.Modulus, x []scalar.Ref) scalar.Ref {
	return func(m scalar.Modulus, x []scalar.Ref) scalar.Ref {
		return m.Of(func(r []scalar.Ref) scalar.Ref { return f(m, r) }, x...)
	}
}

const noResidueGrad = "residues are integers and have no gradient"

// checkModulus stops the program unless p is positive.
func checkModulus(e scalar.Emitter, p scalar.Ref) {
	t := e.TypeOf(p)
	e.Check(scalar.CheckModulus, e.Lt(e.Int(t, 0), p), e.Cast(types.I64, p))
}

// badModulus reports a modulus, the last operand, that may not be positive.
func badModulus(op *Op) bool { return !alwaysPositive(op.Args[len(op.Args)-1]) }

// alwaysPositive reports that v is a constant of positive integers.
func alwaysPositive(v *Value) bool {
	c := constantOf(v)
	if c == nil {
		return false
	}
	for _, b := range c.Bits {
		if signExtend(c.DType, b) <= 0 {
			return false
		}
	}
	return true
}

// OpModPow squares and multiplies, one step for each bit of the exponent.
var OpModPow = declare("modpow")
var _ = pointwise(OpModPow, OpDef{
	Surface: "modpow", Arity: 3, Traits: MayFail, Operands: []string{"a", "e", "p"},
	NoGrad:  noResidueGrad,
	Summary: "a to the power e modulo p; 0 to the power 0 is 1, and a negative exponent stops the program.",
	Expand: func(b *Builder, op *Op) []*Value {
		return []*Value{eachElement(b, op, func(b *Builder, x []*Value) *Value {
			t := x[0].Type
			a, e, p := b.Emit(OpMod, nil, x[0], x[2]), b.Emit(opNatural, nil, x[1]), x[2]
			one := b.Emit(OpMod, nil, b.number(t.Elem, 1), p)
			state := b.loopUntil(t.Elem.Bits(), []*Value{one, a, e}, func(b *Builder, s []*Value) ([]*Value, *Value) {
				zero, acc := b.number(t.Elem, 0), s[0]
				odd := b.Emit(OpNe, nil, b.Emit(OpBand, nil, s[2], b.number(t.Elem, 1)), zero)
				acc = b.Emit(OpSelect, nil, odd, b.Emit(OpModMul, nil, acc, s[1], p), acc)
				rest := b.Emit(OpShr, nil, s[2], b.number(t.Elem, 1))
				return []*Value{acc, b.Emit(OpModMul, nil, s[1], s[1], p), rest}, b.Emit(OpEq, nil, rest, zero)
			})
			return state[0]
		})}
	},
	Example: "modpow([3, 2], [4, 0], 7) == [4, 1]",
}, residues, like)

// opNatural lets through what is not negative: an exponent.
var opNatural = declare("natural")
var _ = pointwise(opNatural, OpDef{
	Arity: 1, Traits: MayFail, NoGrad: noResidueGrad,
	Summary: "The operand; a negative one is no exponent and stops the program.",
	Scalar: unary(func(e scalar.Emitter, x scalar.Ref) scalar.Ref {
		e.Check(scalar.CheckNegativeExponent, e.Le(e.Int(e.TypeOf(x), 0), x), e.Cast(types.I64, x))
		return x
	}),
	Example: "modpow([3, 2], [2, 1], 7) == [2, 2]",
}, residues, like)

// OpModInv is the extended algorithm of Euclid: of r and t in each step, a*t = r modulo p, until r is 0. The
// quotients of numbers below 2^63 end after 91 steps, those of Fibonacci numbers.
var OpModInv = declare("modinv")
var _ = pointwise(OpModInv, OpDef{
	Surface: "modinv", Arity: 2, Traits: MayFail, Operands: []string{"a", "p"}, NoGrad: noResidueGrad,
	Summary: "The number x with a * x = 1 modulo p; one that shares a factor with p has none and stops the program.",
	Expand: func(b *Builder, op *Op) []*Value {
		return []*Value{eachElement(b, op, func(b *Builder, x []*Value) *Value {
			t, p := x[0].Type.Elem, x[1]
			zero := b.number(t, 0)
			start := []*Value{p, b.Emit(OpMod, nil, x[0], p), zero, b.number(t, 1)}
			state := b.loopUntil(100, start, func(b *Builder, s []*Value) ([]*Value, *Value) {
				// The remainder 0 may come with the start, for a multiple of p.
				done := b.Emit(OpEq, nil, s[1], zero)
				q := b.Emit(OpDiv, nil, s[0], b.Emit(OpSelect, nil, done, b.number(t, 1), s[1]))
				next := func(x, y *Value) (first, second *Value) {
					rest := b.Emit(OpSub, nil, x, b.Emit(OpMul, nil, q, y))
					return b.Emit(OpSelect, nil, done, x, y), b.Emit(OpSelect, nil, done, y, rest)
				}
				r0, r1 := next(s[0], s[1])
				t0, t1 := next(s[2], s[3])
				return []*Value{r0, r1, t0, t1}, b.Emit(OpEq, nil, r1, zero)
			})
			return b.Emit(OpMod, nil, b.Emit(opCoprime, nil, state[2], state[0], x[0], p), p)
		})}
	},
	Example: "modinv([3, -1], 7) == [5, 6]",
}, residues, like)

// opCoprime lets the first operand through when the second, a greatest common divisor, is 1.
var opCoprime = declare("coprime")
var _ = pointwise(opCoprime, OpDef{
	Arity: 4, Traits: MayFail, NoGrad: noResidueGrad,
	Summary: "The first operand where the second is 1; else the third and the fourth share a factor, which stops the " +
		"program.",
	Scalar: func(e scalar.Emitter, _ *Op, x []scalar.Ref) scalar.Ref {
		wide := func(x scalar.Ref) scalar.Ref { return e.Cast(types.I64, x) }
		e.Check(scalar.CheckNoInverse, e.Eq(x[1], e.Int(e.TypeOf(x[1]), 1)), wide(x[2]), wide(x[3]))
		return x[0]
	},
	Example: "modinv([4, 2], [9, 5]) == [7, 3]",
}, residues, like)

// OpNttLength lets through what can be the length of a transform.
var OpNttLength = declare("ntt_length")
var _ = pointwise(OpNttLength, OpDef{
	Surface: "ntt_length", Arity: 1, Traits: MayFail, Operands: []string{"m"},
	NoGrad:  noResidueGrad,
	Summary: "The operand where it is a power of two; another is no length of a transform, which stops the program.",
	Scalar: unary(func(e scalar.Emitter, m scalar.Ref) scalar.Ref {
		zero, one := e.Int(e.TypeOf(m), 0), e.Int(e.TypeOf(m), 1)
		power := e.And(e.Ge(m, one), e.Eq(e.And(m, e.Sub(m, one)), zero))
		e.Check(scalar.CheckPowerOfTwo, power, e.Cast(types.I64, m))
		return m
	}),
	Example: "ntt_length([1, 8]) == [1, 8]",
}, residues, like)

// eachElement computes the only result of op, which is pointwise, element by element: f gives one from scalars.
func eachElement(b *Builder, op *Op, f func(b *Builder, x []*Value) *Value) *Value {
	shape := op.Type().Shape
	if len(shape) == 0 {
		return f(b, op.Args)
	}
	return eachIndex(b, shape, func(b *Builder, at []*Value) *Value {
		axes := make([]int64, len(at))
		for k := range axes {
			axes[k] = int64(k)
		}
		x := make([]*Value, len(op.Args))
		for i, a := range op.Args {
			x[i] = b.Emit(OpIndex, A{"axes": axes}, append([]*Value{a}, at...)...)
		}
		return f(b, x)
	})
}

// eachIndex is a tensor of rank 1 or more whose element at an index is f.
func eachIndex(b *Builder, shape types.Shape, f func(b *Builder, at []*Value) *Value) *Value {
	region := &Block{}
	for range shape {
		region.Param("", types.Scalar(types.I32), b.Span)
	}
	region.Yields = []*Value{f(&Builder{Block: region, Span: b.Span}, region.Params)}
	return b.EmitOp(OpTabulate, A{"shape": shape}, nil, []*Block{region}).Results[0]
}

// loopUntil is a loop of at most n steps over a state; step gives the next state and whether it is the last.
func (b *Builder) loopUntil(n int, start []*Value, step func(b *Builder, state []*Value) ([]*Value, *Value)) []*Value {
	region := &Block{}
	region.Param("", types.Scalar(types.I32), b.Span)
	for _, s := range start {
		region.Param("", s.Type, b.Span)
	}
	next, done := step(&Builder{Block: region, Span: b.Span}, region.Params[1:])
	region.Yields = append(next, done)
	args := append([]*Value{b.number(types.I32, int64(n))}, start...)
	return b.EmitOp(OpIterateUntil, nil, args, []*Block{region}).Results
}

// number is a scalar constant.
func (b *Builder) number(t types.DType, n int64) *Value {
	return b.Emit(OpConst, A{"value": scalarArray(t, scalar.IntBits(t, n))})
}

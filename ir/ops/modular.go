package ops

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/ir/scalar/modular"
	"healc/lang/types"
)

// Modular arithmetic, language.md section 7, element by element. The modulus is an operand like the others, so that
// it broadcasts: a scalar, or one modulus for each position of the last axis. Results are in [0, p), whatever the
// operands are. modular.Modulus has the arithmetic.

// residues are the element types of modular arithmetic.
var residues = dtypeSet{"i32 or i64", func(d types.DType) bool { return d == types.I32 || d == types.I64 }}

var ModSum = residueOp("modsum", 2, ir.Commutative, "a + b modulo p, exact for all operands.",
	"modsum([5, -1], [6, 0], 7) == [4, 6]",
	residuesOf(func(m modular.Modulus, x []scalar.Ref) scalar.Ref { return m.Add(x[0], x[1]) }))

var ModSub = residueOp("modsub", 2, 0, "a - b modulo p, exact for all operands.",
	"modsub([5, -1], [6, 0], 7) == [6, 6]",
	residuesOf(func(m modular.Modulus, x []scalar.Ref) scalar.Ref { return m.Sub(x[0], x[1]) }))

var ModMul = residueOp("modmul", 2, ir.Commutative, "a * b modulo p; the product is exact before it is reduced.",
	"modmul([5, -1], [6, 3], 7) == [2, 4]",
	func(m modular.Modulus, x []scalar.Ref) scalar.Ref { return m.Product(x[0], x[1]) })

var ModNeg = residueOp("modneg", 1, 0, "-a modulo p.", "modneg([5, 0, -1], 7) == [2, 0, 1]",
	residuesOf(func(m modular.Modulus, x []scalar.Ref) scalar.Ref { return m.Neg(x[0]) }))

var Mod = residueOp("mod", 1, 0, "The remainder of a by p in [0, p); `%` truncates instead.",
	"mod([5, 8, -1], 7) == [5, 1, 6]",
	residuesOf(func(m modular.Modulus, x []scalar.Ref) scalar.Ref { return x[0] }))

// residueOp is an operation on operands a, b, ... and the modulus, its last operand. f gives the residue.
func residueOp(name string, operands int, t ir.Traits, summary, example string,
	f residueFunc) *ir.OpDef {
	d := ir.OpDef{
		Surface: name, Arity: operands + 1, Traits: t | ir.MayFail, Fails: badModulus,
		Params: append(ir.Operands("a", "b")[:operands:operands],
			ir.Operands("p")...), Summary: summary, Example: example, NoGrad: noResidueGrad,
		Scalar: func(e scalar.Emitter, op *ir.Op, x []scalar.Ref) scalar.Ref {
			p := x[operands]
			modular.RequireModulus(e, p)
			m := modular.NewModulus(e, p)
			return m.Number(f(m, x[:operands]))
		},
	}
	return pointwise(ir.Declare(name), d, residues, like)
}

// residueFunc computes a residue from operands.
type residueFunc = func(m modular.Modulus, x []scalar.Ref) scalar.Ref

// residuesOf computes f from the residues of the operands.
func residuesOf(f residueFunc) residueFunc {
	return func(m modular.Modulus, x []scalar.Ref) scalar.Ref {
		return m.Of(func(r []scalar.Ref) scalar.Ref { return f(m, r) }, x...)
	}
}

const noResidueGrad = "residues are integers and have no gradient"

// badModulus reports a modulus, the last operand, that may not be positive.
func badModulus(op *ir.Op) bool { return !alwaysPositive(op.Args[len(op.Args)-1]) }

// alwaysPositive reports that v is a constant of positive integers.
func alwaysPositive(v *ir.Value) bool {
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

// ModPow squares and multiplies, one step for each bit of the exponent.
var ModPow = ir.Declare("modpow")
var _ = pointwise(ModPow, ir.OpDef{
	Surface: "modpow", Arity: 3, Traits: ir.MayFail, Params: ir.Operands("a", "e", "p"),
	NoGrad:  noResidueGrad,
	Summary: "a to the power e modulo p; 0 to the power 0 is 1, and a negative exponent stops the program.",
	Expand: func(b *ir.Builder, op *ir.Op) []*ir.Value {
		return []*ir.Value{eachElement(b, op, func(b *ir.Builder, x []*ir.Value) *ir.Value {
			t := x[0].Type
			a, e, p := b.Emit(Mod, nil, x[0], x[2]), b.Emit(opNatural, nil, x[1]), x[2]
			one := b.Emit(Mod, nil, constant(b, t.Elem, 1), p)
			state := loopUntil(b, t.Elem.Bits(), []*ir.Value{one, a, e},
				func(b *ir.Builder, s []*ir.Value) ([]*ir.Value, *ir.Value) {
					zero, acc := constant(b, t.Elem, 0), s[0]
					odd := b.Emit(Ne, nil, b.Emit(Band, nil, s[2], constant(b, t.Elem, 1)), zero)
					acc = b.Emit(Select, nil, odd, b.Emit(ModMul, nil, acc, s[1], p), acc)
					rest := b.Emit(Shr, nil, s[2], constant(b, t.Elem, 1))
					return []*ir.Value{acc, b.Emit(ModMul, nil, s[1], s[1], p), rest}, b.Emit(Eq, nil, rest, zero)
				})
			return state[0]
		})}
	},
	Example: "modpow([3, 2], [4, 0], 7) == [4, 1]",
}, residues, like)

// opNatural lets through what is not negative: an exponent.
var opNatural = ir.Declare("natural")
var _ = pointwise(opNatural, ir.OpDef{
	Arity: 1, Traits: ir.MayFail, NoGrad: noResidueGrad,
	Summary: "The operand; a negative one is no exponent and stops the program.",
	Scalar: unary(func(e scalar.Emitter, x scalar.Ref) scalar.Ref {
		e.Check(scalar.CheckNegativeExponent, e.Le(e.Int(e.TypeOf(x), 0), x), e.Cast(types.I64, x))
		return x
	}),
	Example: "modpow([3, 2], [2, 1], 7) == [2, 2]",
}, residues, like)

// ModInv is the extended algorithm of Euclid: of r and t in each step, a*t = r modulo p, until r is 0. The
// quotients of numbers below 2^63 end after 91 steps, those of Fibonacci numbers.
var ModInv = ir.Declare("modinv")
var _ = pointwise(ModInv, ir.OpDef{
	Surface: "modinv", Arity: 2, Traits: ir.MayFail, Params: ir.Operands("a", "p"), NoGrad: noResidueGrad,
	Summary: "The number x with a * x = 1 modulo p; one that shares a factor with p has none and stops the program.",
	Expand: func(b *ir.Builder, op *ir.Op) []*ir.Value {
		return []*ir.Value{eachElement(b, op, func(b *ir.Builder, x []*ir.Value) *ir.Value {
			t, p := x[0].Type.Elem, x[1]
			zero := constant(b, t, 0)
			start := []*ir.Value{p, b.Emit(Mod, nil, x[0], p), zero, constant(b, t, 1)}
			state := loopUntil(b, 100, start, func(b *ir.Builder, s []*ir.Value) ([]*ir.Value, *ir.Value) {
				// The remainder 0 may come with the start, for a multiple of p.
				done := b.Emit(Eq, nil, s[1], zero)
				q := b.Emit(Div, nil, s[0], b.Emit(Select, nil, done, constant(b, t, 1), s[1]))
				next := func(x, y *ir.Value) (first, second *ir.Value) {
					rest := b.Emit(Sub, nil, x, b.Emit(Mul, nil, q, y))
					return b.Emit(Select, nil, done, x, y), b.Emit(Select, nil, done, y, rest)
				}
				r0, r1 := next(s[0], s[1])
				t0, t1 := next(s[2], s[3])
				return []*ir.Value{r0, r1, t0, t1}, b.Emit(Eq, nil, r1, zero)
			})
			return b.Emit(Mod, nil, b.Emit(opCoprime, nil, state[2], state[0], x[0], p), p)
		})}
	},
	Example: "modinv([3, -1], 7) == [5, 6]",
}, residues, like)

// opCoprime lets the first operand through when the second, a greatest common divisor, is 1.
var opCoprime = ir.Declare("coprime")
var _ = pointwise(opCoprime, ir.OpDef{
	Arity: 4, Traits: ir.MayFail, NoGrad: noResidueGrad,
	Summary: "The first operand where the second is 1; else the third and the fourth share a factor, which stops the " +
		"program.",
	Scalar: func(e scalar.Emitter, _ *ir.Op, x []scalar.Ref) scalar.Ref {
		wide := func(x scalar.Ref) scalar.Ref { return e.Cast(types.I64, x) }
		e.Check(scalar.CheckNoInverse, e.Eq(x[1], e.Int(e.TypeOf(x[1]), 1)), wide(x[2]), wide(x[3]))
		return x[0]
	},
	Example: "modinv([4, 2], [9, 5]) == [7, 3]",
}, residues, like)

// NttLength lets through what can be the length of a transform.
var NttLength = ir.Declare("ntt_length")
var _ = pointwise(NttLength, ir.OpDef{
	Surface: "ntt_length", Arity: 1, Traits: ir.MayFail, Params: ir.Operands("m"),
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
func eachElement(b *ir.Builder, op *ir.Op, f func(b *ir.Builder, x []*ir.Value) *ir.Value) *ir.Value {
	shape := op.Type().Shape
	if len(shape) == 0 {
		return f(b, op.Args)
	}
	return eachIndex(b, shape, func(b *ir.Builder, at []*ir.Value) *ir.Value {
		axes := make([]int64, len(at))
		for k := range axes {
			axes[k] = int64(k)
		}
		x := make([]*ir.Value, len(op.Args))
		for i, a := range op.Args {
			x[i] = b.Emit(Index, ir.A{"axes": axes}, append([]*ir.Value{a}, at...)...)
		}
		return f(b, x)
	})
}

// eachIndex is a tensor of rank 1 or more whose element at an index is f.
func eachIndex(b *ir.Builder, shape types.Shape, f func(b *ir.Builder, at []*ir.Value) *ir.Value) *ir.Value {
	region := &ir.Block{}
	for range shape {
		region.Param("", types.Scalar(types.I32), b.Span)
	}
	region.Yields = []*ir.Value{f(&ir.Builder{Block: region, Span: b.Span}, region.Params)}
	return b.EmitOp(Tabulate, ir.A{"shape": shape}, nil, []*ir.Block{region}).Results[0]
}

// loopUntil is a loop of at most n steps over a state; step gives the next state and whether it is the last.
func loopUntil(b *ir.Builder, n int, start []*ir.Value, step func(b *ir.Builder, state []*ir.Value) ([]*ir.Value,
	*ir.Value)) []*ir.Value {
	region := &ir.Block{}
	region.Param("", types.Scalar(types.I32), b.Span)
	for _, s := range start {
		region.Param("", s.Type, b.Span)
	}
	next, done := step(&ir.Builder{Block: region, Span: b.Span}, region.Params[1:])
	region.Yields = append(next, done)
	args := append([]*ir.Value{constant(b, types.I32, int64(n))}, start...)
	return b.EmitOp(IterateUntil, nil, args, []*ir.Block{region}).Results
}

// constant is a scalar constant.
func constant(b *ir.Builder, t types.DType, n int64) *ir.Value {
	return b.Emit(Const, ir.A{"value": ir.NewScalar(t, scalar.IntBits(t, n))})
}

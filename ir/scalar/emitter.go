package scalar

import (
	"math"

	"healc/lang/types"
)

// Sink receives instructions one by one: a Func under construction, or a kernel body.
type Sink interface {
	// Emit appends in and returns the Ref of its result.
	Emit(in Instr) Ref
	// TypeOf returns the type of an earlier result.
	TypeOf(r Ref) types.DType
}

// Emitter is what the op table sees of a Sink: one method per instruction, types inferred. Operands of
// the wrong type are a bug in the op table and panic.
type Emitter struct{ Sink }

// A Choice names a place where programs branch, and its arms, for tests that count which are taken.
type Choice struct{ Name, Then, Else string }

// Arm is the name of an arm.
func (c *Choice) Arm(taken bool) string {
	if taken {
		return c.Name + ": " + c.Then
	}
	return c.Name + ": " + c.Else
}

// A Chooser is a Sink that can branch.
type Chooser interface {
	Choose(c *Choice, cond Ref, t types.DType, then, els func() Ref) Ref
}

// Choose is what then gives where cond holds, and els elsewhere. A Sink that can branch computes only what is needed;
// another one computes both, so neither may check anything.
func (e Emitter) Choose(choice *Choice, cond Ref, t types.DType, then, els func() Ref) Ref {
	if choice == nil {
		panic("BUG: a choice has no name")
	}
	if c, ok := e.Sink.(Chooser); ok {
		return c.Choose(choice, cond, t, then, els)
	}
	x := then()
	return e.Select(cond, x, els())
}

// Recorder is the Sink that builds a Func.
type Recorder struct{ Func Func }

// NewRecorder returns a recorder of a function with the given parameters, and the Refs of those.
func NewRecorder(params ...types.DType) (*Recorder, []Ref) {
	r := &Recorder{}
	r.Func.Params = params
	refs := make([]Ref, len(params))
	for i, p := range params {
		refs[i] = r.Emit(Instr{Op: Param, Type: p, Args: [3]Ref{None, None, None}, Imm: uint64(i)})
	}
	return r, refs
}

// Emit implements Sink.
func (r *Recorder) Emit(in Instr) Ref {
	r.Func.Instrs = append(r.Func.Instrs, in)
	return Ref(len(r.Func.Instrs) - 1)
}

// TypeOf implements Sink.
func (r *Recorder) TypeOf(x Ref) types.DType { return r.Func.Instrs[x].Type }

func (e Emitter) emit(op Op, t types.DType, args ...Ref) Ref {
	in := Instr{Op: op, Type: t, Args: [3]Ref{None, None, None}}
	copy(in.Args[:], args)
	return e.Sink.Emit(in)
}

func (e Emitter) same(op Op, args ...Ref) types.DType {
	t := e.TypeOf(args[0])
	for _, a := range args[1:] {
		if e.TypeOf(a) != t {
			panic("BUG: scalar " + op.String() + ": operands are " + t.String() + " and " + e.TypeOf(a).String())
		}
	}
	return t
}

func (e Emitter) arith(op Op, args ...Ref) Ref { return e.emit(op, e.same(op, args...), args...) }

func (e Emitter) compare(op Op, x, y Ref) Ref {
	e.same(op, x, y)
	return e.emit(op, types.Bool, x, y)
}

// Bits returns the constant of type t with the given bits.
func (e Emitter) Bits(t types.DType, bits uint64) Ref {
	return e.Sink.Emit(Instr{Op: Const, Type: t, Args: [3]Ref{None, None, None}, Imm: bits})
}

// Int returns the constant n of any number type or bool; it wraps, and rounds for floats.
func (e Emitter) Int(t types.DType, n int64) Ref { return e.Bits(t, IntBits(t, n)) }

// Float returns the constant x of a float type, rounded to nearest even.
func (e Emitter) Float(t types.DType, x float64) Ref { return e.Bits(t, FloatBits(t, x)) }

// Bool returns the constant b.
func (e Emitter) Bool(b bool) Ref {
	if b {
		return e.Bits(types.Bool, 1)
	}
	return e.Bits(types.Bool, 0)
}

// One method per instruction; see the constants for the meaning of each.

func (e Emitter) Add(x, y Ref) Ref      { return e.arith(Add, x, y) }
func (e Emitter) Sub(x, y Ref) Ref      { return e.arith(Sub, x, y) }
func (e Emitter) Mul(x, y Ref) Ref      { return e.arith(Mul, x, y) }
func (e Emitter) Div(x, y Ref) Ref      { return e.arith(Div, x, y) }
func (e Emitter) Rem(x, y Ref) Ref      { return e.arith(Rem, x, y) }
func (e Emitter) Neg(x Ref) Ref         { return e.arith(Neg, x) }
func (e Emitter) Abs(x Ref) Ref         { return e.arith(Abs, x) }
func (e Emitter) Min(x, y Ref) Ref      { return e.arith(Min, x, y) }
func (e Emitter) Max(x, y Ref) Ref      { return e.arith(Max, x, y) }
func (e Emitter) Fma(x, y, z Ref) Ref   { return e.arith(Fma, x, y, z) }
func (e Emitter) Sqrt(x Ref) Ref        { return e.arith(Sqrt, x) }
func (e Emitter) Floor(x Ref) Ref       { return e.arith(Floor, x) }
func (e Emitter) Ceil(x Ref) Ref        { return e.arith(Ceil, x) }
func (e Emitter) Trunc(x Ref) Ref       { return e.arith(Trunc, x) }
func (e Emitter) Round(x Ref) Ref       { return e.arith(Round, x) }
func (e Emitter) CopySign(x, y Ref) Ref { return e.arith(CopySign, x, y) }

// Mul52Lo is z plus the lower half of the product of the lower 52 bits of x and y; Mul52Hi is z plus the upper one.
func (e Emitter) Mul52Lo(x, y, z Ref) Ref { return e.arith(Mul52Lo, x, y, z) }
func (e Emitter) Mul52Hi(x, y, z Ref) Ref { return e.arith(Mul52Hi, x, y, z) }
func (e Emitter) Digits52(x Ref) Ref      { return e.arith(Digits52, x) }
func (e Emitter) Doubles(x Ref) Ref       { return e.arith(Doubles, x) }
func (e Emitter) DoubleSums(x Ref) Ref    { return e.arith(DoubleSums, x) }
func (e Emitter) Compresses(x Ref) Ref    { return e.arith(Compresses, x) }
func (e Emitter) MulHi(x, y Ref) Ref      { return e.arith(MulHi, x, y) }
func (e Emitter) MulExact(x, y Ref) Ref   { return e.arith(MulExact, x, y) }
func (e Emitter) Flush(x, y, z Ref) Ref   { return e.arith(Flush, x, y, z) }
func (e Emitter) And(x, y Ref) Ref        { return e.arith(And, x, y) }
func (e Emitter) Or(x, y Ref) Ref         { return e.arith(Or, x, y) }
func (e Emitter) Xor(x, y Ref) Ref        { return e.arith(Xor, x, y) }
func (e Emitter) Not(x Ref) Ref           { return e.arith(Not, x) }
func (e Emitter) Shl(x, y Ref) Ref        { return e.arith(Shl, x, y) }
func (e Emitter) Shr(x, y Ref) Ref        { return e.arith(Shr, x, y) }
func (e Emitter) Clz(x Ref) Ref           { return e.arith(Clz, x) }
func (e Emitter) Popcnt(x Ref) Ref        { return e.arith(Popcnt, x) }
func (e Emitter) Eq(x, y Ref) Ref         { return e.compare(Eq, x, y) }
func (e Emitter) Ne(x, y Ref) Ref         { return e.compare(Ne, x, y) }
func (e Emitter) Lt(x, y Ref) Ref         { return e.compare(Lt, x, y) }
func (e Emitter) Le(x, y Ref) Ref         { return e.compare(Le, x, y) }
func (e Emitter) Gt(x, y Ref) Ref         { return e.compare(Lt, y, x) }
func (e Emitter) Ge(x, y Ref) Ref         { return e.compare(Le, y, x) }

// Select returns yes where cond is true, else no.
func (e Emitter) Select(cond, yes, no Ref) Ref {
	return e.emit(Select, e.same(Select, yes, no), cond, yes, no)
}

// Cast converts x to t; a cast to its own type is x.
func (e Emitter) Cast(t types.DType, x Ref) Ref {
	if e.TypeOf(x) == t {
		return x
	}
	return e.emit(Cast, t, x)
}

// Bitcast returns the bits of x as a t of the same width.
func (e Emitter) Bitcast(t types.DType, x Ref) Ref {
	if e.TypeOf(x) == t {
		return x
	}
	return e.emit(Bitcast, t, x)
}

// Check fails the program with kind when ok is false. details are shown in the message.
func (e Emitter) Check(kind CheckKind, ok Ref, details ...Ref) {
	in := Instr{Op: Check, Args: [3]Ref{None, None, None}, Imm: uint64(kind)}
	in.Args[0] = ok
	copy(in.Args[1:], details)
	e.Sink.Emit(in)
}

// IntBits returns the bits of n as a t: wrapped for integers, rounded once for floats, n != 0 for bool.
func IntBits(t types.DType, n int64) uint64 {
	if t.IsInt() {
		return uint64(n) & (1<<(t.Bits()-1)<<1 - 1)
	}
	switch {
	case t == types.I4:
		return uint64(uint8(int8(n<<4) >> 4))
	case t.IsStored():
		return FloatBits(t, float64(n))
	}
	return EvalInstr(Cast, t, types.I64, uint64(n))
}

// FloatBits returns the bits of x rounded to t, a float type or one that is only stored.
func FloatBits(t types.DType, x float64) uint64 {
	switch t {
	case types.F64:
		return math.Float64bits(x)
	case types.F32:
		return uint64(math.Float32bits(float32(x)))
	case types.F16:
		return uint64(F16Bits(OddF32(x)))
	case types.BF16:
		return uint64(BF16Bits(OddF32(x)))
	}
	if t.IsStored() {
		return uint64(types.StoredBits(t, OddF32(x)))
	}
	panic("BUG: FloatBits of " + t.String())
}

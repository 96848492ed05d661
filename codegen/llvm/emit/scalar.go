package emit

import (
	"math"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Taken reports which arm of s runs when the condition is a constant: the first one, or the second.
func (g *Func) Taken(s *kernel.If) (then bool, vals []kernel.Ref, known bool) {
	c, ok := g.Env[s.Cond].V.(*constant.Int)
	switch {
	case !ok || g.Env[s.Cond].Wide:
		return false, nil, false
	case c.X.Sign() != 0:
		return true, s.ThenVals, true
	}
	return false, s.ElseVals, true
}

// InArm runs f, which writes an arm of choices, and tells the observer. c is the condition of a vector, of whose
// iterations those take the arm for which it is then, while all may be computed; nil says that all do.
func (g *Func) InArm(choices []*scalar.Choice, then bool, c value.Value, f func()) {
	if g.Observer == nil {
		f()
		return
	}
	around := g.taking
	defer func() { g.taking = around }()
	if c != nil {
		if !then {
			c = g.Cur.NewXor(c, build.SplatConst(constant.NewInt(build.I1, 1), build.VectorLen(c)))
		}
		if g.taking != nil && g.taking.Type().Equal(c.Type()) {
			c = g.Cur.NewAnd(c, g.taking)
		}
		g.taking = c
	}
	for _, choice := range choices {
		var some value.Value
		if t := g.taking; t != nil {
			any := g.Intrinsic("llvm.vector.reduce.or."+build.TypeSuffix(t.Type()), build.I1, t.Type())
			some = g.Cur.NewCall(any, t)
		}
		g.Observer.Arm(choice.Arm(then), g.Cur, some)
	}
	f()
}

// Let translates one scalar instruction. It is wide when an operand is.
func (g *Func) Let(s *kernel.Let) {
	in := s.In
	if in.Op == scalar.Check {
		g.check(s)
		return
	}
	g.Lets[s.ID] = &s.In
	if in.Op == scalar.Const {
		g.Set(s.ID, g.constant(in.Type, in.Imm), false)
		return
	}
	if g.Peephole != nil && g.Peephole(s) {
		return
	}
	wide := false
	for _, a := range in.Args {
		if a != scalar.None {
			wide = wide || g.Env[a].Wide || g.Env[a].Iota
		}
	}
	// Adding a uniform number to the loop variable keeps it a base with consecutive lanes.
	if wide && in.Type == types.I64 && (in.Op == scalar.Add || in.Op == scalar.Sub) {
		x, y := g.Env[in.Args[0]], g.Env[in.Args[1]]
		switch {
		case x.Iota && !y.Iota && !y.Wide:
			if in.Op == scalar.Add {
				g.Env[s.ID] = Val{V: g.Cur.NewAdd(x.V, y.V), Iota: true}
			} else {
				g.Env[s.ID] = Val{V: g.Cur.NewSub(x.V, y.V), Iota: true}
			}
			return
		case y.Iota && !x.Iota && !x.Wide && in.Op == scalar.Add:
			g.Env[s.ID] = Val{V: g.Cur.NewAdd(x.V, y.V), Iota: true}
			return
		}
	}
	if g.divideByOne(s) || g.isLane(s) || g.partOfVector(s) {
		return
	}
	args := make([]value.Value, 0, 3)
	var from types.DType
	for i, a := range in.Args {
		if a == scalar.None {
			continue
		}
		if i == 0 {
			from = g.Types[a]
		}
		if wide {
			args = append(args, g.Spread(g.Env[a]))
		} else {
			args = append(args, g.Env[a].V)
		}
	}
	w := 0
	if wide {
		w = g.Width
	}
	if wide {
		for _, p := range g.Peepholes {
			if x := p.Find(g, in); x != nil {
				if g.Observer != nil {
					g.Observer.Peephole(p.Name, g.Cur)
				}
				g.Set(s.ID, x, true)
				return
			}
		}
	}
	g.Set(s.ID, g.Instr(in.Op, in.Type, from, w, args), wide)
	if wide && (in.Op == scalar.Mul52Lo || in.Op == scalar.Mul52Hi) {
		g.noteProduct(s, args)
	}
}

// constant returns a scalar constant in a register.
func (g *Func) constant(d types.DType, bits uint64) constant.Constant {
	switch d {
	case types.F16:
		return build.FromBits(lt.Float, scalar.FloatBits(types.F32, float64(scalar.F16Value(uint16(bits)))))
	case types.BF16:
		return build.FromBits(lt.Float, scalar.FloatBits(types.F32, float64(scalar.BF16Value(uint16(bits)))))
	}
	return build.FromBits(build.RegisterType(d), bits)
}

// Number returns the constant n of register type d in a vector of w (0: scalar).
func (g *Func) Number(d types.DType, n int64, w int) value.Value {
	return g.ConstOf(build.FromBits(build.RegisterType(d), scalar.IntBits(analysis.ArithmeticType(d), n)), w)
}

// ConstOf returns constant c in a vector of w, which is 0 or Width.
func (g *Func) ConstOf(c constant.Constant, w int) value.Value {
	if w == 0 {
		return c
	}
	if w == g.Width {
		return g.Splat(c)
	}
	return build.SplatConst(c, w)
}

// Instr emits one instruction on values of width w. t is the type of the result, from that of the first operand.
// It is long because it has a case for each instruction, and little in each.
func (g *Func) Instr(op scalar.Op, t, from types.DType, w int, x []value.Value) value.Value {
	b := g.Cur
	isFloat, signed := from.IsFloat(), from.IsSigned()
	round := func(v value.Value) value.Value { return g.roundResult(t, v, w) }
	switch op {
	case scalar.Add:
		if isFloat {
			return round(b.NewFAdd(x[0], x[1]))
		}
		return b.NewAdd(x[0], x[1])
	case scalar.Sub:
		if isFloat {
			return round(b.NewFSub(x[0], x[1]))
		}
		return b.NewSub(x[0], x[1])
	case scalar.Mul, scalar.MulExact:
		if isFloat {
			return round(b.NewFMul(x[0], x[1]))
		}
		return b.NewMul(x[0], x[1])
	case scalar.Div:
		if isFloat {
			return round(b.NewFDiv(x[0], x[1]))
		}
		return g.intDiv(t, w, x[0], x[1], false)
	case scalar.Rem:
		if isFloat && g.Machine.Device {
			f := g.remainder(analysis.ArithmeticType(t))
			each := g.oneAtATime(w, x, func(x []value.Value) value.Value { return b.NewCall(f, x...) })
			return g.roundStorage(t, each, w)
		}
		if isFloat {
			return g.roundStorage(t, b.NewFRem(x[0], x[1]), w)
		}
		return g.intDiv(t, w, x[0], x[1], true)
	case scalar.Neg:
		if isFloat {
			return b.NewFNeg(x[0])
		}
		return b.NewSub(g.Number(t, 0, w), x[0])
	case scalar.Abs:
		switch {
		case isFloat:
			return g.Call("llvm.fabs", x[0].Type(), x[0])
		case signed:
			return b.NewSelect(b.NewICmp(enum.IPredSLT, x[0], g.Number(t, 0, w)), b.NewSub(g.Number(t, 0, w), x[0]),
				x[0])
		}
		return x[0]
	case scalar.Min, scalar.Max:
		return g.MinMax(op, from, w, x[0], x[1])
	case scalar.Fma:
		return round(g.Call("llvm.fma", x[0].Type(), x[0], x[1], x[2]))
	case scalar.Flush:
		return b.NewSelect(b.NewFCmp(enum.FPredOLT, x[0], x[1]), x[2], x[0])
	case scalar.Sqrt:
		return round(g.Call("llvm.sqrt", x[0].Type(), x[0]))
	case scalar.Floor:
		return g.Call("llvm.floor", x[0].Type(), x[0])
	case scalar.Ceil:
		return g.Call("llvm.ceil", x[0].Type(), x[0])
	case scalar.Trunc:
		return g.Call("llvm.trunc", x[0].Type(), x[0])
	case scalar.Round:
		return g.Call("llvm.roundeven", x[0].Type(), x[0])
	case scalar.CopySign:
		return g.Call("llvm.copysign", x[0].Type(), x[0], x[1])
	case scalar.MulHi:
		return g.mulHi(t, w, x[0], x[1])
	case scalar.Mul52Lo, scalar.Mul52Hi:
		return g.mul52(op == scalar.Mul52Hi, w, x[0], x[1], x[2])
	case scalar.Digits52, scalar.Doubles, scalar.DoubleSums, scalar.Compresses:
		return x[0] // where false is better it has been replaced, see Specialise in ir/kernel/transform
	case scalar.And:
		return b.NewAnd(x[0], x[1])
	case scalar.Or:
		return b.NewOr(x[0], x[1])
	case scalar.Xor:
		return b.NewXor(x[0], x[1])
	case scalar.Not:
		return b.NewXor(x[0], g.Number(t, -1, w))
	case scalar.Shl, scalar.Shr:
		if t == types.Bool { // the count is taken modulo 1
			return x[0]
		}
		n := b.NewAnd(x[1], g.Number(t, int64(t.Bits()-1), w))
		switch {
		case op == scalar.Shl:
			return b.NewShl(x[0], n)
		case signed:
			return b.NewAShr(x[0], n)
		}
		return b.NewLShr(x[0], n)
	case scalar.Clz:
		rt := x[0].Type()
		f := g.Intrinsic("llvm.ctlz."+build.TypeSuffix(rt), rt, rt, build.I1)
		return b.NewCall(f, x[0], constant.False)
	case scalar.Popcnt:
		return g.Call("llvm.ctpop", x[0].Type(), x[0])
	case scalar.Eq, scalar.Ne, scalar.Lt, scalar.Le:
		return g.compare(op, from, x[0], x[1])
	case scalar.Select:
		return b.NewSelect(x[0], x[1], x[2])
	case scalar.Cast:
		return g.cast(t, from, w, x[0])
	case scalar.Bitcast:
		return g.bitcast(t, from, w, x[0])
	}
	panic("BUG: no translation of scalar instruction " + op.String())
}

func (g *Func) compare(op scalar.Op, d types.DType, x, y value.Value) value.Value {
	if d.IsFloat() {
		x, y = g.AsFloat(d, x), g.AsFloat(d, y)
		p := map[scalar.Op]enum.FPred{scalar.Eq: enum.FPredOEQ, scalar.Ne: enum.FPredUNE, scalar.Lt: enum.FPredOLT,
			scalar.Le: enum.FPredOLE}[op]
		return g.Cur.NewFCmp(p, x, y)
	}
	var p enum.IPred
	switch {
	case op == scalar.Eq:
		p = enum.IPredEQ
	case op == scalar.Ne:
		p = enum.IPredNE
	case op == scalar.Lt && d.IsSigned():
		p = enum.IPredSLT
	case op == scalar.Lt:
		p = enum.IPredULT
	case d.IsSigned():
		p = enum.IPredSLE
	default:
		p = enum.IPredULE
	}
	return g.Cur.NewICmp(p, x, y)
}

// intDiv is total: x / 0 and x % 0 are 0, min / -1 is min, min % -1 is 0. LLVM's own division has
// undefined behaviour there, so the divisor is replaced first.
func (g *Func) intDiv(t types.DType, w int, x, y value.Value, rem bool) value.Value {
	b := g.Cur
	zero, one := g.Number(t, 0, w), g.Number(t, 1, w)
	if c, ok := build.ConstantInt(y); ok && c != 0 && c != -1 {
		return g.rawDiv(t, x, y, rem)
	}
	isZero := b.NewICmp(enum.IPredEQ, y, zero)
	bad := value.Value(isZero)
	if t.IsSigned() {
		low := g.Number(t, -1<<(t.Bits()-1), w)
		over := b.NewAnd(b.NewICmp(enum.IPredEQ, x, low), b.NewICmp(enum.IPredEQ, y, g.Number(t, -1, w)))
		bad = b.NewOr(isZero, over)
	}
	safe := b.NewSelect(bad, one, y)
	q := g.rawDiv(t, x, safe, rem)
	if rem {
		return q // x % 1 is 0 in both cases
	}
	return b.NewSelect(isZero, zero, q) // min / 1 is min
}

func (g *Func) rawDiv(t types.DType, x, y value.Value, rem bool) value.Value {
	switch {
	case rem && t.IsSigned():
		return g.Cur.NewSRem(x, y)
	case rem:
		return g.Cur.NewURem(x, y)
	case t.IsSigned():
		return g.Cur.NewSDiv(x, y)
	}
	return g.Cur.NewUDiv(x, y)
}

// MinMax: floats give NaN if either is NaN, and order -0 below +0. y is taken when it is beyond x, when it is a NaN,
// and when both are equal but x has the wrong sign for a zero; a NaN in x stays by itself. (LLVM's own maximum cannot
// be selected for x86 before version 17.)
func (g *Func) MinMax(op scalar.Op, d types.DType, w int, x, y value.Value) value.Value {
	b := g.Cur
	if d == types.Bool {
		if op == scalar.Max {
			return b.NewOr(x, y)
		}
		return b.NewAnd(x, y)
	}
	if !d.IsFloat() {
		p := enum.IPredSLT
		if !d.IsSigned() {
			p = enum.IPredULT
		}
		if op == scalar.Max {
			return b.NewSelect(b.NewICmp(p, x, y), y, x)
		}
		return b.NewSelect(b.NewICmp(p, y, x), y, x)
	}
	if g.Machine.Device {
		// One instruction there orders the zeros, too, but passes NaNs by.
		name := "llvm.maxnum"
		if op == scalar.Min {
			name = "llvm.minnum"
		}
		nan := build.FromBits(build.RegisterType(d), scalar.FloatBits(analysis.ArithmeticType(d), math.NaN()))
		return b.NewSelect(b.NewFCmp(enum.FPredUNO, x, y), g.ConstOf(nan, w), g.Call(name, x.Type(), x, y))
	}
	x, y = g.AsFloat(d, x), g.AsFloat(d, y)
	low, high, negative := x, y, x
	if op == scalar.Min {
		low, high, negative = y, x, y
	}
	it := analysis.ArithmeticType(d)
	bits := b.NewBitCast(negative, build.Vector(build.IntType(it.Bits()), w))
	sign := b.NewICmp(enum.IPredSLT, bits, g.ConstOf(build.Int(build.IntType(it.Bits()), 0), w))
	beyond := b.NewFCmp(enum.FPredOLT, low, high)
	zero := b.NewAnd(b.NewFCmp(enum.FPredOEQ, x, y), sign)
	take := b.NewOr(b.NewOr(beyond, zero), b.NewFCmp(enum.FPredUNO, y, y))
	return b.NewSelect(take, y, x)
}

// mulHi computes in the double width; of vectors of u64, from four products of halves. Of vectors of u32 LLVM makes the
// products of the even and of the odd elements on x86. But where a factor is the same for all it widens the other one,
// which takes nearly twice the instructions (docs/tuning/elementwise.md).
func (g *Func) mulHi(t types.DType, w int, x, y value.Value) value.Value {
	b, bits := g.Cur, t.Bits()
	if t == types.U64 && w > 0 && !g.Machine.Device {
		half, low := g.Number(t, 32, w), g.Number(t, 1<<32-1, w)
		xh, yh := b.NewLShr(x, half), b.NewLShr(y, half)
		xl, yl := b.NewAnd(x, low), b.NewAnd(y, low)
		mid := b.NewAdd(b.NewMul(xh, yl), b.NewLShr(b.NewMul(xl, yl), half)) // below 2^64, as is the next
		other := b.NewAdd(b.NewMul(xl, yh), b.NewAnd(mid, low))
		return b.NewAdd(b.NewAdd(b.NewMul(xh, yh), b.NewLShr(mid, half)), b.NewLShr(other, half))
	}
	if t == types.U32 && w > 1 && g.Machine.EvenProducts {
		words, half := build.Vector(build.I64, w/2), g.Number(types.U64, 32, w/2)
		xs, ys := b.NewBitCast(x, words), b.NewBitCast(y, words)
		low := g.Number(types.U64, 1<<32-1, w/2)
		even := b.NewMul(b.NewAnd(xs, low), b.NewAnd(ys, low))
		odd := b.NewMul(b.NewLShr(xs, half), b.NewLShr(ys, half))
		return g.Shuffle(b.NewBitCast(even, x.Type()), b.NewBitCast(odd, x.Type()), w, func(i int) int {
			return i | 1 + i%2*w
		})
	}
	double := build.Vector(build.IntType(2*bits), w)
	ext := func(v value.Value) value.Value {
		if t.IsSigned() {
			return b.NewSExt(v, double)
		}
		return b.NewZExt(v, double)
	}
	count := g.ConstOf(build.Int(build.IntType(2*bits), int64(bits)), w)
	return b.NewTrunc(b.NewLShr(b.NewMul(ext(x), ext(y)), count), x.Type())
}

// mul52 is z plus the lower or upper half of a product of 52 bits.
func (g *Func) mul52(upper bool, w int, x, y, z value.Value) value.Value {
	b := g.Cur
	const lanes = 8 // of 512 bits
	if g.Machine.IFMA && w%lanes == 0 && w > 0 {
		name := "llvm.x86.avx512.vpmadd52l.uq.512"
		if upper {
			name = "llvm.x86.avx512.vpmadd52h.uq.512"
		}
		t := build.Vector(build.I64, lanes)
		f := g.Intrinsic(name, t, t, t, t)
		return g.byLanes(lanes, w, func(v []value.Value) value.Value { return b.NewCall(f, v[2], v[0], v[1]) }, x, y, z)
	}
	low := g.Number(types.U64, 1<<52-1, w)
	if !upper {
		return b.NewAdd(z, b.NewAnd(b.NewMul(x, y), low))
	}
	return b.NewAdd(z, g.mulHi(types.U64, w, b.NewShl(x, g.Number(types.U64, 12, w)), b.NewAnd(y, low)))
}

// partOfVector translates the division of neighbouring numbers by one that all of them have the same quotient for: they
// begin at a multiple of the vector's width, of which the divisor is one, too. Blocks of a row are told so.
func (g *Func) partOfVector(s *kernel.Let) bool {
	in := s.In
	if in.Type != types.I64 || in.Op != scalar.Div && in.Op != scalar.Rem {
		return false
	}
	x := g.Env[in.Args[0]]
	n, known := build.ConstantInt(g.Env[in.Args[1]].V)
	if !x.Iota || !x.Whole || !known || n <= 0 || n%int64(g.Width) != 0 {
		return false
	}
	by := build.Int(build.I64, n)
	if in.Op == scalar.Div {
		g.Env[s.ID] = Val{V: g.Cur.NewUDiv(x.V, by)}
	} else {
		g.Env[s.ID] = Val{V: g.Cur.NewURem(x.V, by), Iota: true, Whole: true}
	}
	return true
}

// isLane translates the question which iteration of a vector is number n, as one-hot rows ask it: in 32 bits, since a
// vector has few, instead of by comparing 64-bit indices, which take two registers and more.
func (g *Func) isLane(s *kernel.Let) bool {
	in := s.In
	if g.Width == 0 || in.Op != scalar.Eq && in.Op != scalar.Ne || g.Types[in.Args[0]] != types.I64 {
		return false
	}
	x, n := g.Env[in.Args[0]], g.Env[in.Args[1]]
	if n.Iota {
		x, n = n, x
	}
	if !x.Iota || n.Iota || n.Wide {
		return false
	}
	from := g.Cur.NewSub(n.V, x.V)
	inside := g.Cur.NewICmp(enum.IPredULT, from, build.Int(build.I64, int64(g.Width)))
	lane := g.Splat(g.Cur.NewSelect(inside, g.Cur.NewTrunc(from, build.I32), build.Int(build.I32, -1)))
	p := enum.IPredEQ
	if in.Op == scalar.Ne {
		p = enum.IPredNE
	}
	g.Set(s.ID, g.Cur.NewICmp(p, build.IotaMask(0, g.Width), lane), true)
	return true
}

// IsNumber reports that r is a constant.
func (g *Func) IsNumber(r kernel.Ref) bool {
	in := g.Lets[r]
	return in != nil && in.Op == scalar.Const
}

// IsZero reports that r is the constant 0.
func (g *Func) IsZero(r kernel.Ref) bool {
	in := g.Lets[r]
	return in != nil && in.Op == scalar.Const && in.Imm == 0
}

package emit

import (
	"math"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Logarithms in vectors]
//
// The expansion of log (ir/scalar) splits a positive finite x into 2^k m with m in [3/4, 3/2), which takes nine
// instructions on integers, half of them for subnormals, computes r from k and m, and replaces r for any other x at the
// end, which takes six more. AVX-512 has instructions for both: vgetmant gives m, vgetexp of x and of m give k, of
// subnormals too, and vfixupimm replaces a result by the class of x. For an x that is not positive and finite vgetmant
// and vgetexp give something else than the expansion, so they may stand only where nothing else sees them. Hence the
// instructions from k and m to r are generated once more when the end is recognised, for the new k and m; the first
// time is used by nobody then, and LLVM removes it.
//
// Other processors compute the same for normal numbers alone, from a k and m of five instructions. A vector with
// another number, which one subtraction and one maximum for each register find out, branches to the whole expansion
// (docs/tuning/elementwise.md).

// significand is the part of the expansion that logarithm looks for.
type significand struct {
	g    *Func
	x, r kernel.Ref
	k, m value.Value
	made map[kernel.Ref]value.Value // by the new k and m; nil for what does not depend on them
}

// logarithm recognises the end of log of f32: nil where the shape or the machine is another.
//
//	select (lt 0, x), (select (lt x, inf), r, x), (select (eq x, 0), -inf, NaN)
func (g *Func) logarithm(in scalar.Instr) value.Value {
	const lanes = 16
	whole := g.scales() && g.Width%lanes == 0
	if in.Op != scalar.Select || in.Type != types.F32 || g.Width == 0 || g.scales() && !whole {
		return nil
	}
	float := func(x float64) uint64 { return scalar.FloatBits(types.F32, x) }
	positive, finite, other := g.Def(in.Args[0], scalar.Lt), g.Def(in.Args[1], scalar.Select),
		g.Def(in.Args[2], scalar.Select)
	if positive == nil || finite == nil || other == nil || !g.isConst(positive.Args[0], 0) {
		return nil
	}
	x, r := positive.Args[1], finite.Args[1]
	below, zero := g.Def(finite.Args[0], scalar.Lt), g.Def(other.Args[0], scalar.Eq)
	if finite.Args[2] != x || below == nil || below.Args[0] != x || !g.isConst(below.Args[1], float(math.Inf(1))) {
		return nil
	}
	nan := g.Def(other.Args[2], scalar.Const)
	if zero == nil || zero.Args[0] != x || !g.isConst(zero.Args[1], 0) ||
		!g.isConst(other.Args[1], float(math.Inf(-1))) ||
		nan == nil || !math.IsNaN(float64(math.Float32frombits(uint32(nan.Imm)))) || !g.Env[x].Wide {
		return nil
	}
	s := &significand{g: g, x: x, r: r, made: map[kernel.Ref]value.Value{}}
	if !s.meets(r) {
		return nil
	}
	if !whole {
		return s.normal(in)
	}
	t, mask := build.Vector(lt.Float, lanes), lt.NewInt(lanes)
	all, rounding, none := constant.NewInt(mask, -1), build.Int(build.I32, 4), constant.NewZeroInitializer(t)
	exponent := func(v value.Value) value.Value {
		f := g.Intrinsic("llvm.x86.avx512.mask.getexp.ps.512", t, t, t, mask, build.I32)
		return g.byLanes(lanes, g.Width, func(v []value.Value) value.Value {
			return g.Cur.NewCall(f, v[0], none, all, rounding)
		}, v)
	}
	const threeQuarters = 3 // the interval [3/4, 3/2), with the sign of x
	f := g.Intrinsic("llvm.x86.avx512.mask.getmant.ps.512", t, t, build.I32, t, mask, build.I32)
	arg := g.Spread(g.Env[x])
	s.m = g.byLanes(lanes, g.Width, func(v []value.Value) value.Value {
		return g.Cur.NewCall(f, v[0], build.Int(build.I32, threeQuarters), none, all, rounding)
	}, arg)
	s.k = g.Cur.NewFSub(exponent(arg), exponent(s.m))
	// By the class of x, four bits each from the lowest on: NaN, signalling NaN, zero, 1, -inf, inf, below 0, above 0.
	// 0 keeps the result, 2 takes the NaN, 3 makes one, 4 is -inf and 5 is inf.
	const table = 0x03530422
	ti := build.Vector(build.I32, lanes)
	fix := g.Intrinsic("llvm.x86.avx512.mask.fixupimm.ps.512", t, t, t, ti, build.I32, mask, build.I32)
	return g.byLanes(lanes, g.Width, func(v []value.Value) value.Value {
		return g.Cur.NewCall(fix, v[0], v[1], build.SplatConst(build.Int(build.I32, table), lanes),
			build.Int(build.I32, 0), all, rounding)
	}, s.make(r), arg)
}

// normal is log where there are no such instructions: that of normal numbers, from a k and m without a scale, and the
// whole expansion in a branch of its own for a vector with any other x.
func (s *significand) normal(in scalar.Instr) value.Value {
	g := s.g
	num := func(n int64) value.Value { return g.Number(types.I32, n, g.Width) }
	bits := g.Cur.NewBitCast(g.Spread(g.Env[s.x]), build.Vector(build.I32, g.Width))
	j := g.Cur.NewSub(bits, num(threeQuarterBits))
	s.m = g.Cur.NewBitCast(g.Cur.NewAdd(g.Cur.NewAnd(j, num(1<<23-1)), num(threeQuarterBits)),
		build.Vector(lt.Float, g.Width))
	s.k = g.Cur.NewSIToFP(g.Cur.NewAShr(j, num(23)), build.Vector(lt.Float, g.Width))
	quick := s.make(s.r)

	const least, infinity = 1 << 23, 0xff << 23 // the bits of the least normal number, and of infinity
	far := value.Value(g.Cur.NewSub(bits, num(least)))
	n := g.Width
	for ; n > 8; n /= 2 { // the farthest of two lanes
		x, y := g.Shuffle(far, far, n/2, func(i int) int {
			return i
		}), g.Shuffle(far, far, n/2, func(i int) int { return i + n/2 })
		far = g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredUGT, x, y), x, y)
	}
	rare := g.Cur.NewICmp(enum.IPredUGE, far, build.SplatConst(build.Int(build.I32, infinity-least), n))
	some := g.Cur.NewICmp(enum.IPredNE, g.Cur.NewBitCast(rare, lt.NewInt(uint64(n))),
		build.Int(lt.NewInt(uint64(n)), 0))
	copies := map[kernel.Ref]value.Value{}
	var again func(r kernel.Ref) value.Value
	instr := func(in *scalar.Instr) value.Value {
		var args []value.Value
		for _, a := range in.Args {
			if a != scalar.None {
				args = append(args, again(a))
			}
		}
		return g.Instr(in.Op, in.Type, g.Types[in.Args[0]], g.Width, args)
	}
	again = func(r kernel.Ref) value.Value {
		if r == s.x || !g.Env[r].Wide || g.Lets[r] == nil {
			return g.Spread(g.Env[r])
		}
		if copies[r] == nil {
			copies[r] = instr(g.Lets[r])
		}
		return copies[r]
	}
	return g.If(some, []value.Value{quick}, func() []value.Value { return []value.Value{instr(&in)} })[0]
}

// meets reports that r is computed from k and m of the split, and notes which other values are.
func (s *significand) meets(r kernel.Ref) bool {
	if v, ok := s.made[r]; ok {
		return v != nil
	}
	in := s.g.Lets[r]
	found := false
	if in != nil && s.g.Env[r].Wide {
		found = s.isExponent(in) || s.isSignificand(in)
		for _, a := range in.Args {
			if a != scalar.None && !found {
				found = s.meets(a)
			}
		}
	}
	if s.made[r] = nil; found {
		s.made[r] = constant.NewUndef(lt.Float) // to be made
	}
	return found
}

// make generates r from the new k and m.
func (s *significand) make(r kernel.Ref) value.Value {
	g := s.g
	if !s.meets(r) {
		return g.Spread(g.Env[r])
	}
	if _, todo := s.made[r].(*constant.Undef); !todo {
		return s.made[r]
	}
	in := g.Lets[r]
	var v value.Value
	switch {
	case s.isExponent(in):
		v = s.k
	case s.isSignificand(in):
		v = s.m
	default:
		var args []value.Value
		for _, a := range in.Args {
			if a != scalar.None {
				args = append(args, s.make(a))
			}
		}
		v = g.Instr(in.Op, in.Type, g.Types[in.Args[0]], g.Width, args)
	}
	s.made[r] = v
	return v
}

const threeQuarterBits = 0x3f400000

// isExponent: cast f32 (shr j, 23).
func (s *significand) isExponent(in *scalar.Instr) bool {
	if in.Op != scalar.Cast || in.Type != types.F32 {
		return false
	}
	shift := s.g.Def(in.Args[0], scalar.Shr)
	return shift != nil && s.g.isConst(shift.Args[1], 23) && s.isDistance(shift.Args[0])
}

// isSignificand: bitcast f32 (add (and j, 2^23-1), bits(3/4)).
func (s *significand) isSignificand(in *scalar.Instr) bool {
	if in.Op != scalar.Bitcast || in.Type != types.F32 {
		return false
	}
	sum := s.g.Def(in.Args[0], scalar.Add)
	if sum == nil || !s.g.isConst(sum.Args[1], threeQuarterBits) {
		return false
	}
	low := s.g.Def(sum.Args[0], scalar.And)
	return low != nil && s.g.isConst(low.Args[1], 1<<23-1) && s.isDistance(low.Args[0])
}

// isDistance recognises j: the bits of x, scaled by 2^24 if it is subnormal, less those of 3/4, scaled likewise. An
// i32, so that its shifts are arithmetic.
//
//	sub (bitcast (select tiny, (mul x, 2^24), x)), (select tiny, bits(3/4) + 24 << 23, bits(3/4))
//	tiny = lt x, 2^-126
func (s *significand) isDistance(r kernel.Ref) bool {
	g := s.g
	j := g.Def(r, scalar.Sub)
	if j == nil || j.Type != types.I32 {
		return false
	}
	bits, base := g.Def(j.Args[0], scalar.Bitcast), g.Def(j.Args[1], scalar.Select)
	if bits == nil || base == nil || !g.isConst(base.Args[1], threeQuarterBits+24<<23) ||
		!g.isConst(base.Args[2], threeQuarterBits) {
		return false
	}
	scaled := g.Def(bits.Args[0], scalar.Select)
	if scaled == nil || scaled.Args[0] != base.Args[0] || scaled.Args[2] != s.x {
		return false
	}
	tiny, product := g.Def(scaled.Args[0], scalar.Lt), g.Def(scaled.Args[1], scalar.Mul)
	return tiny != nil && tiny.Args[0] == s.x && g.isConst(tiny.Args[1], scalar.FloatBits(types.F32, 0x1p-126)) &&
		product != nil && product.Args[0] == s.x && g.isConst(product.Args[1], scalar.FloatBits(types.F32, 0x1p24))
}

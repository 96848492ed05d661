package emit

import (
	"fmt"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// scaled recognises the end of scaleTwice of ir/scalar: p*2^n as two products, the first of them exact, and n + 2*bias
// in the low bits of k = magic + n. AVX-512 has an instruction for it that rounds once, too: vscalef. It saves five
// of the 18 vector instructions of exp. The result is nil where the shape or the machine is another.
//
//	half = shr bits(k), 1
//	s1 = bitcast (shl half, mantissa);  s2 = bitcast (shl (sub bits(k), half), mantissa)
//	mul (mul_exact p, s1), s2
//
// The factors are 0 for the exponents -bias, and 2^n with such an n is 0, too, beside a p of at least 1/2: below
// half of the smallest subnormal.
func (g *Func) scaled(in scalar.Instr) value.Value {
	lanes, mantissa, bias := 16, int64(23), uint64(127)
	if in.Type == types.F64 {
		lanes, mantissa, bias = 8, 52, 1023
	}
	if in.Op != scalar.Mul || in.Type != types.F32 && in.Type != types.F64 || g.Width == 0 || g.Width%lanes != 0 ||
		!g.scales() {
		return nil
	}
	first := g.Def(in.Args[0], scalar.MulExact)
	if first == nil {
		return nil
	}
	half := g.shifted(first.Args[1], mantissa)
	rest := g.shifted(in.Args[1], mantissa)
	h, r := g.Def(half, scalar.Shr), g.Def(rest, scalar.Sub)
	if h == nil || r == nil || r.Args[1] != half || r.Args[0] != h.Args[0] || !g.isConst(h.Args[1], 1) {
		return nil
	}
	bits := g.Def(h.Args[0], scalar.Bitcast)
	if bits == nil {
		return nil
	}
	k := bits.Args[0]
	sum, addend := g.Def(k, scalar.Fma), 2
	if sum == nil {
		sum, addend = g.Def(k, scalar.Add), 1
	}
	magic := scalar.FloatBits(in.Type, 0x1.8p0*float64(uint64(1)<<mantissa)+float64(2*bias))
	if sum == nil || !g.isConst(sum.Args[addend], magic) {
		return nil
	}
	n := g.Cur.NewFSub(g.Spread(g.Env[k]), g.Splat(g.constant(in.Type, magic)))
	return g.scalef(lanes, g.Spread(g.Env[first.Args[0]]), n)
}

// raised is a Flush in vectors: raising to the lower bound is one instruction that adders do, not a comparison and a
// choice, which multipliers do. What lies between the bounds underflows then, which costs vscalef nothing and a product
// more (docs/tuning/elementwise.md). -inf and -1e9, the usual masks, are below.
func (g *Func) raised(in scalar.Instr) value.Value {
	if in.Op != scalar.Flush || in.Type != types.F32 && in.Type != types.F64 || g.Width == 0 {
		return nil
	}
	lo, to := g.Def(in.Args[1], scalar.Const), g.Def(in.Args[2], scalar.Const)
	if lo == nil || to == nil || scalar.EvalInstr(scalar.Lt, types.Bool, in.Type, to.Imm, lo.Imm) == 0 {
		return nil
	}
	x, least := g.Spread(g.Env[in.Args[0]]), g.Splat(g.constant(in.Type, to.Imm))
	return g.Cur.NewSelect(g.Cur.NewFCmp(enum.FPredOLT, x, least), least, x)
}

// scalef applies vscalef to vectors of Width, a register at a time.
func (g *Func) scalef(lanes int, p, n value.Value) value.Value {
	elem := p.Type().(*lt.VectorType).ElemType
	t, mask, suffix := build.Vector(elem, lanes), lt.NewInt(uint64(lanes)), "ps"
	if lanes == 8 {
		suffix = "pd"
	}
	f := g.Intrinsic(fmt.Sprintf("llvm.x86.avx512.mask.scalef.%s.512", suffix), t, t, t, t, mask, build.I32)
	const currentRounding = 4
	return g.byLanes(lanes, g.Width, func(v []value.Value) value.Value {
		return g.Cur.NewCall(f, v[0], v[1], constant.NewZeroInitializer(t), constant.NewInt(mask, -1),
			build.Int(build.I32, currentRounding))
	}, p, n)
}

// Def is the instruction that computes r, when it is an op.
func (g *Func) Def(r kernel.Ref, op scalar.Op) *scalar.Instr {
	if in := g.Lets[r]; in != nil && in.Op == op {
		return in
	}
	return nil
}

// shifted returns x where r is bitcast (shl x, by), else None.
func (g *Func) shifted(r kernel.Ref, by int64) kernel.Ref {
	if b := g.Def(r, scalar.Bitcast); b != nil {
		if s := g.Def(b.Args[0], scalar.Shl); s != nil && g.isConst(s.Args[1], uint64(by)) {
			return s.Args[0]
		}
	}
	return scalar.None
}

func (g *Func) isConst(r kernel.Ref, bits uint64) bool {
	in := g.Def(r, scalar.Const)
	return in != nil && in.Imm == bits
}

// scales reports that the machine has vscalef.
func (g *Func) scales() bool { return g.Machine.Scale }

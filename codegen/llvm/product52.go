package llvm

import (
	"math"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// The multiply-adds of IFMA add for nothing. A sum of products of which each is an element by itself, added to 0, would take an addition
// more: so what a reduction adds is looked up here, and multiplied onto its sum.

// Note [Digits by doubles]
//
// Where nothing multiplies digits of 52 bits but doubles are multiplied and added in one instruction, two of these give both halves of a
// product of digits x and y: t = fma(x, y, 2^104) has the upper half, rounded, in its lower bits, as a unit in the last place of numbers from 2^104 to
// 2^105 is 2^52, and r = fma(x, y, 2^104 - t), which is exact, is what is left, from -2^51 to 2^51. The sign of r puts both right: below 0 the upper half
// is one less, and the lower half r + 2^52. (2^104 - t is exact, as both are such numbers.)
//
// A word shifted to the right by 52, the upper digit of a number of two, has 12 bits: its product with a digit fits a word, and its halves are a
// mask and a shift of that.

// digits52 are the products of two vectors of digits, t and r, made in a block.
type digits52 struct{ t, r value.Value }

// operands52 says where a product of doubles was made: of the same operands it is made once in a block.
type operands52 struct {
	at   *lir.Block
	x, y value.Value
}

// half52 is the lower or upper half of the products of the lower 52 bits of x and y.
func (g *gen) half52(upper bool, w int, x, y value.Value) value.Value {
	b, f64s, u64s := g.cur, vec(lt.Double, w), vec(i64, w)
	float := func(x float64) value.Value { return g.k(fromBits(lt.Double, math.Float64bits(x)), w) }
	of := operands52{b, x, y}
	p, known := g.doubles[of]
	if g.digits[x] || g.digits[y] {
		if !known {
			if !g.digits[x] {
				x = b.NewAnd(x, g.num(types.U64, 1<<52-1, w))
			} else if !g.digits[y] {
				y = b.NewAnd(y, g.num(types.U64, 1<<52-1, w))
			}
			p.t = b.NewMul(x, y)
			g.doubles[of] = p
		}
		if upper {
			return b.NewLShr(p.t, g.num(types.U64, 52, w))
		}
		return b.NewAnd(p.t, g.num(types.U64, 1<<52-1, w))
	}
	if !known {
		p.t = g.call("llvm.fma", f64s, g.double52(w, x), g.double52(w, y), float(1<<104))
		p.r = g.call("llvm.fma", f64s, g.double52(w, x), g.double52(w, y), b.NewFSub(float(1<<104), p.t))
		g.doubles[of] = p
	}
	if upper {
		h := b.NewSub(b.NewBitCast(p.t, u64s), g.num(types.U64, int64(math.Float64bits(1<<104)), w))
		return b.NewAdd(h, b.NewSExt(b.NewFCmp(enum.FPredOLT, p.r, float(0)), u64s))
	}
	l := b.NewXor(b.NewBitCast(b.NewFAdd(p.r, float(3<<51)), u64s), g.num(types.U64, 1<<51, w))
	return b.NewAnd(l, g.num(types.U64, 1<<52-1, w))
}

// noteDigit keeps that s computes an upper digit, what a shift by 52 leaves of words.
func (g *gen) noteDigit(s *kernel.Let) {
	n := g.lets[s.In.Args[1]]
	if s.In.Type == types.U64 && n != nil && n.Op == scalar.Const && n.Imm == 52 {
		g.digits[g.env[s.ID].v] = true
	}
}

// double52 is the lower 52 bits of x as doubles.
func (g *gen) double52(w int, x value.Value) value.Value {
	p, known := g.doubles[operands52{at: g.cur, x: x}]
	if !known {
		b, least := g.cur, math.Float64bits(1<<52)
		bits := b.NewOr(b.NewAnd(x, g.num(types.U64, 1<<52-1, w)), g.num(types.U64, int64(least), w))
		p.t = b.NewFSub(b.NewBitCast(bits, vec(lt.Double, w)), g.k(fromBits(lt.Double, least), w))
		g.doubles[operands52{at: g.cur, x: x}] = p
	}
	return p.t
}

// product52 is half of a product of 52 bits, or a sum of such.
type product52 struct {
	upper bool
	w     int
	x, y  value.Value
	z     *product52 // what it was added to; nil for 0
}

// noteProduct keeps what s computes of args.
func (g *gen) noteProduct(s *kernel.Let, args []value.Value) {
	z := g.products[args[2]]
	if !g.machine.IFMA || z == nil && !g.isZero(s.In.Args[2]) {
		return
	}
	g.products[g.env[s.ID].v] = &product52{s.In.Op == scalar.Mul52Hi, g.w, args[0], args[1], z}
}

// addProduct is acc and p.
func (g *gen) addProduct(acc value.Value, p *product52) value.Value {
	if p.z != nil {
		acc = g.addProduct(acc, p.z)
	}
	return g.mul52(p.upper, p.w, p.x, p.y, acc)
}

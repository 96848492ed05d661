package sorting

import (
	"fmt"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

// before reports which elements of vectors, or which of two scalars, come before others.
func (c *code) before(x, y value.Value) value.Value {
	if c.d.IsFloat() {
		return c.Cur.NewFCmp(enum.FPredOLT, x, y)
	}
	return c.Cur.NewICmp(c.orders(enum.IPredSLT, enum.IPredULT), x, y)
}

// notAfter reports which come before others or equal them.
func (c *code) notAfter(x, y value.Value) value.Value {
	if c.d.IsFloat() {
		return c.Cur.NewFCmp(enum.FPredOLE, x, y)
	}
	return c.Cur.NewICmp(c.orders(enum.IPredSLE, enum.IPredULE), x, y)
}

func (c *code) orders(signed, unsigned enum.IPred) enum.IPred {
	if c.d.IsSigned() {
		return signed
	}
	return unsigned
}

func (c *code) least(x, y value.Value) value.Value { return c.Cur.NewSelect(c.before(x, y), x, y) }

func (c *code) most(x, y value.Value) value.Value { return c.Cur.NewSelect(c.before(x, y), y, x) }

// splat is a vector of x.
func (c *code) splat(x value.Value) value.Value {
	if k, ok := x.(constant.Constant); ok {
		return build.SplatConst(k, c.w)
	}
	return c.SplatTo(x, c.w)
}

func (c *code) vectorAt(p, i value.Value) value.Value {
	return c.Cur.NewBitCast(c.at(p, i), lt.NewPointer(c.vector()))
}

func (c *code) load(p, i value.Value) value.Value {
	l := c.Cur.NewLoad(c.vector(), c.vectorAt(p, i))
	l.Align = c.Align(c.d)
	return l
}

func (c *code) store(x, p, i value.Value) { c.Cur.NewStore(x, c.vectorAt(p, i)).Align = c.Align(c.d) }

// first is the mask of the first n elements of a vector, for n of up to some thousands.
func (c *code) first(n value.Value) value.Value {
	lanes := make([]constant.Constant, c.w)
	for i := range lanes {
		lanes[i] = build.Int(build.I32, int64(i))
	}
	return c.Cur.NewICmp(enum.IPredSLT, constant.NewVector(nil, lanes...),
		c.SplatTo(c.Cur.NewTrunc(n, build.I32), c.w))
}

// loadFirst loads a vector under a mask, with other in place of the rest.
func (c *code) loadFirst(p, i, mask, other value.Value) value.Value {
	at := c.vectorAt(p, i)
	f := c.Intrinsic(fmt.Sprintf("llvm.masked.load.%[1]s.p0%[1]s", build.TypeSuffix(c.vector())), c.vector(), at.Type(),
		build.I32, mask.Type(), c.vector())
	return c.Cur.NewCall(f, at, build.Int(build.I32, int64(c.Align(c.d))), mask, other)
}

func (c *code) storeFirst(x, p, i, mask value.Value) {
	at := c.vectorAt(p, i)
	f := c.Intrinsic(fmt.Sprintf("llvm.masked.store.%[1]s.p0%[1]s", build.TypeSuffix(c.vector())), lt.Void, c.vector(),
		at.Type(), build.I32, mask.Type())
	c.Cur.NewCall(f, x, at, build.Int(build.I32, int64(c.Align(c.d))), mask)
}

// together is the chosen elements of x at the beginning of a vector.
func (c *code) together(x, mask value.Value) value.Value {
	bits := build.Vector(build.IntType(c.d.Bits()), c.w)
	f := c.Intrinsic("llvm.x86.avx512.mask.compress."+build.TypeSuffix(bits), bits, bits, bits, mask.Type())
	y := c.Cur.NewCall(f, c.Cur.NewBitCast(x, bits), constant.NewZeroInitializer(bits), mask)
	return c.Cur.NewBitCast(y, c.vector())
}

// bits is a mask as a number.
func (c *code) bits(mask value.Value) value.Value {
	return c.Cur.NewZExt(c.Cur.NewBitCast(mask, build.IntType(c.w)), build.I64)
}

func (c *code) count(mask value.Value) value.Value {
	return c.Call("llvm.ctpop", build.I64, c.bits(mask))
}

// vectorsAtOnce is how many vectors a round of partition reads before it writes.
const vectorsAtOnce = 4

// partition is the function that writes the n elements of a part that come before a pivot to lower, or with equal those
// that equal it, too, and the others to upper, and gives the number of the first. The part is at lower or at upper.
func (c *code) partition(equal bool) *lir.Func {
	name := "below"
	if equal {
		name = "upto"
	}
	p := lt.NewPointer(c.t)
	lower, upper, from := lir.NewParam("lower", p), lir.NewParam("upper", p), lir.NewParam("from", p)
	n, pivot := lir.NewParam("n", build.I64), lir.NewParam("pivot", c.t)
	return c.helper(c.Module, name, build.I64, []*lir.Param{lower, upper, from, n, pivot}, func(c *code) value.Value {
		w := int64(c.w)
		limit := c.splat(pivot)
		chosen := func(x value.Value) value.Value {
			if equal {
				return c.notAfter(x, limit)
			}
			return c.before(x, limit)
		}
		all := build.SplatConst(constant.True, c.w)
		vectors := func(i, lows value.Value, many int64) value.Value {
			var x []value.Value
			if many > 1 {
				c.fetch(lower, lows, many)
				c.fetch(upper, c.Cur.NewSub(i, lows), many)
			}
			for v := range many {
				x = append(x, c.load(from, c.Add(i, c.int(v*w))))
			}
			for v, x := range x {
				mask := chosen(x)
				c.store(c.together(x, mask), lower, lows)
				c.store(c.together(x, c.Cur.NewXor(mask, all)), upper, c.Cur.NewSub(c.Add(i, c.int(int64(v)*w)), lows))
				lows = c.Cur.NewAdd(lows, c.count(mask))
			}
			return lows
		}
		lows := value.Value(c.int(0))
		done := value.Value(c.int(0))
		for _, many := range []int64{vectorsAtOnce, 1} {
			end := c.Cur.NewSub(n, c.Cur.NewURem(c.Cur.NewSub(n, done), c.int(many*w)))
			lows = c.For(done, end, many*w, []value.Value{lows}, func(i value.Value, s []value.Value) []value.Value {
				return []value.Value{vectors(i, s[0], many)}
			})[0]
			done = end
		}
		rest := c.Cur.NewSub(n, done)
		return c.If(c.Cur.NewICmp(enum.IPredSGT, rest, c.int(0)), []value.Value{lows}, func() []value.Value {
			there := c.first(rest)
			x := c.loadFirst(from, done, there, constant.NewZeroInitializer(c.vector()))
			mask := c.Cur.NewAnd(chosen(x), there)
			many := c.count(mask)
			c.storeFirst(c.together(x, mask), lower, lows, c.first(many))
			others := c.Cur.NewAnd(c.Cur.NewXor(mask, all), there)
			c.storeFirst(c.together(x, others), upper, c.Cur.NewSub(done, lows), c.first(c.Cur.NewSub(rest, many)))
			return []value.Value{c.Cur.NewAdd(lows, many)}
		})[0]
	})
}

// fetch asks for half as many lines as so many vectors are, at a distance from where they are written: that much of
// them goes there.
func (c *code) fetch(p, i value.Value, vectors int64) {
	f := c.Intrinsic("llvm.prefetch.p0i8", lt.Void, build.BytePtr, build.I32, build.I32, build.I32)
	size := int64(c.d.Bytes())
	for v := range vectors / 2 {
		at := c.at(p, c.Cur.NewAdd(i, c.int(int64(c.Machine.Profile.Sort.Ahead)/size+v*int64(c.w))))
		c.Cur.NewCall(f, c.Cur.NewBitCast(at, build.BytePtr), build.Int(build.I32, 1), build.Int(build.I32, 3),
			build.Int(build.I32, 1))
	}
}

// median is the function that gives a pivot of a part: of a few vectors from all over it the medians of three, and so
// on.
func (c *code) median() *lir.Func {
	from, n := lir.NewParam("from", lt.NewPointer(c.t)), lir.NewParam("n", build.I64)
	return c.helper(c.Module, "median", c.t, []*lir.Param{from, n}, func(c *code) value.Value {
		middle := func(x []value.Value) value.Value {
			low, high := c.least(x[0], x[1]), c.most(x[0], x[1])
			return c.most(low, c.least(high, x[2]))
		}
		last := c.Cur.NewSub(n, c.int(int64(c.w)))
		sample := func(many int64) (x []value.Value) {
			step := c.Cur.NewUDiv(last, c.int(many-1))
			for i := range many {
				x = append(x, c.load(from, c.Mul(c.int(i), step)))
			}
			return x
		}
		sampled := c.int(int64(c.Machine.Profile.Sort.Sampled))
		x := c.IfElse(c.Cur.NewICmp(enum.IPredSLT, n, sampled), func() []value.Value {
			return []value.Value{middle(sample(3))}
		}, func() []value.Value {
			x := sample(9)
			return []value.Value{middle([]value.Value{middle(x[:3]), middle(x[3:6]), middle(x[6:])})}
		})[0]
		for _, step := range []int{(c.w + 2) / 3, 1} {
			turned := []value.Value{x}
			for i := 1; i < 3; i++ {
				turned = append(turned, c.Permute(x, c.w, func(j int) int { return (j + i*step) % c.w }))
			}
			x = middle(turned)
		}
		return c.Cur.NewExtractElement(x, build.Int(build.I32, 0))
	})
}

// middle is the function that gives the number in the middle between the least and the greatest element of a part.
func (c *code) middle() *lir.Func {
	from, n := lir.NewParam("from", lt.NewPointer(c.t)), lir.NewParam("n", build.I64)
	return c.helper(c.Module, "middle", c.t, []*lir.Param{from, n}, func(c *code) value.Value {
		x := c.load(from, c.int(0))
		last := c.Cur.NewSub(n, c.int(int64(c.w)))
		ends := c.For(c.int(0), n, int64(c.w), []value.Value{x, x}, func(i value.Value, s []value.Value) []value.Value {
			x := c.load(from, c.Min(i, last))
			return []value.Value{c.least(s[0], x), c.most(s[1], x)}
		})
		for d := c.w / 2; d > 0; d /= 2 {
			turned := func(x value.Value) value.Value {
				return c.Permute(x, c.w, func(j int) int { return (j + d) % c.w })
			}
			ends[0], ends[1] = c.least(ends[0], turned(ends[0])), c.most(ends[1], turned(ends[1]))
		}
		low := c.number(c.Cur.NewExtractElement(ends[0], build.Int(build.I32, 0)))
		high := c.number(c.Cur.NewExtractElement(ends[1], build.Int(build.I32, 0)))
		it := build.IntType(c.d.Bits())
		wide := c.Cur.NewSub(high, low)
		half := c.Cur.NewSub(wide, c.Cur.NewLShr(wide, build.Int(it, 1)))
		return c.element(c.Cur.NewAdd(low, half))
	})
}

// number is a number that orders as x does, the same for a float and its negative's complement; element is its inverse.
func (c *code) number(x value.Value) value.Value {
	if !c.d.IsFloat() {
		return x
	}
	return c.turned(c.Cur.NewBitCast(x, build.IntType(c.d.Bits())))
}

func (c *code) element(x value.Value) value.Value {
	if !c.d.IsFloat() {
		return x
	}
	return c.Cur.NewBitCast(c.turned(x), c.t)
}

// turned has all bits but the sign inverted where that is set.
func (c *code) turned(x value.Value) value.Value {
	it := build.IntType(c.d.Bits())
	sign := c.Cur.NewAShr(x, build.Int(it, int64(c.d.Bits()-1)))
	return c.Cur.NewXor(x, c.Cur.NewLShr(sign, build.Int(it, 1)))
}

// What look finds.
const (
	isNaN = 1 << iota
	isZero
	isMinusZero
)

// look is the function that tells which special numbers there are among n floats.
func (c *code) look() *lir.Func {
	from, n := lir.NewParam("from", lt.NewPointer(c.t)), lir.NewParam("n", build.I64)
	return c.helper(c.Module, "look", build.I64, []*lir.Param{from, n}, func(c *code) value.Value {
		w, it := int64(c.w), build.IntType(c.d.Bits())
		masks := func(x value.Value) []value.Value {
			bits := c.Cur.NewBitCast(x, build.Vector(it, c.w))
			minus := build.Int(it, -1<<(c.d.Bits()-1))
			return []value.Value{c.Cur.NewFCmp(enum.FPredUNO, x, x),
				c.Cur.NewICmp(enum.IPredEQ, bits, constant.NewZeroInitializer(bits.Type())),
				c.Cur.NewICmp(enum.IPredEQ, bits, build.SplatConst(minus, c.w))}
		}
		none := make([]value.Value, 3)
		for i := range none {
			none[i] = constant.NewZeroInitializer(build.Vector(build.I1, c.w))
		}
		end := c.RoundDown(n, w)
		seen := c.For(c.int(0), end, w, none, func(i value.Value, s []value.Value) []value.Value {
			next := make([]value.Value, 3)
			for k, mask := range masks(c.load(from, i)) {
				next[k] = c.Cur.NewOr(s[k], mask)
			}
			return next
		})
		there := c.first(c.Cur.NewSub(n, end))
		x := c.loadFirst(from, end, there, constant.NewZeroInitializer(c.vector()))
		found := value.Value(c.int(0))
		for k, mask := range masks(x) {
			mask = c.Cur.NewOr(seen[k], c.Cur.NewAnd(mask, there))
			some := c.Cur.NewICmp(enum.IPredNE, c.bits(mask), c.int(0))
			found = c.Cur.NewOr(found, c.Cur.NewShl(c.Cur.NewZExt(some, build.I64), c.int(int64(k))))
		}
		return found
	})
}

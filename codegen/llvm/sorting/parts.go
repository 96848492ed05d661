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

// cut is a way to cut a part.
type cut int

const (
	below cut = iota // those that come before a pivot, and the others
	upto             // with those that equal it, and the others
	first            // below, with a look at all elements
)

// partition is the function that writes the n elements of a part that come before a pivot, or equal it, to lower and
// the others to upper, and gives the number of the first, and above it what a look finds. The part is at lower or at
// upper, or elsewhere.
func (c *code) partition(way cut) *lir.Func {
	p := lt.NewPointer(c.t)
	lower, upper, from := lir.NewParam("lower", p), lir.NewParam("upper", p), lir.NewParam("from", p)
	n, pivot := lir.NewParam("n", build.I64), lir.NewParam("pivot", c.t)
	params := []*lir.Param{lower, upper, from, n, pivot}
	name := []string{"below", "upto", "first"}[way]
	return c.helper(c.Module, name, build.I64, params, func(c *code) value.Value {
		w := int64(c.w)
		limit := c.splat(pivot)
		chosen := func(x value.Value) value.Value {
			if way == upto {
				return c.notAfter(x, limit)
			}
			return c.before(x, limit)
		}
		all := build.SplatConst(constant.True, c.w)
		vectors := func(i value.Value, s []value.Value, many int64) []value.Value {
			lows, seen := s[0], s[1:]
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
				if way == first {
					seen = c.see(seen, x, nil)
				}
			}
			return append([]value.Value{lows}, seen...)
		}
		state := []value.Value{c.int(0)}
		if way == first {
			state = append(state, c.unseen()...)
		}
		done := value.Value(c.int(0))
		for _, many := range []int64{vectorsAtOnce, 1} {
			end := c.Cur.NewSub(n, c.Cur.NewURem(c.Cur.NewSub(n, done), c.int(many*w)))
			state = c.For(done, end, many*w, state, func(i value.Value, s []value.Value) []value.Value {
				return vectors(i, s, many)
			})
			done = end
		}
		rest := c.Cur.NewSub(n, done)
		state = c.If(c.Cur.NewICmp(enum.IPredSGT, rest, c.int(0)), state, func() []value.Value {
			lows, seen := state[0], state[1:]
			there := c.first(rest)
			x := c.loadFirst(from, done, there, constant.NewZeroInitializer(c.vector()))
			mask := c.Cur.NewAnd(chosen(x), there)
			many := c.count(mask)
			c.storeFirst(c.together(x, mask), lower, lows, c.first(many))
			others := c.Cur.NewAnd(c.Cur.NewXor(mask, all), there)
			c.storeFirst(c.together(x, others), upper, c.Cur.NewSub(done, lows), c.first(c.Cur.NewSub(rest, many)))
			if way == first {
				seen = c.see(seen, x, there)
			}
			return append([]value.Value{c.Cur.NewAdd(lows, many)}, seen...)
		})
		if way != first {
			return state[0]
		}
		return c.Cur.NewOr(state[0], c.Cur.NewShl(c.found(state[1:]), c.int(foundAt)))
	})
}

// foundAt is the bit at which what a look finds is above a number of elements.
const foundAt = 32

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

// samples are where the vectors lie of which pivots are medians, in parts of 2^16 of a part: one in each third or ninth
// of it, at no distance from each other that rows with a period, or the same forwards and backwards, could have.
var samples = map[int][]int64{
	3: {9175, 34734, 55050},
	9: {2257, 12889, 15437, 26070, 35899, 39613, 44055, 55998, 60148},
}

// median is the function that gives a pivot of a part: of a few vectors from all over it the medians of three, and so
// on. Of a long part it says whether none of them is below the pivot, too.
func (c *code) median() *lir.Func {
	from, n := lir.NewParam("from", lt.NewPointer(c.t)), lir.NewParam("n", build.I64)
	result := lt.NewStruct(c.t, build.I1)
	return c.helper(c.Module, "median", result, []*lir.Param{from, n}, func(c *code) value.Value {
		middle := func(x []value.Value) value.Value {
			low, high := c.least(x[0], x[1]), c.most(x[0], x[1])
			return c.most(low, c.least(high, x[2]))
		}
		last := c.Cur.NewSub(n, c.int(int64(c.w)))
		sample := func(many int) (x []value.Value) {
			for _, at := range samples[many] {
				x = append(x, c.load(from, c.Cur.NewLShr(c.Mul(last, c.int(at)), c.int(16))))
			}
			return x
		}
		sampled := c.int(int64(c.Machine.Profile.Sort.Sampled))
		found := c.IfElse(c.Cur.NewICmp(enum.IPredSLT, n, sampled), func() []value.Value {
			return []value.Value{middle(sample(3)), c.splat(c.lowest())}
		}, func() []value.Value {
			x := sample(9)
			low := x[0]
			for _, x := range x[1:] {
				low = c.least(low, x)
			}
			return []value.Value{middle([]value.Value{middle(x[:3]), middle(x[3:6]), middle(x[6:])}), low}
		})
		x := found[0]
		for _, step := range []int{(c.w + 2) / 3, 1} {
			turned := []value.Value{x}
			for i := 1; i < 3; i++ {
				turned = append(turned, c.Permute(x, c.w, func(j int) int { return (j + i*step) % c.w }))
			}
			x = middle(turned)
		}
		pivot := c.Cur.NewExtractElement(x, build.Int(build.I32, 0))
		lower := c.bits(c.before(found[1], c.splat(pivot)))
		both := c.Cur.NewInsertValue(constant.NewUndef(result), pivot, 0)
		return c.Cur.NewInsertValue(both, c.Cur.NewICmp(enum.IPredEQ, lower, c.int(0)), 1)
	})
}

// pivot gives what median does.
func (c *code) pivot(from, n value.Value) (pivot, lowest value.Value) {
	both := c.Cur.NewCall(c.median(), from, n)
	return c.Cur.NewExtractValue(both, 0), c.Cur.NewExtractValue(both, 1)
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

// unseen is what was seen before anything is.
func (c *code) unseen() []value.Value {
	none := constant.NewZeroInitializer(build.Vector(build.I1, c.w))
	return []value.Value{none, none, none}
}

// see adds what is seen in a vector, under a mask unless that is nil.
func (c *code) see(seen []value.Value, x, there value.Value) []value.Value {
	it := build.IntType(c.d.Bits())
	bits := c.Cur.NewBitCast(x, build.Vector(it, c.w))
	minus := build.Int(it, -1<<(c.d.Bits()-1))
	next := make([]value.Value, len(seen))
	for k, mask := range []value.Value{c.Cur.NewFCmp(enum.FPredUNO, x, x),
		c.Cur.NewICmp(enum.IPredEQ, bits, constant.NewZeroInitializer(bits.Type())),
		c.Cur.NewICmp(enum.IPredEQ, bits, build.SplatConst(minus, c.w))} {
		if there != nil {
			mask = c.Cur.NewAnd(mask, there)
		}
		next[k] = c.Cur.NewOr(seen[k], mask)
	}
	return next
}

// found tells which special numbers were seen.
func (c *code) found(seen []value.Value) value.Value {
	found := value.Value(c.int(0))
	for k, mask := range seen {
		some := c.Cur.NewICmp(enum.IPredNE, c.bits(mask), c.int(0))
		found = c.Cur.NewOr(found, c.Cur.NewShl(c.Cur.NewZExt(some, build.I64), c.int(int64(k))))
	}
	return found
}

// look is the function that tells which special numbers there are among n floats.
func (c *code) look() *lir.Func {
	from, n := lir.NewParam("from", lt.NewPointer(c.t)), lir.NewParam("n", build.I64)
	return c.helper(c.Module, "look", build.I64, []*lir.Param{from, n}, func(c *code) value.Value {
		w := int64(c.w)
		end := c.RoundDown(n, w)
		seen := c.For(c.int(0), end, w, c.unseen(), func(i value.Value, s []value.Value) []value.Value {
			return c.see(s, c.load(from, i), nil)
		})
		there := c.first(c.Cur.NewSub(n, end))
		return c.found(c.see(seen, c.loadFirst(from, end, there, constant.NewZeroInitializer(c.vector())), there))
	})
}

package matmul

import (
	"fmt"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel/analysis"
)

// Note [Pairs]: the product of two integers of 16 bits has 32, and x86 has an instruction, pmaddwd, that multiplies the
// 16-bit elements of two vectors and adds neighbouring products, so that it does two steps of the chains in each
// element of 32 bits: four times as much as a multiplication of 32 bits, which takes twice as long. (Processors with
// VNNI add the sum to the chain in the same instruction; LLVM finds that.) Where both operands are cast from integers
// that fit 16 bits, such as i8, the copies hold pairs: the elements for steps 2p and 2p + 1 in the halves of the 32-bit
// element p. A tile reads a pair of x as one element and meets it with a vector of pairs of y. The bits are the same
// because sums of integers wrap: any order gives them, and the one sum of two products that does not fit, 2^31, wraps
// in that instruction, too.
//
// From the copies on the code counts steps, not elements; a chain of odd length ends with half a pair.

// Note [Fours of bytes]: VNNI's vpdpbusd does four steps in each element of 32 bits: it adds four products of bytes,
// one without and one with a sign, to the chain. Where both operands are cast from bytes, the copies hold fours as they
// hold pairs in Note [Pairs]. Where both have a sign, or none has, x is moved by 128 while it is packed, which is its
// upper bit the other way round: with signs x = x' - 128, and without x = x' + 128. So every sum of a column lacks -128
// or 128 times the sum of y's elements there, which an instruction that multiplies them by ones gives: it is computed
// from the copy of y, once for each piece of the chains, and is what these begin with. An element of y beyond the end
// of a chain is 0, so one of x there does not matter.

// packed computes the elements of the copies for step kk of the chains: an element of o, or as many as a step takes.
func (c *writer) packed(o *analysis.Operand, kk value.Value, width int) value.Value {
	kv, per := c.Chains.Axis.Var, int64(c.PerStep())
	if per == 1 {
		c.Env[kv] = emit.Val{V: kk}
		return c.element(*o, width)
	}
	n := c.Extent(c.Chains.Axis.Extent)
	whole := c.wholeChains()
	first := c.Mul(kk, build.Int(build.I64, per))
	parts, there := make([]value.Value, per), make([]value.Value, per)
	for e := range per {
		at := c.Add(first, build.Int(build.I64, e))
		if c.Env[kv] = (emit.Val{V: at}); e > 0 && !whole { // nothing beyond the end is read
			c.Env[kv] = emit.Val{V: c.Min(at, c.Add(n, build.Int(build.I64, -1)))}
			there[e] = c.Cur.NewICmp(enum.IPredSLT, at, n)
		}
		parts[e] = c.halfBits(c.element(*o, width), int(width))
	}
	if width > 0 && width == c.VecWidth && (c.Fours || c.Halves()) {
		return c.sideBySide(o, parts, there)
	}
	var out value.Value
	c.InVectors(width, func() {
		none := c.Splat(build.Int(build.I32, 0))
		for e, x := range parts {
			bits := 32 / per
			if e < len(parts)-1 {
				x = c.Cur.NewAnd(x, c.Splat(build.Int(build.I32, 1<<bits-1)))
			}
			if e == 0 {
				out = x
				continue
			}
			x = c.Cur.NewShl(x, c.Splat(build.Int(build.I32, int64(e)*bits)))
			if there[e] != nil {
				x = c.Cur.NewSelect(there[e], x, none)
			}
			out = c.Cur.NewOr(out, x)
		}
		out = c.moved(o, out)
	})
	if c.Halves() {
		return c.Cur.NewBitCast(out, build.Vector(lt.Float, width))
	}
	return out
}

// sideBySide is what packed computes, for a vector: the parts of a step are made narrow and exchange places. there says
// of a part whether it is one of the chains, nil for yes.
func (c *writer) sideBySide(o *analysis.Operand, parts, there []value.Value) value.Value {
	w, per := c.VecWidth, len(parts)
	narrow := build.Vector(build.IntType(32/per), w)
	for e, x := range parts {
		if x = c.Cur.NewTrunc(x, narrow); there[e] != nil {
			x = c.Cur.NewSelect(there[e], x, constant.NewZeroInitializer(narrow))
		}
		parts[e] = x
	}
	for len(parts) > 1 {
		next := make([]value.Value, len(parts)/2)
		for i := range next {
			next[i] = c.Concat(parts[2*i], parts[2*i+1])
		}
		parts = next
	}
	words := build.Vector(build.I32, w)
	x := parts[0]
	if per == 4 { // fours of fours first, which every processor has an instruction for
		x = c.Cur.NewBitCast(x, words)
		x = c.Cur.NewBitCast(c.Permute(x, w, func(i int) int { return i%4*w/4 + i/4 }), parts[0].Type())
		x = c.Permute(x, 4*w, func(i int) int { return i/16*16 + i%4*4 + i%16/4 })
	} else {
		x = c.Permute(x, per*w, func(i int) int { return i%per*w + i/per })
	}
	x = c.Cur.NewBitCast(x, words)
	c.InVectors(w, func() { x = c.moved(o, x) })
	if c.Halves() {
		return c.Cur.NewBitCast(x, build.Vector(lt.Float, w))
	}
	return x
}

// halfBits is the bits of a bf16 that was cast to f32, for copies of tile registers; any other element as it is.
func (c *writer) halfBits(x value.Value, width int) value.Value {
	if !c.Halves() {
		return x
	}
	x = c.Cur.NewBitCast(x, build.Vector(build.I32, width))
	half := value.Value(build.Int(build.I32, 16))
	if width > 0 {
		half = build.SplatConst(build.Int(build.I32, 16), width)
	}
	return c.Cur.NewLShr(x, half)
}

// packedAlong computes the elements of the copies for width steps from step kk on, one for 0, all of which are whole.
// In its piece kk is a multiple of width.
func (c *writer) packedAlong(o *analysis.Operand, kk value.Value, width int) value.Value {
	if width == 0 {
		return c.packed(o, kk, 0)
	}
	per, along := c.PerStep(), c.Chains.Axis.Var
	whole := c.Piece >= c.Steps && !c.Free || c.Piece%int64(c.VecWidth) == 0
	if per == 1 {
		c.Env[along] = emit.Val{V: kk, Iota: true, Whole: whole}
		return c.element(*o, width)
	}
	at := c.Mul(kk, build.Int(build.I64, int64(per)))
	c.Env[along] = emit.Val{V: at, Iota: true, Whole: whole}
	x := c.halfBits(c.element(*o, per*width), per*width)
	x = c.Cur.NewTrunc(x, build.Vector(build.IntType(32/per), per*width))
	x = c.Cur.NewBitCast(x, build.Vector(build.I32, width))
	c.InVectors(width, func() { x = c.moved(o, x) })
	if c.Halves() {
		return c.Cur.NewBitCast(x, build.Vector(lt.Float, width))
	}
	return x
}

// moved is fours of bytes of an operand, moved by 128 where Note [Fours of bytes] wants it.
func (c *writer) moved(o *analysis.Operand, x value.Value) value.Value {
	if o != &c.X || !c.Moved() {
		return x
	}
	return c.Cur.NewXor(x, c.Splat(build.Int(build.I32, -0x7f7f7f80)))
}

// wholeChains reports that chains are known to have no part of a step.
func (c *writer) wholeChains() bool {
	n, known := build.ConstantInt(c.Extent(c.Chains.Axis.Extent))
	return known && n%int64(c.PerStep()) == 0
}

// wholeSteps is the number of steps of a piece that are whole.
func (c *writer) wholeSteps(k chain) value.Value {
	if c.PerStep() == 1 || c.wholeChains() {
		return k.n
	}
	return c.Min(k.n, c.Cur.NewSub(c.steps(c.Extent(c.Chains.Axis.Extent)), k.at))
}

// steps is how many whole steps n elements of a chain are.
func (c *writer) steps(n value.Value) value.Value {
	per := int64(c.PerStep())
	if x, ok := build.ConstantInt(n); ok || per == 1 {
		if !ok {
			return n
		}
		return build.Int(build.I64, x/per)
	}
	return c.Cur.NewLShr(n, build.Int(build.I64, per/2))
}

// sumColumns computes what the chains of a piece begin with, see Note [Fours of bytes].
func (c *writer) sumColumns(p panels, k chain) {
	panel := func(n value.Value, cols int64) {
		vt := build.Vector(build.I32, c.VecWidth)
		vecs := (int(cols) + c.VecWidth - 1) / c.VecWidth
		sums := make([]value.Value, vecs)
		for v := range sums {
			sums[v] = build.SplatConst(build.Int(build.I32, 0), c.VecWidth)
		}
		at := func(mem, i value.Value, v int) value.Value {
			i = c.Add(i, build.Int(build.I64, int64(v*c.VecWidth)))
			return c.Cur.NewBitCast(c.Cur.NewGetElementPtr(build.I32, mem, i), lt.NewPointer(vt))
		}
		aligned := lir.Align(4 * c.VecWidth)
		c.InVectors(c.VecWidth, func() {
			ones := c.Splat(build.Int(build.I32, 0x01010101))
			sums = c.For(build.Int(build.I64, 0), k.n, 1, sums, func(kk value.Value, s []value.Value) []value.Value {
				next := make([]value.Value, vecs)
				for v := range next {
					y := c.Cur.NewLoad(vt, at(c.ys, c.panelAt(n, kk), v))
					y.Align = aligned
					if c.SignedY() {
						next[v] = c.fourSum(ones, y, s[v])
					} else {
						next[v] = c.fourSum(y, ones, s[v])
					}
				}
				return next
			})
			for v, sum := range sums {
				sum = c.Cur.NewShl(sum, c.Splat(build.Int(build.I32, 7)))
				if c.SignedY() {
					sum = c.Cur.NewSub(c.Splat(build.Int(build.I32, 0)), sum)
				}
				st := c.Cur.NewStore(sum, at(c.begins, c.Mul(n, build.Int(build.I64, c.Panel)), v))
				st.Align = aligned
			}
		})
	}
	c.For(build.Int(build.I64, 0), p.whole, 1, nil, func(n value.Value, _ []value.Value) []value.Value {
		panel(n, c.Panel)
		return nil
	})
	c.ifEdge(p, func() { panel(p.whole, p.edge) })
}

// byteProducts is one step of a chain of four products.
func (c *writer) byteProducts(x, y, sum value.Value) value.Value {
	if c.SignedY() {
		return c.fourSum(x, y, sum)
	}
	return c.fourSum(y, x, sum)
}

// fourSum adds to each element of sum the four products of bytes of x, which have no sign, and of y, which have one.
func (c *writer) fourSum(x, y, sum value.Value) value.Value {
	vt := build.Vector(build.I32, c.VecWidth)
	f := c.Intrinsic(fmt.Sprint("llvm.x86.avx512.vpdpbusd.", 32*c.VecWidth), vt, vt, vt, vt)
	return c.Cur.NewCall(f, sum, x, y)
}

// pairSum multiplies the 16-bit halves of x and y and adds the two products of each element.
func (c *writer) pairSum(x, y value.Value) value.Value {
	name := map[int]string{4: "sse2.pmadd.wd", 8: "avx2.pmadd.wd", 16: "avx512.pmaddw.d.512"}[c.VecWidth]
	in, out := build.Vector(lt.I16, 2*c.VecWidth), build.Vector(build.I32, c.VecWidth)
	f := c.Intrinsic(fmt.Sprint("llvm.x86.", name), out, in, in)
	return c.Cur.NewCall(f, c.Cur.NewBitCast(x, in), c.Cur.NewBitCast(y, in))
}

package matmul

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// Note [Blocks in tiles]
//
// The chains of 16-bit floats go by blocks of two chains (Note [Products by blocks] in ir/ops). A tile runs them one
// after the other: the even steps of a block in all of its registers, and then the odd ones, while the sums and what
// the first chains gave wait in memory, which is read and written once a block. So tiles are as large as those of f32,
// whose chains have a load for as many multiply-adds. Pieces of k end where blocks end.

// blocks is chain for sums that are added by blocks.
func (t *tileGen) blocks(k chain, sums []value.Value) []value.Value {
	n, known := build.ConstantInt(k.n)
	zero := build.Int(build.I64, 0)
	if known && t.Straight && t.alone {
		for from := int64(0); from < n; from += t.BlockSteps {
			sums = t.block(build.Int(build.I64, from), min(t.BlockSteps, n-from), true, sums)
		}
		return sums
	}
	whole := t.wholeBlocks(k.n)
	sums = t.For(zero, whole, t.BlockSteps, sums, func(kk value.Value, s []value.Value) []value.Value {
		return t.block(kk, t.BlockSteps, false, s)
	})
	if known {
		if n%t.BlockSteps == 0 {
			return sums
		}
		return t.block(whole, n%t.BlockSteps, false, sums)
	}
	rest := func(from value.Value) []value.Value {
		return t.For(from, k.n, 2, t.zeros(len(sums)), func(kk value.Value, s []value.Value) []value.Value {
			return t.step(kk, 0, s)
		})
	}
	even := rest(whole)
	return t.fold(sums, even, rest(t.Add(whole, build.Int(build.I64, 1))))
}

// block is the block of n steps from step kk on.
func (t *tileGen) block(kk value.Value, n int64, straight bool, sums []value.Value) []value.Value {
	chains := func(first int64) []value.Value {
		s, steps := t.zeros(len(sums)), (n-first+1)/2
		unroll := t.unroll()
		if straight {
			unroll = steps
		}
		turn := func(at value.Value, n int64, s []value.Value) []value.Value {
			for u := range n {
				s = t.step(at, first+2*u, s)
			}
			return s
		}
		turns := int64(0)
		if unroll > 0 {
			turns = steps / unroll
		}
		end := t.Add(kk, build.Int(build.I64, 2*unroll*turns))
		if turns == 1 {
			s = turn(kk, unroll, s)
		} else {
			s = t.For(kk, end, 2*unroll, s, func(at value.Value, s []value.Value) []value.Value {
				if first == 0 {
					t.askAhead(at)
				}
				return turn(at, unroll, s)
			})
		}
		return turn(end, steps-turns*unroll, s)
	}
	even := chains(0)
	return t.fold(sums, even, chains(1))
}

// fold adds the two chains of a block to the sums.
func (t *writer) fold(sums, even, odd []value.Value) []value.Value {
	out := make([]value.Value, len(sums))
	for i := range sums {
		both := t.Instr(scalar.Add, t.Acc, t.Acc, t.Width, []value.Value{even[i], odd[i]})
		out[i] = t.Instr(scalar.Add, t.Acc, t.Acc, t.Width, []value.Value{sums[i], both})
	}
	return out
}

func (t *tileGen) zeros(n int) []value.Value {
	out := make([]value.Value, n)
	for i := range out {
		out[i] = constant.NewZeroInitializer(t.vectorType())
	}
	return out
}

// wholeBlocks is n without the steps of a last block that is short.
func (c *writer) wholeBlocks(n value.Value) value.Value {
	if x, ok := build.ConstantInt(n); ok {
		return build.Int(build.I64, x/c.BlockSteps*c.BlockSteps)
	}
	return c.Cur.NewAnd(n, build.Int(build.I64, -c.BlockSteps))
}

// dotBlocks is dotChain for sums that are added by blocks. The chains of a block take turns in squares, too.
func (t *tileGen) dotBlocks(k chain, sums []value.Value) []value.Value {
	w := int64(t.VecWidth)
	zero := build.Int(build.I64, 0)
	whole, squares := t.wholeBlocks(k.n), t.Cur.NewAnd(k.n, build.Int(build.I64, -w))
	n := len(sums)
	fold := func(sums, chains []value.Value) (out []value.Value) {
		t.InVectors(int(w), func() { out = t.fold(sums, chains[:n], chains[n:]) })
		return out
	}
	eachSquare := func(kk value.Value, chains []value.Value) []value.Value {
		out := make([]value.Value, 2*n)
		for v := range n {
			out[v], out[n+v] = t.squareOfBlock(k, kk, v, chains[v], chains[n+v])
		}
		return out
	}
	sums = t.For(zero, whole, t.BlockSteps, sums, func(kk value.Value, s []value.Value) []value.Value {
		chains := t.zeros(2 * n)
		if t.BlockSteps <= w {
			return fold(s, eachSquare(kk, chains))
		}
		return fold(s, t.For(kk, t.Add(kk, build.Int(build.I64, t.BlockSteps)), w, chains, eachSquare))
	})
	if steps, known := build.ConstantInt(k.n); known && steps%t.BlockSteps == 0 {
		return sums
	}
	rest := t.For(whole, squares, w, t.zeros(2*n), eachSquare)
	rest = t.For(squares, k.n, 1, rest, func(kk value.Value, s []value.Value) []value.Value {
		next := make([]value.Value, 2*n)
		for v := range n {
			next[v], next[n+v] = s[n+v], t.stepOfColumns(k, kk, v, s[v])
		}
		return next
	})
	return fold(sums, rest)
}

// squareOfBlock is square for two chains that take turns.
func (t *tileGen) squareOfBlock(k chain, kk value.Value, v int, even, odd value.Value) (value.Value, value.Value) {
	t.squareSteps(k, kk, v, func(u int, x, y value.Value) {
		if u%2 == 0 {
			even = t.mulAdd(x, y, even)
		} else {
			odd = t.mulAdd(x, y, odd)
		}
	})
	return even, odd
}

// streamBlocks is stream for sums that are added by blocks: a block of rows at once, so that its chains are in
// registers.
func (c *writer) streamBlocks(at, n value.Value) {
	kk := c.Extent(c.Chains.Axis.Extent)
	steps, known := build.ConstantInt(kk)
	first := int64(0)
	if known {
		first = min(steps, c.BlockSteps)
	}
	c.streamBlock(at, n, build.Int(build.I64, 0), first, true)
	whole := c.wholeBlocks(kk)
	c.For(build.Int(build.I64, first), whole, c.BlockSteps, nil, func(kk value.Value, _ []value.Value) []value.Value {
		c.streamBlock(at, n, kk, c.BlockSteps, false)
		return nil
	})
	switch {
	case !known:
		c.streamRest(at, n, whole, kk)
	case steps > c.BlockSteps && steps%c.BlockSteps > 0:
		c.streamBlock(at, n, whole, steps%c.BlockSteps, false)
	}
	c.streamDone(at, n)
}

// streamBlock adds the block of rows from row kk on to the sums, or is what they begin with.
func (c *writer) streamBlock(at, n, kk value.Value, rows int64, first bool) {
	xs := make([]value.Value, rows)
	kv := c.Chains.Axis.Var
	bind := func(u int) { c.axis(kv, c.Add(kk, build.Int(build.I64, int64(u))), 0) }
	for u := range xs {
		bind(u)
		xs[u] = c.element(c.X, 0)
	}
	c.streamSums(at, n, func(j value.Value, width int) value.Value {
		chains := [2]value.Value{c.zeroSum(width), c.zeroSum(width)}
		for u, x := range xs {
			bind(u)
			y := c.element(c.Y, width)
			chains[u%2] = c.mulAdd(c.Splat(x), y, chains[u%2])
		}
		sum := c.zeroSum(width)
		if !first {
			sum = c.loadSum(j, width)
		}
		return c.fold([]value.Value{sum}, chains[:1], chains[1:])[0]
	})
}

// streamRest adds the rows [from, to), fewer than a block, to the sums.
func (c *writer) streamRest(at, n, from, to value.Value) {
	c.streamSums(at, n, func(j value.Value, width int) value.Value {
		chains := []value.Value{c.zeroSum(width), c.zeroSum(width)}
		chains = c.For(from, to, 1, chains, func(kk value.Value, s []value.Value) []value.Value {
			c.axis(c.Chains.Axis.Var, kk, 0)
			x := c.element(c.X, 0)
			return []value.Value{s[1], c.mulAdd(c.Splat(x), c.element(c.Y, width), s[0])}
		})
		return c.fold([]value.Value{c.loadSum(j, width)}, chains[:1], chains[1:])[0]
	})
}

// streamSums stores what f gives for all of n columns from column at on.
func (c *writer) streamSums(at, n value.Value, f func(j value.Value, width int) value.Value) {
	c.span(n, c.inBlock(2*c.VecWidth), func(j value.Value, width int) {
		c.InVectors(width, func() {
			c.axis(c.Col.Var, c.Add(at, j), width)
			c.prologue(kernel.OnColumn)
			st := c.Cur.NewStore(f(j, width), c.sumAt(j, width))
			st.Align = lir.Align(analysis.ArithmeticType(c.Acc).Bytes())
		})
	})
}

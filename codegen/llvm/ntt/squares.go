package ntt

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

// squares does the stage at distance t within vectors of four, for squares [lo, hi) of four vectors, of which there are
// so many. Where a square is transposed, its pairs stand in the same places of two vectors. Between distance 2 and
// distance 1 squares are in memory as they are then. Two at a time give doubles four pairs to work on.
func (n *Ntt) squares(t, settle int, lo, hi value.Value, many int64) {
	if halves, ok := n.nttArith.(*nttHalves); ok {
		halves.squaresByFactors(t, settle, lo, hi, many)
		return
	}
	side := min(2, many)
	n.For(lo, hi, side, nil, func(b value.Value, _ []value.Value) []value.Value {
		n.squaresAt(t, settle, b, side, func(c int) []Factor { return n.squareFactors(t, b, c) })
		return nil
	})
}

// squareFactors are those of the two pairs of square c from b on.
func (n *Ntt) squareFactors(t int, b value.Value, c int) []Factor {
	start := n.Mul(n.Add(b, build.Int(build.I64, n.size/16)), build.Int(build.I64, int64(8/t)))
	first := n.Add(start, build.Int(build.I64, int64(8/t*c)))
	if t == 2 {
		f := n.withQuotient(n.tabled(n.load(n.table, first)), false)
		return []Factor{f, f}
	}
	f, g := n.tabled(n.apart(n.table, first, 4)), n.tabled(n.apart(n.table, n.Add(first, build.Int(build.I64, 2)), 4))
	var factors []Factor
	for i := range 2 {
		w := n.Shuffle(f, g, 4, func(j int) int { return j/2*2 + j%2*4 + i })
		factors = append(factors, n.withQuotient(w, false))
	}
	return factors
}

// squaresAt does the stage for so many squares from b on, side by side.
func (n *Ntt) squaresAt(t, settle int, b value.Value, side int64, factorsOf func(c int) []Factor) {
	begins := n.inverse == (t == 1) // the squares have to be transposed first, and not last
	x, factors := make([][]number, side), make([][]Factor, side)
	at := func(c, m int) value.Value {
		return n.Add(n.Mul(b, build.Int(build.I64, 16)), build.Int(build.I64, int64(16*c+4*m)))
	}
	for c := range x {
		for m := range 4 {
			if !begins {
				x[c] = append(x[c], n.read(at(c, m), false))
				continue
			}
			from := n.Add(at(c, m%2), build.Int(build.I64, int64(m/2*2)))
			x[c] = append(x[c], n.made(func(base value.Value) value.Value { return n.apart(base, from, 8) }, n.inverse))
		}
		if begins {
			n.columns(x[c])
		}
		factors[c] = factorsOf(c)
	}
	var pairs []nttPair
	for i := range 2 {
		for c, x := range x {
			p := nttPair{&x[i], &x[i+2], factors[c][i]}
			if t == 1 {
				p.x, p.y = &x[2*i], &x[2*i+1]
			}
			pairs = append(pairs, p)
		}
	}
	n.pairs(pairs, false)
	for c := range x {
		if !begins {
			n.turn(x[c])
		}
	}
	n.settled(x, settle)
	for c := range x {
		for m := range x[c] {
			n.store(n.data, at(c, m), x[c][m].v)
		}
	}
}

// squaresByFactors is squares one at a time, which spills less. Factors of halves take as long as their products. These
// would wait for them, and the instructions that the processor looks ahead to would wait with them. So the factors of
// some squares are made first.
func (n *nttHalves) squaresByFactors(t, settle int, lo, hi value.Value, many int64) {
	together, two := min(int64(n.Machine.Profile.NTT.Together), many), 2/t
	parts := two * nttHalvesParts
	kept := n.Stack(n.vector(), int(together)*parts)
	each := func(do func(k value.Value, at func(i int) value.Value)) {
		n.For(build.Int(build.I64, 0), build.Int(build.I64, together), 1, nil,
			func(k value.Value, _ []value.Value) []value.Value {
				do(k, func(i int) value.Value { // part i of square k
					return n.Cur.NewGetElementPtr(n.vector(), kept,
						n.Add(n.Mul(k, build.Int(build.I64, int64(parts))), build.Int(build.I64, int64(i))))
				})
				return nil
			})
	}
	n.For(lo, hi, together, nil, func(b value.Value, _ []value.Value) []value.Value {
		each(func(k value.Value, at func(i int) value.Value) {
			for i, v := range n.unpacked(n.squareFactors(t, n.Add(b, k), 0)[:two]) {
				n.Cur.NewStore(v, at(i))
			}
		})
		each(func(k value.Value, at func(i int) value.Value) {
			n.squaresAt(t, settle, n.Add(b, k), 1, func(int) []Factor {
				var all []value.Value
				for i := range parts {
					all = append(all, n.Cur.NewLoad(n.vector(), at(i)))
				}
				f := n.packed(all)
				return []Factor{f[0], f[two-1]}
			})
		})
		return nil
	})
}

// last makes residues of the numbers in parts [lo, hi) of four vectors.
func (n *Ntt) last(lo, hi value.Value, many int64) {
	each := min(2, many)
	n.For(lo, hi, each, nil, func(b value.Value, _ []value.Value) []value.Value {
		at := func(m int) value.Value {
			return n.Add(n.Mul(b, build.Int(build.I64, 16)), build.Int(build.I64, int64(4*m)))
		}
		for m := range 4 * int(each) {
			n.store(n.data, at(m), n.canonical(n.read(at(m), false)).v)
		}
		return nil
	})
}

// apart is two elements of memory and the two at some distance from them. AVX2 makes one vector of two in any of its
// pipes where their halves stay in place.
func (n *Ntt) apart(base, at value.Value, distance int64) value.Value {
	x, y := n.load(base, at), n.load(base, n.Add(at, build.Int(build.I64, distance-2)))
	return n.Shuffle(x, y, 4, func(j int) int { return j + j/2*4 })
}

// turn transposes a square.
func (n *Ntt) turn(x []number) {
	var y [4]value.Value
	low, bound := n.Grow, 0
	for m := range x {
		y[m] = n.Shuffle(x[m%2].v, x[m%2+2].v, 4, func(j int) int { return j%2 + j/2*4 + m/2*2 })
		low, bound = min(low, x[m].low), max(bound, x[m].bound)
	}
	for m := range x {
		x[m] = number{y[m], low, bound}
	}
	n.columns(x)
}

// columns makes columns of a square from the first halves of rows 0 and 2, those of 1 and 3, and the second halves of
// both.
func (n *Ntt) columns(x []number) {
	for i := 0; i < 4; i += 2 {
		a, b := x[i].v, x[i+1].v
		for k := range 2 {
			v := n.Shuffle(a, b, 4, func(j int) int { return j%2*4 + j/2*2 + k })
			// or LLVM makes a sum of two shuffles one instruction, which takes as long as four
			if n.double && n.inverse {
				v = n.Call("llvm.arithmetic.fence", v.Type(), v)
			}
			x[i+k].v = v
		}
	}
}

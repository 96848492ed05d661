package llvm

import (
	"math/bits"
	"slices"

	"github.com/llir/llvm/ir/value"
)

// blocks does the last stages, those within a block, for blocks [lo, hi), of which there are so many.
func (n *ntt) blocks(lo, hi value.Value, many int64) {
	size := n.block()
	count := n.size / size
	stages := bits.Len(uint(n.rows)) - 1
	columns := int(min(int64(n.regs/n.rows), many))
	n.count(lo, hi, int64(columns), nil, func(b value.Value, _ []value.Value) []value.Value {
		x := make([][]number, columns)
		at := func(c, m int) value.Value {
			return n.plus(n.times(b, ci(i64, size)), ci(i64, int64((c*n.rows+m)*n.w)))
		}
		first := func(c int) value.Value { return n.plus(b, ci(i64, count+int64(c))) }
		var factors [][][]factor
		for c := range x {
			for m := range n.rows {
				x[c] = append(x[c], n.read(at(c, m), n.inverse || count == 1))
			}
			factors = append(factors, n.tree(first(c), stages))
		}
		if n.inverse {
			n.within(x, first)
			n.stages(x, factors, count == 1)
			settle := n.settle
			if count == 1 {
				settle = 0
			}
			n.settled(x, settle)
		} else {
			n.stages(x, factors, count == 1)
			n.within(x, first)
			for c := range x {
				for m := range x[c] {
					x[c][m] = n.canonical(x[c][m])
				}
			}
		}
		for c := range x {
			for m := range x[c] {
				n.store(n.data, at(c, m), x[c][m].v)
			}
		}
		return nil
	})
}

// within does the stages between the elements of vectors; first(c)*n.rows is the number of the first factor of the first of
// them for column c. Pairs of vectors are shuffled so that one holds the first elements of all pairs, the other the second
// ones.
func (n *ntt) within(x [][]number, first func(c int) value.Value) {
	var distances []int
	for t := n.w / 2; t >= 1; t /= 2 {
		distances = append(distances, t)
	}
	if n.inverse {
		slices.Reverse(distances)
	}
	// where[j] is the element of the two vectors that place j holds.
	where := make([]int, 2*n.w)
	for j := range where {
		where[j] = j
	}
	natural := slices.Clone(where)
	arrange := func(now []int, to func(x []number, m int)) {
		place := make([]int, len(where))
		for j, e := range where {
			place[e] = j
		}
		for m := 0; m < n.rows; m += 2 {
			for c := range x {
				a, b := x[c][m], x[c][m+1]
				low, bound := min(a.low, b.low), max(a.bound, b.bound)
				part := func(elements []int) number {
					return number{n.pick(a.v, b.v, n.w, func(i int) int { return place[elements[i]] }), low, bound}
				}
				x[c][m], x[c][m+1] = part(now[:n.w]), part(now[n.w:])
				if n.double && n.inverse { // or LLVM makes a sum of two shuffles one instruction, which takes as long as four
					x[c][m].v = n.call("llvm.arithmetic.fence", x[c][m].v.Type(), x[c][m].v)
				}
				to(x[c], m)
			}
		}
		where = now
	}
	for _, t := range distances {
		now := n.order(t)
		pair := func(i int) int { return now[i] / (2 * t) } // the number of the pair at place i, which is that of its factor
		// The factors of all pairs of vectors are so many vectors of the table.
		vectors := n.rows / 2 / t
		f := map[*number][]factor{}
		for c := range x {
			start := n.times(first(c), ci(i64, int64(vectors*n.w)))
			for v := range vectors {
				w := n.tabled(n.load(n.table, n.plus(start, ci(i64, int64(v*n.w)))))
				if t == 1 {
					w = n.places(w, pair)
				}
				f[&x[c][0]] = append(f[&x[c][0]], n.withQuotient(w, n.k52 && t == n.w/2))
			}
		}
		arrange(now, func(x []number, m int) {
			at := m / 2 * (n.w / t)
			g := f[&x[0]][at/n.w]
			if t > 1 {
				g = n.chosen(g, func(i int) int { return at%n.w + pair(i) })
			}
			n.pairs([]nttPair{{&x[m], &x[m+1], g}}, false)
			if n.inverse && t == n.w/2 { // before they are mixed with the products
				x[m] = n.lessen(x[m], n.settle)
			}
		})
	}
	arrange(natural, func([]number, int) {})
}

// squares does the stage at distance t within vectors of four, for squares [lo, hi) of four vectors, of which there are so many: where a square is turned, its
// pairs stand in the same places of two vectors. Between distance 2 and distance 1 squares are in memory as they are then. Two at a time give doubles four
// pairs to work on.
func (n *ntt) squares(t, settle int, lo, hi value.Value, many int64) {
	side := min(2, many)
	if n.halves {
		side = 1 // they spill less
	}
	begins := n.inverse == (t == 1) // the squares have to be turned first, and not last

	prepared := func(b value.Value, c int) []factor { // for square c from b on
		start := n.times(n.plus(b, ci(i64, n.size/16)), ci(i64, int64(8/t)))
		first := n.plus(start, ci(i64, int64(8/t*c)))
		if t == 2 {
			f := n.withQuotient(n.tabled(n.load(n.table, first)), false)
			return []factor{f, f}
		}
		f, g := n.tabled(n.apart(n.table, first, 4)), n.tabled(n.apart(n.table, n.plus(first, ci(i64, 2)), 4))
		var factors []factor
		for i := range 2 {
			w := n.pick(f, g, 4, func(j int) int { return j/2*2 + j%2*4 + i })
			factors = append(factors, n.withQuotient(w, false))
		}
		return factors
	}
	does := func(b value.Value, prepared func(b value.Value, c int) []factor) {
		x, factors := make([][]number, side), make([][]factor, side)
		at := func(c, m int) value.Value { return n.plus(n.times(b, ci(i64, 16)), ci(i64, int64(16*c+4*m))) }
		for c := range x {
			for m := range 4 {
				entry := n.inverse && begins
				if !begins {
					x[c] = append(x[c], n.read(at(c, m), entry))
					continue
				}
				from := n.plus(at(c, m%2), ci(i64, int64(m/2*2)))
				x[c] = append(x[c], n.made(func(base value.Value) value.Value { return n.apart(base, from, 8) }, entry))
			}
			if begins {
				n.columns(x[c])
			}
			factors[c] = prepared(b, c)
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
	halves, ok := n.nttArith.(*nttHalves)
	if !ok {
		n.count(lo, hi, side, nil, func(b value.Value, _ []value.Value) []value.Value {
			does(b, prepared)
			return nil
		})
		return
	}
	// Factors of halves take as long as their products, which would wait for them, and what the processor looks ahead with them. So the factors of some squares
	// are made first.
	together, two := min(nttTogether, many), 2/t
	kept := n.stack(n.vector(), int(together)*two*nttHalvesParts)
	each := func(do func(k value.Value, at func(c, i int) value.Value)) {
		n.count(ci(i64, 0), ci(i64, together), side, nil, func(k value.Value, _ []value.Value) []value.Value {
			do(k, func(c, i int) value.Value { // part i of square c from k on
				return n.cur.NewGetElementPtr(n.vector(), kept, n.plus(n.times(k, ci(i64, int64(two*nttHalvesParts))), ci(i64, int64(c*two*nttHalvesParts+i))))
			})
			return nil
		})
	}
	n.count(lo, hi, together, nil, func(b value.Value, _ []value.Value) []value.Value {
		each(func(k value.Value, at func(c, i int) value.Value) {
			for c := range int(side) {
				for i, v := range halves.unpacked(prepared(n.plus(b, k), c)[:two]) {
					n.cur.NewStore(v, at(c, i))
				}
			}
		})
		each(func(k value.Value, at func(c, i int) value.Value) {
			does(n.plus(b, k), func(_ value.Value, c int) []factor {
				var parts []value.Value
				for i := range two * nttHalvesParts {
					parts = append(parts, n.cur.NewLoad(n.vector(), at(c, i)))
				}
				f := halves.packed(parts)
				return []factor{f[0], f[two-1]}
			})
		})
		return nil
	})
}

// nttTogether is how many squares that is.
const nttTogether = 16

// last makes residues of the numbers in parts [lo, hi) of four vectors.
func (n *ntt) last(lo, hi value.Value, many int64) {
	each := min(2, many)
	n.count(lo, hi, each, nil, func(b value.Value, _ []value.Value) []value.Value {
		at := func(m int) value.Value { return n.plus(n.times(b, ci(i64, 16)), ci(i64, int64(4*m))) }
		for m := range 4 * int(each) {
			n.store(n.data, at(m), n.canonical(n.read(at(m), false)).v)
		}
		return nil
	})
}

// apart is two elements of memory and the two at some distance from them. AVX2 makes one vector of two in any of its pipes where their halves stay in place.
func (n *ntt) apart(base, at value.Value, distance int64) value.Value {
	x, y := n.load(base, at), n.load(base, n.plus(at, ci(i64, distance-2)))
	return n.pick(x, y, 4, func(j int) int { return j + j/2*4 })
}

// turn makes columns of the rows of a square.
func (n *ntt) turn(x []number) {
	var y [4]value.Value
	low, bound := n.grow, 0
	for m := range x {
		y[m] = n.pick(x[m%2].v, x[m%2+2].v, 4, func(j int) int { return j%2 + j/2*4 + m/2*2 })
		low, bound = min(low, x[m].low), max(bound, x[m].bound)
	}
	for m := range x {
		x[m] = number{y[m], low, bound}
	}
	n.columns(x)
}

// columns makes columns of a square from the first halves of rows 0 and 2, those of 1 and 3, and the second halves of both.
func (n *ntt) columns(x []number) {
	for i := 0; i < 4; i += 2 {
		a, b := x[i].v, x[i+1].v
		for k := range 2 {
			v := n.pick(a, b, 4, func(j int) int { return j%2*4 + j/2*2 + k })
			if n.double && n.inverse { // or LLVM makes a sum of two shuffles one instruction, which takes as long as four
				v = n.call("llvm.arithmetic.fence", v.Type(), v)
			}
			x[i+k].v = v
		}
	}
}

// order is how the elements of two neighbouring vectors lie in the two for the pairs at distance t: a pair is what both have
// in the same place. In vectors of eight the orders follow from each other by instructions that take two vectors and no
// table of places, which would be a third operand: see lower. Only one of the four steps, from or to the natural order, needs one.
func (n *ntt) order(t int) []int {
	// The bits of an element's number, from that of its vector on, of which an order has t's last, with the rest of them in
	// the order of the bits of the place.
	bits := map[int][]int{4: {3, 1, 0}, 2: {2, 3, 0}, 1: {2, 3, 1}}[t]
	if n.inverse && t == 4 {
		bits = []int{1, 3, 0}
	}
	out := make([]int, 2*n.w)
	for i := range n.w {
		e := 0
		if n.w == 8 && n.k52 {
			for j, b := range bits {
				e |= i >> (2 - j) & 1 << b
			}
		} else {
			e = i/t*2*t + i%t
		}
		out[i], out[n.w+i] = e, e+t
	}
	return out
}

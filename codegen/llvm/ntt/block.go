package ntt

import (
	"math/bits"
	"slices"

	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

// blocks does the last stages, those within a block, for blocks [lo, hi), of which there are so many.
func (n *Ntt) blocks(lo, hi value.Value, many int64) {
	size := n.block()
	count := n.size / size
	stages := bits.Len(uint(n.rows)) - 1
	columns := int(min(int64(n.regs/n.rows), many))
	n.For(lo, hi, int64(columns), nil, func(b value.Value, _ []value.Value) []value.Value {
		x := make([][]number, columns)
		at := func(c, m int) value.Value {
			return n.Add(n.Mul(b, build.Int(build.I64, size)), build.Int(build.I64, int64((c*n.rows+m)*n.w)))
		}
		first := func(c int) value.Value { return n.Add(b, build.Int(build.I64, count+int64(c))) }
		var factors [][][]Factor
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
				n.fetchNext(at(c, m))
			}
		}
		return nil
	})
}

// within does the stages between the elements of vectors; first(c)*n.rows is the number of the first factor of the
// first of them for column c. Pairs of vectors are shuffled so that one holds the first elements of all pairs, the
// other the second ones.
func (n *Ntt) within(x [][]number, first func(c int) value.Value) {
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
					return number{n.Shuffle(a.v, b.v, n.w, func(i int) int { return place[elements[i]] }), low, bound}
				}
				x[c][m], x[c][m+1] = part(now[:n.w]), part(now[n.w:])
				// or LLVM makes a sum of two shuffles one instruction, which takes as long as four
				if n.double && n.inverse {
					x[c][m].v = n.Call("llvm.arithmetic.fence", x[c][m].v.Type(), x[c][m].v)
				}
				to(x[c], m)
			}
		}
		where = now
	}
	for _, t := range distances {
		now := n.order(t)
		// the number of the pair at place i, which is that of its factor
		pair := func(i int) int { return now[i] / (2 * t) }
		// The factors of all pairs of vectors are so many vectors of the table.
		vectors := n.rows / 2 / t
		f := map[*number][]Factor{}
		starts := map[*number]value.Value{}
		for c := range x {
			start := n.Mul(first(c), build.Int(build.I64, int64(vectors*n.w)))
			starts[&x[c][0]] = start
			for v := range vectors {
				if n.short && t > 1 {
					break
				}
				w := n.tabled(n.load(n.table, n.Add(start, build.Int(build.I64, int64(v*n.w)))))
				if t == 1 && !n.short {
					w = n.places(w, pair)
				}
				exact := n.k52 && t == n.w/2 || n.short && n.factors != nil
				f[&x[c][0]] = append(f[&x[c][0]], n.withQuotient(w, exact))
			}
		}
		arrange(now, func(x []number, m int) {
			at := m / 2 * (n.w / t)
			var g Factor
			if n.short && t > 1 {
				at := n.Add(starts[&x[0]], build.Int(build.I64, int64(at)))
				g = Factor{w: n.repeated(n.table, at, n.w/t), q: n.repeated(n.spare, at, n.w/t), Exact: true}
			} else if g = f[&x[0]][at/n.w]; t > 1 {
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

// order is how the elements of two neighbouring vectors lie in the two for the pairs at distance t: a pair is the two
// elements in the same place. In vectors of eight the orders follow from each other by instructions that take two
// vectors and no table of places, which would be a third operand: see lower. Only one of the four steps, from or to the
// natural order, needs one.
func (n *Ntt) order(t int) []int {
	// The bits of an element's number, from that of its vector on, of which an order has t's last, with the rest of
	// them in the order of the bits of the place.
	bits := map[int][]int{4: {3, 1, 0}, 2: {2, 3, 0}, 1: {2, 3, 1}}[t]
	if n.inverse && t == 4 {
		bits = []int{1, 3, 0}
	}
	if n.short { // the numbers of the pairs go up by one from place to place, so that memory has factors in order
		bits = map[int][]int{4: {1, 0, 3}, 2: {0, 3, 2}, 1: {3, 2, 1}}[t]
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

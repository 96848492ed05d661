package llvm

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/value"
)

// blocks does the last stages, those within eight vectors, for blocks [lo, hi).
func (n *ntt) blocks(bound int, lo, hi value.Value) {
	size := int64(8 * n.w)
	count := n.size / size
	n.count(lo, hi, 1, nil, func(b value.Value, _ []value.Value) []value.Value {
		first := n.cur.NewAdd(b, ci(i64, count))
		var factors [][]factor
		for l := range 3 {
			var f []factor
			for m := range 1 << l {
				f = append(f, n.shared(n.plus(n.times(first, ci(i64, 1<<l)), ci(i64, int64(m)))))
			}
			factors = append(factors, f)
		}
		base := n.times(b, ci(i64, size))
		x := make([]value.Value, 8)
		for m := range x {
			x[m] = n.read(n.plus(base, ci(i64, int64(m*n.w))), n.inverse || count == 1)
		}
		last := count == 1
		if n.inverse {
			n.within(x, first, 0)
			n.stages(x, factors, bound, last)
			if !last {
				n.storeAll(x, base)
				return nil
			}
		} else {
			at := bound
			for range 3 {
				at = n.after(at)
			}
			n.stages(x, factors, bound, last)
			at = n.within(x, first, at)
			for m := range x {
				x[m] = n.canonical(x[m], at)
			}
		}
		n.storeAll(x, base)
		return nil
	})
}

func (n *ntt) storeAll(x []value.Value, base value.Value) {
	for m := range x {
		n.store(n.data, n.plus(base, ci(i64, int64(m*n.w))), x[m])
	}
}

// within does the stages between the elements of vectors; first*8 is the number of the first factor of the first of them.
// Pairs of vectors are shuffled so that one holds the first elements of all pairs, the other the second
// ones. It returns the bound of the results.
func (n *ntt) within(x []value.Value, first value.Value, bound int) int {
	var distances []int
	for t := n.w / 2; t >= 1; t /= 2 {
		distances = append(distances, t)
	}
	// where[j] is the element of the two vectors that place j holds.
	where := make([]int, 2*n.w)
	for j := range where {
		where[j] = j
	}
	arrange := func(now []int) {
		to := map[int]int{}
		for place, e := range where {
			to[e] = place
		}
		mask := func(part []int) value.Value {
			c := make([]constant.Constant, len(part))
			for i, e := range part {
				c[i] = ci(i32, int64(to[e]))
			}
			return constant.NewVector(nil, c...)
		}
		for m := 0; m < len(x); m += 2 {
			a, b := x[m], x[m+1]
			x[m] = n.cur.NewShuffleVector(a, b, mask(now[:n.w]))
			x[m+1] = n.cur.NewShuffleVector(a, b, mask(now[n.w:]))
		}
		where = now
	}
	paired := func(t int) []int {
		var low, high []int
		for e := range 2 * n.w {
			if e&t == 0 {
				low, high = append(low, e), append(high, e+t)
			}
		}
		return append(low, high...)
	}
	stage := func(t int) {
		arrange(paired(t))
		// The factors of all pairs of vectors are 4/t vectors of the table.
		start := n.times(first, ci(i64, int64(4*n.w/t)))
		var f []factor
		for v := range 4 / t {
			f = append(f, n.withQuotient(n.seen(n.load(n.table, n.plus(start, ci(i64, int64(v*n.w)))))))
		}
		for m := 0; m < len(x); m += 2 {
			at := m / 2 * (n.w / t)
			g := f[at/n.w]
			if t > 1 {
				c := make([]constant.Constant, n.w)
				for j := range c {
					c[j] = ci(i32, int64(at%n.w+j/t))
				}
				spread := func(v value.Value) value.Value {
					return n.cur.NewShuffleVector(v, constant.NewUndef(n.vector()), constant.NewVector(nil, c...))
				}
				g = n.upper(factor{w: spread(g.w), q: spread(g.q)})
			}
			if n.inverse {
				x[m], x[m+1] = n.backward(x[m], x[m+1], g, false)
			} else {
				x[m], x[m+1] = n.forward(x[m], x[m+1], g, bound)
			}
		}
		if !n.inverse {
			bound = n.after(bound)
		}
	}
	if n.inverse {
		for i := len(distances) - 1; i >= 0; i-- {
			stage(distances[i])
		}
	} else {
		for _, t := range distances {
			stage(t)
		}
	}
	natural := make([]int, 2*n.w)
	for j := range natural {
		natural[j] = j
	}
	arrange(natural)
	return bound
}

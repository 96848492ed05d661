package modular

import (
	"context"
	"fmt"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/sample"
)

// plan are the tables of some channels for one size.
type plan struct {
	n                  int64
	p, inverse         []int64 // moduli, and the inverses of n
	psi                []*big.Int
	forward, backwards []int64 // [k, n]
}

// newPlan makes the tables for the largest primes of the given bits.
func newPlan(n int64, bits ...int) *plan {
	pl := &plan{n: n}
	skipped := map[int]int{}
	for _, b := range bits {
		p := prime(b, n, skipped[b])
		skipped[b]++
		bp := big.NewInt(p)
		psi := root(p, n)
		pl.p, pl.psi = append(pl.p, p), append(pl.psi, psi)
		pl.inverse = append(pl.inverse, new(big.Int).ModInverse(big.NewInt(n), bp).Int64())
		pl.forward = append(pl.forward, powers(psi, p, n)...)
		pl.backwards = append(pl.backwards, powers(new(big.Int).ModInverse(psi, bp), p, n)...)
	}
	return pl
}

// definition is the transform of a for channel ch, in bit-reversed order, in n^2 steps.
func (pl *plan) definition(a []int64, ch int) []int64 {
	p := big.NewInt(pl.p[ch])
	psi := make([]*big.Int, 2*pl.n) // powers
	psi[0] = big.NewInt(1)
	for i := 1; i < len(psi); i++ {
		psi[i] = new(big.Int).Mul(psi[i-1], pl.psi[ch])
		psi[i].Mod(psi[i], p)
	}
	out := make([]int64, pl.n)
	term := new(big.Int)
	for i := range pl.n {
		sum := new(big.Int)
		for j, x := range a {
			sum.Add(sum, term.Mul(big.NewInt(x), psi[(2*i+1)*int64(j)%(2*pl.n)]))
		}
		out[reversed(i, logOf(pl.n))] = sum.Mod(sum, p).Int64()
	}
	return out
}

// numbers are random: residues of the channels, which are the axis after so many elements have gone by; a few are
// outside of [0, p) when wild is set.
func numbers(r *rand.Rand, count int64, p []int64, inner int64, wild bool) []int64 {
	out := make([]int64, count)
	for i := range out {
		q := p[int64(i)/inner%int64(len(p))]
		out[i] = r.Int64N(q)
		switch {
		case r.IntN(50) == 0:
			out[i] = []int64{0, 1, q - 1, q / 2}[r.IntN(4)]
		case wild && r.IntN(10) == 0:
			out[i] = int64(r.Uint64())
			if q < 1<<31 {
				out[i] = int64(int32(out[i]))
			}
		}
	}
	return out
}

func counting(n int64) []int64 {
	out := make([]int64, n)
	for i := range out {
		out[i] = int64(i)
	}
	return out
}

// shuffle is a random permutation.
func shuffle(r *rand.Rand, n int64) []int64 {
	out := counting(n)
	r.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}

// layout is where the axes of a transform are: l, r and the channels around the transformed one.
type layout struct {
	l, r int64
	last bool
}

func (y layout) shape(k, n int64) []int64 {
	if y.last {
		return []int64{y.l, y.r, k, n}
	}
	return []int64{y.l, n, y.r, k}
}

// inner is the distance between channels in memory.
func (y layout) inner(n int64) int64 {
	if y.last {
		return n
	}
	return 1
}

// line calls f for each line with the positions of its elements.
func (y layout) lines(k, n int64, f func(ch int, at func(i int64) int64)) {
	for l := range y.l {
		for r := range y.r {
			for c := range k {
				f(int(c), func(i int64) int64 {
					if y.last {
						return ((l*y.r+r)*k+c)*n + i
					}
					return ((l*n+i)*y.r+r)*k + c
				})
			}
		}
	}
}

// forwardSource and inverseSource are programs for fixed extents.
func forwardSource(elem string, y layout, k, n int64, skip bool) string {
	s := y.shape(k, n)
	axis := -3
	if y.last {
		axis = -1
	}
	return fmt.Sprintf(
		"fn f(a: %[1]s[%[2]d, %[3]d, %[4]d, %[5]d], p: %[1]s[%[6]d], w: %[1]s[%[6]d, %[7]d], perm: i64[%[7]d]) -> "+
			"%[1]s[%[2]d, %[3]d, %[4]d, %[5]d] = ntt(a, p, w, perm, axis = %[8]d, skip_perm = %[9]v)",
		elem, s[0], s[1], s[2], s[3], k, n, axis, skip)
}

func inverseSource(elem string, y layout, k, n int64) string {
	s := y.shape(k, n)
	axis := -3
	if y.last {
		axis = -1
	}
	return fmt.Sprintf(
		"fn f(a: %[1]s[%[2]d, %[3]d, %[4]d, %[5]d], p: %[1]s[%[6]d], w: %[1]s[%[6]d, %[7]d], s: %[1]s[%[6]d], perm: "+
			"i64[%[7]d]) -> %[1]s[%[2]d, %[3]d, %[4]d, %[5]d] = intt(a, p, w, s, perm, axis = %[8]d)",
		elem, s[0], s[1], s[2], s[3], k, n, axis)
}

// times is a source whose transform is that of a product, of as many elements or of one row of each channel for all.
func times(src, elem string, y layout, k, n int64, row bool) (product string, shape []int64) {
	shape, p := y.shape(k, n), "p"
	if y.last {
		p = "unsqueeze(p, 1)"
	}
	if row {
		shape = layout{1, 1, y.last}.shape(k, n)
	}
	src = strings.Replace(src, "fn f(", fmt.Sprintf("fn f(b: %s[%d, %d, %d, %d], ", elem, shape[0], shape[1], shape[2],
		shape[3]), 1)
	return strings.Replace(src, "ntt(a, p,", "ntt(modmul(a, b, "+p+"), p,", 1), shape
}

// TestTransformDefinition compares with the definition, for sizes below, at and above that of a block of vectors.
func TestTransformDefinition(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 1))
	for _, n := range []int64{2, 4, 8, 32, 64, 128, 256, 512} {
		if testing.Short() && n > 128 {
			continue
		}
		pl := newPlan(n, 30, 49, 50, 60, 61, 62)
		y := layout{l: 1, r: 1, last: n%64 == 0}
		k := int64(len(pl.p))
		a := numbers(r, k*n, pl.p, y.inner(n), true)
		want := make([]int64, k*n)
		y.lines(k, n, func(ch int, at func(int64) int64) {
			line := make([]int64, n)
			for i := range line {
				line[i] = a[at(int64(i))]
			}
			for i, v := range pl.definition(line, ch) {
				want[at(int64(i))] = v
			}
		})
		for _, cpu := range devices.Targets(t) {
			check(t, fmt.Sprintf("%d elements on %q", n, cpu),
				compile(t, forwardSource("i64", y, k, n, true), cpu, 2), want,
				tensorOf(t, types.I64, y.shape(k, n), a, nil), tensorOf(t, types.I64, []int64{k}, pl.p, nil),
				tensorOf(t, types.I64, []int64{k, n}, pl.forward, nil),
				tensorOf(t, types.I64, []int64{n}, counting(n), nil))
		}
	}
}

// TestTransformRoundTrip transforms there and back at every size, with permutations that undo each other.
func TestTransformRoundTrip(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 2))
	cpus := devices.Targets(t)
	top := 17
	if testing.Short() {
		top = 13
	}
	for log := 1; log <= top; log++ {
		n := int64(1) << log
		pl := newPlan(n, 49, 50, 60, 62)
		k := int64(len(pl.p))
		for _, y := range []layout{{1, 1, true}, {2, 1, false}} {
			if !y.last && log > 12 {
				continue
			}
			cpu, th := cpus[log%len(cpus)], threads[log/len(cpus)%len(threads)]
			a := numbers(r, y.l*y.r*k*n, pl.p, y.inner(n), false)
			perm := counting(n)
			if log%3 == 0 {
				perm = shuffle(r, n)
			}
			pt := tensorOf(t, types.I64, []int64{k}, pl.p, nil)
			perms := tensorOf(t, types.I64, []int64{n}, perm, nil)
			args := []*tensor.Tensor{tensorOf(t, types.I64, y.shape(k, n), a, nil), pt,
				tensorOf(t, types.I64, []int64{k, n}, pl.forward, nil), perms}
			there := compile(t, forwardSource("i64", y, k, n, false), cpu, th)
			mid := call(t, there[0], args...)
			back := compile(t, inverseSource("i64", y, k, n), cpu, th)
			whole := fmt.Sprintf("%d elements there and back on %q", n, cpu)
			check(t, whole+", there", there[1:], mid, args...)
			check(t, whole+", there "+there[0].way, back, a, tensorOf(t, types.I64, y.shape(k, n), mid, nil), pt,
				tensorOf(t, types.I64, []int64{k, n}, pl.backwards, nil),
				tensorOf(t, types.I64, []int64{k}, pl.inverse, nil), perms)
		}
	}
}

// TestTransformLong: rows that the first-level cache holds after a longer first pass (`ntt.long_first`) have the same
// residues on every processor, whatever its passes are.
func TestTransformLong(t *testing.T) {
	const n = 1 << 16
	y, pl := layout{1, 1, true}, newPlan(n, 50)
	a := numbers(rand.New(rand.NewPCG(7, 8)), n, pl.p, n, false)
	args := []*tensor.Tensor{tensorOf(t, types.I64, y.shape(1, n), a, nil),
		tensorOf(t, types.I64, []int64{1}, pl.p, nil),
		tensorOf(t, types.I64, []int64{1, n}, pl.forward, nil), tensorOf(t, types.I64, []int64{n}, counting(n), nil)}
	src := forwardSource("i64", y, 1, n, true)
	var want []int64
	for _, cpu := range devices.Targets(t) {
		got := compile(t, src, cpu, 1)
		if want == nil {
			want = call(t, got[0], args...)
			got = got[1:]
		}
		check(t, fmt.Sprintf("%d elements on %q", n, cpu), got, want, args...)
	}
}

// TestTransformTables compares with the interpreter for any tables, moduli and positions: what is no root, no prime, no
// residue and no permutation has a meaning, too. What is transformed is a product in every other program. Half of the
// cases run, the others on the next day.
func TestTransformTables(t *testing.T) {
	cpus := devices.Targets(t)
	step, parts, day := 1, sample.Part(2), sample.Today(t)
	if testing.Short() {
		step, parts = 4, 1
	}
	for i := 0; i < 36; i += step {
		if (i+day)%parts > 0 {
			continue
		}
		r := rand.New(rand.NewPCG(7, uint64(100+i)))
		n := int64(1) << []int{3, 6, 7, 8, 9, 10, 11, 12}[r.IntN(8)]
		elem, dtype := "i64", types.I64
		limits := []int64{1<<49 - 1, 1 << 49, 1<<50 - 1, 1 << 50, 1<<60 - 1, 1 << 60, 1<<63 - 1, 1, 2, 3, 1<<31 - 1}
		if r.IntN(3) == 0 {
			elem, dtype = "i32", types.I32
			limits = []int64{1<<31 - 1, 1, 2, 3, 1 << 30, 12289}
		}
		p := make([]int64, 1+r.IntN(3))
		for c := range p {
			p[c] = limits[r.IntN(len(limits))]
		}
		k := int64(len(p))
		y := layout{l: 1 + r.Int64N(2), r: 1 + r.Int64N(3), last: r.IntN(2) == 0}
		wildTable, wildNumbers := r.IntN(4) == 0, r.IntN(2) == 0
		small := func(x []int64) []int64 {
			if dtype == types.I32 {
				for i := range x {
					x[i] = int64(int32(x[i]))
				}
			}
			return x
		}
		var view *rand.Rand
		if r.IntN(2) == 0 {
			view = r
		}
		perm := counting(n)
		if r.IntN(2) == 0 {
			perm = shuffle(r, n)
		}
		if r.IntN(4) == 0 {
			perm[r.IntN(len(perm))] = r.Int64N(n)
		}
		a := tensorOf(t, dtype, y.shape(k, n), small(numbers(r, y.l*y.r*k*n, p, y.inner(n), wildNumbers)), view)
		pt := tensorOf(t, dtype, []int64{k}, p, view)
		w := tensorOf(t, dtype, []int64{k, n}, small(numbers(r, k*n, p, n, wildTable)), view)
		perms := tensorOf(t, types.I64, []int64{n}, perm, view)
		scale := tensorOf(t, dtype, []int64{k}, small(numbers(r, k, p, 1, wildNumbers)), view)
		turn := (i/step + day) / parts
		cpu, th := taken(i/step, cpus[turn%len(cpus)]), threads[turn/len(cpus)%len(threads)]
		type program struct {
			src  string
			args []*tensor.Tensor
		}
		programs := []program{
			{forwardSource(elem, y, k, n, i%3 == 0), []*tensor.Tensor{a, pt, w, perms}},
			{inverseSource(elem, y, k, n), []*tensor.Tensor{a, pt, w, scale, perms}},
		}
		x := &programs[r.IntN(2)]
		src, shape := times(x.src, elem, y, k, n, r.IntN(2) == 0)
		b := tensorOf(t, dtype, shape, small(numbers(r, shape[0]*shape[1]*shape[2]*shape[3], p, y.inner(n),
			r.IntN(4) == 0)), view)
		*x = program{src, append([]*tensor.Tensor{b}, x.args...)}
		for _, c := range programs {
			judge := one(t, c.src, heal.Interp, engine.Options{Backend: heal.Interp})
			check(t, fmt.Sprintf("case %d, %s modulo %v on %q", i, c.src, p, cpu), compile(t, c.src, cpu, th),
				call(t, judge, c.args...), c.args...)
		}
	}
}

// TestTransformErrors wants the errors of a modulus and of positions out of range.
func TestTransformErrors(t *testing.T) {
	const n = 64
	y := layout{l: 1, r: 1, last: true}
	fs := compile(t, forwardSource("i64", y, 1, n, false), devices.InTurn(0, ""), 1)
	zeros := make([]int64, n)
	for _, c := range []struct {
		p    int64
		perm func([]int64)
		want string
	}{
		{0, func([]int64) {}, "0 is no modulus"},
		{-5, func([]int64) {}, "-5 is no modulus"},
		{17, func(x []int64) { x[63] = n }, "out of range"},
		{17, func(x []int64) { x[0] = -1 }, "out of range"},
	} {
		perm := counting(n)
		c.perm(perm)
		for _, f := range fs {
			_, err := f.Call(context.Background(), tensorOf(t, types.I64, y.shape(1, n), zeros, nil),
				tensorOf(t, types.I64, []int64{1}, []int64{c.p}, nil),
				tensorOf(t, types.I64, []int64{1, n}, zeros, nil), tensorOf(t, types.I64, []int64{n}, perm, nil))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("modulus %d and positions %v, %s: the error is %v, want one with %q", c.p, perm, f.way, err,
					c.want)
			}
		}
	}
}

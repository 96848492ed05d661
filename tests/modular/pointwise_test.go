package modular

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"testing"

	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/sample"
)

// function is an element-wise function of residues with its meaning on integers of any size.
type function struct {
	name string
	two  bool // it has two operands beside the modulus
	of   func(a, b, p *big.Int) *big.Int
}

var functions = []function{
	{"modsum", true, func(a, b, p *big.Int) *big.Int { return new(big.Int).Add(a, b) }},
	{"modsub", true, func(a, b, p *big.Int) *big.Int { return new(big.Int).Sub(a, b) }},
	{"modmul", true, func(a, b, p *big.Int) *big.Int { return new(big.Int).Mul(a, b) }},
	{"modneg", false, func(a, b, p *big.Int) *big.Int { return new(big.Int).Neg(a) }},
	{"mod", false, func(a, b, p *big.Int) *big.Int { return a }},
}

// operand is any number of the type, most of them residues, some at the edges.
func operand(r *rand.Rand, p int64, elem types.DType, wild bool) int64 {
	low := int64(-1) << (elem.Bits() - 1)
	switch r.IntN(12) {
	case 0:
		return []int64{0, 1, p - 1, p / 2, p/2 + 1}[r.IntN(5)]
	case 1, 2:
		if wild {
			return []int64{p, -1, -p, low, -(low + 1), low + p, int64(r.Uint64()) >> (64 - elem.Bits())}[r.IntN(7)]
		}
	}
	return r.Int64N(p)
}

// moduli are those at which the arithmetic changes, and random ones around them.
func modulus(r *rand.Rand, elem types.DType) int64 {
	top := elem.Bits() - 1
	edges := []int{1, 2, 16, 20, 30, 31}
	if elem == types.I64 {
		edges = append(edges, 32, 33, 48, 49, 50, 51, 52, 59, 60, 61, 62, 63)
	}
	b := edges[r.IntN(len(edges))]
	p := uint64(1) << b
	switch r.IntN(4) {
	case 0:
		p--
	case 1:
		p++
	case 2:
		p -= r.Uint64N(p/2 + 1)
	}
	if p >= 1<<top {
		p = 1<<top - 1
	}
	return max(int64(p), 1)
}

// TestPointwise compares every function with math/big: element types, forms of operands, processors, threads, and
// lengths around those of vectors. Half of the cases run, the others on the next day.
func TestPointwise(t *testing.T) {
	cpus := devices.Targets(t)
	step, parts, day := 1, sample.Part(2), sample.Today(t)
	if testing.Short() {
		step, parts = 5, 1
	}
	for i := 0; i < 240; i += step {
		if (i+day)%parts > 0 {
			continue
		}
		r := rand.New(rand.NewPCG(8, uint64(100+i)))
		f := functions[i/step%len(functions)]
		elem := []types.DType{types.I64, types.I64, types.I32}[r.IntN(3)]
		n := []int64{0, 1, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 257, 300, 1000}[r.IntN(15)]
		k := int64(0) // channels, if the moduli are a tensor
		if r.IntN(3) == 0 {
			k = []int64{1, 2, 3, 4, 5, 8, 17}[r.IntN(7)]
		}
		form := r.IntN(4) // a scalar for a or b, or both tensors
		shape, count := fmt.Sprintf("[%d]", n), n
		dims := []int64{n}
		p := []int64{modulus(r, elem)}
		pShape, pDims := "", []int64{}
		if k > 0 {
			shape, count, dims = fmt.Sprintf("[%d, %d]", n, k), n*k, []int64{n, k}
			pShape, pDims = fmt.Sprintf("[%d]", k), []int64{k}
			for int64(len(p)) < k {
				p = append(p, modulus(r, elem))
			}
		}
		wild := r.IntN(2) == 0
		at := func(i int64) int64 { return p[i%int64(len(p))] }
		make := func(scalar bool) ([]int64, string, []int64) {
			if scalar {
				return []int64{operand(r, p[0], elem, true)}, "", []int64{}
			}
			x := []int64{}
			for i := range count {
				x = append(x, operand(r, at(i), elem, wild))
			}
			return x, shape, dims
		}
		a, aShape, aDims := make(form == 0)
		b, bShape, bDims := make(form == 1 && f.two)
		if form == 0 && !f.two {
			a, aShape, aDims = make(false)
		}
		T := elem.String()
		src := fmt.Sprintf("fn f(a: %[1]s%[2]s, p: %[1]s%[4]s) -> %[1]s%[5]s = %[6]s(a, p)", T, aShape, bShape, pShape,
			shape, f.name)
		if f.two {
			src = fmt.Sprintf("fn f(a: %[1]s%[2]s, b: %[1]s%[3]s, p: %[1]s%[4]s) -> %[1]s%[5]s = %[6]s(a, b, p)", T,
				aShape, bShape, pShape, shape, f.name)
		}
		want := []int64{}
		for i := range count {
			x, y := a[i%int64(len(a))], b[min(i, int64(len(b))-1)]
			bp := big.NewInt(at(i))
			want = append(want, new(big.Int).Mod(f.of(big.NewInt(x), big.NewInt(y), bp), bp).Int64())
		}
		var view *rand.Rand
		if r.IntN(2) == 0 {
			view = r
		}
		turn := (i/step + day) / parts
		cpu, th := taken(i/step, cpus[turn%len(cpus)]), threads[turn/len(cpus)%len(threads)]
		ta, tp := tensorOf(t, elem, aDims, a, view), tensorOf(t, elem, pDims, p, view)
		args := []*tensor.Tensor{ta, tp}
		if f.two {
			args = []*tensor.Tensor{ta, tensorOf(t, elem, bDims, b, view), tp}
		}
		check(t, fmt.Sprintf("case %d, %s modulo %v on %q", i, src, p, cpu), compile(t, src, cpu, th), want, args...)
	}
}

// TestSums compares sums along axes with math/big.
func TestSums(t *testing.T) {
	r := rand.New(rand.NewPCG(8, 2))
	cpus := devices.Targets(t)
	step := 1
	if testing.Short() {
		step = 4
	}
	for i := 0; i < 64; i += step {
		elem := []types.DType{types.I64, types.I64, types.I32}[r.IntN(3)]
		l, m, k := []int64{1, 2, 3, 5, 17}[r.IntN(5)], []int64{1, 2, 9, 64, 300}[r.IntN(5)],
			[]int64{1, 2, 4, 7, 16, 33}[r.IntN(6)]
		axis := int64(r.IntN(2))
		if i%8 == 0 { // more products than are added at once
			l, m, k, axis = 2, []int64{1024, 1025, 2100}[r.IntN(3)], []int64{1, 2, 4}[r.IntN(3)], 1
		}
		p := []int64{}
		for range k {
			p = append(p, modulus(r, elem))
		}
		dims := []int64{l, m, k}
		var a, b []int64
		for j := range l * m * k {
			// Residues alone, other numbers now and then, so that few of the vectors have one, and many.
			wild := i%3 == 1 && r.IntN(300) == 0 || i%3 == 2
			a, b = append(a, operand(r, p[j%k], elem, wild)), append(b, operand(r, p[j%k], elem, wild))
		}
		product := r.IntN(2) == 0 || i%8 == 0
		outer := []int64{m, l}[axis]
		T := elem.String()
		src := fmt.Sprintf(
			"fn f(a: %[1]s[%[2]d, %[3]d, %[4]d], b: %[1]s[%[2]d, %[3]d, %[4]d], p: %[1]s[%[4]d]) -> %[1]s[%[5]d, "+
				"%[4]d] = ", T, l, m, k, outer)
		if product {
			src += fmt.Sprintf("modmul_axis_sum(a, b, p, %d)", axis)
		} else {
			src += fmt.Sprintf("axis_modsum(a, p, %d)", axis)
		}
		sums := make([]*big.Int, outer*k)
		for j := range sums {
			sums[j] = new(big.Int)
		}
		for x := range l {
			for y := range m {
				for c := range k {
					j := (x*m+y)*k + c
					to := []int64{y, x}[axis]*k + c
					v := big.NewInt(a[j])
					if product {
						v.Mul(v, big.NewInt(b[j]))
					}
					sums[to].Add(sums[to], v)
				}
			}
		}
		want := []int64{}
		for j, s := range sums {
			want = append(want, s.Mod(s, big.NewInt(p[int64(j)%k])).Int64())
		}
		cpu, th := taken(i/step, cpus[i/step%len(cpus)]), threads[i/step/len(cpus)%len(threads)]
		check(t, fmt.Sprintf("case %d, %s modulo %v on %q", i, src, p, cpu), compile(t, src, cpu, th), want,
			tensorOf(t, elem, dims, a, nil), tensorOf(t, elem, dims, b, nil), tensorOf(t, elem, []int64{k}, p, nil))
	}
}

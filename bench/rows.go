package main

import (
	"context"
	"fmt"
	"log"
	"math/big"
	"math/rand/v2"

	"github.com/tuneinsight/lattigo/v6/ring"
	"healc"
	"healc/lang/types"
	"healc/runtime/tensor"
)

const channels = 8

// field is what both need to know of some primes.
type field struct {
	n                    int
	ring                 *ring.Ring
	p, inverse           []int64
	forward, backwards   []int64
	poly, other, product ring.Poly
}

// newField takes the largest primes below 2^bits for transforms of n elements.
func newField(n, bits int) *field {
	f := &field{n: n}
	step := int64(2 * n)
	var moduli []uint64
	for p := (int64(1)<<bits-1)/step*step + 1; len(moduli) < channels; p -= step {
		if p < 1<<bits && big.NewInt(p).ProbablyPrime(10) {
			moduli = append(moduli, uint64(p))
			f.p = append(f.p, p)
		}
	}
	var err error
	if f.ring, err = ring.NewRing(n, moduli); err != nil {
		log.Fatal(err)
	}
	for _, p := range f.p {
		bp := big.NewInt(p)
		psi := root(p, int64(n))
		f.inverse = append(f.inverse, new(big.Int).ModInverse(big.NewInt(int64(n)), bp).Int64())
		f.forward = append(f.forward, powers(psi, p, n)...)
		f.backwards = append(f.backwards, powers(new(big.Int).ModInverse(psi, bp), p, n)...)
	}
	f.poly, f.other, f.product = f.ring.NewPoly(), f.ring.NewPoly(), f.ring.NewPoly()
	for c, p := range f.p {
		for i := range n {
			f.poly.Coeffs[c][i], f.other.Coeffs[c][i] = rand.Uint64N(uint64(p)), rand.Uint64N(uint64(p))
		}
	}
	return f
}

// root is a primitive root of unity of order 2n modulo the prime p.
func root(p, n int64) *big.Int {
	bp := big.NewInt(p)
	for g := int64(2); ; g++ {
		x := new(big.Int).Exp(big.NewInt(g), big.NewInt((p-1)/(2*n)), bp)
		y := new(big.Int).Exp(x, big.NewInt(n), bp)
		if y.Add(y, big.NewInt(1)).Cmp(bp) == 0 {
			return x
		}
	}
}

// powers are those of x in bit-reversed order.
func powers(x *big.Int, p int64, n int) []int64 {
	out := make([]int64, n)
	at, bp := big.NewInt(1), big.NewInt(p)
	for i := range n {
		j, rest := 0, i
		for m := 1; m < n; m *= 2 {
			j, rest = j<<1|rest&1, rest>>1
		}
		out[j] = at.Int64()
		at.Mul(at, x)
		at.Mod(at, bp)
	}
	return out
}

// flat is a polynomial as one tensor's numbers.
func (f *field) flat(p ring.Poly) []int64 {
	var out []int64
	for _, c := range p.Coeffs {
		for _, x := range c {
			out = append(out, int64(x))
		}
	}
	return out
}

func tensorOf(x []int64, shape ...int64) *tensor.Tensor {
	bits := make([]uint64, len(x))
	for i, v := range x {
		bits[i] = uint64(v)
	}
	t, err := tensor.FromBits(types.I64, shape, bits)
	if err != nil {
		log.Fatal(err)
	}
	return t
}

// program is a call of function f of a source; the result is written to the same memory each time.
func program(src string, threads int, args ...*tensor.Tensor) (func(), error) {
	m, err := heal.Compile(src, heal.Options{Threads: threads})
	if err != nil {
		return nil, err
	}
	f, err := m.Func("f")
	if err != nil {
		return nil, err
	}
	out, err := f.CallAll(context.Background(), args...)
	if err != nil {
		return nil, err
	}
	return func() {
		if err := f.CallInto(context.Background(), out, args...); err != nil {
			log.Fatal(err)
		}
	}, nil
}

func rows() []row {
	var out []row
	for _, n := range []int{4096, 16384, 65536} {
		for _, bits := range []int{49, 60} {
			out = append(out, transforms(n, bits)...)
		}
	}
	for _, bits := range []int{49, 50, 59} {
		out = append(out, vectors(bits)...)
	}
	for _, bits := range []int{49, 59} {
		out = append(out, sums(64, 4096, bits)...)
		out = append(out, sums(32, 256, bits)...)
	}
	return append(out, chain(16384, 49), chain(16384, 60))
}

func order(n int) *tensor.Tensor {
	x := make([]int64, n)
	for i := range x {
		x[i] = int64(i)
	}
	return tensorOf(x, int64(n))
}

// transforms are the rows of the forward and the inverse transform.
func transforms(n, bits int) []row {
	k, m := int64(channels), int64(n)
	src := fmt.Sprintf(
		"fn f(a: i64[1, 1, %[1]d, %[2]d], p: i64[%[1]d], w: i64[%[1]d, %[2]d], perm: i64[%[2]d]) -> i64[1, 1, %[1]d, "+
			"%[2]d] = ntt(a, p, w, perm, axis = -1, skip_perm = true)", k, m)
	back := fmt.Sprintf(
		"fn f(a: i64[1, 1, %[1]d, %[2]d], p: i64[%[1]d], w: i64[%[1]d, %[2]d], s: i64[%[1]d], perm: i64[%[2]d]) -> "+
			"i64[1, 1, %[1]d, %[2]d] = intt(a, p, w, s, perm, axis = -1)", k, m)
	return []row{
		{name: fmt.Sprintf("ntt_n%d_b%d", n, bits),
			heal: func(threads int) (func(), error) {
				f := newField(n, bits)
				return program(src, threads, tensorOf(f.flat(f.poly), 1, 1, k, m), tensorOf(f.p, k),
					tensorOf(f.forward, k, m), order(n))
			},
			lattigo: func(threads int) func() {
				f := newField(n, bits)
				return func() {
					share(threads, channels, func(c int) {
						f.ring.SubRings[c].NTT(f.poly.Coeffs[c], f.product.Coeffs[c])
					})
				}
			}},
		{name: fmt.Sprintf("intt_n%d_b%d", n, bits),
			heal: func(threads int) (func(), error) {
				f := newField(n, bits)
				return program(back, threads, tensorOf(f.flat(f.poly), 1, 1, k, m), tensorOf(f.p, k),
					tensorOf(f.backwards, k, m), tensorOf(f.inverse, k), order(n))
			},
			lattigo: func(threads int) func() {
				f := newField(n, bits)
				return func() {
					share(threads, channels, func(c int) {
						f.ring.SubRings[c].INTT(f.poly.Coeffs[c], f.product.Coeffs[c])
					})
				}
			}},
	}
}

// vectors are the rows of products and sums, in the cache and out of it. Lattigo's product is that by Barrett, as
// neither operand is prepared.
func vectors(bits int) []row {
	var out []row
	for _, size := range []int{8192, 1 << 22} {
		for _, op := range []string{"modmul", "modsum", "add"} {
			if op == "add" && bits != 59 { // what moving the arrays takes; Lattigo's is its sum modulo p
				continue
			}
			src := fmt.Sprintf("fn f(a: i64[%[1]d], b: i64[%[1]d], p: i64) -> i64[%[1]d] = %s(a, b, p)", size, op)
			if op == "add" {
				src = fmt.Sprintf("fn f(a: i64[%[1]d], b: i64[%[1]d], p: i64) -> i64[%[1]d] = a + b", size)
			}
			out = append(out, row{name: fmt.Sprintf("%s_%d_b%d", op, size, bits),
				heal: func(threads int) (func(), error) {
					p := newField(1024, bits).p[0]
					x, y := make([]int64, size), make([]int64, size)
					for i := range x {
						x[i], y[i] = rand.Int64N(p), rand.Int64N(p)
					}
					return program(src, threads, tensorOf(x, int64(size)), tensorOf(y, int64(size)),
						tensorOf([]int64{p}))
				},
				lattigo: func(threads int) func() {
					f := newField(1024, bits)
					s, p := f.ring.SubRings[0], uint64(f.p[0])
					x, y, z := make([]uint64, size), make([]uint64, size), make([]uint64, size)
					for i := range x {
						x[i], y[i] = rand.Uint64N(p), rand.Uint64N(p)
					}
					part := size / threads
					return func() {
						share(threads, threads, func(t int) {
							a, b, c := x[t*part:(t+1)*part], y[t*part:(t+1)*part], z[t*part:(t+1)*part]
							if op == "modmul" {
								s.MulCoeffsBarrett(a, b, c)
							} else {
								s.Add(a, b, c)
							}
						})
					}
				}})
		}
	}
	return out
}

// chain is a product of polynomials: a transform, the product element by element with one that is transformed
// already, and the way back.
func chain(n, bits int) row {
	k, m := int64(channels), int64(n)
	src := fmt.Sprintf(
		`fn f(a: i64[1, 1, %[1]d, %[2]d], b: i64[1, 1, %[1]d, %[2]d], p: i64[%[1]d], w: i64[%[1]d, %[2]d], v: i64[%[1]d, %[2]d], s: i64[%[1]d], perm: i64[%[2]d]) -> i64[1, 1, %[1]d, %[2]d] {
  let t = ntt(a, p, w, perm, axis = -1, skip_perm = true);
  intt(modmul(t, b, unsqueeze(p, 1)), p, v, s, perm, axis = -1)
}`, k, m)
	return row{name: fmt.Sprintf("chain_n%d_b%d", n, bits), products: true,
		heal: func(threads int) (func(), error) {
			f := newField(n, bits)
			return program(src, threads, tensorOf(f.flat(f.poly), 1, 1, k, m), tensorOf(f.flat(f.other), 1, 1, k, m),
				tensorOf(f.p, k),
				tensorOf(f.forward, k, m), tensorOf(f.backwards, k, m), tensorOf(f.inverse, k), order(n))
		},
		lattigo: func(threads int) func() {
			f := newField(n, bits)
			return func() {
				share(threads, channels, func(c int) {
					s, x := f.ring.SubRings[c], f.product.Coeffs[c]
					s.NTT(f.poly.Coeffs[c], x)
					s.MulCoeffsBarrett(x, f.other.Coeffs[c], x)
					s.INTT(x, x)
				})
			}
		}}
}

// sums are the rows of sums along the first axis of [n, m, 4], modulo one number for each position of the last axis: of
// elements, of products in one pass, also along other axes, and of products that are written to memory first, by two
// programs. Lattigo multiplies and adds one term after the other.
func sums(n, m, bits int) []row {
	const k = 4
	big, small := fmt.Sprintf("i64[%d, %d, %d]", n, m, k), fmt.Sprintf("i64[%d, %d]", m, k)
	in, out := []int64{int64(n), int64(m), k}, n*m*k
	name := func(what string) string { return fmt.Sprintf("%s_%dx%dx%d_b%d", what, n, m, k, bits) }
	operands := func() (p, a, b *tensor.Tensor) {
		moduli := newField(1024, bits).p[:k]
		x, y := make([]int64, out), make([]int64, out)
		for i := range x {
			x[i], y[i] = rand.Int64N(moduli[i%k]), rand.Int64N(moduli[i%k])
		}
		return tensorOf(moduli, k), tensorOf(x, in...), tensorOf(y, in...)
	}
	sum := fmt.Sprintf("fn f(a: %s, p: i64[%d]) -> %s = axis_modsum(a, p, 0)", big, k, small)
	lattigo := func(products bool) func(threads int) func() {
		return func(threads int) func() {
			f := newField(1024, bits)
			x, y, acc := make([][]uint64, n), make([][]uint64, n), make([][]uint64, k)
			for i := range n {
				x[i], y[i] = make([]uint64, m*k), make([]uint64, m*k)
				for j := range x[i] {
					x[i][j], y[i][j] = rand.Uint64N(uint64(f.p[j/m])), rand.Uint64N(uint64(f.p[j/m]))
				}
			}
			for c := range acc {
				acc[c] = make([]uint64, m)
			}
			return func() {
				share(threads, k, func(c int) {
					s := f.ring.SubRings[c]
					clear(acc[c])
					for i := range n {
						a, b := x[i][c*m:(c+1)*m], y[i][c*m:(c+1)*m]
						if products {
							s.MulCoeffsBarrettThenAdd(a, b, acc[c])
						} else {
							s.Add(acc[c], a, acc[c])
						}
					}
				})
			}
		}
	}
	// inner is the sum of products along an axis that is not the first: of [outer, n, m/outer, k], axis -3, or, with
	// the terms side by side, of [outer, m/outer, k, n], axis -1, which is moved to the front.
	const outer = 16
	inner := func(last bool) func(threads int) (func(), error) {
		return func(threads int) (func(), error) {
			shape, result, each := []int64{outer, int64(n), int64(m / outer), k},
				fmt.Sprintf("i64[%d, %d, %d]", outer, m/outer, k), 1
			sum := "modmul_axis_sum(a, b, p, axis = -3)"
			if last {
				shape, each = []int64{outer, int64(m / outer), k, int64(n)}, n
				sum = "modmul_axis_sum(moveaxis(a, -1, 0), moveaxis(b, -1, 0), p, 0)"
			}
			moduli := newField(1024, bits).p[:k]
			x, y := make([]int64, out), make([]int64, out)
			for i := range x {
				p := moduli[i/each%k]
				x[i], y[i] = rand.Int64N(p), rand.Int64N(p)
			}
			of := fmt.Sprintf("i64[%d, %d, %d, %d]", shape[0], shape[1], shape[2], shape[3])
			src := fmt.Sprintf("fn f(a: %[1]s, b: %[1]s, p: i64[%[2]d]) -> %[3]s = %[4]s", of, k, result, sum)
			return program(src, threads, tensorOf(x, shape...), tensorOf(y, shape...), tensorOf(moduli, k))
		}
	}
	return []row{
		{name: name("modmul_axis_sum_axis-3"), lattigo: lattigo(true), heal: inner(false)},
		{name: name("modmul_axis_sum_axis-1"), lattigo: lattigo(true), heal: inner(true)},
		{name: name("axis_modsum"), lattigo: lattigo(false), heal: func(threads int) (func(), error) {
			p, a, _ := operands()
			return program(sum, threads, a, p)
		}},
		{name: name("modmul_axis_sum"), lattigo: lattigo(true), heal: func(threads int) (func(), error) {
			p, a, b := operands()
			return program(fmt.Sprintf("fn f(a: %[1]s, b: %[1]s, p: i64[%[2]d]) -> %[3]s = modmul_axis_sum(a, b, p, 0)",
				big, k, small), threads, a, b, p)
		}},
		{name: name("modmul,axis_modsum"), lattigo: lattigo(true), heal: func(threads int) (func(), error) {
			p, a, b := operands()
			first, err := program(fmt.Sprintf("fn f(a: %[1]s, b: %[1]s, p: i64[%[2]d]) -> %[1]s = modmul(a, b, p)", big,
				k), threads, a, b, p)
			if err != nil {
				return nil, err
			}
			second, err := program(sum, threads, a, p)
			return func() { first(); second() }, err
		}},
	}
}

package residues

import (
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"

	"healc/internal/engine"
	"healc/lang/types"
)

// ringSource calls the functions of module ring, for K primes and the length M; N is another number of primes.
const ringSource = `import ring

fn prime[N](n: i64[N]) -> bool[N] = map(|n| ring.is_prime(n), n)
fn ntt_prime[N](n: i64[N], m: i64) -> bool[N] = map(|n| ring.is_ntt_prime(n, m), n)
fn below(limit: i64, m: i64) -> i64 = ring.prime_below(limit, m)
fn primes(bits: i32, m: i64) -> i64[4] = ring.primes[4](bits, m)
fn psi[K](p: i64[K], m: i64) -> i64[K] = map(|p| ring.psi(p, m), p)
fn plan[K, M](p: i64[K], m: bool[M]) -> (i64[K], i64[K, M], i64[K, M], i64[K], i32[M]) = {
    let (p, t, u, n) = ring.plan[K, M](p);
    (p, t, u, n, ring.bitrev[M]())
}
fn arithmetic[L, K, M](a: i64[L, K, M], b: i64[L, K, M], p: i64[K]) -> (i64[L, K, M], i64[L, K, M], i64[L, K, M], i64[L, K, M]) =
    (ring.add(a, b, p), ring.sub(a, b, p), ring.neg(a, p), ring.mul(a, b, ring.plan[K, M](p)))
fn convert[L, K, N, M](a: i64[L, K, M], q: i64[K], p: i64[N]) -> (i64[L, N, M], i64[L, N, M]) =
    (ring.convert_exact(a, q, p), ring.convert_fast(a, q, p))
fn switch[L, K, M](a: i64[L, K, M], p: i64[K]) -> (i64[L, K - 1, M], i64[L, K - 1, M]) = {
    let plan = ring.plan[K, M](p);
    let x = ring.mod_switch_values(ring.forward(a, plan), plan);
    (ring.mod_switch(a, p), ring.inverse(x, ring.plan[K - 1, M](p[0..K - 1])))
}
fn automorphism[L, K, M](a: i64[L, K, M], g: i64, p: i64[K]) -> (i64[L, K, M], i64[L, K, M]) = {
    let plan = ring.plan[K, M](p);
    (ring.automorphism(a, g, p), ring.inverse(ring.automorphism_values(ring.forward(a, plan), g), plan))
}
fn gadget[L, K, D, C, N, M](a: i64[L, K, M], key: i64[K, D, C, N, M], bits: i32, p: i64[N]) -> i64[L, C, N, M] = {
    let plan = ring.plan[N, M](p);
    let values = ring.forward(reshape(key, [K * D * C, N, M]), plan);
    let y = ring.gadget_product(a, reshape(values, [K, D, C, N, M]), bits, plan);
    reshape(ring.inverse(reshape(y, [L * C, N, M]), plan), [L, C, N, M])
}
`

// numbers are the elements of a tensor of rank 1.
func numbers(v ...int64) array { return array{types.I64, []int64{int64(len(v))}, v} }

func number(v int64) array { return array{types.I64, nil, []int64{v}} }

func bools(v []bool) array {
	out := newTensor(types.Bool, int64(len(v)))
	for i, b := range v {
		if b {
			out.v[i] = signed(types.Bool, 1)
		}
	}
	return out
}

// TestRingPrimes: prime search and primitive roots.
func TestRingPrimes(t *testing.T) {
	prog := newProgram(t, ringSource)
	r := rand.New(rand.NewPCG(7, 7))
	// Strong pseudoprimes to the first 1 to 9 primes, Carmichael numbers, squares of primes.
	list := []int64{
		-5, 2047, 1373653, 25326001, 3215031751, 2152302898747, 3474749660383, 341550071728321, 3825123056546413051,
		561, 1105,
		1<<63 - 1, 9223372036854775783, 9223372036854775781, 1<<61 - 1, 2147483647 * 2147483647,
		3037000493 * 3037000493,
	}
	for i := range int64(300) {
		list = append(list, i, 1<<62+2*i+1, r.Int64N(1<<40)|1)
	}
	want := make([]bool, len(list))
	for i, n := range list {
		want[i] = n > 0 && big.NewInt(n).ProbablyPrime(20)
	}
	prog.check(r, "prime", 0, true, []array{numbers(list...)}, bools(want))
	for i, n := range list {
		want[i] = want[i] && n%16 == 1
	}
	prog.check(r, "ntt_prime", 1, false, []array{numbers(list...), number(8)}, bools(want))
	for i, m := range []int64{1, 8, 4096, 1 << 16} {
		limit := []int64{1 << 20, 1<<31 - 1, 1 << 50, 1<<62 + 12345}[i]
		prog.check(r, "below", i, i == 2, []array{number(limit), number(m)}, number(primeBelow(limit, m)))
		bits := []int64{21, 30, 50, 62}[i]
		four := make([]int64, 4)
		for k, below := 0, int64(1)<<bits; k < 4; k++ {
			four[k] = primeBelow(below, m)
			below = four[k]
		}
		prog.check(r, "primes", i, i == 1, []array{{types.I32, nil, []int64{bits}}, number(m)}, numbers(four...))
		// The root is a power of the smallest number that is no square.
		roots := make([]int64, 4)
		for k, p := range four {
			x := int64(2)
			for big.Jacobi(big.NewInt(x), big.NewInt(p)) == 1 {
				x++
			}
			roots[k] = power(x, (p-1)/(2*m), p)
		}
		prog.check(r, "psi", i, i == 3, []array{numbers(four...), number(m)}, numbers(roots...))
	}
	for _, c := range append(onCPU(0), interps[0]) {
		for _, bad := range [][2]int64{{15, 1}, {17, 16}, {1, 1}, {-17, 8}, {1 << 40, 4}} {
			_, err := prog.call(c, r, "psi", []array{numbers(17, bad[0]), number(bad[1])})
			if err == nil || !strings.Contains(err.Error(), "is no prime p with p = 1 modulo 2m for the length m = ") {
				t.Errorf("a root for %d of length %d: %v", bad[0], bad[1], err)
			}
		}
		if _, err := prog.call(c, r, "below", []array{number(16), number(8)}); err == nil ||
			!strings.Contains(err.Error(), "no prime below 16 is 1 modulo 16") {
			t.Errorf("a prime that is 1 modulo 16 and below 16: %v", err)
		}
	}
}

// polynomial is a[l, k, :] for big integers.
func reduced(x []*big.Int, p []int64, l int64) array {
	m := int64(len(x)) / l
	return build(types.I64, []int64{l, int64(len(p)), m}, func(i []int64) int64 {
		return residue(x[i[0]*m+i[2]], p[i[1]])
	})
}

// random numbers from 0 up to the product of p, some of them at the ends.
func bigNumbers(r *rand.Rand, p []int64, n int64) []*big.Int {
	all := big.NewInt(1)
	for _, q := range p {
		all.Mul(all, big.NewInt(q))
	}
	out := make([]*big.Int, n)
	for i := range out {
		x := new(big.Int)
		for range 8 {
			x.Add(x.Lsh(x, 62), big.NewInt(r.Int64N(1<<62)))
		}
		out[i] = x.Mod(x, all)
		switch r.IntN(8) {
		case 0:
			out[i] = big.NewInt(int64(r.IntN(3)))
		case 1:
			out[i] = new(big.Int).Sub(all, big.NewInt(1+int64(r.IntN(3))))
		case 2:
			out[i] = new(big.Int).Add(new(big.Int).Rsh(all, 1), big.NewInt(int64(r.IntN(3))-1))
		}
	}
	return out
}

// negacyclic is a * b modulo x^m + 1, over the integers.
func negacyclic(a, b []*big.Int) []*big.Int {
	m := len(a)
	out := make([]*big.Int, m)
	for i := range out {
		out[i] = new(big.Int)
	}
	for i := range a {
		for j := range b {
			x := new(big.Int).Mul(a[i], b[j])
			if i+j >= m {
				x.Neg(x)
			}
			out[(i+j)%m].Add(out[(i+j)%m], x)
		}
	}
	return out
}

// TestRing: plans, products, conversions, switches of the modulus, automorphisms and gadget products.
func TestRing(t *testing.T) {
	prog := newProgram(t, ringSource)
	r := rand.New(rand.NewPCG(8, 8))
	turn := 0
	for _, m := range []int64{1, 2, 8, 32} {
		for _, bits := range []int{20, 50, 60, 62} {
			for _, k := range []int64{2, 3, 5} {
				turn++
				if testing.Short() && turn%4 != 1 && turn%14 != 1 {
					continue
				}
				// Every seventh: these meet all sizes, bits and numbers of primes, and go through the processors one
				// after the other.
				cpu := turn%7 == 1 && (!testing.Short() || turn%2 == 1)
				p := make([]int64, k)
				for i, below := 0, int64(1)<<bits; i < len(p); i++ {
					p[i] = primeBelow(below, m)
					below = p[i]
				}
				l := int64(1 + turn%2)
				testRing(prog, r, turn, cpu, p, l, m)
			}
		}
	}
}

func testRing(prog *program, r *rand.Rand, turn int, cpu bool, p []int64, l, m int64) {
	k := int64(len(p))
	moduli := numbers(p...)
	check := func(name string, args []array, want ...array) { prog.check(r, name, turn, cpu, args, want...) }

	roots := make([]int64, k)
	for i, q := range p {
		roots[i] = rootOf(q, m)
	}
	_, forward, backward, inverse := tables(types.I64, p, m)
	order := build(types.I32, []int64{m}, func(i []int64) int64 { return bitrev(i[0], m) })
	check("plan", []array{moduli, newTensor(types.Bool, m)}, moduli, forward, backward, inverse, order)

	x, y := bigNumbers(r, p, l*m), bigNumbers(r, p, l*m)
	sum, diff, neg := make([]*big.Int, l*m), make([]*big.Int, l*m), make([]*big.Int, l*m)
	var product []*big.Int
	for i := range x {
		sum[i], diff[i], neg[i] = new(big.Int).Add(x[i], y[i]), new(big.Int).Sub(x[i], y[i]), new(big.Int).Neg(x[i])
	}
	for i := range l {
		product = append(product, negacyclic(x[i*m:(i+1)*m], y[i*m:(i+1)*m])...)
	}
	a, b := reduced(x, p, l), reduced(y, p, l)
	check("arithmetic", []array{a, b, moduli}, reduced(sum, p, l), reduced(diff, p, l), reduced(neg, p, l),
		reduced(product, p, l))

	// The fast conversion adds the multiple of all primes that its definition gives.
	all := big.NewInt(1)
	for _, q := range p {
		all.Mul(all, big.NewInt(q))
	}
	others := []int64{97, 12289, 1<<61 - 1, 2}
	approximate := make([]*big.Int, l*m)
	for i := range x {
		approximate[i] = new(big.Int)
		for _, q := range p {
			rest := new(big.Int).Div(all, big.NewInt(q))
			factor := new(big.Int).ModInverse(new(big.Int).Mod(rest, big.NewInt(q)), big.NewInt(q))
			digit := factor.Mod(factor.Mul(factor, x[i]), big.NewInt(q))
			approximate[i].Add(approximate[i], rest.Mul(rest, digit))
		}
	}
	check("convert", []array{a, moduli, numbers(others...)}, reduced(x, others, l), reduced(approximate, others, l))

	last := big.NewInt(p[k-1])
	rounded := make([]*big.Int, l*m)
	for i := range x {
		rounded[i] = new(big.Int).Add(x[i], new(big.Int).Rsh(last, 1))
		rounded[i].Div(rounded[i], last)
	}
	small := reduced(rounded, p[:k-1], l)
	check("switch", []array{a, moduli}, small, small)

	g := 2*r.Int64N(4*m) + 1 - 4*m
	turned := make([]*big.Int, l*m)
	for i := range x {
		row, j := int64(i)/m, ((int64(i)%m*g)%(2*m)+2*m)%(2*m)
		turned[row*m+j%m] = x[i]
		if j >= m {
			turned[row*m+j%m] = new(big.Int).Neg(x[i])
		}
	}
	image := reduced(turned, p, l)
	check("automorphism", []array{a, number(g), moduli}, image, image)

	testGadget(prog, r, turn, cpu, p, l, m, a)
}

// testGadget: keys modulo the primes of the plan, digits of residues modulo the first ones alone, which have all bits
// of them or not.
func testGadget(prog *program, r *rand.Rand, turn int, cpu bool, p []int64, l, m int64, a array) {
	n := int64(len(p))
	k, c := n-1, int64(2)
	d, bits := []int64{3, 3, 5}[turn%3], []int64{7, 13, 16}[turn%3] // the last has more bits than an i64
	part := build(types.I64, []int64{l, k, m}, func(i []int64) int64 { return a.at(i...) })
	all := numbers(p...)
	key := build(types.I64, []int64{k, d, c, n, m}, func(i []int64) int64 { return r.Int64N(p[i[3]]) })
	want := newTensor(types.I64, l, c, n, m)
	row := func(f func(j int64) int64) []*big.Int {
		out := make([]*big.Int, m)
		for j := range out {
			out[j] = big.NewInt(f(int64(j)))
		}
		return out
	}
	for i := range l {
		for j := range c {
			for q := range n {
				sum := make([]*big.Int, m)
				for x := range sum {
					sum[x] = new(big.Int)
				}
				for s := range k {
					for e := range d {
						digits := row(func(x int64) int64 { return digit(big.NewInt(part.at(i, s, x)), e, bits) })
						for x, v := range negacyclic(digits, row(func(x int64) int64 {
							return key.at(s, e, j, q, x)
						})) {
							sum[x].Add(sum[x], v)
						}
					}
				}
				for x, v := range sum {
					want.v[want.flat([]int64{i, j, q, int64(x)})] = residue(v, p[q])
				}
			}
		}
	}
	prog.check(r, "gadget", turn, cpu, []array{part, key, {types.I32, nil, []int64{bits}}, all}, want)
}

// TestRingKernels: a gadget product is one program without a pass over the digits: a kernel for the shifts, one number
// for each digit, the transforms, which take the digits from the residues themselves, and the sums. A switch of the
// modulus transforms in both directions, looks once whether the positions are in order, inverts one number for each
// prime, and has one more pass, over the result.
func TestRingKernels(t *testing.T) {
	m, err := engine.Compile(`import ring

fn gadget(a: i64[1, 3, 4096], key: i64[3, 4, 2, 3, 4096], plan: (i64[3], i64[3, 4096], i64[3, 4096], i64[3])) -> i64[1, 2, 3, 4096] =
    ring.gadget_product(a, key, 13, plan)
fn switch(a: i64[2, 3, 4096], plan: (i64[3], i64[3, 4096], i64[3, 4096], i64[3])) -> i64[2, 2, 4096] =
    ring.mod_switch_values(a, plan)
`, engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for name, most := range map[string]int{"gadget": 3, "switch": 5} {
		km, err := m.Kernels(name, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(km.Kernels); n == 0 || n > most {
			t.Errorf("%s has %d kernels, want at most %d", name, n, most)
		}
	}
}

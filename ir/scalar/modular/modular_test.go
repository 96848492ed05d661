package modular

import (
	"math"
	"math/big"
	"math/rand"
	"testing"

	"healc/ir/scalar"
	"healc/lang/types"
)

// TestModulus compares every operation of Modulus with math/big, for moduli and operands at the ends of their ranges
// and between.
func TestModulus(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, dt := range []types.DType{types.I32, types.I64} {
		w := uint(dt.Bits())
		limit := int64(1)<<(w-2) - 1 + int64(1)<<(w-2)
		rec, x := scalar.NewRecorder(dt, dt, dt)
		e := scalar.Emitter{Sink: rec}
		m := NewModulus(e, x[2])
		a, b := m.Residue(x[0]), m.Residue(x[1])
		for _, r := range []scalar.Ref{a, m.Add(a, b), m.Sub(a, b), m.Neg(a), m.Mul(a, b), m.One(),
			m.Word(e.Bitcast(m.word, x[0]))} {
			rec.Func.Results = append(rec.Func.Results, m.Number(r))
		}
		prog := scalar.Compile(&rec.Func)
		moduli := []int64{1, 2, 3, 4, 5, 7, 8, 255, 256, 257, 65535, 65536, 65537, limit, limit - 1, limit/2 + 1,
			limit / 2, limit/2 + 2, 1<<(w/2) - 1, 1 << (w / 2), 1<<(w/2) + 1}
		for range 300 {
			moduli = append(moduli, 1+rng.Int63n(limit), 1+rng.Int63n(limit)>>uint(rng.Intn(int(w-1))))
		}
		for _, p := range moduli {
			p = max(p, 1)
			values := []int64{0, 1, -1, p, -p, p - 1, 1 - p, limit, -limit, -limit - 1, p + 1, limit / p * p,
				limit/p*p - 1}
			for range 8 {
				values = append(values, int64(rng.Uint64())>>(64-w), rng.Int63n(p))
			}
			for _, av := range values {
				bv := values[rng.Intn(len(values))]
				if w == 32 {
					av, bv = int64(int32(av)), int64(int32(bv))
				}
				got, err := prog.RunOne(scalar.IntBits(dt, av), scalar.IntBits(dt, bv), scalar.IntBits(dt, p))
				if err != nil {
					t.Fatal(err)
				}
				A, B, P := big.NewInt(av), big.NewInt(bv), big.NewInt(p)
				U := new(big.Int).SetUint64(scalar.IntBits(dt, av))
				one := big.NewInt(1)
				want := []*big.Int{A, new(big.Int).Add(A, B), new(big.Int).Sub(A, B), new(big.Int).Neg(A),
					new(big.Int).Mul(A, B), one, U}
				for i, x := range want {
					if r := new(big.Int).Mod(x, P); r.Uint64() != got[i] {
						t.Fatalf("%s, result %d: a = %d, b = %d, p = %d gives %d, not %d", dt, i, av, bv, p, got[i], r)
					}
				}
			}
		}
	}
}

// TestProducts compares each way to multiply residues with math/big, for the moduli that it is for: the least and the
// largest of every number of bits and some between, and operands of as many bits.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewSource(60))
	ways := []struct {
		name        string
		least, most int
		mul         func(m Modulus, a, b scalar.Ref) scalar.Ref
	}{
		{"mul52", 1, 50, Modulus.mul52}, {"mulDigits", 1, 60, Modulus.mulDigits}, {"mulLong", 48, 60, Modulus.mulLong},
		{"mul60", 1, 60, Modulus.mul60}, {"mul", 1, 63, Modulus.mul},
		{"doubles", 1, 50, func(m Modulus, a, b scalar.Ref) scalar.Ref { return m.doubles().mul(a, b) }},
	}
	for _, way := range ways {
		rec, x := scalar.NewRecorder(types.I64, types.U64, types.U64)
		m := NewModulus(scalar.Emitter{Sink: rec}, x[0])
		rec.Func.Results = []scalar.Ref{way.mul(m, x[1], x[2])}
		prog := scalar.Compile(&rec.Func)
		for bits := way.least; bits <= way.most; bits++ {
			low, high := uint64(1)<<(bits-1), uint64(1)<<bits-1
			moduli := []uint64{low, high, low + low/2}
			for i := range uint64(4) {
				moduli = append(moduli, min(low+i, high), high-min(i, high-low), low+rng.Uint64()%low)
			}
			for _, p := range moduli {
				ends := []uint64{0, 1, p - 1, p, high, low}
				for _, a := range append(ends, rng.Uint64()&high, rng.Uint64()&high) {
					for _, b := range []uint64{p - 1, high, ends[rng.Intn(len(ends))], rng.Uint64() & high} {
						got, err := prog.RunOne(p, a, b)
						if err != nil {
							t.Fatal(err)
						}
						want := new(big.Int).Mul(new(big.Int).SetUint64(a), new(big.Int).SetUint64(b))
						if want.Mod(want, new(big.Int).SetUint64(p)); want.Uint64() != got[0] {
							t.Fatalf("%s: %d * %d modulo %d is %d, not %d", way.name, a, b, p, got[0], want)
						}
					}
				}
			}
		}
	}
}

// TestParts compares sums of parts with math/big: of residues, whose quotients are found with doubles, of any numbers,
// and of those at the ends of what doubles are for.
func TestParts(t *testing.T) {
	rng := rand.New(rand.NewSource(32))
	for _, part := range []uint{1, 32, 40, 43, 49, 62} {
		testParts(t, rng, part)
	}
}

func testParts(t *testing.T, rng *rand.Rand, part uint) {
	rec, x := scalar.NewRecorder(types.I64, types.I64, types.I64)
	m := NewModulus(scalar.Emitter{Sink: rec}, x[2])
	rec.Func.Results = []scalar.Ref{m.Number(m.Parts(x[0], x[1], int64(part)))}
	prog := scalar.Compile(&rec.Func)
	ends := []int64{0, 1, -1, 1 << 32, 1<<50 - 1, 1 << 50, -1 << 50, -1<<50 - 1, 1<<63 - 1, -1 << 63}
	for bits := 1; bits <= 63; bits++ {
		low := int64(1) << (bits - 1)
		for _, p := range []int64{low, low + (low - 1), low + low/2, low + rng.Int63n(low)} {
			check := func(high, lo int64) {
				got, err := prog.RunOne(uint64(high), uint64(lo), uint64(p))
				if err != nil {
					t.Fatal(err)
				}
				want := new(big.Int).Lsh(big.NewInt(high), part)
				want.Add(want, big.NewInt(lo)).Mod(want, big.NewInt(p))
				if want.Uint64() != got[0] {
					t.Fatalf("%d * 2^%d + %d modulo %d is %d, not %d", high, part, lo, p, got[0], want)
				}
			}
			for _, high := range ends {
				check(high, ends[rng.Intn(len(ends))])
				up, down := rng.Int63()>>rng.Intn(63), rng.Int63()>>rng.Intn(63)
				check(up-down, high)
				// The least multiples of p above and below, and their neighbours.
				near := new(big.Int).Lsh(big.NewInt(high>>13), part)
				near.Div(near, big.NewInt(p)).Mul(near, big.NewInt(p))
				for _, off := range []int64{-1, 0, 1} {
					n := new(big.Int).Add(near, big.NewInt(off))
					above := new(big.Int).Rsh(n, part)
					check(above.Int64(), n.Sub(n, above.Lsh(above, part)).Int64())
				}
			}
			for range 20 {
				var high, lo int64
				for range 1 + rng.Intn(1000) {
					r := rng.Int63n(p)
					high, lo = high+r>>part, lo+r&(1<<part-1)
				}
				check(high, lo)
				check(-high, lo)
			}
		}
	}
}

// TestDoubleSums compares sums of products by doubles with math/big: of the largest numbers, of products that lie in
// the middle between two upper halves, of numbers that are too large, and of whatever sums lead to a multiple of p and
// its neighbours.
func TestDoubleSums(t *testing.T) {
	rng := rand.New(rand.NewSource(51))
	rec, x := scalar.NewRecorder(types.I64, types.I64, types.I64)
	m := NewModulus(scalar.Emitter{Sink: rec}, x[0])
	rec.Func.Results = []scalar.Ref{m.limb51(x[1], x[2], 1), m.limb51(x[1], x[2], 0)}
	parts := scalar.Compile(&rec.Func)
	for _, terms := range []int64{1, 2, 3, 60, LimbTerms} {
		rec, x := scalar.NewRecorder(types.I64, types.U64, types.U64)
		m := NewModulus(scalar.Emitter{Sink: rec}, x[0])
		rec.Func.Results = []scalar.Ref{m.doubles().limbs51(x[1], x[2], terms)}
		sum := scalar.Compile(&rec.Func)
		check := func(p int64, s1, s0 uint64, want *big.Int) {
			t.Helper()
			got, err := sum.RunOne(uint64(p), s1, s0)
			if err != nil {
				t.Fatal(err)
			}
			if want := new(big.Int).Mod(want, big.NewInt(p)); want.Uint64() != got[0] {
				t.Fatalf("%d terms: %#x and %#x modulo %d are %d, not %d", terms, s1, s0, p, got[0], want)
			}
		}
		for bits := 13; bits <= halfProduct; bits += 2 {
			low := int64(1) << (bits - 1)
			for _, p := range []int64{low, low + 1, 2*low - 1, low + low/2, low + rng.Int63n(low)} {
				largest := int64(1)<<halfProduct - 1
				for _, next := range []func() (a, b int64){
					func() (a, b int64) { return largest, largest },
					func() (a, b int64) { return 1 << (halfProduct - 1), largest - 2*rng.Int63n(1000) },
					func() (a, b int64) { return p - 1, p - 1 },
					func() (a, b int64) { return rng.Int63n(p), rng.Int63n(p) },
					func() (a, b int64) { return -rng.Int63(), rng.Int63() >> rng.Intn(63) },
				} {
					var s1, s0 uint64
					want := new(big.Int)
					for range terms {
						a, b := next()
						got, err := parts.RunOne(uint64(p), uint64(a), uint64(b))
						if err != nil {
							t.Fatal(err)
						}
						s1, s0 = s1+got[0], s0+got[1]
						want.Add(want, new(big.Int).Mul(big.NewInt(a), big.NewInt(b)))
					}
					check(p, s1, s0, want)
				}
				most := new(big.Int).Mul(big.NewInt(largest), big.NewInt(largest))
				most.Mul(most, big.NewInt(terms))
				for range 30 {
					near := new(big.Int).Rand(rng, most)
					if rng.Intn(2) == 0 {
						near.Sub(most, near.Rsh(near, uint(rng.Intn(most.BitLen()))))
					}
					near.Sub(near, new(big.Int).Mod(near, big.NewInt(p)))
					near.Add(near, big.NewInt([]int64{0, 1, p - 1, p / 2}[rng.Intn(4)]))
					if near.Cmp(most) > 0 {
						continue
					}
					// near = k 2^51 + r, with r anywhere within what so many terms can have.
					r := new(big.Int).Mod(near, new(big.Int).Lsh(big.NewInt(1), halfProduct)).Int64()
					if limit := terms << (halfProduct - 1); limit >= 1<<halfProduct {
						r += (rng.Int63n(limit>>(halfProduct-1)-1) - limit>>halfProduct) << halfProduct
					} else if r > limit {
						r -= 1 << halfProduct
					}
					k := new(big.Int).Sub(near, big.NewInt(r))
					if k.Sign() < 0 {
						continue
					}
					constant := func(x float64) uint64 { return uint64(terms) * math.Float64bits(x) }
					check(p, k.Rsh(k, halfProduct).Uint64()+constant(upperUnits), uint64(r)+constant(ones), near)
				}
			}
		}
	}
}

// TestMul52 compares the products of 52 bits with math/big.
func TestMul52(t *testing.T) {
	r := rand.New(rand.NewSource(52))
	low := big.NewInt(1<<52 - 1)
	for range 10000 {
		x, y, z := r.Uint64()>>r.Intn(60), r.Uint64()>>r.Intn(60), r.Uint64()>>r.Intn(60)
		product := new(big.Int).SetUint64(x & (1<<52 - 1))
		product.Mul(product, new(big.Int).SetUint64(y&(1<<52-1)))
		for op, part := range map[scalar.Op]*big.Int{scalar.Mul52Lo: new(big.Int).And(product, low),
			scalar.Mul52Hi: new(big.Int).Rsh(product, 52)} {
			if got := scalar.EvalInstr(op, types.U64, types.U64, x, y, z); got != z+part.Uint64() {
				t.Fatalf("%s of %#x, %#x and %#x is %#x, want %#x", op, x, y, z, got, z+part.Uint64())
			}
		}
	}
}

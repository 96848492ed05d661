package scalar

import (
	"math/big"
	"math/rand"
	"testing"

	"healc/lang/types"
)

// TestModulus compares every operation of Modulus with math/big, for moduli and operands at the ends of their ranges
// and between.
func TestModulus(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	for _, dt := range []types.DType{types.I32, types.I64} {
		w := uint(dt.Bits())
		limit := int64(1)<<(w-2) - 1 + int64(1)<<(w-2)
		rec, x := NewRecorder(dt, dt, dt)
		e := Emitter{rec}
		m := NewModulus(e, x[2])
		a, b := m.Residue(x[0]), m.Residue(x[1])
		for _, r := range []Ref{a, m.Add(a, b), m.Sub(a, b), m.Neg(a), m.Mul(a, b), m.One(), m.Word(e.Bitcast(m.word, x[0]))} {
			rec.Func.Results = append(rec.Func.Results, m.Number(r))
		}
		prog := Compile(&rec.Func)
		moduli := []int64{1, 2, 3, 4, 5, 7, 8, 255, 256, 257, 65535, 65536, 65537, limit, limit - 1, limit/2 + 1, limit / 2, limit/2 + 2, 1<<(w/2) - 1, 1 << (w / 2), 1<<(w/2) + 1}
		for range 300 {
			moduli = append(moduli, 1+rng.Int63n(limit), 1+rng.Int63n(limit)>>uint(rng.Intn(int(w-1))))
		}
		for _, p := range moduli {
			p = max(p, 1)
			values := []int64{0, 1, -1, p, -p, p - 1, 1 - p, limit, -limit, -limit - 1, p + 1, limit / p * p, limit/p*p - 1}
			for range 8 {
				values = append(values, int64(rng.Uint64())>>(64-w), rng.Int63n(p))
			}
			for _, av := range values {
				bv := values[rng.Intn(len(values))]
				if w == 32 {
					av, bv = int64(int32(av)), int64(int32(bv))
				}
				got, err := prog.RunOne(IntBits(dt, av), IntBits(dt, bv), IntBits(dt, p))
				if err != nil {
					t.Fatal(err)
				}
				A, B, P := big.NewInt(av), big.NewInt(bv), big.NewInt(p)
				U := new(big.Int).SetUint64(IntBits(dt, av))
				one := big.NewInt(1)
				want := []*big.Int{A, new(big.Int).Add(A, B), new(big.Int).Sub(A, B), new(big.Int).Neg(A), new(big.Int).Mul(A, B), one, U}
				for i, x := range want {
					if r := new(big.Int).Mod(x, P); r.Uint64() != got[i] {
						t.Fatalf("%s, result %d: a = %d, b = %d, p = %d gives %d, not %d", dt, i, av, bv, p, got[i], r)
					}
				}
			}
		}
	}
}

// TestProducts compares each way to multiply residues with math/big, for the moduli that it is for: the least and the largest of every
// number of bits and some between, and operands of as many bits.
func TestProducts(t *testing.T) {
	rng := rand.New(rand.NewSource(60))
	ways := []struct {
		name        string
		least, most int
		mul         func(m Modulus, a, b Ref) Ref
	}{
		{"mul52", 1, 50, Modulus.mul52}, {"mulDigits", 1, 60, Modulus.mulDigits}, {"mulLong", 48, 60, Modulus.mulLong},
		{"mul60", 1, 60, Modulus.mul60}, {"mul", 1, 63, Modulus.mul},
		{"doubles", 1, 50, func(m Modulus, a, b Ref) Ref { return m.doubles().mul(a, b) }},
	}
	for _, way := range ways {
		rec, x := NewRecorder(types.I64, types.U64, types.U64)
		m := NewModulus(Emitter{rec}, x[0])
		rec.Func.Results = []Ref{way.mul(m, x[1], x[2])}
		prog := Compile(&rec.Func)
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

// TestHalves compares sums of halves with math/big: of residues, whose quotients are found with doubles, of any numbers, and of those at the ends of what doubles
// are for.
func TestHalves(t *testing.T) {
	rng := rand.New(rand.NewSource(32))
	rec, x := NewRecorder(types.I64, types.I64, types.I64)
	m := NewModulus(Emitter{rec}, x[2])
	rec.Func.Results = []Ref{m.Number(m.Halves(x[0], x[1]))}
	prog := Compile(&rec.Func)
	ends := []int64{0, 1, -1, 1 << 32, 1<<50 - 1, 1 << 50, -1 << 50, -1<<50 - 1, 1<<63 - 1, -1 << 63}
	for bits := 1; bits <= 63; bits++ {
		low := int64(1) << (bits - 1)
		for _, p := range []int64{low, low + (low - 1), low + low/2, low + rng.Int63n(low)} {
			check := func(high, lo int64) {
				got, err := prog.RunOne(uint64(high), uint64(lo), uint64(p))
				if err != nil {
					t.Fatal(err)
				}
				want := new(big.Int).Lsh(big.NewInt(high), 32)
				want.Add(want, big.NewInt(lo)).Mod(want, big.NewInt(p))
				if want.Uint64() != got[0] {
					t.Fatalf("%d * 2^32 + %d modulo %d is %d, not %d", high, lo, p, got[0], want)
				}
			}
			for _, high := range ends {
				check(high, ends[rng.Intn(len(ends))])
				check(rng.Int63()>>rng.Intn(63)-rng.Int63()>>rng.Intn(63), high)
				// The least multiples of p above and below, and their neighbours.
				near := new(big.Int).Lsh(big.NewInt(high>>13), 32)
				near.Div(near, big.NewInt(p)).Mul(near, big.NewInt(p))
				for _, off := range []int64{-1, 0, 1} {
					n := new(big.Int).Add(near, big.NewInt(off))
					half := new(big.Int).Rsh(n, 32)
					check(half.Int64(), n.Sub(n, half.Lsh(half, 32)).Int64())
				}
			}
			for range 20 {
				var high, lo int64
				for range 1 + rng.Intn(1000) {
					r := rng.Int63n(p)
					high, lo = high+r>>32, lo+r&(1<<32-1)
				}
				check(high, lo)
				check(-high, lo)
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
		for op, part := range map[Op]*big.Int{Mul52Lo: new(big.Int).And(product, low), Mul52Hi: new(big.Int).Rsh(product, 52)} {
			if got := EvalInstr(op, types.U64, types.U64, x, y, z); got != z+part.Uint64() {
				t.Fatalf("%s of %#x, %#x and %#x is %#x, want %#x", op, x, y, z, got, z+part.Uint64())
			}
		}
	}
}

package elementary

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"healc/ir/scalar"
	"healc/ir/scalar/scalartest"
	"healc/lang/types"
)

var stored = []types.DType{types.F8E4M3, types.F8E5M2, types.E8M0, types.I4, types.F4E2M1}

func converter(from, to types.DType) *scalar.Program {
	convert := func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return Convert(e, to, x) }
	return scalar.Compile(recordUnary(convert, from))
}

// run gives what a program makes of many values.
func runAll(t *testing.T, p *scalar.Program, xs []uint64) []uint64 {
	t.Helper()
	out := [][]uint64{make([]uint64, len(xs))}
	if err := p.Run([][]uint64{xs}, out, len(xs)); err != nil {
		t.Fatal(err)
	}
	return out[0]
}

// TestFromStored: each of the 256 bit patterns has the value that the specification gives, in every type. Of i4 and
// f4e2m1 the upper bits mean nothing.
func TestFromStored(t *testing.T) {
	xs := make([]uint64, 256)
	for b := range xs {
		xs[b] = uint64(b)
	}
	for _, d := range stored {
		for _, to := range types.DTypes {
			if to == d {
				continue
			}
			got := runAll(t, converter(d, to), xs)
			for b := range xs {
				v := float64(types.StoredValue(d, uint8(b)))
				var want uint64
				switch {
				case to == types.Bool:
					want = scalartest.Bit(v != 0)
				case to.IsInt() && d == types.I4: // an integer, which wraps
					want = scalar.IntBits(to, int64(v))
				case to.IsInt():
					want = scalar.EvalInstr(scalar.Cast, to, types.F64, math.Float64bits(v))
				default:
					want = scalar.FloatBits(to, v)
				}
				if !scalartest.SameBits(to, got[b], want) {
					t.Errorf("%s %#x, which is %v, as %s has the bits %#x, want %#x", d, b, v, to, got[b], want)
				}
			}
		}
	}
}

// TestToStored: f32 round as types.StoredBits does, which is compared with a search of the nearest value. Whether the
// lower 15 bits are 0, and what stands above them, decides every rounding: ties are among the upper bits.
func TestToStored(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, d := range stored {
		xs := scalartest.Edges(types.F32)
		for b := range 256 {
			v := types.StoredValue(d, uint8(b))
			for _, x := range []float32{v, v * 1.0625, v * 1.125, v * 0.75, v * 1.5, v * 0.9375} {
				n := math.Float32bits(x)
				xs = append(xs, uint64(n), uint64(n+1), uint64(n-1))
			}
		}
		for upper := range uint64(1 << 17) {
			for _, lower := range []uint64{0, 1, 1<<15 - 1} {
				xs = append(xs, upper<<15|lower)
			}
		}
		for range 50000 {
			x := float32(math.Ldexp(r.Float64()-0.5, r.IntN(40)-20))
			xs = append(xs, uint64(r.Uint32()), uint64(math.Float32bits(x)))
		}
		for i, b := range runAll(t, converter(types.F32, d), xs) {
			x := math.Float32frombits(uint32(xs[i]))
			if want := types.StoredBits(d, x); b != uint64(want) {
				t.Fatalf("%v (%#x) as %s has the bits %#x, want %#x", x, xs[i], d, b, want)
			}
		}
	}
}

// TestToStoredOnce: what an f32 does not hold rounds once: ties of the type, and numbers next to them.
func TestToStoredOnce(t *testing.T) {
	for _, d := range stored {
		for _, from := range []types.DType{types.Bool, types.I8, types.U16, types.I32, types.U32, types.I64, types.U64,
			types.F16, types.BF16, types.F64} {
			xs := scalartest.Edges(from)
			for b := range 255 {
				low, high := valueOf(types.StoredValue(d, uint8(b))), valueOf(types.StoredValue(d, uint8(b+1)))
				if low == nil || high == nil {
					continue
				}
				middle := new(big.Float).Add(low, high)
				middle.Quo(middle, big.NewFloat(2))
				for _, x := range []*big.Float{low, middle} {
					switch f, _ := x.Float64(); {
					case from == types.F64:
						bits := math.Float64bits(f)
						xs = append(xs, bits, bits+1, bits-1)
					case from.IsInt() && x.IsInt() && math.Abs(f) < math.Ldexp(1, from.Bits()-1):
						n, _ := x.Int64()
						for _, n := range []int64{n, n + 1, n - 1} {
							xs = append(xs, scalar.IntBits(from, n))
						}
					}
				}
			}
			got := runAll(t, converter(from, d), xs)
			for i, b := range got {
				var x *big.Float
				switch {
				case d == types.I4 && !from.IsFloat():
					if want := uint8(int8(xs[i]<<4) >> 4); b != uint64(want) { // wraps, and a bool is 0 or 1
						t.Errorf("%s %#x as %s has the bits %#x, want %#x", from, xs[i], d, b, want)
					}
					continue
				case from.IsFloat():
					v := scalartest.PlainValue(from, xs[i])
					if math.IsNaN(v) || math.IsInf(v, 0) {
						if want := types.StoredBits(d, float32(v)); b != uint64(want) {
							t.Errorf("%v as %s has the bits %#x, want %#x", v, d, b, want)
						}
						continue
					}
					x = big.NewFloat(v)
				default:
					x = new(big.Float).SetPrec(100).SetInt(scalartest.BigInteger(from, xs[i]))
				}
				// To odd in f32, by exact arithmetic: the two roundings are one.
				f, accuracy := x.SetMode(big.ToZero).Float32()
				if accuracy != big.Exact {
					f, _ = new(big.Float).SetPrec(200).SetMode(big.ToZero).Set(x).Float32()
					toward := float32(0)
					if new(big.Float).Abs(big.NewFloat(float64(f))).Cmp(new(big.Float).Abs(x)) > 0 {
						f = math.Nextafter32(f, toward)
					}
					f = math.Float32frombits(math.Float32bits(f) | 1)
					if x.Sign() < 0 {
						f = -float32(math.Abs(float64(f)))
					}
				}
				if want := types.StoredBits(d, f); b != uint64(want) {
					t.Errorf("%s %s as %s has the bits %#x, want %#x", from, x.Text('p', 0), d, b, want)
				}
			}
		}
	}
}

// TestNibbles: i4 and f4e2m1 become one another by their lower bits, and the upper half of the byte is that of the
// type.
func TestNibbles(t *testing.T) {
	xs := make([]uint64, 256)
	for b := range xs {
		xs[b] = uint64(b)
	}
	become := func(from, to types.DType) *scalar.Program {
		cast := func(e scalar.Emitter, x scalar.Ref) scalar.Ref { return Bitcast(e, to, x) }
		return scalar.Compile(recordUnary(cast, from))
	}
	for b, got := range runAll(t, become(types.F4E2M1, types.I4), xs) {
		if want := uint8(int8(b<<4) >> 4); got != uint64(want) {
			t.Errorf("f4e2m1 %#x as i4 is %#x, want %#x", b, got, want)
		}
	}
	for b, got := range runAll(t, become(types.I4, types.F4E2M1), xs) {
		if got != uint64(b&15) {
			t.Errorf("i4 %#x as f4e2m1 is %#x, want %#x", b, got, b&15)
		}
	}
}

// valueOf is a finite value, nil for others.
func valueOf(x float32) *big.Float {
	if x != x || math.IsInf(float64(x), 0) {
		return nil
	}
	return new(big.Float).SetPrec(100).SetFloat64(float64(x))
}

package fourier

import (
	"math"
	"math/big"
	"testing"
)

// Angles are compared with series of 300 bits, whose pi is that of Machin.
const precision = 300

func newFloat(x float64) *big.Float { return new(big.Float).SetPrec(precision).SetFloat64(x) }

// arctan is the arc tangent of 1/n.
func arctan(n float64) *big.Float {
	sum, power := newFloat(0), new(big.Float).Quo(newFloat(1), newFloat(n))
	for k := 1.0; power.MantExp(nil) > -precision-10; k += 2 {
		sum.Add(sum, new(big.Float).Quo(power, newFloat(k)))
		power.Quo(power, newFloat(-n*n))
	}
	return sum
}

var pi = func() *big.Float {
	x := new(big.Float).Sub(new(big.Float).Mul(newFloat(4), arctan(5)), arctan(239))
	return x.Mul(x, newFloat(4))
}()

// exact is the cosine and the sine of -2 pi k/n.
func exact(k, n int64) (cos, sin *big.Float) {
	t := new(big.Float).Mul(pi, newFloat(float64(-2*k)))
	t.Quo(t, newFloat(float64(n)))
	square := new(big.Float).Mul(t, t)
	series := func(term *big.Float, i float64) *big.Float {
		sum := newFloat(0)
		for term.Sign() != 0 && term.MantExp(nil) > -precision {
			sum.Add(sum, term)
			term = new(big.Float).Mul(term, square)
			term.Quo(term, newFloat(-i*(i+1)))
			i += 2
		}
		return sum
	}
	return series(newFloat(1), 1), series(t, 2)
}

func TestRootsAreRoundedOnce(t *testing.T) {
	tiny := newFloat(0x1p-200)
	for _, n := range []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 24, 60, 97, 100, 360, 1000, 1024, 65536, 1 << 24} {
		step := n/500 + 1
		for k := int64(0); k <= n; k += step {
			cos, sin := exact(k, n)
			re, im := Root(k, n, false)
			re32, im32 := Root(k, n, true)
			for i, x := range []*big.Float{cos, sin} {
				if new(big.Float).Abs(x).Cmp(tiny) < 0 {
					x = newFloat(0)
				}
				want, _ := x.Float64()
				want32, _ := x.Float32()
				got, got32 := []float64{re, im}[i], []float64{re32, im32}[i]
				if got != want || got32 != float64(want32) {
					t.Errorf("part %d of root %d of %d is %v and %v, want %v and %v", i, k, n, got, got32, want, want32)
				}
			}
		}
	}
}

// The numbers of the butterflies are f64, from which FloatBits rounds to f32: once more, and to the same.
func TestNumbersOfButterflies(t *testing.T) {
	for _, c := range []struct {
		x    float64
		k, n int64
		sin  bool
	}{{sin60, 1, 6, true}, {cos72, 1, 5, false}, {sin72, 1, 5, true}, {cos144, 2, 5, false}, {sin144, 2, 5, true}} {
		re, im := Root(c.n-c.k, c.n, true)
		want := re
		if c.sin {
			want = im
		}
		if float64(float32(c.x)) != want {
			t.Errorf("%v of %d/%d rounds to %v and not to %v", c.x, c.k, c.n, float32(c.x), want)
		}
	}
}

func TestSymmetry(t *testing.T) {
	for n := int64(1); n < 200; n++ {
		for k := int64(0); k <= n; k++ {
			re, im := Root(k, n, false)
			re2, im2 := Root(n-k, n, false)
			if re != re2 || im != -im2 {
				t.Fatalf("roots %d and %d of %d are no conjugates", k, n-k, n)
			}
		}
	}
}

func TestRadices(t *testing.T) {
	for n := int64(1); n < 3000; n++ {
		radices, ok := Radices(n)
		product, last := int64(1), 0
		for _, r := range radices {
			order := map[int64]int{4: 0, 2: 1, 3: 2, 5: 3}[r]
			if order < last {
				t.Fatalf("radices of %d: %v", n, radices)
			}
			product, last = product*r, order
		}
		rest := n
		for _, f := range []int64{2, 3, 5} {
			for rest%f == 0 {
				rest /= f
			}
		}
		if ok != (rest == 1) || ok && product != n {
			t.Fatalf("radices of %d: %v, %v", n, radices, ok)
		}
		if ok && Factors(n, 1) != int64(len(Table(n, 1, false))/2) {
			t.Fatalf("the table of %d", n)
		}
	}
	if _, ok := Radices(0); ok {
		t.Error("0 elements have no stages")
	}
}

// TestTransforms compares with the definition.
func TestTransforms(t *testing.T) {
	for _, n := range []int64{1, 2, 3, 4, 5, 6, 8, 9, 10, 15, 16, 20, 25, 27, 30, 32, 60, 64, 125, 360, 1024} {
		z := make([]Complex[float64], n)
		for i := range z {
			z[i] = Complex[float64]{math.Sin(float64(i*i + 1)), math.Cos(float64(3 * i))}
		}
		got := transformed(z)
		for k := range n {
			re, im := 0.0, 0.0
			for j, x := range z {
				c, s := Root(k*int64(j)%n, n, false)
				re, im = re+x.Re*c-x.Im*s, im+x.Re*s+x.Im*c
			}
			if d := math.Hypot(got[k].Re-re, got[k].Im-im); d > 1e-14*float64(n) {
				t.Errorf("n = %d: result %d is off by %v", n, k, d)
			}
		}
	}
}

// TestBlocks: each factor has a place of its own, and those of a row for the columns of a block lie together, in order.
func TestBlocks(t *testing.T) {
	for _, b := range []Blocks{{12, 12, 5}, {12, 4, 3}, {13, 4, 3}, {5, 8, 2}, {1, 1, 7}} {
		seen := map[int64]bool{}
		for row := range b.Rows {
			for column := range b.Left {
				at := b.Place(row, column)
				if at < 0 || at >= b.Left*b.Rows || seen[at] {
					t.Errorf("%v: row %d of column %d lies at %d", b, row, column, at)
				}
				seen[at] = true
				if column%b.Width > 0 && at != b.Place(row, column-1)+1 {
					t.Errorf("%v: row %d of column %d does not lie behind that of the column before", b, row, column)
				}
			}
		}
	}
}

// Package fourier has what every form of the fast Fourier transform shares: its stages, the butterflies in them, and
// the tables of roots of unity. Package rows writes it as code, package ops as the meaning of its operations.
package fourier

import "math"

// Note [Fourier transforms]
//
// The transform of z[0..n) is Z[k] = sum over j of z[j] * w(n)^(jk) with w(n) = exp(-2 pi i / n). It is made by
// decimation in frequency (Gentleman and Sande 1966). With n = r*m, output k + r*l is output l of the transform of the
// m numbers
//
//	y[k][p] = (sum over j < r of z[p + m*j] * w(r)^(jk)) * w(n)^(pk)	0 <= p < m
//
// The sum is a butterfly (Butterfly), the factor a twiddle. For k = 0 there is no factor, and none where m is 1. The
// radices are all factors of 4, then 2, then 3, then 5. So every element of the result is one fixed expression of the
// input, in whatever order and place its parts are computed.
//
// Where a number lies between stages is a matter of whoever computes: behind stages with the product s of their radices
// there are s transforms of m numbers, q is which of these, and number p of it. With q = k1 + r1*k2 + r1*r2*k3 + ...
// the result has its natural order, and nothing is ever reversed (Stockham).

// Most is the longest transform.
const Most = 1 << 24

// Radices are the radices of a transform of n elements in order; false where n has other factors than 2, 3 and 5.
func Radices(n int64) ([]int64, bool) {
	var out []int64
	if n < 1 {
		return nil, false
	}
	for _, r := range []int64{4, 2, 3, 5} {
		for ; n%r == 0; n /= r {
			out = append(out, r)
		}
	}
	return out, n == 1
}

// Stage is one stage of a transform: Before transforms of Radix * Rest numbers become Before * Radix of Rest numbers.
type Stage struct {
	Radix, Before, Rest int64
	Left                int64 // what the last of the stages leaves of each transform
	Table               int64 // where its factors begin: Factor
}

// Stages are the stages of a transform of n elements, which has radices.
func Stages(n int64) []Stage {
	stages, _ := First(n, 1)
	return stages
}

// First are the first stages of a transform of n*left elements, those whose radices have the product n; false where
// there are none. For a left of 1 these are all.
//
// Element j of what they transform, one of n, is number column + j*left of the whole. Their factors depend on the
// column, and n transforms of left numbers are what they leave.
func First(n, left int64) ([]Stage, bool) {
	if n < 1 || left < 1 || n > Most || left > Most {
		return nil, false
	}
	radices, _ := Radices(n * left)
	var out []Stage
	before, table := int64(1), int64(0)
	for _, r := range radices {
		if before == n {
			break
		}
		s := Stage{Radix: r, Before: before, Rest: n / before / r, Left: left, Table: table}
		out = append(out, s)
		table += s.factors()
		before *= r
	}
	return out, before == n
}

// Turns reports that the stage has factors.
func (s Stage) Turns() bool { return s.Rest*s.Left > 1 }

// factors is the number of factors of a stage.
func (s Stage) factors() int64 {
	if !s.Turns() {
		return 0
	}
	return (s.Radix - 1) * s.Rest * s.Left
}

// Factor is the place of factor k of number p of a transform, k > 0, in the first column.
func (s Stage) Factor(k, p int64) int64 { return s.Table + ((k-1)*s.Rest+p)*s.Left }

// Factors is the number of factors of the first stages (First).
func Factors(n, left int64) int64 {
	sum := int64(0)
	stages, _ := First(n, left)
	for _, s := range stages {
		sum += s.factors()
	}
	return sum
}

// Blocks says where the factors for columns lie: those of Width columns, or of what is left of Left, are a block of
// Rows rows of so many.
type Blocks struct{ Left, Width, Rows int64 }

// Place is where the factor in a row for a column lies.
func (b Blocks) Place(row, column int64) int64 {
	first := column - column%b.Width
	return first*b.Rows + row*min(b.Width, b.Left-first) + column - first
}

// Split cuts the stages of a transform of n elements into groups: the products of their radices, as near each other as
// they get and none above most, unless a radix is.
func Split(n, most int64) []int64 {
	if n <= most {
		return []int64{n}
	}
	parts := math.Ceil(math.Log(float64(n)) / math.Log(float64(most)))
	first, off := int64(1), math.Inf(1)
	for _, s := range Stages(n)[1:] {
		if d := math.Abs(math.Log(float64(s.Before)) - math.Log(float64(n))/parts); s.Before <= most && d <= off {
			first, off = s.Before, d
		}
	}
	if first == 1 {
		return []int64{n}
	}
	return append([]int64{first}, Split(n/first, most)...)
}

// Package fourier has what every form of the fast Fourier transform shares: its stages, the butterflies in them, and
// the tables of roots of unity. Package rows writes it as code, package ops as the meaning of its operations.
package fourier

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
	Table               int64 // where its factors begin: factor k of p is at Table + (k-1)*Rest + p
}

// Stages are the stages of a transform of n elements, which has radices.
func Stages(n int64) []Stage {
	radices, _ := Radices(n)
	var out []Stage
	before, table := int64(1), int64(0)
	for _, r := range radices {
		s := Stage{Radix: r, Before: before, Rest: n / before / r, Table: table}
		out = append(out, s)
		table += s.factors()
		before *= r
	}
	return out
}

// factors is the number of factors of a stage.
func (s Stage) factors() int64 {
	if s.Rest == 1 {
		return 0
	}
	return (s.Radix - 1) * s.Rest
}

// Factors is the number of factors of a transform of n elements.
func Factors(n int64) int64 {
	sum := int64(0)
	for _, s := range Stages(n) {
		sum += s.factors()
	}
	return sum
}

package scalar

import "math"

func ld32(b uint64) float32 { return math.Float32frombits(uint32(b)) }

func st32(x float32) uint64 { return uint64(math.Float32bits(x)) }

// f32Kernels are the operations on f32. Each assigns a single rounded operation to memory, so a Go
// compiler for a machine with fused multiply-add has nothing to fuse. min and max of Go are those of
// the language: NaN if either is, and -0 < +0. Mod is exact in f64, and so is its result in f32.
var f32Kernels = [numOps]kernel{
	Add: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = st32(ld32(x[i]) + ld32(y[i]))
		}
	},
	Sub: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = st32(ld32(x[i]) - ld32(y[i]))
		}
	},
	Mul: mulF32, MulExact: mulF32,
	Div: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = st32(ld32(x[i]) / ld32(y[i]))
		}
	},
	Rem: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = st32(float32(math.Mod(float64(ld32(x[i])), float64(ld32(y[i])))))
		}
	},
	Neg: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = x[i] ^ 1<<31
		}
	},
	Abs: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = x[i] &^ (1 << 31)
		}
	},
	Min: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = st32(min(ld32(x[i]), ld32(y[i])))
		}
	},
	Max: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = st32(max(ld32(x[i]), ld32(y[i])))
		}
	},
	Fma: func(d, x, y, z []uint64) {
		x, y, z = x[:len(d)], y[:len(d)], z[:len(d)]
		for i := range d {
			d[i] = st32(fma32(ld32(x[i]), ld32(y[i]), ld32(z[i])))
		}
	},
	Flush: func(d, x, y, z []uint64) {
		x, y, z = x[:len(d)], y[:len(d)], z[:len(d)]
		for i := range d {
			r := x[i]
			if ld32(r) < ld32(y[i]) {
				r = z[i]
			}
			d[i] = r
		}
	},
	Sqrt: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = st32(float32(math.Sqrt(float64(ld32(x[i])))))
		}
	},
	Floor: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = st32(float32(math.Floor(float64(ld32(x[i])))))
		}
	},
	Ceil: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = st32(float32(math.Ceil(float64(ld32(x[i])))))
		}
	},
	Trunc: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = st32(float32(math.Trunc(float64(ld32(x[i])))))
		}
	},
	Round: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = st32(float32(math.RoundToEven(float64(ld32(x[i])))))
		}
	},
	CopySign: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = x[i]&^(1<<31) | y[i]&(1<<31)
		}
	},
	Eq: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = b2u(ld32(x[i]) == ld32(y[i]))
		}
	},
	Ne: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = b2u(ld32(x[i]) != ld32(y[i]))
		}
	},
	Lt: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = b2u(ld32(x[i]) < ld32(y[i]))
		}
	},
	Le: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = b2u(ld32(x[i]) <= ld32(y[i]))
		}
	},
}

// fma32 returns x*y + z rounded once to float32.
//
// The product is exact in float64 (48 bits). Rounding the float64 sum again to float32 is wrong only
// when the first rounding hit a tie of the second: bit 28 set and the bits below it clear for a normal
// result, somewhere above for a subnormal one. Then the sum is rounded to odd instead, which keeps the
// information (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
func fma32(x, y, z float32) float32 {
	p := float64(x) * float64(y)
	s := p + float64(z)
	low := math.Float64bits(s) & (1<<29 - 1)
	if low == 1<<28 || low == 0 && math.Abs(s) < 0x1p-126 {
		s = addOdd(p, float64(z))
	}
	return float32(s)
}

// addOdd returns x + y rounded to odd: if the sum is inexact, the neighbour with an odd last bit.
func addOdd(x, y float64) float64 {
	s := x + y
	t := s - x
	err := (x - (s - t)) + (y - t) // exact: Knuth's TwoSum
	b := math.Float64bits(s)
	if b&1 != 0 || err == 0 || math.IsNaN(err) { // NaN: the sum is infinite or NaN
		return s
	}
	if (err > 0) == (s > 0) {
		return math.Float64frombits(b + 1)
	}
	return math.Float64frombits(b - 1)
}

func mulF32(d, x, y, _ []uint64) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = st32(ld32(x[i]) * ld32(y[i]))
	}
}

package scalar

import "math"

// f64Kernels are the operations on f64; see f32Kernels.
var f64Kernels = [numOps]kernel{
	Add: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(math.Float64frombits(x[i]) + math.Float64frombits(y[i]))
		}
	},
	Sub: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(math.Float64frombits(x[i]) - math.Float64frombits(y[i]))
		}
	},
	Mul: mulF64, MulExact: mulF64,
	Div: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(math.Float64frombits(x[i]) / math.Float64frombits(y[i]))
		}
	},
	Rem: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(math.Mod(math.Float64frombits(x[i]), math.Float64frombits(y[i])))
		}
	},
	Neg: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = x[i] ^ 1<<63
		}
	},
	Abs: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = x[i] &^ (1 << 63)
		}
	},
	Min: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(min(math.Float64frombits(x[i]), math.Float64frombits(y[i])))
		}
	},
	Max: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(max(math.Float64frombits(x[i]), math.Float64frombits(y[i])))
		}
	},
	Fma: func(d, x, y, z []uint64) {
		x, y, z = x[:len(d)], y[:len(d)], z[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(math.FMA(math.Float64frombits(x[i]), math.Float64frombits(y[i]),
				math.Float64frombits(z[i])))
		}
	},
	Flush: func(d, x, y, z []uint64) {
		x, y, z = x[:len(d)], y[:len(d)], z[:len(d)]
		for i := range d {
			r := x[i]
			if math.Float64frombits(r) < math.Float64frombits(y[i]) {
				r = z[i]
			}
			d[i] = r
		}
	},
	Sqrt: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(math.Sqrt(math.Float64frombits(x[i])))
		}
	},
	Floor: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(math.Floor(math.Float64frombits(x[i])))
		}
	},
	Ceil: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(math.Ceil(math.Float64frombits(x[i])))
		}
	},
	Trunc: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(math.Trunc(math.Float64frombits(x[i])))
		}
	},
	Round: func(d, x, _, _ []uint64) {
		x = x[:len(d)]
		for i := range d {
			d[i] = math.Float64bits(math.RoundToEven(math.Float64frombits(x[i])))
		}
	},
	CopySign: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = x[i]&^(1<<63) | y[i]&(1<<63)
		}
	},
	Eq: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = b2u(math.Float64frombits(x[i]) == math.Float64frombits(y[i]))
		}
	},
	Ne: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = b2u(math.Float64frombits(x[i]) != math.Float64frombits(y[i]))
		}
	},
	Lt: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = b2u(math.Float64frombits(x[i]) < math.Float64frombits(y[i]))
		}
	},
	Le: func(d, x, y, _ []uint64) {
		x, y = x[:len(d)], y[:len(d)]
		for i := range d {
			d[i] = b2u(math.Float64frombits(x[i]) <= math.Float64frombits(y[i]))
		}
	},
}

func mulF64(d, x, y, _ []uint64) {
	x, y = x[:len(d)], y[:len(d)]
	for i := range d {
		d[i] = math.Float64bits(math.Float64frombits(x[i]) * math.Float64frombits(y[i]))
	}
}

package scalar

import (
	"math/bits"

	"healc/lang/types"
)

// intKernel returns the kernel of op on integers or bool of type t, or nil. Values are zero-extended:
// what wraps works on 64 bits and cuts the result to the width, what depends on the sign extends first.
func intKernel(op Op, t types.DType) kernel {
	width := uint(t.Bits())
	mask := uint64(1)<<(width-1)<<1 - 1
	if k := wrappingKernel(op, width, mask); k != nil {
		return k
	}
	if t.IsSigned() {
		return signedKernel(op, 64-width, mask)
	}
	return unsignedKernel(op, width)
}

// wrappingKernel has the operations that do not care for the sign. It and the two below are tables: a loop an
// instruction, each with its operation written out, since a call an element would cost more than the operation.
func wrappingKernel(op Op, width uint, mask uint64) kernel {
	switch op {
	case Add:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = (x[i] + y[i]) & mask
			}
		}
	case Sub:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = (x[i] - y[i]) & mask
			}
		}
	case Mul:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = x[i] * y[i] & mask
			}
		}
	case Neg:
		return func(d, x, _, _ []uint64) {
			x = x[:len(d)]
			for i := range d {
				d[i] = -x[i] & mask
			}
		}
	case Eq:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = b2u(x[i] == y[i])
			}
		}
	case Ne:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = b2u(x[i] != y[i])
			}
		}
	}
	return bitKernel(op, width, mask)
}

// bitKernel has the operations on bits.
func bitKernel(op Op, width uint, mask uint64) kernel {
	switch op {
	case And:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = x[i] & y[i]
			}
		}
	case Or:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = x[i] | y[i]
			}
		}
	case Xor:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = x[i] ^ y[i]
			}
		}
	case Not:
		return func(d, x, _, _ []uint64) {
			x = x[:len(d)]
			for i := range d {
				d[i] = ^x[i] & mask
			}
		}
	case Shl:
		count := uint64(width - 1)
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = x[i] << (y[i] & count & 63) & mask
			}
		}
	case Clz:
		unused := uint64(64 - width)
		return func(d, x, _, _ []uint64) {
			x = x[:len(d)]
			for i := range d {
				d[i] = (uint64(bits.LeadingZeros64(x[i])) - unused) & mask
			}
		}
	case Popcnt:
		return func(d, x, _, _ []uint64) {
			x = x[:len(d)]
			for i := range d {
				d[i] = uint64(bits.OnesCount64(x[i])) & mask
			}
		}
	}
	return nil
}

// extend returns the value of a signed integer whose bits are x; unused is 64 less its width.
func extend(x uint64, unused uint) int64 { return int64(x<<(unused&63)) >> (unused & 63) }

// signedKernel has the operations on signed integers; unused is 64 less their width.
func signedKernel(op Op, unused uint, mask uint64) kernel {
	switch op {
	case Abs:
		return func(d, x, _, _ []uint64) {
			x = x[:len(d)]
			for i := range d {
				a := extend(x[i], unused)
				s := a >> 63
				d[i] = uint64((a^s)-s) & mask
			}
		}
	case Min:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = uint64(min(extend(x[i], unused), extend(y[i], unused))) & mask
			}
		}
	case Max:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = uint64(max(extend(x[i], unused), extend(y[i], unused))) & mask
			}
		}
	case MulHi:
		if unused == 0 {
			return func(d, x, y, _ []uint64) {
				for i := range d {
					hi, _ := bits.Mul64(x[i], y[i])
					// The unsigned product counts a negative operand as 2^64 too large.
					hi -= uint64(int64(x[i])>>63) & y[i]
					hi -= uint64(int64(y[i])>>63) & x[i]
					d[i] = hi
				}
			}
		}
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = uint64(extend(x[i], unused)*extend(y[i], unused)>>((64-unused)&63)) & mask
			}
		}
	case Shr:
		count := uint64(63 - unused)
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = uint64(extend(x[i], unused)>>(y[i]&count&63)) & mask
			}
		}
	case Lt:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = b2u(extend(x[i], unused) < extend(y[i], unused))
			}
		}
	case Le:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = b2u(extend(x[i], unused) <= extend(y[i], unused))
			}
		}
	}
	return signedDivision(op, unused, mask)
}

// signedDivision has the quotient and the remainder, which are 0 where the divisor is.
func signedDivision(op Op, unused uint, mask uint64) kernel {
	switch op {
	case Div:
		return func(d, x, y, _ []uint64) {
			for i := range d {
				if a, b := extend(x[i], unused), extend(y[i], unused); b != 0 {
					d[i] = uint64(a/b) & mask
				} else {
					d[i] = 0
				}
			}
		}
	case Rem:
		return func(d, x, y, _ []uint64) {
			for i := range d {
				if a, b := extend(x[i], unused), extend(y[i], unused); b != 0 {
					d[i] = uint64(a%b) & mask
				} else {
					d[i] = 0
				}
			}
		}
	}
	return nil
}

// unsignedKernel has the operations on unsigned integers and bool.
func unsignedKernel(op Op, width uint) kernel {
	switch op {
	case Abs:
		return copyBits
	case Min:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = min(x[i], y[i])
			}
		}
	case Max:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = max(x[i], y[i])
			}
		}
	case Shr:
		count := uint64(width - 1)
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = x[i] >> (y[i] & count & 63)
			}
		}
	case Lt:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = b2u(x[i] < y[i])
			}
		}
	case Le:
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = b2u(x[i] <= y[i])
			}
		}
	}
	if k := unsignedDivision(op); k != nil {
		return k
	}
	return unsignedProduct(op, width)
}

// unsignedDivision has the quotient and the remainder, which are 0 where the divisor is.
func unsignedDivision(op Op) kernel {
	switch op {
	case Div:
		return func(d, x, y, _ []uint64) {
			for i := range d {
				if b := y[i]; b != 0 {
					d[i] = x[i] / b
				} else {
					d[i] = 0
				}
			}
		}
	case Rem:
		return func(d, x, y, _ []uint64) {
			for i := range d {
				if b := y[i]; b != 0 {
					d[i] = x[i] % b
				} else {
					d[i] = 0
				}
			}
		}
	}
	return nil
}

// unsignedProduct has the upper half of a product, and the sums with halves of products of 52 bits.
func unsignedProduct(op Op, width uint) kernel {
	switch op {
	case MulHi:
		if width == 64 {
			return func(d, x, y, _ []uint64) {
				for i := range d {
					d[i], _ = bits.Mul64(x[i], y[i])
				}
			}
		}
		return func(d, x, y, _ []uint64) {
			x, y = x[:len(d)], y[:len(d)]
			for i := range d {
				d[i] = x[i] * y[i] >> (width & 63)
			}
		}
	case Mul52Lo:
		return func(d, x, y, z []uint64) {
			for i := range d {
				d[i] = z[i] + x[i]*y[i]&low52
			}
		}
	case Mul52Hi:
		return func(d, x, y, z []uint64) {
			for i := range d {
				hi, _ := bits.Mul64(x[i]<<12, y[i]&low52)
				d[i] = z[i] + hi
			}
		}
	}
	return nil
}

const low52 = 1<<52 - 1

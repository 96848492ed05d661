package scalar

import "healc/lang/types"

// kernel evaluates one instruction over a block: d[i] = op(x[i], y[i], z[i]) for all i. All have the
// length of d; operands that the instruction does not have are ignored. d may be one of the operands.
type kernel func(d, x, y, z []uint64)

// kernelOf returns the kernel of an instruction with a result of type t and operands of type src.
func kernelOf(op Op, t, src types.DType) kernel {
	var k kernel
	switch op {
	case Select:
		k = selectBits
	case Bitcast, Digits52, Doubles, DoubleSums, Compresses:
		k = copyBits
	case Cast:
		k = castKernel(t, src)
	default:
		switch {
		case src == types.F32:
			k = f32Kernels[op]
		case src == types.F64:
			k = f64Kernels[op]
		case src.IsFloat():
			k = halfKernel(op, src)
		default:
			k = intKernel(op, src)
		}
	}
	if k == nil {
		panic("BUG: scalar " + op.String() + " of " + src.String() + " has no kernel")
	}
	return k
}

func selectBits(d, x, y, z []uint64) {
	x, y, z = x[:len(d)], y[:len(d)], z[:len(d)]
	for i := range d {
		v := z[i]
		if x[i] != 0 {
			v = y[i]
		}
		d[i] = v
	}
}

func copyBits(d, x, _, _ []uint64) { copy(d, x) }

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

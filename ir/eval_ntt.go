package ir

import (
	"math/bits"

	"healc/ir/scalar"
)

// The reference meaning of the transforms, with divisions of double words.

func mulMod(a, b, p uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	_, r := bits.Div64(hi, lo, p) // a, b < p, so hi < p
	return r
}

// residue is x mod p in [0, p).
func residue(x, p int64) uint64 {
	r := x % p
	if r < 0 {
		r += p
	}
	return uint64(r)
}

// transformed calls f for every line along the axis of an operation of this family, with the values of its modulus,
// tables and the line as residues; f gives the line of the result.
func transformed(c EvalContext, op *Op, x, p, table *Array, f func(ch int, p uint64, table,
	line []uint64) error) (*Array, error) {
	axis := op.Int("axis")
	out := NewArray(x.DType, x.Shape...)
	if len(out.Bits) == 0 {
		return out, nil
	}
	m := x.Shape[axis]
	chAxis := channelAxis(len(x.Shape), axis)
	chStep, k := rowMajor(x.Shape)[chAxis], x.Shape[chAxis]
	err := lines(x.Shape, axis, func(_ int, first, step int64) error {
		ch := int(first / chStep % k)
		mod := signExtend(p.DType, p.Bits[ch])
		if mod <= 0 {
			return c.Fail(op, scalar.CheckModulus, mod)
		}
		if m&(m-1) != 0 {
			return c.Fail(op, scalar.CheckPowerOfTwo, m)
		}
		line, row := make([]uint64, m), make([]uint64, m)
		for i := range line {
			line[i] = residue(signExtend(x.DType, x.Bits[first+int64(i)*step]), mod)
			row[i] = residue(signExtend(table.DType, table.Bits[int64(ch)*m+int64(i)]), mod)
		}
		if err := f(ch, uint64(mod), row, line); err != nil {
			return err
		}
		for i, v := range line {
			out.Bits[first+int64(i)*step] = v
		}
		return nil
	})
	return out, err
}

func evalNtt(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	perm := args[3]
	out, err := transformed(c, op, args[0], args[1], args[2], func(_ int, p uint64, table, a []uint64) error {
		m := len(a)
		for h, t := 1, m/2; t >= 1; h, t = 2*h, t/2 {
			for i := range h {
				for j := 2 * i * t; j < 2*i*t+t; j++ {
					x, y := a[j], mulMod(a[j+t], table[h+i], p)
					a[j], a[j+t] = (x+y)%p, (x+p-y)%p
				}
			}
		}
		if op.Flag("skip_perm") {
			return nil
		}
		from := append([]uint64{}, a...)
		for i := range a {
			at := signExtend(perm.DType, perm.Bits[i])
			if at < 0 || at >= int64(m) {
				return c.Fail(op, scalar.CheckIndex, at, int64(m))
			}
			a[i] = from[at]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return one(out)
}

func evalIntt(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	inverse, perm := args[3], args[4]
	out, err := transformed(c, op, args[0], args[1], args[2], func(ch int, p uint64, table, a []uint64) error {
		m := len(a)
		from := append([]uint64{}, a...)
		clear(a)
		for i, v := range from {
			at := signExtend(perm.DType, perm.Bits[i])
			if at < 0 || at >= int64(m) {
				return c.Fail(op, scalar.CheckIndex, at, int64(m))
			}
			a[at] = (a[at] + v) % p
		}
		for h, t := m/2, 1; h >= 1; h, t = h/2, 2*t {
			for i := range h {
				for j := 2 * i * t; j < 2*i*t+t; j++ {
					x, y := a[j], a[j+t]
					a[j], a[j+t] = (x+y)%p, mulMod((x+p-y)%p, table[h+i], p)
				}
			}
		}
		scale := residue(signExtend(inverse.DType, inverse.Bits[ch]), int64(p))
		for i := range a {
			a[i] = mulMod(a[i], scale, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return one(out)
}

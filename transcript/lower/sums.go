package lower

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
	"slices"
)

// moduli are the argument of this name as OpAxisModSum takes it: a number, or one for each of k channels.
func (c *call) moduli(name string, d types.DType, k int64) *ir.Value {
	p := c.operand(name, d)
	switch n := extents(p.Type); {
	case len(n) == 0 || len(n) == 1 && n[0] == k:
		return p
	case len(n) == 1 && n[0] == 1:
		return c.l.reshape(p, nil)
	default:
		fail("the moduli `%s` are of shape %s; there is one, or one for each of %d channels", name, list(n), k)
	}
	return nil
}

func axisModSum(l *lowerer, c *call) {
	a, out := c.tensor("a"), c.tensor("out")
	axis := c.axis("axis", len(a.shape))
	if axis == len(a.shape)-1 {
		fail("`axis` is the last one, which holds the channels")
	}
	p := c.moduli("p", out.st.elem, a.shape[len(a.shape)-1])
	c.store(l.emit(ops.AxisModSum, ir.A{"axis": int64(axis)}, c.operand("a", out.st.elem), p), "a", "p")
}

// modMulAxisSum adds the sum of products modulo p to the output. With apply_perm it reads b at perm[n], and adds what
// belongs to index n of a to index perm[n] of the output. The layout is [reps, n, sum, k] for axis -3 and
// [reps, sum, k, n] for -1; b lacks the first axis and the output that of the sum.
func modMulAxisSum(l *lowerer, c *call) {
	a, b, out := c.tensor("a"), c.tensor("b"), c.tensor("out")
	if len(a.shape) != 4 || len(b.shape) != 3 || len(out.shape) != 3 {
		fail("`a`, `b` and `out` are of rank 4, 3 and 3, not %d, %d and %d", len(a.shape), len(b.shape), len(out.shape))
	}
	axis := int64(-1)
	if c.has("axis") {
		axis = c.integer("axis")
	}
	if axis != -1 && axis != -3 {
		fail("`axis` is %d; it is -1, for [reps, sum, k, n], or -3, for [reps, n, sum, k]", axis)
	}
	if !slices.Equal(a.shape[1:], b.shape) {
		fail("`a` is of shape %s and `b` of %s; they agree but for the first axis", list(a.shape), list(b.shape))
	}
	d := out.st.elem
	x, y, acc := c.operand("a", d), c.operand("b", d), l.read(out)
	sum, n := int64(2), int64(1) // axes of x
	if axis == -1 {
		// The channels come last: [reps, sum, n, k].
		x, y, acc = l.permute(x, 0, 1, 3, 2), l.permute(y, 0, 2, 1), l.permute(acc, 0, 2, 1)
		sum, n = 1, 2
	}
	shape := extents(x.Type)
	if want := []int64{shape[0], shape[n], shape[3]}; !slices.Equal(extents(acc.Type), want) {
		if axis == -1 {
			want[1], want[2] = want[2], want[1]
		}
		fail("the result is of shape %s, and the output of %s", list(want), list(out.shape))
	}
	p := c.moduli("p", d, shape[3])
	var perm *ir.Value
	if c.flag("apply_perm") {
		if !c.has("perm") {
			fail("`apply_perm` is set, and `perm` is NONE")
		}
		perm = l.read(c.tensor("perm"))
		if !slices.Equal(extents(perm.Type), []int64{shape[n]}) {
			fail("`perm` is of shape %s; it has one position for each of %d elements", list(extents(perm.Type)),
				shape[n])
		}
		y = l.emit(ops.TakeAlongAxis, ir.A{"axis": n - 1, "within": true}, y, l.along(perm, extents(y.Type), n-1))
	}
	s := l.emit(ops.ModMulAxisSum, ir.A{"axis": sum}, x, l.broadcast(y, shape), p)
	if perm != nil {
		s = l.emit(ops.ModScatterAdd, ir.A{"axis": int64(1)}, acc, l.along(perm, extents(s.Type), 1), s, p)
	} else {
		s = l.emit(ops.ModSum, nil, acc, s, l.broadcast(p, extents(s.Type)))
	}
	if axis == -1 {
		s = l.permute(s, 0, 2, 1)
	}
	c.store(s, "a", "b", "p")
}

// along repeats x, of rank 1, so that it counts along one axis of a shape.
func (l *lowerer) along(x *ir.Value, shape []int64, axis int64) *ir.Value {
	column := make([]int64, len(shape))
	for i := range column {
		column[i] = 1
	}
	column[axis] = shape[axis]
	return l.broadcast(l.reshape(x, column), shape)
}

// transform is ntt or intt. `tile` first expands the axis of the channels, of extent 1, by 2.
func transform(d *ir.OpDef) func(l *lowerer, c *call) {
	return func(l *lowerer, c *call) {
		a, elem := c.tensor("a"), c.tensor("out").st.elem
		axis := int64(-3)
		if c.has("axis") {
			axis = c.integer("axis")
		}
		rank := len(a.shape)
		if axis != -1 && axis != -3 || rank < 2 || axis == -3 && rank < 3 {
			fail("`axis` is %d for `a` of shape %s; it is -3, for [..., m, r, k], or -1, for [..., k, m]", axis,
				list(a.shape))
		}
		channels := rank - 1
		if axis == -1 {
			channels = rank - 2
		}
		x := c.operand("a", elem)
		if c.flag("tile") {
			if a.shape[channels] != 1 {
				fail("`tile` expands axis %d of `a`, of shape %s, whose extent is not 1", channels, list(a.shape))
			}
			shape := append([]int64{}, a.shape...)
			shape[channels] = 2
			x = l.broadcast(x, shape)
		}
		attrs := ir.A{"axis": axis + int64(rank)}
		args := []*ir.Value{x, c.operand("q", elem), c.operand("psi", elem)}
		if d == ops.Ntt {
			attrs["skip_perm"] = c.flag("skip_perm")
		} else {
			args = append(args, c.operand("n_inv", elem))
		}
		c.store(l.emit(d, attrs, append(args, l.read(c.tensor("perm")))...), "a")
	}
}

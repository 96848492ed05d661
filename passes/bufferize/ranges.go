package bufferize

import (
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// infer notes form and interval of a new integer.
func (b *body) infer(r kernel.Ref, in scalar.Instr) {
	if in.Op == scalar.Const {
		if v, ok := b.constInt(r); ok {
			b.refs[r].rng, b.refs[r].form, b.refs[r].exact = interval{v, v}, constForm(types.Lit(v)), true
		}
		return
	}
	limits, tracked := typeRange(in.Type)
	if !tracked {
		return
	}
	f, rng, exact := b.arithmetic(in)
	info := &b.refs[r]
	exact = exact && rng.within(limits)
	if exact {
		info.rng = rng
	}
	if f != nil && (exact || in.Type == types.I64) {
		info.form, info.exact = f, exact
		if info.form.overlaps(r) {
			panic("BUG: the form of a scalar mentions it")
		}
	}
}

func (f *form) overlaps(r kernel.Ref) bool { return !f.coef(r).IsConst(0) }

// arithmetic gives the form and the interval of an integer instruction. exact says that nothing wraps, so
// that form (when there is one) and interval hold without a modulus.
func (b *body) arithmetic(in scalar.Instr) (f *form, rng interval, exact bool) {
	x := in.Args[0]
	if x == scalar.None || !b.types[x].IsInt() || b.types[x] == types.U64 {
		return nil, unbounded, false
	}
	i := b.refs[x]
	var j refInfo
	if y := in.Args[1]; y != scalar.None {
		j = b.refs[y]
	}
	both := i.exact && j.exact
	switch in.Op {
	case scalar.Add:
		rng, ok := i.rng.plus(j.rng)
		return i.form.plus(j.form, types.Lit(1)), rng, ok && (both || i.form == nil || j.form == nil)
	case scalar.Sub:
		rng, ok := i.rng.minus(j.rng)
		return i.form.plus(j.form, types.Lit(-1)), rng, ok && (both || i.form == nil || j.form == nil)
	case scalar.Neg:
		rng, ok := interval{}.minus(i.rng)
		if i.form != nil {
			f = i.form.times(types.Lit(-1))
		}
		return f, rng, ok && (i.exact || i.form == nil)
	case scalar.Mul:
		rng, ok := i.rng.times(j.rng)
		if c, isConst := j.form.constant(); isConst && i.form != nil {
			f = i.form.times(c)
		} else if c, isConst := i.form.constant(); isConst && j.form != nil {
			f = j.form.times(c)
		}
		return f, rng, ok && (f == nil || both)
	case scalar.Cast:
		return i.form, i.rng, i.exact || i.form == nil
	case scalar.Min:
		return nil, interval{min(i.rng.lo, j.rng.lo), min(i.rng.hi, j.rng.hi)}, true
	case scalar.Max:
		return nil, interval{max(i.rng.lo, j.rng.lo), max(i.rng.hi, j.rng.hi)}, true
	case scalar.Select:
		y, z := b.refs[in.Args[1]], b.refs[in.Args[2]]
		return nil, interval{min(y.rng.lo, z.rng.lo), max(y.rng.hi, z.rng.hi)}, b.types[in.Args[1]].IsInt()
	case scalar.Rem:
		if j.rng.lo > 0 {
			hi := j.rng.hi - 1
			lo := -hi
			if i.rng.lo >= 0 {
				lo, hi = 0, min(hi, i.rng.hi)
			}
			return nil, interval{lo, hi}, true
		}
	case scalar.Div:
		if j.rng.lo > 0 && i.rng.lo >= 0 {
			return nil, interval{i.rng.lo / j.rng.hi, i.rng.hi / j.rng.lo}, true
		}
	case scalar.And:
		if i.rng.lo >= 0 || j.rng.lo >= 0 {
			hi := i.rng.hi
			if i.rng.lo < 0 || j.rng.lo >= 0 && j.rng.hi < hi {
				hi = j.rng.hi
			}
			return nil, interval{0, hi}, true
		}
	case scalar.Shr:
		if n, ok := b.constInt(in.Args[1]); ok && n >= 0 && n < int64(in.Type.Bits()) {
			return nil, interval{i.rng.lo >> n, i.rng.hi >> n}, true
		}
	}
	return nil, unbounded, false
}

// difference bounds y - x from below and above as dims; ok is false when nothing is known.
func (b *body) difference(x, y kernel.Ref) (lo, hi types.Dim, okLo, okHi bool) {
	i, j := b.refs[x], b.refs[y]
	if !i.exact || !j.exact {
		return
	}
	d := j.form.plus(i.form, types.Lit(-1))
	if d == nil {
		return
	}
	return b.bounds(d)
}

// bounds gives dims between which a form lies.
func (b *body) bounds(f *form) (lo, hi types.Dim, okLo, okHi bool) {
	lo, hi, okLo, okHi = f.off, f.off, true, true
	for _, t := range f.terms {
		info := b.refs[t.Var]
		first, last := types.Lit(info.rng.lo), types.Lit(info.rng.hi)
		if info.last != nil {
			last = *info.last
		}
		neg, _ := t.Coef.Mul(types.Lit(-1))
		switch {
		case nonNegative(t.Coef):
		case nonNegative(neg):
			first, last = last, first
		default:
			return lo, hi, false, false
		}
		okLo = okLo && addProduct(&lo, t.Coef, first)
		okHi = okHi && addProduct(&hi, t.Coef, last)
	}
	return lo, hi, okLo, okHi
}

func addProduct(sum *types.Dim, c, x types.Dim) bool {
	p, err := c.Mul(x)
	if err != nil {
		return false
	}
	s, err := sum.Add(p)
	*sum = s
	return err == nil
}

// less decides x < y + d for a literal d, when it can.
func (b *body) less(x, y kernel.Ref, d int64) (holds, known bool) {
	i, j := b.refs[x].rng, b.refs[y].rng
	if hi, ok := add64(j.lo, d); ok && i.hi < hi {
		return true, true
	}
	if hi, ok := add64(j.hi, d); ok && i.lo >= hi {
		return false, true
	}
	lo, hi, okLo, okHi := b.difference(x, y)
	if okLo {
		if m, err := lo.Add(types.Lit(d - 1)); err == nil && nonNegative(m) {
			return true, true
		}
	}
	if okHi {
		if m, err := types.Lit(-d).Sub(hi); err == nil && nonNegative(m) {
			return false, true
		}
	}
	return false, false
}

package bufferize

import (
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// simplify returns an existing or simpler scalar for an instruction, where there is one with the same
// bits: constants are folded, and index arithmetic on integers is decided by intervals and affine forms.
func (b *body) simplify(in scalar.Instr) (kernel.Ref, bool) {
	if in.Op == scalar.Const || in.Op == scalar.Param {
		return 0, false
	}
	if r, ok := b.foldConstants(in); ok {
		return r, true
	}
	x, y := in.Args[0], in.Args[1]
	switch in.Op {
	case scalar.Select:
		if c, ok := b.constBits(x); ok {
			return in.Args[2-c], true
		}
		return y, y == in.Args[2]
	case scalar.And, scalar.Or:
		return b.simplifyLogic(in)
	case scalar.Cast:
		return b.simplifyCast(in)
	}
	if y == scalar.None || !b.types[x].IsInt() || b.types[x] == types.U64 {
		return 0, false
	}
	switch in.Op {
	case scalar.Add:
		if c, ok := b.constInt(y); ok && c == 0 {
			return x, true
		}
		if c, ok := b.constInt(x); ok && c == 0 {
			return y, true
		}
	case scalar.Sub:
		if c, ok := b.constInt(y); ok && c == 0 {
			return x, true
		}
	case scalar.Mul:
		if c, ok := b.constInt(y); ok && c == 1 {
			return x, true
		}
		if c, ok := b.constInt(x); ok && c == 1 {
			return y, true
		}
	case scalar.Lt, scalar.Le, scalar.Eq, scalar.Ne:
		return b.simplifyCompare(in)
	case scalar.Div, scalar.Rem:
		return b.simplifyDivide(in)
	case scalar.Min, scalar.Max:
		return b.simplifyExtreme(in)
	}
	if in.Type != types.I64 {
		return 0, false
	}
	if f, _, _ := b.arithmetic(in); f != nil {
		return b.fromForm(f, b.anyRisky(x, y))
	}
	return 0, false
}

func (b *body) foldConstants(in scalar.Instr) (kernel.Ref, bool) {
	args := make([]uint64, 0, 3)
	for _, a := range in.Args {
		if a == scalar.None {
			break
		}
		bits, ok := b.constBits(a)
		if !ok {
			return 0, false
		}
		args = append(args, bits)
	}
	if len(args) == 0 {
		return 0, false
	}
	src := b.types[in.Args[0]]
	if in.Op == scalar.Select {
		src = b.types[in.Args[1]]
	}
	return b.E().Bits(in.Type, scalar.EvalInstr(in.Op, in.Type, src, args...)), true
}

func (b *body) simplifyLogic(in scalar.Instr) (kernel.Ref, bool) {
	if in.Type != types.Bool {
		return 0, false
	}
	for i, x := range in.Args[:2] {
		if c, ok := b.constBits(x); ok {
			if (c == 1) == (in.Op == scalar.And) {
				return in.Args[1-i], true // true and y, false or y
			}
			return x, true
		}
	}
	return in.Args[0], in.Args[0] == in.Args[1]
}

// simplifyCast sees through integer casts that keep the value.
func (b *body) simplifyCast(in scalar.Instr) (kernel.Ref, bool) {
	x := in.Args[0]
	from, to := b.types[x], in.Type
	if !from.IsInt() || !to.IsInt() || from == types.U64 || to == types.U64 {
		return 0, false
	}
	info := b.refs[x]
	if info.let && info.in.Op == scalar.Cast {
		// The inner cast kept the value, and the outer one gives it back in its first type.
		if y := info.in.Args[0]; b.types[y] == to {
			if r, _ := typeRange(from); b.refs[y].rng.within(r) {
				return y, true
			}
		}
	}
	if to == types.I64 && info.exact && info.form != nil {
		return b.fromForm(info.form, b.anyRisky(x))
	}
	return 0, false
}

// fromForm finds a scalar whose form is just a variable or a constant.
func (b *body) fromForm(f *form, risky bool) (kernel.Ref, bool) {
	if v, ok := f.single(); ok {
		if risky {
			b.markRisky(v)
		}
		return v, true
	}
	if c, ok := f.constant(); ok {
		return b.Extent(c), true
	}
	return 0, false
}

// emitForm writes the computation of a form.
func (b *body) emitForm(f *form, risky bool) kernel.Ref {
	if r, ok := b.fromForm(f, risky); ok {
		return r
	}
	e := b.E()
	var sum kernel.Ref = scalar.None
	for _, t := range f.terms {
		x := t.Var
		if !t.Coef.IsConst(1) {
			x = e.Mul(x, b.Extent(t.Coef))
		}
		if sum == scalar.None {
			sum = x
		} else {
			sum = e.Add(sum, x)
		}
	}
	if !f.off.IsConst(0) {
		sum = e.Add(sum, b.Extent(f.off))
	}
	if risky {
		b.markRisky(sum)
	}
	return sum
}

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

func (b *body) simplifyCompare(in scalar.Instr) (kernel.Ref, bool) {
	x, y := in.Args[0], in.Args[1]
	switch in.Op {
	case scalar.Lt:
		if holds, known := b.less(x, y, 0); known {
			return b.E().Bool(holds), true
		}
	case scalar.Le:
		if holds, known := b.less(x, y, 1); known {
			return b.E().Bool(holds), true
		}
	case scalar.Eq, scalar.Ne:
		if x == y {
			return b.E().Bool(in.Op == scalar.Eq), true
		}
		below, _ := b.less(x, y, 0)
		above, _ := b.less(y, x, 0)
		if below || above {
			return b.E().Bool(in.Op == scalar.Ne), true
		}
	}
	return 0, false
}

func (b *body) simplifyExtreme(in scalar.Instr) (kernel.Ref, bool) {
	x, y := in.Args[0], in.Args[1]
	small, large := scalar.None, scalar.None
	if le, known := b.less(x, y, 1); known && le {
		small, large = x, y
	} else if le, known := b.less(y, x, 1); known && le {
		small, large = y, x
	}
	if in.Op == scalar.Max {
		return large, large != scalar.None
	}
	return small, small != scalar.None
}

// simplifyDivide divides an affine form by a dim: terms that the dim divides make up the quotient, when
// the rest is certainly in [0, by).
func (b *body) simplifyDivide(in scalar.Instr) (kernel.Ref, bool) {
	x, y := in.Args[0], in.Args[1]
	by, ok := b.refs[y].form.constant()
	if !ok || !nonNegative(by) || by.IsConst(0) {
		return 0, false
	}
	info := b.refs[x]
	if info.exact {
		quot, rest := info.form.divide(by)
		lo, hi, okLo, okHi := b.bounds(rest)
		qlo, _, okQ, _ := b.bounds(quot)
		margin, err := by.Sub(types.Lit(1))
		if err == nil {
			margin, err = margin.Sub(hi)
		}
		if okLo && okHi && okQ && err == nil && nonNegative(lo) && nonNegative(margin) && nonNegative(qlo) {
			f := quot
			if in.Op == scalar.Rem {
				f = rest
			}
			return b.E().Cast(in.Type, b.emitForm(f, b.anyRisky(x))), true
		}
	}
	if in.Type != types.I64 {
		return 0, false
	}
	r := b.let(in)
	b.refs[r].quot = &quotient{base: x, by: by, rem: in.Op == scalar.Rem}
	return r, true
}

// divide splits f into by*quot + rest.
func (f *form) divide(by types.Dim) (quot, rest *form) {
	quot, rest = &form{}, &form{}
	if q, ok := f.off.Div(by); ok {
		quot.off = q
	} else {
		n, ok1 := f.off.Const()
		d, ok2 := by.Const()
		rest.off = f.off
		if ok1 && ok2 && d > 0 && n >= 0 {
			quot.off, rest.off = types.Lit(n/d), types.Lit(n%d)
		}
	}
	for _, t := range f.terms {
		if q, ok := t.Coef.Div(by); ok {
			quot.terms = append(quot.terms, kernel.Term{Coef: q, Var: t.Var})
		} else {
			rest.terms = append(rest.terms, t)
		}
	}
	return quot, rest
}

// recombine undoes divisions in an address: by*(x / by) + x % by is x, whatever x is.
func (b *body) recombine(f *form) *form {
	for again := true; again; {
		again = false
		for _, rem := range f.terms {
			q := b.refs[rem.Var].quot
			if q == nil || !q.rem {
				continue
			}
			want, err := rem.Coef.Mul(q.by)
			if err != nil {
				continue
			}
			for _, div := range f.terms {
				p := b.refs[div.Var].quot
				if p == nil || p.rem || p.base != q.base || !p.by.Equal(q.by) || !div.Coef.Equal(want) {
					continue
				}
				base := b.refs[q.base].form
				if base == nil {
					base = varForm(q.base)
				}
				if g := f.without(rem.Var).without(div.Var).plus(base, rem.Coef); g != nil {
					f, again = g, true
				}
				break
			}
			if again {
				break
			}
		}
	}
	return f
}

package lower

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
		return b.fromAffine(f, b.anyRisky(x, y))
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
	if len(args) == 0 || in.Op.IsChoice() { // the processor decides
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
	if to == types.I64 && info.exact && info.affine != nil {
		return b.fromAffine(info.affine, b.anyRisky(x))
	}
	return 0, false
}

// fromAffine finds a scalar whose form is just a variable or a constant.
func (b *body) fromAffine(f *affine, risky bool) (kernel.Ref, bool) {
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

// emitAffine writes the computation of a form.
func (b *body) emitAffine(f *affine, risky bool) kernel.Ref {
	if r, ok := b.fromAffine(f, risky); ok {
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
	by, ok := b.refs[y].affine.constant()
	if !ok || !nonNegative(by) || by.IsConst(0) {
		return 0, false
	}
	info := b.refs[x]
	if info.exact {
		quot, rest := info.affine.divide(by)
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
			return b.E().Cast(in.Type, b.emitAffine(f, b.anyRisky(x))), true
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
func (f *affine) divide(by types.Dim) (quot, rest *affine) {
	quot, rest = &affine{}, &affine{}
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
func (b *body) recombine(f *affine) *affine {
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
				base := b.refs[q.base].affine
				if base == nil {
					base = varAffine(q.base)
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

package transform

import (
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Splitting by a divisor]
//
// What repeats elements or reshapes in between, as `repeat(x, 10, axis = 1)` does, finds its operand by dividing an
// index by a constant:
//
//	over %0 in 0..1000 { %1 = div %0, 10; %2 = load a[%1]; store b[%0], %2 }
//
// Vectors along such an axis would divide vectors of 64-bit integers, and gather. So the axis is split by the divisor
// into two, of which one is the quotient and the other the remainder, where nothing else asks for the index itself:
//
//	over %1 in 0..100, %3 in 0..10 { %2 = load a[%1]; store b[10*%1 + %3], %2 }

// SplitAxes splits the last axis of k and its parallel loops by the constants that their indices are divided by; see
// Note [Splitting by a divisor].
func SplitAxes(k *kernel.Kernel) {
	split := false
	if last := len(k.Axes) - 1; last >= 0 {
		if q, r, ok := splitAxis(k, k.Axes[last], k.Body); ok {
			k.Axes, split = append(k.Axes[:last:last], q, r), true
		}
	}
	kernel.Each(k.Body, func(l *kernel.Loop) {
		if !l.Parallel {
			return
		}
		if q, r, ok := splitAxis(k, l.Axis, l.Body); ok {
			in := *l
			in.Axis = r
			l.Axis, l.Body, split = q, &kernel.Block{Stmts: []kernel.Stmt{&in}}, true
		}
	})
	if !split {
		return
	}
	DeadCode(k.Body)
	for len(k.Axes) > 0 && len(k.Body.Stmts) == 1 { // the divisions may have stood between axes and loop
		l, ok := k.Body.Stmts[0].(*kernel.Loop)
		if !ok || !l.Parallel {
			break
		}
		k.Axes, k.Body = append(k.Axes, l.Axis), l.Body
	}
}

// splitAxis splits the axis a, over which body runs, if body divides its variable by one number that divides its
// extent, and asks for the variable in accesses alone otherwise.
func splitAxis(k *kernel.Kernel, a kernel.Axis, body *kernel.Block) (quotient, remainder kernel.Axis, ok bool) {
	n, known := a.Extent.Dim.Const()
	if !known || a.Begin != 0 || a.Extent.Div > 1 {
		return quotient, remainder, false
	}
	d := divisions{of: a.Var, constants: map[kernel.Ref]int64{}, results: map[kernel.Ref]scalar.Op{}}
	kernel.Each(k.Body, func(l *kernel.Let) {
		if l.In.Op == scalar.Const {
			d.constants[l.ID] = int64(l.In.Imm)
		}
	})
	if !d.collect(body) || len(d.results) == 0 || d.by < 2 || n <= d.by || n%d.by != 0 {
		return quotient, remainder, false
	}
	q, r := k.NewRef(types.I64, a.Var), k.NewRef(types.I64, a.Var)
	d.substitute(body, q, r)
	d.remove(body)
	return kernel.Axis{Var: q, Extent: abi.Extent{Dim: types.Lit(n / d.by)}},
		kernel.Axis{Var: r, Extent: abi.Extent{Dim: types.Lit(d.by)}}, true
}

// divisions is what a body does with the variable of an axis.
type divisions struct {
	of        kernel.Ref
	by        int64                    // the divisor, 0 before one was found
	constants map[kernel.Ref]int64     // of the kernel
	results   map[kernel.Ref]scalar.Op // of the divisions: Div for a quotient, Rem for a remainder
}

// collect finds the divisions of b. It reports whether they have one divisor and nothing but accesses reads the
// variable otherwise.
func (d *divisions) collect(b *kernel.Block) bool {
	ok := true
	for _, st := range b.Stmts {
		let, is := st.(*kernel.Let)
		if is && (let.In.Op == scalar.Div || let.In.Op == scalar.Rem) && let.In.Type == types.I64 &&
			let.In.Args[0] == d.of {
			by, known := d.constants[let.In.Args[1]]
			ok = ok && known && by > 0 && (d.by == 0 || d.by == by)
			d.by = by
			d.results[let.ID] = let.In.Op
			continue
		}
		inAccess := map[*kernel.Ref]bool{}
		kernel.Visitor{
			Access: func(a *kernel.Access) {
				for i := range a.Terms {
					inAccess[&a.Terms[i].Var] = true
				}
			},
			Read:  func(r *kernel.Ref) { ok = ok && (*r != d.of || inAccess[r]) },
			Block: func(in *kernel.Block) { ok = ok && d.collect(in) },
		}.Stmt(st)
	}
	return ok
}

// substitute reads q and r in b in the place of quotients and remainders, and by*q + r in that of the variable.
func (d *divisions) substitute(b *kernel.Block, q, r kernel.Ref) {
	for _, at := range usesOf(b).accesses {
		terms := at.Terms
		at.Terms = nil
		for _, t := range terms {
			switch {
			case t.Var == d.of:
				whole, err := t.Coef.Mul(types.Lit(d.by))
				if err != nil {
					panic("BUG: an access beyond the end of a tensor")
				}
				addTerm(at, whole, q)
				addTerm(at, t.Coef, r)
			case d.results[t.Var] == scalar.Div:
				addTerm(at, t.Coef, q)
			case d.results[t.Var] == scalar.Rem:
				addTerm(at, t.Coef, r)
			default:
				addTerm(at, t.Coef, t.Var)
			}
		}
	}
	kernel.Visitor{Read: func(x *kernel.Ref) {
		switch d.results[*x] {
		case scalar.Div:
			*x = q
		case scalar.Rem:
			*x = r
		}
	}}.All(b)
}

// addTerm adds coef*v to an access.
func addTerm(at *kernel.Access, coef types.Dim, v kernel.Ref) {
	for i := range at.Terms {
		if t := &at.Terms[i]; t.Var == v {
			sum, err := t.Coef.Add(coef)
			if err != nil {
				panic("BUG: an access beyond the end of a tensor")
			}
			t.Coef = sum
			return
		}
	}
	if !coef.IsConst(0) {
		at.Terms = append(at.Terms, kernel.Term{Coef: coef, Var: v})
	}
}

// remove takes the divisions out of b.
func (d *divisions) remove(b *kernel.Block) {
	var kept []kernel.Stmt
	for _, st := range b.Stmts {
		if let, is := st.(*kernel.Let); is {
			if _, divides := d.results[let.ID]; divides {
				continue
			}
		}
		kernel.Visitor{Block: d.remove}.Stmt(st)
		kept = append(kept, st)
	}
	b.Stmts = kept
}

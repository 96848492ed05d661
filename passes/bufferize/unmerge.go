package bufferize

import (
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Divided axes]
//
// What repeats elements or reshapes in between, as `repeat(x, 10, axis = 1)` does, finds its operand by dividing an
// index by a constant:
//
//	over %0 in 0..1000 { %1 = div %0, 10; %2 = load a[%1]; store b[%0], %2 }
//
// Vectors along such an axis would divide vectors of 64-bit integers, and load element by element at places that they
// do not know. So the axis becomes two, of which one is the quotient and the other the remainder, where nothing else
// asks for the index itself:
//
//	over %1 in 0..100, %3 in 0..10 { %2 = load a[%1]; store b[10*%1 + %3], %2 }

// unmerge makes two axes of the last one of k and of its parallel loops, see Note [Divided axes].
func unmerge(k *kernel.Kernel) {
	divided := false
	if last := len(k.Axes) - 1; last >= 0 {
		if q, r, ok := unmergeAxis(k, k.Axes[last], k.Body); ok {
			k.Axes, divided = append(k.Axes[:last:last], q, r), true
		}
	}
	kernel.Each(k.Body, func(l *kernel.Loop) {
		if !l.Parallel {
			return
		}
		if q, r, ok := unmergeAxis(k, l.Axis, l.Body); ok {
			in := *l
			in.Axis = r
			l.Axis, l.Body, divided = q, &kernel.Block{Stmts: []kernel.Stmt{&in}}, true
		}
	})
	if !divided {
		return
	}
	sweep(k.Body)
	for len(k.Axes) > 0 && len(k.Body.Stmts) == 1 { // without the divisions nothing may stand between
		l, ok := k.Body.Stmts[0].(*kernel.Loop)
		if !ok || !l.Parallel {
			break
		}
		k.Axes, k.Body = append(k.Axes, l.Axis), l.Body
	}
}

// unmergeAxis makes the axis a, over which body runs, a quotient and a remainder, if body divides by one number and
// asks for nothing else.
func unmergeAxis(k *kernel.Kernel, a kernel.Axis, body *kernel.Block) (quotient, remainder kernel.Axis, ok bool) {
	n, known := a.Extent.Dim.Const()
	if !known || a.Begin != 0 || a.Extent.Div > 1 {
		return quotient, remainder, false
	}
	d := divided{v: a.Var, constants: map[kernel.Ref]int64{}, quotient: map[kernel.Ref]bool{}}
	kernel.Each(k.Body, func(l *kernel.Let) {
		if l.In.Op == scalar.Const {
			d.constants[l.ID] = int64(l.In.Imm)
		}
	})
	if !d.block(body) || len(d.quotient) == 0 || d.by < 2 || n <= d.by || n%d.by != 0 {
		return quotient, remainder, false
	}
	q, r := kernel.Ref(len(k.Types)), kernel.Ref(len(k.Types)+1)
	k.Types = append(k.Types, types.I64, types.I64)
	for _, at := range usesOf(body).accesses {
		coef := coefOf(at, a.Var)
		whole, err := coef.Mul(types.Lit(d.by))
		if err != nil {
			panic("BUG: an access beyond the end of a tensor")
		}
		var terms []kernel.Term
		add := func(v kernel.Ref, c types.Dim) {
			for i := range terms {
				if terms[i].Var == v {
					sum, err := terms[i].Coef.Add(c)
					if err != nil {
						panic("BUG: an access beyond the end of a tensor")
					}
					terms[i].Coef = sum
					return
				}
			}
			if !c.IsConst(0) {
				terms = append(terms, kernel.Term{Coef: c, Var: v})
			}
		}
		for _, t := range at.Terms {
			quotient, is := d.quotient[t.Var]
			switch {
			case t.Var == a.Var:
				add(q, whole)
				add(r, coef)
			case is && quotient:
				add(q, t.Coef)
			case is:
				add(r, t.Coef)
			default:
				add(t.Var, t.Coef)
			}
		}
		at.Terms = terms
	}
	p := parts{read: func(x *kernel.Ref) {
		if quotient, is := d.quotient[*x]; is && quotient {
			*x = q
		} else if is {
			*x = r
		}
	}}
	p.all(body)
	d.drop(body)
	return kernel.Axis{Var: q, Extent: extentOf(types.Lit(n/d.by), 1)},
		kernel.Axis{Var: r, Extent: extentOf(types.Lit(d.by), 1)}, true
}

// divided is what a body does with the variable of an axis.
type divided struct {
	v         kernel.Ref
	by        int64                // the divisor, 0 before one was found
	constants map[kernel.Ref]int64 // of the kernel
	quotient  map[kernel.Ref]bool  // the results of divisions: true for a quotient, false for a remainder
}

// block reports that the variable is read by divisions with one divisor and in accesses alone.
func (d *divided) block(b *kernel.Block) bool {
	ok := true
	for _, st := range b.Stmts {
		let, is := st.(*kernel.Let)
		switch {
		case is && (let.In.Op == scalar.Div || let.In.Op == scalar.Rem) && let.In.Type == types.I64 &&
			let.In.Args[0] == d.v:
			by, known := d.constants[let.In.Args[1]]
			ok = ok && known && by > 0 && (d.by == 0 || d.by == by)
			d.by = by
			d.quotient[let.ID] = let.In.Op == scalar.Div
			continue
		}
		inAccess := map[*kernel.Ref]bool{}
		parts{
			access: func(a *kernel.Access) {
				for i := range a.Terms {
					inAccess[&a.Terms[i].Var] = true
				}
			},
			read:  func(r *kernel.Ref) { ok = ok && (*r != d.v || inAccess[r]) },
			block: func(in *kernel.Block) { ok = ok && d.block(in) },
		}.of(st)
	}
	return ok
}

// drop removes the divisions.
func (d *divided) drop(b *kernel.Block) {
	var kept []kernel.Stmt
	for _, st := range b.Stmts {
		if let, is := st.(*kernel.Let); is {
			if _, divides := d.quotient[let.ID]; divides {
				continue
			}
		}
		parts{block: d.drop}.of(st)
		kept = append(kept, st)
	}
	b.Stmts = kept
}

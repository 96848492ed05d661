package transform_test

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// hoistInvariants writes the axes of k as parallel loops behind what is the same in every iteration.
func hoistInvariants(k *kernel.Kernel) {
	before, body := transform.HoistInvariants(k)
	if len(before) == 0 {
		return
	}
	for _, a := range slices.Backward(k.Axes) {
		body = &kernel.Block{Stmts: []kernel.Stmt{&kernel.Loop{Axis: a, Parallel: true, Body: body}}}
	}
	k.Axes = nil
	k.Body.Stmts = append(before, body.Stmts...)
	transform.Renumber(k)
}

// takeArm takes the first bool of k as the condition, and has one body for either value of it behind its definition,
// where these bodies differ from that of k.
func takeArm(k *kernel.Kernel) {
	c := kernel.Ref(slices.Index(k.Types, types.Bool))
	at := 1 + slices.IndexFunc(k.Body.Stmts, func(st kernel.Stmt) bool {
		let, ok := st.(*kernel.Let)
		return ok && let.ID == c
	})
	rest := &kernel.Block{Stmts: k.Body.Stmts[at:]}
	then, els := transform.TakeArm(rest, c, true), transform.TakeArm(rest, c, false)
	if slices.Equal(then.Stmts, rest.Stmts) && slices.Equal(els.Stmts, rest.Stmts) {
		return
	}
	k.Body.Stmts = append(slices.Clone(k.Body.Stmts[:at]),
		&kernel.If{Cond: c, Then: then.Clone(), Else: els.Clone()})
	transform.Renumber(k)
}

// specialise is for a processor that multiplies doubles, but no digits.
func specialise(k *kernel.Kernel) {
	m := transform.Specialise(&kernel.Module{Kernels: []*kernel.Kernel{k}}, transform.Ways{Doubles: true})
	*k = *m.Kernels[0]
}

// mergeBodies gives every reduction of the body of k the body of them all: what all evaluate together in code, each
// evaluates alone here.
func mergeBodies(k *kernel.Kernel) {
	out := transform.MergeBodies(reductions(k))
	all := out[0]
	for i, st := range k.Body.Stmts {
		if _, ok := st.(*kernel.Reduce); ok {
			one := *out[0]
			one.Axes, one.Body = slices.Clone(all.Axes), all.Body.Clone()
			k.Body.Stmts[i], out = &one, out[1:]
		}
	}
	transform.Renumber(k)
}

// reductions are those in the body of k, not in its loops.
func reductions(k *kernel.Kernel) (out []*kernel.Reduce) {
	for _, st := range k.Body.Stmts {
		if r, ok := st.(*kernel.Reduce); ok {
			out = append(out, r)
		}
	}
	return out
}

// loop is a parallel loop over an axis from lo up to hi.
func loop(a kernel.Axis, lo, hi int64, stmts ...kernel.Stmt) *kernel.Loop {
	a.Begin, a.Extent = lo, abi.Extent{Dim: types.Lit(hi)}
	return &kernel.Loop{Axis: a, Parallel: true, Body: (&kernel.Block{Stmts: stmts}).Clone()}
}

// indexSplit writes the last axis of k as a loop for each of the pieces that its conditions cut it in.
func indexSplit(k *kernel.Kernel) {
	last := k.Axes[len(k.Axes)-1]
	n, _ := last.Extent.Dim.Const()
	p := transform.AffineConditionsOf(last.Var, nil, k.Body)
	cuts := slices.DeleteFunc(slices.Clone(p.Cuts), func(c int64) bool { return c <= last.Begin || c >= n })
	if len(cuts) == 0 {
		return
	}
	pieces := p.Pieces(k.Body, cuts, last.Begin, true)
	k.Axes, k.Body = k.Axes[:len(k.Axes)-1], &kernel.Block{}
	lo := last.Begin
	for i, piece := range pieces {
		hi := n
		if i < len(cuts) {
			hi = cuts[i]
		}
		for _, c := range p.Conditions { // as they are in the piece
			kernel.Each(piece, func(l *kernel.Let) {
				if l.ID == c {
					piece = transform.TakeArm(piece, c, l.In.Imm != 0)
				}
			})
		}
		transform.DeadCode(piece)
		k.Body.Stmts = append(k.Body.Stmts, loop(last, lo, hi, piece.Stmts...))
		lo = hi
	}
	transform.Renumber(k)
}

// collapse writes the rows of a collapsed kernel, and then its loops, in a kernel without axes.
func collapse(k *kernel.Kernel) {
	p, _ := transform.Collapse(k, true)
	if p == nil || len(p.Kept) == 0 {
		return
	}
	rows, rest := slices.Clone(p.Rows), []kernel.Stmt{}
	at := func(v kernel.Ref, from int64) kernel.Access {
		return kernel.Access{Offset: types.Lit(from), Terms: []kernel.Term{{Coef: types.Lit(1), Var: v}}}
	}
	fresh := func(t types.DType) kernel.Ref {
		p.K.Types = append(p.K.Types, t)
		return kernel.Ref(len(p.K.Types) - 1)
	}
	tail := fresh(types.I64)
	for _, r := range p.Kept {
		rows = append(rows, &kernel.Store{Param: r.Param, At: at(p.J, 0), Val: r.Ref})
		x := fresh(p.K.Types[r.Ref])
		rest = append(rest, &kernel.Load{ID: x, Param: r.Param, At: at(tail, 0)},
			&kernel.Store{Param: r.Param, At: at(tail, p.N), Val: x})
		p.K.Params[r.Param].Work = true
		p.K.Params[r.Param].Out = true
	}
	body := p.K.Body
	for _, a := range slices.Backward(p.K.Axes) {
		body = &kernel.Block{Stmts: []kernel.Stmt{&kernel.Loop{Axis: a, Parallel: true, Body: body}}}
	}
	over := func(v kernel.Ref, n int64, stmts []kernel.Stmt) kernel.Stmt {
		return &kernel.Loop{Axis: kernel.Axis{Var: v, Extent: abi.Extent{Dim: types.Lit(n)}},
			Body: &kernel.Block{Stmts: stmts}}
	}
	for _, r := range p.Kept {
		p.K.Params[r.Param].Name = "row" + string(rune('0'+r.Param))
	}
	*k = *p.K
	k.Axes = nil
	k.Body = &kernel.Block{Stmts: append(slices.Clone(p.Before), over(p.J, p.N, rows),
		over(tail, transform.PeriodTail, rest))}
	k.Body.Stmts = append(k.Body.Stmts, body.Stmts...)
	k.Body = k.Body.Clone()
	transform.Renumber(k)
}

// unrollJam writes three rows side by side, and those that are left one by one.
func unrollJam(k *kernel.Kernel) {
	const rows = 3
	r, _ := transform.JammableOf(k, k.Types, k.Body, 64)
	if r == nil || r.Shared == 0 || r.Row != 0 {
		return
	}
	code := r.Jam(rows)
	row, n := k.Axes[0], int64(0)
	n, _ = row.Extent.Dim.Const()
	k.Types = code.Types
	fresh := func() kernel.Ref {
		k.Types = append(k.Types, types.I64)
		return kernel.Ref(len(k.Types) - 1)
	}
	group, size := fresh(), fresh()
	width, _ := r.Axis.Extent.Dim.Const()
	let := func(id kernel.Ref, op scalar.Op, imm uint64, x, y kernel.Ref) kernel.Stmt {
		return &kernel.Let{ID: id, In: scalar.Instr{Op: op, Type: types.I64, Imm: imm,
			Args: [3]kernel.Ref{x, y, scalar.None}}}
	}
	head := []kernel.Stmt{let(size, scalar.Const, rows, scalar.None, scalar.None),
		let(row.Var, scalar.Mul, 0, group, size)}
	inner := k.Body.Stmts
	if r.Axis.Var == k.Axes[len(k.Axes)-1].Var {
		inner = []kernel.Stmt{loop(r.Axis, r.Axis.Begin, width, inner...)}
	}
	some := append(append(head, code.Before...), loop(r.Axis, r.Axis.Begin, width, code.Body.Stmts...))
	k.Axes = nil
	k.Body = &kernel.Block{Stmts: []kernel.Stmt{
		loop(kernel.Axis{Var: group}, 0, n/rows, some...),
		loop(kernel.Axis{Var: row.Var}, n/rows*rows, n, inner...),
	}}
	transform.Renumber(k)
}

// stage has the operands of reductions in stages, which are inputs here.
func stage(k *kernel.Kernel) {
	s, _ := transform.StageOperands(k)
	if s == nil {
		return
	}
	k.Body = s.Body
	total := types.Lit(1)
	for _, n := range s.Extents {
		total, _ = total.Mul(n)
	}
	for i := range s.Params[len(k.Params):] {
		p := &s.Params[len(k.Params)+i]
		p.Shape = []abi.Extent{{Dim: total}}
	}
	k.Params = s.Params
	transform.Renumber(k)
}

// stageRows makes a kernel of one row in stages, whose lengths are those of the rows, or of 32 columns.
func stageRows(k *kernel.Kernel) {
	s, _ := transform.StageRows(k)
	if s == nil {
		return
	}
	total := types.Lit(1)
	if s.Down {
		total = types.Lit(32)
		s.Rewrite(32)
	}
	k.Body = &kernel.Block{Stmts: append(s.Before, s.Kernel.Body.Stmts...)}
	k.Params, k.Types = s.Kernel.Params, s.Kernel.Types
	for _, o := range s.Operands {
		for _, n := range o.Extents {
			total, _ = total.Mul(n)
		}
		k.Params[o.Stage].Shape = []abi.Extent{{Dim: total}}
	}
	transform.Renumber(k)
}

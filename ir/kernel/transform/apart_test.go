package transform_test

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/lang/types"
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
	m := transform.Specialise(&kernel.Module{Kernels: []*kernel.Kernel{k}}, transform.Products{Doubles: true})
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

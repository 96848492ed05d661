package ir

import "healc/lang/diag"

// The derivatives of functions for which the program says how they are differentiated: Note [Rules of one's own].

func init() { // init: see rule
	rule(OpCustomVjp, customRule)
	rule(OpCheckpoint, checkpointRule)
	unaryRule(OpBarrier, func(_ *Tape, _, _, ct *Value) *Value { return ct })
}

// customRule writes the operations of the rule that the program gives.
func customRule(t *Tape, op *Op, cts []*Value) {
	if caps := t.variedCaptures(op.Regions[0]); len(caps) > 0 {
		noGradient(diag.Diagnostic{
			Code: diag.CodeRuleCaptures, Primary: diag.Label{Span: op.Span},
			Message: "the function of `custom_vjp` reads a value around it that is differentiated, and the rule " +
				"gives no gradient for it",
			Related: []diag.Label{{Span: caps[0].Span, Text: "this value"}},
			Help:    "make it a parameter of the function and of the rule, or wrap it in `stop_gradient`",
		})
	}
	grads := inlined(t.b, op.Regions[1], append(append([]*Value{}, op.Args...),
		t.cotangentsOf(t.b, op.Results, cts)...))
	for _, x := range op.Args {
		if x.Type.Elem.IsFloat() {
			t.Add(x, grads[0])
			grads = grads[1:]
		}
	}
}

// checkpointRule differentiates a copy of the region that reads what it is computed from through barriers, so that the
// copy is not merged with the operations of the function itself. The gradients are added up in the order that they
// have without the checkpoint: it changes no bit.
func checkpointRule(t *Tape, op *Op, cts []*Value) {
	body := &Block{}
	body.Yields = inlined(&Builder{Block: body, Span: op.Span}, op.Regions[0], op.Args)
	with := map[*Value]*Value{}
	var args, cotangents, starts []*Value
	var wrt, which []int64
	caps := Captures(body)
	for _, v := range caps {
		if !elements.has(v.Type.Elem) {
			continue // a string, which nothing computes with
		}
		with[v] = t.Emit(OpBarrier, nil, v)
		if !t.varied[v] {
			continue
		}
		if sum := t.cotangents[v]; sum != nil {
			which, starts = append(which, int64(len(wrt))), append(starts, sum)
		}
		wrt = append(wrt, int64(len(args)))
		args, with[v] = append(args, with[v]), body.Param(v.Name, v.Type, v.Span)
	}
	Replace(body, with)
	cotangents = t.cotangentsOf(t.b, op.Results, cts)
	attrs := A{"wrt": wrt, "starts": which}
	grads := t.b.EmitOp(OpVjp, attrs, append(append(args, cotangents...), starts...),
		[]*Block{body}).Results[len(body.Yields):]
	for _, v := range caps {
		if t.varied[v] {
			t.cotangents[v], grads = grads[0], grads[1:]
		}
	}
}

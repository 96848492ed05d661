package grad

import (
	"healc/ir/ops"
	"healc/lang/check/infer"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// This file types the functions that say how another is differentiated: `custom_vjp(f, rule)` and `checkpoint(f)`. They
// mean f, and are called as it is.

// ruled types the call of such a function; args has an argument for each of the parameters.
func ruled(c *infer.Checker, at diag.Span, d *derivative, args []tree.Expr, params []*tree.Local, count int) tree.Expr {
	if count != len(args) {
		c.Errorf(diag.CodeArity, at, "`%s(f)` takes the %s of f, not %d", d.kind, report.Plural(len(args), "argument"),
			count)
		return tree.Bad(at)
	}
	f := c.Function(d.f, params, nil, "the function of `"+d.kind+"`")
	if tree.IsBad(f.Body) {
		return tree.Bad(at)
	}
	result := f.Body.Type()
	op, lambdas := ops.Checkpoint, []*tree.Lambda{f}
	if d.rule != nil {
		rule := gradientRule(c, at, d, f, params)
		if rule == nil {
			return tree.Bad(at)
		}
		op, lambdas = ops.CustomVjp, append(lambdas, rule)
	}
	return &tree.Apply{Info: tree.Of(result, at), Op: op, Args: args, Lambdas: lambdas}
}

// gradientRule types the rule of `custom_vjp`: from the arguments of f and a weight for its result to what `vjp(f)`
// gives.
func gradientRule(c *infer.Checker, at diag.Span, d *derivative, f *tree.Lambda, params []*tree.Local) *tree.Lambda {
	result := f.Body.Type()
	if !allFloats(result) {
		c.Errorf(diag.CodeGradientRule, f.Body.Span(), "`custom_vjp` needs a function of floats, not %s",
			result).Label("%s", result)
		return nil
	}
	var of []types.Type
	given := make([]*tree.Local, 0, len(params)+1)
	for _, p := range params {
		switch {
		case allFloats(p.T):
			of = append(of, p.T)
		case holdsFloats(p.T):
			c.Errorf(diag.CodeGradientRule, p.Loc,
				"a parameter of the function of `custom_vjp` is %s: floats and something else", p.T).
				Help("pass the floats as a parameter of their own")
			return nil
		}
		given = append(given, &tree.Local{Name: p.Name, T: p.T, Loc: d.rule.Span()})
	}
	if len(of) == 0 {
		c.Errorf(diag.CodeWrt, at, "`custom_vjp` gives derivatives by floats, and the function has no float parameter")
		return nil
	}
	given = append(given, &tree.Local{Name: "c", T: result, Loc: d.rule.Span()})
	want := types.Type(types.Tuple{Elems: of})
	if len(of) == 1 {
		want = of[0]
	}
	rule := c.Function(d.rule, given, want, "the rule of `custom_vjp`")
	if tree.IsBad(rule.Body) {
		return nil
	}
	if got := rule.Body.Type(); !types.Equal(got, want) {
		c.Errorf(diag.CodeGradientRule, rule.Body.Span(), "the rule of `custom_vjp` gives %s, not %s", got,
			want).Label("%s", got).
			Note("the derivative by every float parameter, weighted with the last parameter, %s", result)
		return nil
	}
	return rule
}

// holdsFloats reports that some of the values of a type are floats.
func holdsFloats(t types.Type) bool {
	for _, x := range types.Flatten(t) {
		if x.Elem.IsFloat() {
			return true
		}
	}
	return false
}

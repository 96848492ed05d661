package indexing

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/tree"
	"healc/lang/check/unify"
	"healc/lang/diag"
	"healc/lang/types"
)

// rangeValue is `lo..hi` or `lo..=hi` as a tensor.
func rangeValue(c *infer.Checker, e *ast.Range) tree.Expr {
	if e.Step != nil {
		r := c.Errorf(diag.CodeShapeExpr, e.Loc, "a range with `by` stands only inside an index")
		if e.Lo != nil && e.Hi != nil {
			lo, hi, dots := e.Lo.Span().Text(), e.Hi.Span().Text(), ".."
			if e.Inclusive {
				dots = "..="
			}
			r.Help("count all of them and take some: `(%s%s%s)[.. by %s]`", lo, dots, hi, e.Step.Span().Text())
		}
		return tree.Bad(e.Loc)
	}
	if e.Lo == nil || e.Hi == nil {
		c.Errorf(diag.CodeShapeExpr, e.Loc, "a range without a bound stands only inside an index").Help(
			"write both bounds: `0..N`")
		return tree.Bad(e.Loc)
	}
	lo, ok := c.Dim(e.Lo)
	hi, ok1 := c.Dim(e.Hi)
	if !ok || !ok1 {
		return tree.Bad(e.Loc)
	}
	n, err := hi.Sub(lo)
	if err == nil && e.Inclusive {
		n, err = n.Add(types.Lit(1))
	}
	if err != nil {
		c.Rule(diag.CodeExtent, e.Loc, err)
		return tree.Bad(e.Loc)
	}
	if unify.AlwaysNegative(n) {
		c.Errorf(diag.CodeExtent, e.Loc, "the range from %s to %s has a negative length", lo, hi).Label("%s elements",
			n)
		return tree.Bad(e.Loc)
	}
	return c.Apply(e.Loc, ops.Iota, ir.A{"start": lo, "extent": n})
}

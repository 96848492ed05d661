package indexing

import (
	"fmt"
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/ast"
	"healc/lang/check/infer"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/check/tree"
	"healc/lang/check/unify"
	"healc/lang/diag"
	"healc/lang/types"
)

// Note [Indexing]
//
// Each index of `a[...]` becomes one of the axisIndex kinds. What is known to be in range, whatever the
// shape parameters are, becomes part of one `slice`, a view that cannot fail; a fixed position is a slice
// of extent 1 whose axis a `reshape` drops. What is only known at run time becomes `dynamic_slice` and
// `index`, which check. The order is slice, dynamic_slice, index, reshape; a gather comes last.

// axisIndex is what an index does to its axis.
type axisIndex struct {
	at     diag.Span
	whole  bool      // the axis stays as it is
	start  types.Dim // of a slice that is in range
	n      types.Dim // its extent
	step   int64
	drop   bool      // a fixed position: the slice has extent 1, and the axis goes
	first  tree.Expr // set: the slice starts at this position at run time ...
	length types.Dim // ... and covers so many elements, of which start, n and step then choose
	pos    tree.Expr // set: a position at run time; the axis goes
	gather tree.Expr // set: a tensor of positions
}

// index is `a[i, 1..3, ..]`.
func index(c *infer.Checker, e *ast.Index, want types.Type) tree.Expr {
	if f, ok := e.X.(*ast.Name); ok && !c.IsValue(f.Name) && c.IsFunction(f.Name) {
		r := c.Errorf(diag.CodeFunctionValue, f.Loc, "%s is a function, not a value", report.Quote(f.Name))
		call := "call it: `%s(...)`" // brackets before a call hold types and extents
		if b := c.Language.Functions[f.Name]; b != nil && b.Required == 0 && b.Variadic == "" {
			call = "call it: `%s()`"
		}
		if text := e.Loc.Text(); len(text) <= 60 && !strings.Contains(text, "\n") {
			r.Help(call, text)
		}
		return tree.Bad(e.Loc)
	}
	x := c.Expr(e.X, literal.Want(types.ElemOf(want)))
	t, ok := x.Type().(types.Tensor)
	if tree.IsBad(x) {
		for _, i := range e.Indices { // they have errors of their own
			if _, isRange := i.(*ast.Range); !isRange {
				c.Expr(i, nil)
			}
		}
		return tree.Bad(e.Loc)
	}
	if ok && t.Elem == types.String {
		return c.Unsupported(e.Loc, "indexing a string")
	}
	if !ok {
		c.Errorf(diag.CodeIndex, e.Loc, "%s cannot be indexed", x.Type()).Label("%s", x.Type()).
			Help("take a tuple apart with a pattern: `let (a, b) = t;`")
		return tree.Bad(e.Loc)
	}
	if newAxis(c, e) {
		return tree.Bad(e.Loc)
	}
	if len(e.Indices) > t.Rank() {
		tooMany(c, e, t)
		return tree.Bad(e.Loc)
	}
	list := make([]axisIndex, t.Rank())
	for k := range list {
		list[k] = axisIndex{whole: true, n: t.Shape[k], step: 1}
	}
	failed := false
	for k, i := range e.Indices {
		var fine bool
		list[k], fine = indexOf(c, i, t.Shape[k], k)
		failed = failed || !fine
	}
	if failed {
		return tree.Bad(e.Loc)
	}
	return buildIndex(c, e.Loc, x, t, list)
}

// indexOf types the index of axis k, which has the given extent.
func indexOf(c *infer.Checker, e ast.Expr, extent types.Dim, k int) (axisIndex, bool) {
	if r, ok := ast.Unparen(e).(*ast.Range); ok {
		return axisSlice(c, r, extent, k)
	}
	out := axisIndex{at: e.Span(), n: types.Lit(1), step: 1}
	if d, p := c.TryDim(e, false); p == nil {
		if n, ok := d.Const(); ok && n < 0 {
			var err error
			if d, err = extent.Add(d); err != nil {
				c.Rule(diag.CodeExtent, e.Span(), err)
				return out, false
			}
		}
		over, err := d.Sub(extent) // in range when this is negative
		if err != nil {
			c.Rule(diag.CodeExtent, e.Span(), err)
			return out, false
		}
		if unify.AlwaysNegative(d) || unify.NeverNegative(over) {
			r := c.Errorf(diag.CodeIndexRange, e.Span(), "index %s is out of range for axis %d with extent %s",
				e.Span().Text(), k, extent)
			if n, ok := extent.Const(); ok && n > 0 {
				r.Help("the indices are 0 to %d, or -%d to -1 from the end", n-1, n)
			}
			return out, false
		}
		if unify.NeverNegative(d) && unify.AlwaysNegative(over) {
			out.start, out.drop = d, true
			return out, true
		}
		out.pos = c.DimValue(d, e.Span())
		return out, !tree.IsBad(out.pos)
	}
	x := c.Expr(e, types.Scalar(types.I32))
	t, ok := x.Type().(types.Tensor)
	switch {
	case tree.IsBad(x):
		return out, false
	case ok && (t.Elem == types.I32 || t.Elem == types.I64):
		if t.IsScalar() {
			out.pos = x
		} else {
			var fine bool
			out.gather, fine = literalPositions(c, e, x, extent, k)
			return out, fine
		}
		return out, true
	}
	r := c.Errorf(diag.CodeIndex, e.Span(), "an index is an i32 or i64, not %s", x.Type()).Label("%s", x.Type())
	switch {
	case ok && t.Elem == types.String:
		r.Help("elements have no names: an index is a position, as in `x[0]`")
	case ok && t.Elem.IsNumber():
		r.Help("convert it: `%s`", report.CastText(e.Span(), types.I32))
	case ok && t.Elem == types.Bool && t.Rank() > 0:
		r.Help(
			"how many elements a mask leaves is not known before the program runs: `where(mask, x, 0)` keeps the shape")
	}
	return out, false
}

// axisSlice is an index `lo..hi`, `lo..=hi`, `..`, any of them `by` a step. With a negative step it runs
// from lo down to hi, exclusive, and a missing bound is the end on that side.
func axisSlice(c *infer.Checker, r *ast.Range, extent types.Dim, k int) (axisIndex, bool) {
	out := axisIndex{at: r.Loc, n: extent, step: 1}
	if r.Step != nil {
		n, ok := c.ConstInt(r.Step, "the step of a slice")
		if !ok {
			return out, false
		}
		if n == 0 || n < -types.MaxExtent || n > types.MaxExtent {
			c.Errorf(diag.CodeIndexRange, r.Step.Span(), "the step of a slice cannot be %d", n)
			return out, false
		}
		out.step = n
	}
	if r.Lo == nil && r.Hi == nil && out.step == 1 {
		out.whole = true
		return out, true
	}
	lo, hi, ok := sliceBounds(c, r, extent, out.step < 0)
	if !ok {
		return out, false
	}
	length, over, ok := sliceLength(c, r, lo, hi, extent, k)
	if !ok {
		return out, false
	}
	size := out.step
	if size < 0 {
		size = -size
	}
	n, ok := unify.CeilDiv(length, size)
	if !ok {
		c.Errorf(diag.CodeShapeExpr, r.Loc, "%s elements by %d is no extent: the division may leave a remainder",
			length, size).
			Help("let the parameter count the steps, such as an extent %d*N", size)
		return out, false
	}
	out.n = n
	room, _ := types.Dim{}.Sub(over)
	var err error
	if unify.NeverNegative(lo) && unify.NeverNegative(room) {
		out.start = lo
		if out.step < 0 {
			out.start, err = hi.Sub(types.Lit(1))
		}
		return out, err == nil
	}
	out.length = length
	if out.step < 0 {
		out.start, err = length.Sub(types.Lit(1))
	}
	out.first, ok = sliceFirst(c, r, lo, out.step < 0)
	return out, err == nil && ok
}

// sliceLength is the number of elements from lo to hi, in ascending order, and by how many hi is past the extent. It
// reports a slice that is surely out of range, or whose length is not known.
func sliceLength(c *infer.Checker, r *ast.Range, lo, hi, extent types.Dim, k int) (length, over types.Dim, ok bool) {
	length, err := hi.Sub(lo)
	if err == nil {
		over, err = hi.Sub(extent)
	}
	if err != nil {
		c.Rule(diag.CodeExtent, r.Loc, err)
		return length, over, false
	}
	if unify.HasSymbol(length) {
		c.Errorf(diag.CodeShapeExpr, r.Loc, "the length of this slice is not known before the program runs").
			Help("the bounds differ by a shape expression, such as `i..i + 4`")
		return length, over, false
	}
	past, _ := over.Sub(types.Lit(1))
	switch text := sliceText(r, lo, hi); {
	case unify.AlwaysNegative(length):
		c.Errorf(diag.CodeIndexRange, r.Loc, "slice %s has a negative length", text)
		return length, over, false
	case unify.AlwaysNegative(lo), unify.NeverNegative(past):
		c.Errorf(diag.CodeIndexRange, r.Loc, "slice %s is out of range for axis %d with extent %s", text, k, extent)
		return length, over, false
	}
	return length, over, true
}

// sliceFirst is the lowest position of a slice, lo, as a value at run time.
func sliceFirst(c *infer.Checker, r *ast.Range, lo types.Dim, down bool) (tree.Expr, bool) {
	if !unify.HasSymbol(lo) {
		first := c.DimValue(lo, r.Loc)
		return first, !tree.IsBad(first)
	}
	low, add := r.Lo, int64(0)
	if down { // the lowest position is the last one
		if low = r.Hi; !r.Inclusive {
			add = 1
		}
	}
	first := c.Expr(low, types.Scalar(types.I32))
	if !infer.IsIndex(first.Type()) {
		if !tree.IsBad(first) {
			c.Errorf(diag.CodeIndex, low.Span(), "a bound of a slice is an i32 or i64, not %s", first.Type()).
				Label("%s", first.Type())
		}
		return first, false
	}
	if add != 0 {
		d := types.ElemOf(first.Type())
		first = c.Apply(low.Span(), ops.Add, nil, first, tree.ScalarConst(d, scalar.IntBits(d, add), low.Span()))
	}
	return first, !tree.IsBad(first)
}

// sliceText is a slice as it is written.
func sliceText(r *ast.Range, lo, hi types.Dim) string {
	if text := r.Loc.Text(); text != "" && len(text) < 40 {
		return report.Quote(text)
	}
	return fmt.Sprintf("`%s..%s`", lo, hi)
}

// sliceBounds gives the covered range in ascending order: the first position and the one after the last.
func sliceBounds(c *infer.Checker, r *ast.Range, extent types.Dim, down bool) (lo, hi types.Dim, ok bool) {
	bound := func(e ast.Expr, missing types.Dim) (types.Dim, bool) {
		if e == nil {
			return missing, true
		}
		d, p := c.TryDim(e, true)
		if p != nil {
			if p.Code == diag.CodeShapeExpr {
				c.Errorf(p.Code, p.At, "%s", p.Msg).
					Help(
						"a bound is a shape expression, or one plus an i32 or i64 that `let` names: `let i = ...; " +
							"a[i..i + 4]`")
				return d, false
			}
			return c.Dim(e)
		}
		if n, isConst := d.Const(); isConst && n < 0 {
			d, err := extent.Add(d)
			if err != nil {
				c.Rule(diag.CodeExtent, e.Span(), err)
			}
			return d, err == nil
		}
		return d, true
	}
	one := types.Lit(1)
	var err error
	if !down {
		if lo, ok = bound(r.Lo, types.Dim{}); ok {
			hi, ok = bound(r.Hi, extent)
		}
		if r.Inclusive && r.Hi != nil && ok {
			hi, err = hi.Add(one)
		}
	} else {
		var from, to types.Dim
		end, _ := extent.Sub(one)
		if from, ok = bound(r.Lo, end); ok && r.Hi != nil {
			if to, ok = bound(r.Hi, types.Dim{}); ok && !r.Inclusive {
				to, err = to.Add(one)
			}
		}
		if ok && err == nil {
			lo = to
			hi, err = from.Add(one)
		}
	}
	if err != nil {
		c.Rule(diag.CodeExtent, r.Loc, err)
	}
	return lo, hi, ok && err == nil
}

// buildIndex writes the operations; see Note [Indexing].
func buildIndex(c *infer.Checker, at diag.Span, x tree.Expr, t types.Tensor, list []axisIndex) tree.Expr {
	var axes []int64
	var firsts []tree.Expr
	sizes := types.Shape{}
	for k, i := range list { // first the runs that start at run time: the slice then chooses inside
		if i.first != nil {
			axes, firsts, sizes = append(axes, int64(k)), append(firsts, i.first), append(sizes, i.length)
		}
	}
	if len(axes) > 0 {
		x = c.Apply(at, ops.DynamicSlice, ir.A{"axes": axes, "sizes": sizes}, append([]tree.Expr{x}, firsts...)...)
	}
	if x = staticSlice(c, at, x, list); tree.IsBad(x) {
		return x
	}
	axes = nil
	args := []tree.Expr{x}
	left := types.Shape{} // after the positions at run time
	for k, i := range list {
		if i.pos != nil {
			axes, args = append(axes, int64(k)), append(args, i.pos)
		}
	}
	if len(axes) > 0 {
		x = c.Apply(at, ops.Index, ir.A{"axes": axes}, args...)
	}
	var gathers []tree.Expr
	var gathered []int64
	for k, i := range list {
		switch {
		case i.pos != nil || i.drop:
			continue
		case i.gather != nil:
			gathers, gathered = append(gathers, i.gather), append(gathered, int64(len(left)))
			left = append(left, t.Shape[k])
		default:
			left = append(left, i.n)
		}
	}
	if !tree.IsBad(x) {
		x = c.Reshape(at, x, left)
	}
	if len(gathers) > 0 && !tree.IsBad(x) {
		return Gather(c, at, x, gathers, gathered)
	}
	return x
}

// staticSlice applies what is known of all axes now, if it is more than taking them whole.
func staticSlice(c *infer.Checker, at diag.Span, x tree.Expr, list []axisIndex) tree.Expr {
	t, ok := x.Type().(types.Tensor)
	if !ok || tree.IsBad(x) {
		return tree.Bad(at)
	}
	starts, shape := make(types.Shape, len(list)), make(types.Shape, len(list))
	steps := make([]int64, len(list))
	same := true
	for k, i := range list {
		starts[k], shape[k], steps[k] = i.start, i.n, i.step
		if i.pos != nil || i.gather != nil || i.whole || i.first != nil && i.step == 1 {
			starts[k], shape[k], steps[k] = types.Dim{}, t.Shape[k], 1
			continue
		}
		same = same && i.step == 1 && i.n.Equal(t.Shape[k])
	}
	if same {
		return x
	}
	return c.ApplyCode(diag.CodeIndexRange, at, ops.Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, nil,
		[]tree.Expr{x})
}

// Form is the form of indices, and of ranges as tensors.
func Form(c *infer.Checker, e ast.Expr, want types.Type) tree.Expr {
	switch e := e.(type) {
	case *ast.Index:
		return index(c, e, want)
	case *ast.Range:
		return rangeValue(c, e)
	}
	return nil
}

// newAxis reports an index that adds an axis in NumPy and PyTorch, as in `x[.., None]`.
func newAxis(c *infer.Checker, e *ast.Index) bool {
	for k, i := range e.Indices {
		n, ok := i.(*ast.Name)
		if !ok || !scope.NewAxis(n.Name) || c.IsValue(n.Name) {
			continue
		}
		r := c.Errorf(diag.CodeIndex, n.Loc, "%s is no index", report.Quote(n.Name))
		text := e.X.Span().Text()
		if len(text) > 30 || strings.Contains(text, "\n") {
			text = "x"
		}
		r.Help("`unsqueeze(%s, %d)` adds an axis of extent 1 at position %d", text, k, k)
		return true
	}
	return false
}

// tooMany reports an index with more parts than the tensor has axes.
func tooMany(c *infer.Checker, e *ast.Index, t types.Tensor) {
	r := c.Errorf(diag.CodeIndex, e.Loc, "%s for %s, which has %s", report.Count(len(e.Indices), "index", "indices"), t,
		report.Axes(t.Rank())).Label("%s", t)
	if t.IsScalar() {
		r.Help("a scalar has no elements: write `%s` alone", e.X.Span().Text())
		return
	}
	parts := make([]string, t.Rank())
	for k := range parts {
		parts[k] = e.Indices[k].Span().Text()
	}
	r.Help("there is one for each axis: `%s[%s]`", e.X.Span().Text(), strings.Join(parts, ", "))
}

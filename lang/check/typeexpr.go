package check

import (
	"fmt"

	"healc/ir"
	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/diag"
	"healc/lang/types"
)

// maxLeaves bounds the values in a tuple, nested ones included. Without a bound, a chain of lets that
// each pair the last tuple with itself would make types of exponential size.
const maxLeaves = 256

// maxRank bounds the axes of a tensor. It is NumPy's bound.
const maxRank = 64

// typeOf is the type that a type expression names, with its layout and place, or the error type.
func (c *checker) typeOf(t ast.TypeExpr) types.Type {
	switch t := t.(type) {
	case *ast.TupleType:
		elems := make([]types.Type, len(t.Elems))
		for i, e := range t.Elems {
			if elems[i] = c.typeOf(e); types.IsError(elems[i]) {
				return types.ErrorType
			}
		}
		return c.tupleType(t.Loc, elems)
	case *ast.TensorType:
		return c.tensorType(t)
	}
	c.cur.failed = true // the parser has reported it
	return types.ErrorType
}

// tupleType is the tuple of elems, unless it has too many values.
func (c *checker) tupleType(at diag.Span, elems []types.Type) types.Type {
	n := 0
	for _, e := range elems {
		n += max(len(types.Flatten(e)), 1)
	}
	if n > maxLeaves {
		c.errorf(diag.CodeTooBig, at, "a tuple of %d values is too large: %d is the most", n, maxLeaves)
		return types.ErrorType
	}
	return types.Tuple{Elems: elems}
}

func (c *checker) tensorType(t *ast.TensorType) types.Type {
	if p, ok := c.tupleParameter(t.Elem.Name); ok {
		if t.Square || t.Layout != nil || t.Place != nil {
			c.errorf(diag.CodeUnknownType, t.Loc,
				"%s stands for a whole type, and has no extents, layout or place of its own", report.Quote(t.Elem.Name))
			return types.ErrorType
		}
		return p
	}
	layout, place, ok := c.memory(t)
	if !ok {
		return types.ErrorType
	}
	elem, ok := c.elemType(t.Elem)
	if !ok {
		if t.Elem.Name == "unit" && !t.Square {
			return types.Unit
		}
		return types.ErrorType
	}
	out := types.Tensor{Elem: elem, Layout: layout, Place: place}
	for _, d := range t.Dims {
		n, ok := c.dim(d)
		if !ok {
			return types.ErrorType
		}
		out.Shape = append(out.Shape, n)
	}
	if elem == types.String && len(out.Shape) > 0 {
		c.unsupported(t.Loc, "a tensor of strings")
		return types.ErrorType
	}
	if !c.extents(t.Loc, out) {
		return types.ErrorType
	}
	return out
}

// elemType is the element type of that name. It reports an unknown one; `unit` gives false without.
func (c *checker) elemType(name ast.Ident) (types.DType, bool) {
	if d, ok := c.typeParameter(name.Name); ok {
		return d, true
	}
	if d, ok := types.ParseDType(name.Name); ok && d != types.Invalid {
		return d, true
	}
	if p, ok := c.tupleParameter(name.Name); ok {
		c.errorf(diag.CodeUnknownType, name.Loc,
			"%s stands for a tensor or a tuple of tensors, here %s, and not for an element type",
			report.Quote(name.Name), p)
		return types.Invalid, false
	}
	switch name.Name {
	case "unit":
		return types.Invalid, false
	case "":
		c.cur.failed = true // the parser has reported it
		return types.Invalid, false
	case "nat":
		c.errorf(diag.CodeUnknownType, name.Loc, "`nat` is the kind of shape parameters, not of values").
			Help("a value is an `i32`; a shape parameter stands in brackets: `fn f[N](...)`")
		return types.Invalid, false
	}
	r := c.errorf(diag.CodeUnknownType, name.Loc, "unknown type %s", report.Quote(name.Name))
	known := []string{"unit", "string"}
	for _, d := range types.DTypes {
		known = append(known, d.String())
	}
	if t := foreignTypes[name.Name]; t != "" {
		h := fmt.Sprintf("write `%s`", t)
		if _, bound := bounds[name.Name]; bound {
			h += fmt.Sprintf("; a parameter for every such type is declared by `fn f[T: %s](x: T)`", name.Name)
		}
		r.Help("%s", h)
	} else if near := diag.Nearest(name.Name, known); near != "" && !c.full() {
		r.Help("did you mean %s?", report.Quote(near))
	} else {
		r.Help("element types are bool, i8 to i64, u8 to u64, f16, bf16, f32 and f64")
	}
	return types.Invalid, false
}

// extents reports a tensor that has too many axes, or whose literal extents or size are out of range.
func (c *checker) extents(at diag.Span, t types.Tensor) bool {
	if t.Rank() > maxRank {
		c.errorf(diag.CodeTooBig, at, "a tensor of %d axes: %d is the most", t.Rank(), maxRank)
		return false
	}
	if err := ir.CheckExtents(t); err != nil {
		c.rule(diag.CodeExtent, at, err)
		return false
	}
	return true
}

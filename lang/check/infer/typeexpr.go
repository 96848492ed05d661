package infer

import (
	"fmt"
	"slices"
	"strings"

	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/diag"
	"healc/lang/types"
)

// TypeOf is the type that a type expression names, with its layout, place and sharding, or the error type.
func (c *Checker) TypeOf(t ast.TypeExpr) types.Type {
	switch t := t.(type) {
	case *ast.TupleType:
		elems := make([]types.Type, len(t.Elems))
		for i, e := range t.Elems {
			if elems[i] = c.TypeOf(e); types.IsError(elems[i]) {
				return types.ErrorType
			}
		}
		return c.TupleType(t.Loc, elems)
	case *ast.TensorType:
		return c.tensorType(t)
	}
	c.Cur.Failed = true // the parser has reported it
	return types.ErrorType
}

func (c *Checker) tensorType(t *ast.TensorType) types.Type {
	if p, ok := c.TupleParameter(t.Elem.Name); ok {
		if t.Square || t.Layout != nil || t.Place != nil || t.Sharded != nil {
			c.Errorf(diag.CodeUnknownType, t.Loc,
				"%s stands for a whole type, and has no extents, layout, place or sharding of its own",
				report.Quote(t.Elem.Name))
			return types.ErrorType
		}
		return p
	}
	layout, place, ok := c.memory(t)
	if !ok {
		return types.ErrorType
	}
	elem, ok := c.ElemType(t.Elem)
	if !ok {
		if t.Elem.Name == "unit" && !t.Square {
			if t.Sharded != nil {
				c.whole(t, "unit")
				return types.ErrorType
			}
			return types.Unit
		}
		return types.ErrorType
	}
	out := types.Tensor{Elem: elem, Layout: layout, Place: place}
	for _, d := range t.Dims {
		n, ok := c.Dim(d)
		if !ok {
			return types.ErrorType
		}
		out.Shape = append(out.Shape, n)
	}
	if elem == types.String && len(out.Shape) > 0 {
		c.Unsupported(t.Loc, "a tensor of strings")
		return types.ErrorType
	}
	if !c.Extents(t.Loc, out) {
		return types.ErrorType
	}
	if t.Sharded != nil {
		if out.Sharding, ok = c.sharding(t, out); !ok {
			return types.ErrorType
		}
	}
	return out
}

// sharding is what a type expression, which is of type t apart from that, says of ranks.
func (c *Checker) sharding(e *ast.TensorType, t types.Tensor) (types.Sharding, bool) {
	switch {
	case t.Elem == types.String:
		c.whole(e, "a string")
		return types.Replicated, false
	case t.IsScalar():
		c.whole(e, "a scalar")
		return types.Replicated, false
	case t.Place != types.OnHost:
		c.Errorf(diag.CodeUnsupported, e.Loc, "a sharded tensor `on %s` is not supported yet", t.Place).
			Help("leave out `on %s` or %s", t.Place, report.Quote(e.Sharded.Loc.Text()))
		return types.Replicated, false
	}
	axis, ok := c.Axis(e.Sharded.Axis, t.Rank())
	if !ok {
		return types.Replicated, false
	}
	c.Sharded = true
	return types.ShardedAlong(int(axis)), true
}

// whole reports a type that cannot be sharded, and what it is.
func (c *Checker) whole(t *ast.TensorType, what string) {
	c.Errorf(diag.CodeSharding, t.Sharded.Loc, "%s has no axes to be cut along: every rank has the whole", what).
		Help("leave out %s", report.Quote(t.Sharded.Loc.Text()))
}

// ElemType is the element type of that name. It reports an unknown one; `unit` gives false without.
func (c *Checker) ElemType(name ast.Ident) (types.DType, bool) {
	if d, ok := c.TypeParameter(name.Name); ok {
		return d, true
	}
	if d, ok := types.ParseDType(name.Name); ok && d != types.Invalid {
		return d, true
	}
	if p, ok := c.TupleParameter(name.Name); ok {
		c.Errorf(diag.CodeUnknownType, name.Loc,
			"%s stands for a tensor or a tuple of tensors, here %s, and not for an element type",
			report.Quote(name.Name), p)
		return types.Invalid, false
	}
	switch name.Name {
	case "unit":
		return types.Invalid, false
	case "":
		c.Cur.Failed = true // the parser has reported it
		return types.Invalid, false
	case "nat":
		c.Errorf(diag.CodeUnknownType, name.Loc, "`nat` is the kind of shape parameters, not of values").
			Help("a value is an `i32`; a shape parameter stands in brackets: `fn f[N](...)`")
		return types.Invalid, false
	}
	r := c.Errorf(diag.CodeUnknownType, name.Loc, "unknown type %s", report.Quote(name.Name))
	if c.IsDim(name.Name) {
		r.Help("here it is an extent; an element type has a bound: `[%[1]s: any]`, or `num`, `int`, `float`, where "+
			"something is computed", name.Name)
		return types.Invalid, false
	}
	known := []string{"unit", "string"}
	for _, d := range types.DTypes {
		known = append(known, d.String())
	}
	if t := scope.ForeignTypes[name.Name]; t != "" {
		h := fmt.Sprintf("write `%s`", t)
		if _, bound := scope.Bounds[name.Name]; bound {
			h += fmt.Sprintf("; a parameter for every such type is declared by `fn f[T: %s](x: T)`", name.Name)
		}
		r.Help("%s", h)
	} else if slices.Contains(wholeTensors, strings.ToLower(name.Name)) {
		r.Help("the type of a tensor is written `f32[2, N]`")
	} else if near := diag.Nearest(name.Name, known); near != "" && !c.Full() {
		r.Meant(near)
	} else {
		r.Help("element types are bool, i8 to i64, u8 to u64, f16, bf16, f32 and f64, and to store elements " +
			"f8e4m3, f8e5m2, e8m0, i4 and f4e2m1")
	}
	return types.Invalid, false
}

// memory is the layout and place that a type expression says.
func (c *Checker) memory(t *ast.TensorType) (types.Layout, types.Place, bool) {
	layout, place, ok := types.RowMajor, types.OnHost, true
	if t.Layout != nil {
		if layout, ok = types.ParseLayout(t.Layout.Name); !ok {
			c.unknownMemory("layout", *t.Layout, types.LayoutNames())
			return layout, place, false
		}
	}
	if t.Place != nil {
		if place, ok = types.ParsePlace(t.Place.Name); !ok {
			c.unknownMemory("place", *t.Place, types.PlaceNames())
			return layout, place, false
		}
	}
	if place != types.OnHost {
		if len(t.Dims) == 0 {
			c.Errorf(diag.CodePlace, t.Loc, "a scalar has no place: it is passed by value").Help("leave out `on %s`",
				place)
			return layout, place, false
		}
		c.Placed = true
	}
	return layout, place, true
}

func (c *Checker) unknownMemory(what string, id ast.Ident, known []string) {
	if id.Name == "" {
		c.Cur.Failed = true // the parser has reported it
		return
	}
	r := c.Errorf(diag.CodeUnknownType, id.Loc, "unknown %s %s", what, report.Quote(id.Name))
	if near := diag.Nearest(id.Name, known); near != "" {
		r.Meant(near)
	} else {
		r.Help("the %ss are %s", what, strings.Join(known, ", "))
	}
}

// wholeTensors are types of tensors of other languages, without their case.
var wholeTensors = []string{"tensor", "array", "vector", "matrix", "ndarray", "list", "vec"}

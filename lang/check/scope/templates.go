package scope

import (
	"fmt"
	"strconv"
	"strings"

	"healc/lang/ast"
	"healc/lang/types"
)

// A function with type parameters is a template. An instance of it is the function with an element type
// for each of them; it is typed like any function, its shape parameters symbolic. The body is typed for
// every type of the bounds where it is declared, so an error shows there whoever calls it; the first
// type that fails is reported, with the type in a note. The functions of the library are typed for the
// types that are used: the library's own tests type them for all.
//
// An instance is called `norm[f32]` in messages and norm.f32 in the IR.

// TypeParam is a type parameter and its bound.
type TypeParam struct {
	Name  string
	Bound string
}

// Bounds are the element types that each bound stands for, in table order: those that operations compute with.
var Bounds = func() map[string][]types.DType {
	m := map[string][]types.DType{"any": types.Operands}
	for _, d := range types.Operands {
		switch {
		case d.IsFloat():
			m["float"] = append(m["float"], d)
			m["num"] = append(m["num"], d)
		case d.IsInt():
			m["int"] = append(m["int"], d)
			m["num"] = append(m["num"], d)
		}
	}
	return m
}()

// BoundText is a bound for messages.
func BoundText(bound string) string {
	switch bound {
	case "int":
		return "an integer type"
	case "float":
		return "a float type"
	case "num":
		return "a number type"
	}
	return "an element type"
}

// InBound reports an element type that a bound stands for.
func InBound(bound string, d types.DType) bool {
	for _, x := range Bounds[bound] {
		if x == d {
			return true
		}
	}
	return false
}

// TypeParams lists the type parameters of a declaration.
func TypeParams(d *ast.FuncDecl) []TypeParam {
	var out []TypeParam
	for _, g := range d.Dims {
		if g.Bound != nil && Bounds[g.Bound.Name] != nil {
			out = append(out, TypeParam{g.Name.Name, g.Bound.Name})
		}
	}
	return out
}

// Generic reports that f is a template.
func (f *Func) Generic() bool { return len(f.TypeParams)+len(f.TupleParams) > 0 }

// GenericNames is "T, M, N".
func GenericNames(d *ast.FuncDecl) string {
	names := make([]string, len(d.Dims))
	for i, g := range d.Dims {
		names[i] = g.Name.Name
	}
	return strings.Join(names, ", ")
}

// TemplateText is the head of a template as it is declared, its types as written.
func TemplateText(f *Func) string {
	var dims, params []string
	for _, g := range f.Decl.Dims {
		s := g.Name.Name
		if g.Bound != nil && g.Bound.Name != "nat" {
			s += ": " + g.Bound.Name
		}
		if g.Of != nil {
			s += "[" + g.Of.Name + "]"
		}
		dims = append(dims, s)
	}
	for _, p := range f.Decl.Params {
		params = append(params, p.Name.Name+": "+p.Type.Span().Text())
	}
	s := fmt.Sprintf("fn %s[%s](%s)", f.Tree.DisplayName(), strings.Join(dims, ", "), strings.Join(params, ", "))
	if f.Decl.Result != nil {
		s += " -> " + f.Decl.Result.Span().Text()
	}
	return s
}

// `P: tuple[T]` stands for a whole type: a tensor of T of any shape, or a tuple of such, nested ones included. It is
// bound by an argument. An instance fixes how the tuple is built and the ranks of its tensors; the extents are shape
// parameters of the instance, P.0, P.1 and so on (no program can write such a name). So one instance serves all shapes,
// and two arguments of type P have the same ones. The body is typed for a tensor and for a nested tuple where it is
// declared: what both allow (`map`, the reductions of tuples, calls) works for every type that P stands for.

// TupleBound is the word for it.
const TupleBound = "tuple"

// TupleParam is a parameter for tuples and the name of its element type: a type parameter, or a type.
type TupleParam struct{ Name, Of string }

// TupleParams lists those of a declaration.
func TupleParams(d *ast.FuncDecl) []TupleParam {
	var out []TupleParam
	for _, g := range d.Dims {
		if g.Bound != nil && g.Bound.Name == TupleBound {
			p := TupleParam{Name: g.Name.Name}
			if g.Of != nil {
				p.Of = g.Of.Name
			}
			out = append(out, p)
		}
	}
	return out
}

// TupleParam is the parameter for tuples of that name.
func (f *Func) TupleParam(name string) (TupleParam, bool) {
	for _, p := range f.TupleParams {
		if p.Name == name {
			return p, true
		}
	}
	return TupleParam{}, false
}

// TupleShape is t with a shape parameter of its own for each extent.
func TupleShape(name string, t types.Type) types.Type {
	n := 0
	return types.Map(t, func(x types.Tensor) types.Tensor {
		out := types.Tensor{Elem: x.Elem}
		for range x.Shape {
			out.Shape = append(out.Shape, types.Param(name+"."+strconv.Itoa(n)))
			n++
		}
		return out
	})
}

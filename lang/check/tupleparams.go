package check

import (
	"strconv"
	"strings"

	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/diag"
	"healc/lang/types"
)

// `P: tuple[T]` stands for a whole type: a tensor of T of any shape, or a tuple of such, nested ones included. It is
// bound by an argument. An instance fixes how the tuple is built and the ranks of its tensors; the extents are shape
// parameters of the instance, P.0, P.1 and so on (no program can write such a name). So one instance serves all shapes,
// and two arguments of type P have the same ones. The body is typed for a tensor and for a nested tuple where it is
// declared: what both allow (`map`, the reductions of tuples, calls) works for every type that P stands for.

// tupleBound is the word for it.
const tupleBound = "tuple"

// tupleParam is a parameter for tuples and the name of its element type: a type parameter, or a type.
type tupleParam struct{ name, of string }

// tupleParams lists those of a declaration.
func tupleParams(d *ast.FuncDecl) []tupleParam {
	var out []tupleParam
	for _, g := range d.Dims {
		if g.Bound != nil && g.Bound.Name == tupleBound {
			p := tupleParam{name: g.Name.Name}
			if g.Of != nil {
				p.of = g.Of.Name
			}
			out = append(out, p)
		}
	}
	return out
}

// tupleParam is the parameter for tuples of that name.
func (f *funcInfo) tupleParam(name string) (tupleParam, bool) {
	for _, p := range f.tuples {
		if p.name == name {
			return p, true
		}
	}
	return tupleParam{}, false
}

// bracketsOfBound reports a bound that lacks its brackets, or has some that it should not have, or wrong ones.
func (c *checker) bracketsOfBound(g *ast.GenericParam) {
	name := g.Name.Name
	switch {
	case g.Bound.Name != tupleBound:
		if g.Of != nil {
			c.errorf(diag.CodeUnknownType, g.Of.Loc, "the bound %s has nothing in brackets",
				report.Quote(g.Bound.Name)).
				Help("a tensor or a tuple of any tensors of T is `%s: tuple[T]`", name)
		}
	case g.Of == nil:
		c.errorf(diag.CodeUnknownType, g.Bound.Loc, "the bound `tuple` names the type of the elements").
			Help("write `%s: tuple[T]`, where T is a type parameter before it, or `%s: tuple[f32]`", name, name)
	default:
		if d, ok := c.elemType(*g.Of); ok && !d.Converts() {
			c.errorf(diag.CodeUnknownType, g.Of.Loc, "%s is no type of the elements of tensors",
				report.Quote(g.Of.Name))
		}
	}
}

// elementOfTuple is the element type of a parameter for tuples under a binding of the type parameters.
func elementOfTuple(p tupleParam, bind map[string]types.DType) (types.DType, bool) {
	if d, ok := bind[p.of]; ok {
		return d, true
	}
	d, ok := types.ParseDType(p.of)
	return d, ok && d.Converts()
}

// tupleShape is t with a shape parameter of its own for each extent.
func tupleShape(name string, t types.Type) types.Type {
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

// tupleKey spells how a type is built, in letters that names of the IR have: ranks, tuples between t and e.
func tupleKey(t types.Type) string {
	switch t := t.(type) {
	case types.Tensor:
		return strconv.Itoa(t.Rank())
	case types.Tuple:
		parts := make([]string, len(t.Elems))
		for i, e := range t.Elems {
			parts[i] = tupleKey(e)
		}
		return "t" + strings.Join(parts, "_") + "e"
	}
	return ""
}

// tupleSamples are the types for which a body is tried: a vector, and a nested tuple.
func tupleSamples(d types.DType) []types.Type {
	tensor := func(rank int) types.Tensor { return types.Tensor{Elem: d, Shape: make(types.Shape, rank)} }
	return []types.Type{
		tensor(1),
		types.Tuple{Elems: []types.Type{tensor(2), types.Tuple{Elems: []types.Type{tensor(0), tensor(1)}}}},
	}
}

// tupleTrials types a body for the samples, with these types for its type parameters. Several parameters take
// different samples at a time, so that a body cannot take them for one.
func (c *checker) tupleTrials(f *funcInfo, ts []types.DType) {
	bind := map[string]types.DType{}
	for i, p := range f.tparams {
		bind[p.name] = ts[i]
	}
	for k := range len(tupleSamples(types.F32)) {
		ps := make([]types.Type, len(f.tuples))
		for j, p := range f.tuples {
			d, ok := elementOfTuple(p, bind)
			if !ok {
				d = types.F32 // the head has an error, which the instance reports
			}
			samples := tupleSamples(d)
			ps[j] = samples[(k+j)%len(samples)]
		}
		c.need(c.instance(f, ts, ps))
	}
}

// collectTuple binds a parameter for tuples, and its element type, where a value of type got stands.
func (b *typeBinding) collectTuple(p tupleParam, got types.Type) {
	if _, bound := b.tuples[p.name]; bound || b.hint || types.IsError(got) {
		return
	}
	b.tuples[p.name] = got
	if leaves := types.Flatten(got); len(leaves) > 0 && b.isParam(p.of) && leaves[0].Elem.Converts() {
		if _, bound := b.bind[p.of]; !bound {
			b.bind[p.of] = leaves[0].Elem
		}
	}
}

// wantTuple is what an argument for a parameter for tuples should be, as far as it is known.
func (b *typeBinding) wantTuple(p tupleParam) types.Type {
	if t, ok := b.tuples[p.name]; ok {
		return bare(t)
	}
	if d, ok := elementOfTuple(p, b.bind); ok {
		return literal.Want(d)
	}
	return nil
}

// bare is t without the shapes of its tensors.
func bare(t types.Type) types.Type {
	switch t := t.(type) {
	case types.Tensor:
		return literal.Want(t.Elem)
	case types.Tuple:
		out := types.Tuple{Elems: make([]types.Type, len(t.Elems))}
		for i, e := range t.Elems {
			out.Elems[i] = bare(e)
		}
		return out
	}
	return t
}

// boundTuples are the types that a binding gives the parameters for tuples; false where one is missing or holds other
// elements, which is reported.
func (c *checker) boundTuples(at diag.Span, f *funcInfo, b *typeBinding) ([]types.Type, bool) {
	var out []types.Type
	for _, p := range f.tuples {
		got, ok := b.tuples[p.name]
		if !ok {
			c.errorf(diag.CodeUnboundParam, at, "nothing says what type %s of %s is", report.Quote(p.name),
				report.Quote(f.fn.DisplayName())).
				Note("%s", templateText(f)).Help("a parameter for tuples is bound by an argument of its type")
			return nil, false
		}
		d, ok := elementOfTuple(p, b.bind)
		leaves := types.Flatten(got)
		for _, t := range leaves {
			ok = ok && t.Elem == d
		}
		if !ok || len(leaves) == 0 {
			c.errorf(diag.CodeBound, at,
				"type parameter %s of %s is a tensor of %s or a tuple of such, and here it would be %s",
				report.Quote(p.name), report.Quote(f.fn.DisplayName()), elementText(p, d), got).Note("%s",
				templateText(f))
			return nil, false
		}
		out = append(out, got)
	}
	return out, true
}

// elementText is the element type for messages: its name where the type is not known.
func elementText(p tupleParam, d types.DType) string {
	if d == types.Invalid {
		return p.of
	}
	return d.String()
}

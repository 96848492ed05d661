package infer

import (
	"strconv"
	"strings"

	"healc/lang/ast"
	"healc/lang/check/literal"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/diag"
	"healc/lang/types"
)

// bracketsOfBound reports a bound that lacks its brackets, or has some that it should not have, or wrong ones.
func (c *Checker) bracketsOfBound(g *ast.GenericParam) {
	name := g.Name.Name
	switch {
	case g.Bound.Name != scope.TupleBound:
		if g.Of != nil {
			c.Errorf(diag.CodeUnknownType, g.Of.Loc, "the bound %s has nothing in brackets",
				report.Quote(g.Bound.Name)).
				Help("a tensor or a tuple of any tensors of T is `%s: tuple[T]`", name)
		}
	case g.Of == nil:
		c.Errorf(diag.CodeUnknownType, g.Bound.Loc, "the bound `tuple` names the type of the elements").
			Help("write `%s: tuple[T]`, where T is a type parameter before it, or `%s: tuple[f32]`", name, name)
	default:
		if d, ok := c.ElemType(*g.Of); ok && !d.Converts() {
			c.Errorf(diag.CodeUnknownType, g.Of.Loc, "%s is no type of the elements of tensors",
				report.Quote(g.Of.Name))
		}
	}
}

// elementOfTuple is the element type of a parameter for tuples under a binding of the type parameters.
func elementOfTuple(p scope.TupleParam, bind map[string]types.DType) (types.DType, bool) {
	if d, ok := bind[p.Of]; ok {
		return d, true
	}
	d, ok := types.ParseDType(p.Of)
	return d, ok && d.Converts()
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
func (c *Checker) tupleTrials(f *scope.Func, ts []types.DType) {
	bind := map[string]types.DType{}
	for i, p := range f.TypeParams {
		bind[p.Name] = ts[i]
	}
	for k := range len(tupleSamples(types.F32)) {
		ps := make([]types.Type, len(f.TupleParams))
		for j, p := range f.TupleParams {
			d, ok := elementOfTuple(p, bind)
			if !ok {
				d = types.F32 // the head has an error, which the instance reports
			}
			samples := tupleSamples(d)
			ps[j] = samples[(k+j)%len(samples)]
		}
		c.Need(c.instance(f, ts, ps))
	}
}

// collectTuple binds a parameter for tuples, and its element type, where a value of type got stands.
func (b *typeBinding) collectTuple(p scope.TupleParam, got types.Type) {
	if _, bound := b.tuples[p.Name]; bound || b.hint || types.IsError(got) {
		return
	}
	b.tuples[p.Name] = got
	if leaves := types.Flatten(got); len(leaves) > 0 && b.isParam(p.Of) && leaves[0].Elem.Converts() {
		if _, bound := b.bind[p.Of]; !bound {
			b.bind[p.Of] = leaves[0].Elem
		}
	}
}

// wantTuple is what an argument for a parameter for tuples should be, as far as it is known.
func (b *typeBinding) wantTuple(p scope.TupleParam) types.Type {
	if t, ok := b.tuples[p.Name]; ok {
		return Bare(t)
	}
	if d, ok := elementOfTuple(p, b.bind); ok {
		return literal.Want(d)
	}
	return nil
}

// Bare is t without the shapes of its tensors.
func Bare(t types.Type) types.Type {
	switch t := t.(type) {
	case types.Tensor:
		return literal.Want(t.Elem)
	case types.Tuple:
		out := types.Tuple{Elems: make([]types.Type, len(t.Elems))}
		for i, e := range t.Elems {
			out.Elems[i] = Bare(e)
		}
		return out
	}
	return t
}

// boundTuples are the types that a binding gives the parameters for tuples; false where one is missing or holds other
// elements, which is reported.
func (c *Checker) boundTuples(at diag.Span, f *scope.Func, b *typeBinding) ([]types.Type, bool) {
	var out []types.Type
	for _, p := range f.TupleParams {
		got, ok := b.tuples[p.Name]
		if !ok {
			c.Errorf(diag.CodeUnboundParam, at, "nothing says what type %s of %s is", report.Quote(p.Name),
				report.Quote(f.Tree.DisplayName())).
				Note("%s", scope.TemplateText(f)).Help("a parameter for tuples is bound by an argument of its type")
			return nil, false
		}
		d, ok := elementOfTuple(p, b.bind)
		leaves := types.Flatten(got)
		for _, t := range leaves {
			ok = ok && t.Elem == d
		}
		if !ok || len(leaves) == 0 {
			c.Errorf(diag.CodeBound, at,
				"type parameter %s of %s is a tensor of %s or a tuple of such, and here it would be %s",
				report.Quote(p.Name), report.Quote(f.Tree.DisplayName()), elementText(p, d), got).Note("%s",
				scope.TemplateText(f))
			return nil, false
		}
		out = append(out, got)
	}
	return out, true
}

// elementText is the element type for messages: its name where the type is not known.
func elementText(p scope.TupleParam, d types.DType) string {
	if d == types.Invalid {
		return p.Of
	}
	return d.String()
}

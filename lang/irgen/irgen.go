package irgen

import (
	"fmt"

	"healc/ir"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/types"
)

// Generate returns the module of p. Tuples become several values, unit none; every operation has the
// span of the expression it comes from. The work is linear in the size of p, and a chain of lets (a
// block) of any length needs no stack.
func Generate(p *check.Program) *ir.Module {
	m := &ir.Module{}
	if p.Source != nil {
		m.Name = p.Source.Name
	}
	for _, f := range p.Funcs {
		m.Funcs = append(m.Funcs, function(f))
	}
	return m
}

// generator writes one function. Every check.Local is bound once in it, so one table serves all scopes.
type generator struct {
	env map[*check.Local][]*ir.Value
}

func function(f *check.Func) *ir.Func {
	g := &generator{env: map[*check.Local][]*ir.Value{}}
	out := &ir.Func{
		Name: f.Name, Dims: f.Dims, Body: &ir.Block{},
		Results: types.Flatten(f.Result), Public: f.Public, IO: f.IO, Span: f.Loc,
	}
	for _, p := range f.Params {
		g.params(out.Body, p)
	}
	g.yields(out.Body, f.Body)
	return out
}

// params adds the parameters that local becomes: one for a tensor, several for a tuple.
func (g *generator) params(b *ir.Block, local *check.Local) {
	ts := types.Flatten(local.T)
	vals := make([]*ir.Value, len(ts))
	for i, t := range ts {
		name := local.Name
		if len(ts) > 1 {
			name = fmt.Sprintf("%s.%d", name, i)
		}
		vals[i] = b.Param(name, t, local.Loc)
	}
	g.env[local] = vals
}

// yields writes the body of a block. The list is copied: passes change it in place, and the values of a
// local are a list that others use too.
func (g *generator) yields(b *ir.Block, body check.Expr) {
	b.Yields = append([]*ir.Value(nil), g.expr(b, body)...)
}

// expr writes e at the end of b and returns its values. Lets are a loop and not a recursion: a block of
// 10,000 statements is a chain of 10,000 of them.
func (g *generator) expr(b *ir.Block, e check.Expr) []*ir.Value {
	for {
		let, ok := e.(*check.Let)
		if !ok {
			break
		}
		vals := g.expr(b, let.Value)
		if let.Local != nil {
			g.env[let.Local] = vals
		}
		e = let.Body
	}
	switch e := e.(type) {
	case *check.Const:
		return emit(b, e.Span(), ir.OpConst, ir.A{"value": e.Value}, nil, nil)
	case *check.Use:
		vals, ok := g.env[e.Local]
		if !ok {
			panic(fmt.Sprintf("BUG: %s is used at %s and not bound", e.Local.Name, e.Span().Pos()))
		}
		return vals
	case *check.Apply:
		return g.apply(b, e)
	case *check.Call:
		attrs := ir.A{"callee": e.Fn.Name, "dims": e.Dims, "results": types.Flatten(e.Type())}
		return emit(b, e.Span(), ir.OpCall, attrs, g.exprs(b, e.Args), nil)
	case *check.If:
		cond := g.exprs(b, []check.Expr{e.Cond})
		arms := []*ir.Block{{}, {}}
		g.yields(arms[0], e.Then)
		g.yields(arms[1], e.Else)
		return emit(b, e.Span(), ir.OpIf, nil, cond, arms)
	case *check.Tuple:
		return g.exprs(b, e.Elems)
	case *check.Get:
		return g.get(b, e)
	}
	panic(fmt.Sprintf("BUG: typed tree holds a %T", e))
}

// exprs writes a list of expressions from left to right and returns all their values in a row.
func (g *generator) exprs(b *ir.Block, es []check.Expr) []*ir.Value {
	out := make([]*ir.Value, 0, len(es))
	for _, e := range es {
		out = append(out, g.expr(b, e)...)
	}
	return out
}

// apply writes an operation of the table; each lambda becomes a region.
func (g *generator) apply(b *ir.Block, e *check.Apply) []*ir.Value {
	args := g.exprs(b, e.Args)
	regions := make([]*ir.Block, len(e.Lambdas))
	for i, l := range e.Lambdas {
		regions[i] = &ir.Block{}
		for _, p := range l.Params {
			g.params(regions[i], p)
		}
		g.yields(regions[i], l.Body)
	}
	vals := emit(b, e.Span(), e.Op, e.Attrs, args, regions)
	want := types.Flatten(e.Type())
	for i := range want {
		if len(vals) != len(want) || !types.Equal(vals[i].Type, want[i]) {
			panic(fmt.Sprintf("BUG: %s at %s gives %v and was checked as %s", e.Op.Name, e.Span().Pos(), ir.ArgTypes(vals), e.Type()))
		}
	}
	return vals
}

// get selects the values of one element of a tuple.
func (g *generator) get(b *ir.Block, e *check.Get) []*ir.Value {
	vals := g.expr(b, e.X)
	elems := e.X.Type().(types.Tuple).Elems
	begin := 0
	for _, t := range elems[:e.Index] {
		begin += len(types.Flatten(t))
	}
	return vals[begin : begin+len(types.Flatten(elems[e.Index]))]
}

func emit(b *ir.Block, at diag.Span, d *ir.OpDef, attrs ir.A, args []*ir.Value, regions []*ir.Block) []*ir.Value {
	eb := ir.Builder{Block: b, Span: at}
	return eb.EmitOp(d, attrs, args, regions).Results
}

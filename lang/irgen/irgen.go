package irgen

import (
	"fmt"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// Generate returns the module of p; its tests are functions like the others. Tuples become several values, unit none;
// every operation has the span of the expression it comes from. The work is linear in the size of p, and a chain of
// lets (a block) of any length needs no stack.
func Generate(p *tree.Program) *ir.Module {
	m := &ir.Module{}
	if p.Source != nil {
		m.Name = p.Source.Name
	}
	for _, f := range p.Funcs {
		m.Funcs = append(m.Funcs, function(f))
	}
	for _, t := range p.Tests {
		m.Funcs = append(m.Funcs, function(t.Fn))
	}
	return m
}

// generator writes one function. Every tree.Local is bound in one scope of it, so one table serves all; what
// a `let mut` name stands for changes as code is written, in the order of evaluation.
type generator struct {
	fn     *tree.Func
	env    map[*tree.Local][]*ir.Value
	b      *ir.Block // where code is written
	region *region   // the innermost region that is being written
}

func function(f *tree.Func) *ir.Func {
	g := &generator{fn: f, env: map[*tree.Local][]*ir.Value{}}
	out := &ir.Func{
		Name: f.Name, Dims: f.Dims, Body: &ir.Block{},
		Results: types.Flatten(f.Result), Public: f.Public, IO: f.IO, Span: f.Loc,
	}
	first := make([]int, len(f.Params)) // what each becomes begins there
	for i, p := range f.Params {
		first[i] = len(out.Params())
		g.params(out.Body, p)
	}
	for _, i := range f.Muts {
		out.Results = append(out.Results, types.Flatten(f.Params[i].T)...)
		out.Updates = append(out.Updates, int64(first[i]))
	}
	g.write(out.Body, &region{}, func() []*ir.Value {
		for _, p := range f.Params {
			g.env[p] = g.sharded(p.Loc, p.Declared, g.env[p])
		}
		return g.leaving(f.Body)
	})
	g.b = out.Body
	declared := types.Flatten(f.Declared)
	for _, i := range f.Muts {
		declared = append(declared, types.Flatten(f.Params[i].Declared)...)
	}
	for i, t := range declared { // where there are several returns, or changes in arms
		if y := out.Body.Yields[i]; y.Def == nil || y.Def.Def != ops.Shard {
			out.Body.Yields[i] = g.sharded(f.Body.Span(), t, []*ir.Value{y})[0]
		}
	}
	return out
}

// sharded writes what a declared type, or nil, says of the parts of values that ranks have.
func (g *generator) sharded(at diag.Span, declared types.Type, vals []*ir.Value) []*ir.Value {
	out := vals
	for i, t := range types.Flatten(declared) {
		if t.Sharding == types.Replicated {
			continue
		}
		if &out[0] == &vals[0] {
			out = append([]*ir.Value(nil), vals...)
		}
		attrs := ir.A{"axis": int64(t.Sharding.Axis()), "declared": true}
		out[i] = g.emit(at, ops.Shard, attrs, vals[i:i+1], nil)[0]
	}
	return out
}

// params adds the parameters that local becomes: one for a tensor, several for a tuple.
func (g *generator) params(b *ir.Block, local *tree.Local) {
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

// expr writes e and returns its values. Lets are a loop and not a recursion: a block of 10,000 statements is
// a chain of 10,000 of them. An expression of type never gives what the function returns.
func (g *generator) expr(e tree.Expr) []*ir.Value {
	for {
		let, ok := e.(*tree.Let)
		if !ok {
			break
		}
		vals := g.expr(let.Value)
		if let.Local != nil {
			g.env[let.Local] = g.sharded(let.Value.Span(), let.Local.Declared, vals)
		}
		e = let.Body
	}
	switch e := e.(type) {
	case *tree.Const:
		return g.emit(e.Span(), ops.Const, ir.A{"value": e.Value}, nil, nil)
	case *tree.Use:
		vals, ok := g.env[e.Local]
		if !ok {
			panic(fmt.Sprintf("BUG: %s is used at %s and not bound", e.Local.Name, e.Span().Pos()))
		}
		return vals
	case *tree.Assign:
		g.env[e.Local] = g.sharded(e.Value.Span(), e.Local.Declared, g.expr(e.Value))
		return nil
	case *tree.Return:
		return g.leaving(e.Value)
	case *tree.Apply:
		return g.apply(e)
	case *tree.Call:
		return g.call(e)
	case *tree.If:
		return g.choose(e)
	case *tree.Move:
		return g.expr(e.X)
	case *tree.Tuple:
		return g.exprs(e.Elems)
	case *tree.Get:
		return g.get(e)
	}
	panic(fmt.Sprintf("BUG: typed tree holds a %T", e))
}

// exprs writes a list of expressions from left to right and returns all their values in a row.
func (g *generator) exprs(es []tree.Expr) []*ir.Value {
	out := make([]*ir.Value, 0, len(es))
	for _, e := range es {
		out = append(out, g.expr(e)...)
	}
	return out
}

// apply writes an operation of the table; each lambda becomes a region.
func (g *generator) apply(e *tree.Apply) []*ir.Value {
	args := g.exprs(e.Args)
	regions := make([]*ir.Block, len(e.Lambdas))
	for i, l := range e.Lambdas {
		regions[i] = &ir.Block{}
		for _, p := range l.Params {
			g.params(regions[i], p)
		}
		g.write(regions[i], &region{}, func() []*ir.Value { return g.expr(l.Body) })
	}
	vals := g.emit(e.Span(), e.Op, e.Attrs, args, regions)
	want := types.Flatten(e.Type())
	for i := range want {
		if len(vals) != len(want) || !types.Equal(vals[i].Type, want[i]) {
			panic(fmt.Sprintf("BUG: %s at %s gives %v and was checked as %s", e.Op.Name, e.Span().Pos(),
				ir.ArgTypes(vals), e.Type()))
		}
	}
	return vals
}

// call writes a call. The callee gives the values of its `&mut` parameters after its own results.
func (g *generator) call(e *tree.Call) []*ir.Value {
	results := types.Flatten(e.Type())
	n := len(results)
	for _, l := range e.Muts {
		results = append(results, types.Flatten(l.T)...)
	}
	attrs := ir.A{"callee": e.Fn.Name, "dims": e.Dims, "results": results}
	vals := g.emit(e.Span(), ops.Call, attrs, g.exprs(e.Args), nil)
	rest := vals[n:]
	for _, l := range e.Muts {
		k := len(types.Flatten(l.T))
		g.env[l], rest = g.sharded(e.Span(), l.Declared, rest[:k:k]), rest[k:]
	}
	return vals[:n:n]
}

// get selects the values of one element of a tuple.
func (g *generator) get(e *tree.Get) []*ir.Value {
	vals := g.expr(e.X)
	elems := e.X.Type().(types.Tuple).Elems
	begin := 0
	for _, t := range elems[:e.Index] {
		begin += len(types.Flatten(t))
	}
	return vals[begin : begin+len(types.Flatten(elems[e.Index]))]
}

func (g *generator) emit(at diag.Span, d *ir.OpDef, attrs ir.A, args []*ir.Value, regions []*ir.Block) []*ir.Value {
	eb := ir.Builder{Block: g.b, Span: at}
	return eb.EmitOp(d, attrs, args, regions).Results
}

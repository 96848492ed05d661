package irgen

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
)

// The IR has no jump: a region yields at its end. So after an `if` of which one arm leaves the function,
// the rest of the region becomes the other arm. `if c { return 1; } x + 1` is
//
//	%2 = if %c ^() { yield 1 } ^() { %1 = add %x, 1 yield %1 }
//
// Such an `if` is a guard: it is put together when the region around it ends. Two kinds of region meet
// guards. The body of a function, and an arm that always leaves it, yield what the function returns. An
// arm that may go on as well yields four things in a row: the value of the arm, the variables that are
// assigned in it, whether it left, and what the function then returns; in each case the part that does
// not apply is zeros. A guard on the third then chooses.

// A region is a block of IR that is being written.
type region struct {
	guards []guard
	mixed  *mixed // set: the region may leave the function or go on
}

// guard is an `if` whose rest is being written: leave is the arm that yields.
type guard struct {
	parent *ir.Block
	cond   *ir.Value
	leave  *ir.Block
	first  bool // leave is the arm for true
	at     diag.Span
}

// mixed says what a region yields that may leave the function.
type mixed struct {
	value   []types.Tensor // the types of the value of the arm
	assigns []*tree.Local
	at      diag.Span
}

// write writes a region into b: code makes it and gives what it yields. The list is copied: passes change it
// in place, and the values of a local are a list that others use too.
func (g *generator) write(b *ir.Block, r *region, code func() []*ir.Value) {
	block, outer := g.b, g.region
	g.b, g.region = b, r
	vals := code()
	for i := len(r.guards) - 1; i >= 0; i-- {
		guard := r.guards[i]
		g.b.Yields = append([]*ir.Value(nil), vals...)
		arms := []*ir.Block{guard.leave, g.b}
		if !guard.first {
			arms = []*ir.Block{g.b, guard.leave}
		}
		g.b = guard.parent
		vals = g.emit(guard.at, ops.If, nil, []*ir.Value{guard.cond}, arms)
	}
	b.Yields = append([]*ir.Value(nil), vals...)
	g.b, g.region = block, outer
}

// leaving writes an expression whose value the function returns, and gives all that the function yields: the
// value and the `&mut` parameters.
func (g *generator) leaving(e tree.Expr) []*ir.Value {
	vals := g.expr(e)
	if e.Type() == types.Never {
		return vals
	}
	vals = append([]*ir.Value(nil), g.sharded(e.Span(), g.fn.Declared, vals)...)
	for _, i := range g.fn.Muts {
		vals = append(vals, g.env[g.fn.Params[i]]...)
	}
	return vals
}

// results are the types of what the function yields.
func (g *generator) results() []types.Tensor {
	ts := types.Flatten(g.fn.Result)
	for _, i := range g.fn.Muts {
		ts = append(ts, types.Flatten(g.fn.Params[i].T)...)
	}
	return ts
}

// choose writes an `if`.
func (g *generator) choose(e *tree.If) []*ir.Value {
	cond := g.expr(e.Cond)
	before := make([][]*ir.Value, len(e.Assigns))
	for i, l := range e.Assigns {
		before[i] = g.env[l]
	}
	arm := func(r *region, code func() []*ir.Value) *ir.Block {
		b := &ir.Block{}
		g.write(b, r, code)
		for i, l := range e.Assigns {
			g.env[l] = before[i]
		}
		return b
	}
	arms := []tree.Expr{e.Then, e.Else}
	never := []bool{e.Then.Type() == types.Never, e.Else.Type() == types.Never}
	blocks := make([]*ir.Block, 2)
	switch {
	case never[0] && never[1]:
		for k, x := range arms {
			blocks[k] = arm(&region{}, func() []*ir.Value { return g.expr(x) })
		}
		return g.emit(e.Span(), ops.If, nil, cond, blocks)
	case never[0] || never[1]:
		leave, stay := e.Then, e.Else
		if never[1] {
			leave, stay = e.Else, e.Then
		}
		b := arm(&region{}, func() []*ir.Value { return g.expr(leave) })
		g.guard(e.Span(), cond[0], b, never[0])
		return g.expr(stay)
	case e.Returns:
		m := &mixed{types.Flatten(e.Type()), e.Assigns, e.Span()}
		for k, x := range arms {
			blocks[k] = arm(&region{mixed: m}, func() []*ir.Value {
				vals := append([]*ir.Value(nil), g.expr(x)...)
				for _, l := range m.assigns {
					vals = append(vals, g.env[l]...)
				}
				vals = append(vals, g.constant(m.at, types.Scalar(types.Bool)))
				return append(vals, g.zeros(m.at, g.results())...)
			})
		}
		vals := g.emit(e.Span(), ops.If, nil, cond, blocks)
		n := len(m.value)
		end := g.assigned(e.Assigns, vals, n)
		leave := &ir.Block{Yields: append([]*ir.Value(nil), vals[end+1:]...)}
		g.guard(e.Span(), vals[end], leave, true)
		return vals[:n:n]
	}
	for k, x := range arms {
		blocks[k] = arm(&region{}, func() []*ir.Value {
			vals := append([]*ir.Value(nil), g.expr(x)...)
			for _, l := range e.Assigns {
				vals = append(vals, g.env[l]...)
			}
			return vals
		})
	}
	vals := g.emit(e.Span(), ops.If, nil, cond, blocks)
	n := len(types.Flatten(e.Type()))
	g.assigned(e.Assigns, vals, n)
	return vals[:n:n]
}

// assigned gives the variables their values, which stand in vals from position n; it returns the position
// after them.
func (g *generator) assigned(ls []*tree.Local, vals []*ir.Value, n int) int {
	for _, l := range ls {
		k := len(types.Flatten(l.T))
		g.env[l] = vals[n : n+k : n+k]
		n += k
	}
	return n
}

// guard ends the block at an `if` whose arm leave yields what the function returns: what follows is
// written into the other arm.
func (g *generator) guard(at diag.Span, cond *ir.Value, leave *ir.Block, first bool) {
	if m := g.region.mixed; m != nil {
		parent := g.b
		g.b = leave
		vals := g.zeros(m.at, m.value)
		for _, l := range m.assigns {
			vals = append(vals, g.env[l]...)
		}
		left := ir.NewArray(types.Bool)
		left.Bits[0] = 1
		vals = append(vals, g.emit(m.at, ops.Const, ir.A{"value": left}, nil, nil)...)
		leave.Yields = append(vals, leave.Yields...)
		g.b = parent
	}
	g.region.guards = append(g.region.guards, guard{g.b, cond, leave, first, at})
	g.b = &ir.Block{}
}

// zeros stand for values that nobody looks at.
func (g *generator) zeros(at diag.Span, ts []types.Tensor) []*ir.Value {
	var out []*ir.Value
	for _, t := range ts {
		out = append(out, g.constant(at, t))
	}
	return out
}

// constant is a tensor of zeros, or the empty string.
func (g *generator) constant(at diag.Span, t types.Tensor) *ir.Value {
	zero := &ir.Array{DType: t.Elem, Shape: []int64{}}
	if t.Elem != types.String {
		zero.Bits = []uint64{scalar.IntBits(t.Elem, 0)}
	}
	v := g.emit(at, ops.Const, ir.A{"value": zero}, nil, nil)[0]
	if t.IsScalar() {
		return v
	}
	return g.emit(at, ops.Broadcast, ir.A{"shape": t.Shape}, []*ir.Value{v}, nil)[0]
}

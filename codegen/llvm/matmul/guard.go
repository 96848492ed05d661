package matmul

import (
	"slices"

	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
)

// columnOf is the first column of panel n.
func (c *writer) columnOf(p panels, n value.Value) value.Value {
	return c.Add(p.at, c.Mul(n, build.Int(build.I64, c.Panel)))
}

// unlessKept runs f for h rows from i on and, unless n is 0, for n columns from j on, but not where all elements of
// these keep what they are (analysis.Guard): steps of a factorisation change a part of a matrix that gets smaller.
// Guards of the rows alone are looked at where n is 0.
func (c *writer) unlessKept(i value.Value, h int64, j value.Value, n int64, f func()) {
	var wanted value.Value
	at := func(first value.Value, n int64, last bool) emit.Val {
		if last {
			first = c.Add(first, build.Int(build.I64, n-1))
		}
		return emit.Val{V: first}
	}
	for _, g := range c.guards {
		if (g.Dep == kernel.OnRow) != (n == 0) {
			continue
		}
		env := slices.Clone(c.Env)
		if g.Dep&kernel.OnRow != 0 {
			c.Env[c.RowVar()] = at(i, h, g.LastRow)
		}
		if g.Dep&kernel.OnColumn != 0 {
			c.Env[c.Col.Var] = at(j, n, g.LastColumn)
		}
		c.Block(&kernel.Block{Stmts: g.Stmts})
		holds := c.Env[g.Cond].V
		copy(c.Env, env)
		if wanted != nil {
			holds = c.Cur.NewAnd(wanted, holds)
		}
		wanted = holds
	}
	c.When(wanted, f)
}

// window is the part of a matrix outside of which all elements keep what they are: columns [c0, c1) of rows [r0, r1),
// from a panel and a tile on.
type window struct{ c0, c1, r0, r1 value.Value }

// changed is the window of the matrix whose axes are bound: everything, but for what the guards of the rows alone and
// of the columns alone leave out.
func (c *writer) changed() window {
	zero := build.Int(build.I64, 0)
	w := window{c0: zero, c1: build.Int(build.I64, c.Size.N), r0: zero, r1: build.Int(build.I64, c.Size.M)}
	if len(c.guards) == 0 || c.PartAxis() != nil || c.ByRows || c.Size.M == 1 {
		return w
	}
	c.prologue(0)
	for _, g := range c.guards {
		switch g.Dep {
		case kernel.OnRow:
			w.r0, w.r1 = c.narrow(g, c.RowVar(), g.LastRow, w.r0, w.r1, c.Size.M, int64(c.Rows))
		case kernel.OnColumn:
			w.c0, w.c1 = c.narrow(g, c.Col.Var, g.LastColumn, w.c0, w.c1, c.Size.N, c.Panel)
		}
	}
	return w
}

// narrow leaves out of [from, to) the parts, of so many of the n indices of an axis each, in which a guard holds
// nowhere. With last it holds from some index on, otherwise up to some index: parts at an end are counted by halving.
func (c *writer) narrow(
	g analysis.Guard, axis kernel.Ref, last bool, from, to value.Value, n, each int64,
) (value.Value, value.Value) {
	parts, most := (n+each-1)/each, int64(1)
	for most*2 <= parts {
		most *= 2
	}
	count := value.Value(build.Int(build.I64, 0))
	for step := most; step > 0; step /= 2 {
		more := c.Add(count, build.Int(build.I64, step))
		at := c.Mul(c.Sub(more, build.Int(build.I64, 1)), build.Int(build.I64, each))
		if last {
			at = c.Sub(c.Min(c.Mul(more, build.Int(build.I64, each)), build.Int(build.I64, n)), build.Int(build.I64, 1))
		}
		holds := c.guardAt(g, axis, at)
		if last {
			holds = c.Cur.NewXor(holds, constant.True)
		}
		fits := c.Cur.NewICmp(enum.IPredSLE, more, build.Int(build.I64, parts))
		count = c.Cur.NewSelect(c.Cur.NewAnd(fits, holds), more, count)
	}
	edge := c.Min(c.Mul(count, build.Int(build.I64, each)), build.Int(build.I64, n))
	if last {
		return c.maxInt(from, edge), to
	}
	return from, c.Min(to, edge)
}

// guardAt is a guard of one axis at an index.
func (c *writer) guardAt(g analysis.Guard, axis kernel.Ref, at value.Value) value.Value {
	env := slices.Clone(c.Env)
	c.Env[axis] = emit.Val{V: at}
	c.Block(&kernel.Block{Stmts: g.Stmts})
	holds := c.Env[g.Cond].V
	copy(c.Env, env)
	return holds
}

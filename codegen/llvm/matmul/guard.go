package matmul

import (
	"slices"

	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
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

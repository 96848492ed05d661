package matmul

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
)

// columnOf is the first column of panel n.
func (c *writer) columnOf(p panels, n value.Value) value.Value {
	return c.Add(p.at, c.Mul(n, build.Int(build.I64, c.Panel)))
}

// unlessKept runs f for n rows or columns from index first on, but not where all elements of these keep what they are
// (analysis.Guard): steps of a factorisation change a part of a matrix that gets smaller.
func (c *writer) unlessKept(dep kernel.Dep, first value.Value, n int64, f func()) {
	var wanted value.Value
	for _, g := range c.guards {
		if g.Dep != dep {
			continue
		}
		at, axis := first, c.Col.Var
		if dep == kernel.OnRow {
			axis = c.RowVar()
		}
		if g.Last {
			at = c.Add(first, build.Int(build.I64, n-1))
		}
		c.Env[axis] = emit.Val{V: at}
		c.Block(&kernel.Block{Stmts: g.Stmts})
		holds := c.Env[g.Cond].V
		if wanted != nil {
			holds = c.Cur.NewAnd(wanted, holds)
		}
		wanted = holds
	}
	c.When(wanted, f)
}

package gpu

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Rows in shared memory]: the loops over one row often read the same operand, as the maximum and the sum of a
// softmax do, or the mean and the variance of a layer norm. A device would fetch it from memory or the second-level
// cache each time. So the first of the loops keeps what it read in memory of the kernel itself, which teams have
// in shared memory, and the others read that:
//
//	%m = reduce max %j { %x = load x[i, j]; store row[j], %x; yield %x }
//	%s = reduce sum %j { %x = load row[j]; ... }

// cacheLimit is the most shared memory that all rows of a kernel may take, in bytes: half a dozen blocks still find
// room on a multiprocessor.
const cacheLimit = 36 << 10

// cacheRows gives the kernel with the rows that it reads several times kept; k itself where there are none.
func cacheRows(k *kernel.Kernel) *kernel.Kernel {
	used := int64(0)
	for _, p := range k.Params {
		if p.Local {
			n, _ := p.Shape[0].Dim.Const()
			used += n * int64(p.DType.Bytes())
		}
		if p.InPlace { // what is read may have been written since
			return k
		}
	}
	c := &rowCache{k: k}
	for i, s := range k.Body.Stmts {
		axis, body, ok := rowLoop(s)
		if !ok {
			continue
		}
		n, known := count([]kernel.Axis{*axis})
		for _, st := range body.Stmts {
			l, ok := st.(*kernel.Load)
			if !ok || !known || n < fewElements || axis.Begin != 0 || k.Params[l.Param].Out || !along(l.At, axis.Var) ||
				c.known(l, axis) {
				continue
			}
			size := n * int64(k.Params[l.Param].DType.Bytes())
			if used+size > cacheLimit || !c.again(k.Body.Stmts[i+1:], l, axis) {
				continue
			}
			used += size
			c.rows = append(c.rows, cachedRow{l, axis, len(k.Params) + len(c.rows)})
		}
	}
	if len(c.rows) == 0 {
		return k
	}
	return c.rewrite()
}

// rowCache is the work on one kernel.
type rowCache struct {
	k    *kernel.Kernel
	rows []cachedRow
}

// cachedRow is an operand that is kept: as load reads it in its loop.
type cachedRow struct {
	load  *kernel.Load
	axis  *kernel.Axis
	param int
}

// rowLoop is the axis and the body of a loop over a row that a team shares.
func rowLoop(s kernel.Stmt) (*kernel.Axis, *kernel.Block, bool) {
	switch s := s.(type) {
	case *kernel.Reduce:
		if len(s.Axes) == 1 && s.Chunk == scalar.None {
			return &s.Axes[0], s.Body, true
		}
	case *kernel.Loop:
		if s.Parallel {
			return &s.Axis, s.Body, true
		}
	}
	return nil, nil, false
}

// along reports that an access goes by neighbours as v counts up.
func along(at kernel.Access, v kernel.Ref) bool {
	return slices.ContainsFunc(at.Terms, func(t kernel.Term) bool { return t.Var == v && t.Coef.IsConst(1) })
}

// same reports that two loads read the same elements as their axes count up.
func same(x, y *kernel.Load, xAxis, yAxis *kernel.Axis) bool {
	if x.Param != y.Param || !x.At.Offset.Equal(y.At.Offset) || len(x.At.Terms) != len(y.At.Terms) {
		return false
	}
	return !slices.ContainsFunc(x.At.Terms, func(t kernel.Term) bool {
		if t.Var == xAxis.Var {
			t.Var = yAxis.Var
		}
		return !slices.ContainsFunc(y.At.Terms, func(u kernel.Term) bool {
			return u.Var == t.Var && u.Coef.Equal(t.Coef)
		})
	})
}

// sameExtent reports that two axes count to the same number.
func sameExtent(x, y *kernel.Axis) bool {
	m, ok1 := count([]kernel.Axis{*x})
	n, ok2 := count([]kernel.Axis{*y})
	return ok1 && ok2 && m == n && x.Begin == y.Begin
}

// known reports that l is kept already.
func (c *rowCache) known(l *kernel.Load, axis *kernel.Axis) bool { return c.find(l, axis) != nil }

func (c *rowCache) find(l *kernel.Load, axis *kernel.Axis) *cachedRow {
	for i := range c.rows {
		if r := &c.rows[i]; sameExtent(r.axis, axis) && same(r.load, l, r.axis, axis) {
			return r
		}
	}
	return nil
}

// again reports that a loop among stmts reads what l reads.
func (c *rowCache) again(stmts []kernel.Stmt, l *kernel.Load, axis *kernel.Axis) bool {
	return slices.ContainsFunc(stmts, func(s kernel.Stmt) bool {
		other, body, ok := rowLoop(s)
		return ok && sameExtent(axis, other) && slices.ContainsFunc(body.Stmts, func(st kernel.Stmt) bool {
			m, ok := st.(*kernel.Load)
			return ok && same(l, m, axis, other)
		})
	})
}

// rewrite makes the kernel with the rows.
func (c *rowCache) rewrite() *kernel.Kernel {
	out := *c.k
	out.Params = slices.Clone(c.k.Params)
	for _, r := range c.rows {
		out.Params = append(out.Params, kernel.Param{Name: "kept", DType: c.k.Params[r.load.Param].DType, Out: true,
			Local: true, Shape: []abi.Extent{r.axis.Extent}})
	}
	out.Body = &kernel.Block{}
	for _, s := range c.k.Body.Stmts {
		if axis, body, ok := rowLoop(s); ok {
			s = withBody(s, c.body(body, axis))
		}
		out.Body.Stmts = append(out.Body.Stmts, s)
	}
	return &out
}

// body is a loop's body with its loads from rows, or into them.
func (c *rowCache) body(b *kernel.Block, axis *kernel.Axis) *kernel.Block {
	out := &kernel.Block{}
	for _, st := range b.Stmts {
		l, ok := st.(*kernel.Load)
		var r *cachedRow
		if ok {
			r = c.find(l, axis)
		}
		if r == nil {
			out.Stmts = append(out.Stmts, st)
			continue
		}
		at := kernel.Access{Offset: types.Lit(0), Terms: []kernel.Term{{Coef: types.Lit(1), Var: axis.Var}}}
		if r.load == l {
			out.Stmts = append(out.Stmts, l, &kernel.Store{Param: r.param, At: at, Val: l.ID})
		} else {
			out.Stmts = append(out.Stmts, &kernel.Load{ID: l.ID, Param: r.param, At: at})
		}
	}
	return out
}

// withBody is a copy of a loop with another body.
func withBody(s kernel.Stmt, b *kernel.Block) kernel.Stmt {
	switch s := s.(type) {
	case *kernel.Reduce:
		c := *s
		c.Body = b
		return &c
	case *kernel.Loop:
		c := *s
		c.Body = b
		return &c
	}
	return s
}

package gpu

import (
	"slices"

	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Shared-memory row cache]: the loops over one row often read the same operand, as the maximum and the sum of a
// softmax do, or the mean and the variance of a layer norm. A device would load it from memory or the second-level
// cache each time. So the first of the loops stores it to memory of the kernel itself, which groups have in shared
// memory, and the others load it from there:
//
//	%m = reduce max %j { %x = load x[i, j]; store row[j], %x; yield %x }
//	%s = reduce sum %j { %x = load row[j]; ... }

// cacheRows returns k with a cache for each row that it reads several times; k itself where there is none.
func cacheRows(k *kernel.Kernel, tune *profile.GPU) *kernel.Kernel {
	used := int64(0)
	for _, p := range k.Params {
		if p.Local {
			n, _ := p.Shape[0].Dim.Const()
			used += n * int64(p.DType.Bytes())
		}
		if p.InPlace { // a row may have been overwritten since it was read
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
			if !ok || !known || n < int64(tune.SharedLeast) || axis.Begin != 0 || k.Params[l.Param].Out ||
				!along(l.At, axis.Var) || c.cached(l, axis) {
				continue
			}
			size := n * int64(k.Params[l.Param].DType.Bytes())
			if used+size > int64(tune.CacheBytes) || !c.readAgain(k.Body.Stmts[i+1:], l, axis) {
				continue
			}
			used += size
			c.rows = append(c.rows, cachedRow{l, axis, len(k.Params) + len(c.rows)})
		}
	}
	if len(c.rows) == 0 {
		return k
	}
	return c.withCachedRows()
}

// rowCache collects the cached rows of a kernel.
type rowCache struct {
	k    *kernel.Kernel
	rows []cachedRow
}

// cachedRow is a cached operand, as load reads it in its loop.
type cachedRow struct {
	load  *kernel.Load
	axis  *kernel.Axis
	param int
}

// rowLoop is the axis and the body of a loop over a row that a group shares.
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

// along reports that an access is contiguous along v.
func along(at kernel.Access, v kernel.Ref) bool {
	return slices.ContainsFunc(at.Terms, func(t kernel.Term) bool { return t.Var == v && t.Coef.IsConst(1) })
}

// sameElements reports that two loads read the same elements in the same order of their axes.
func sameElements(x, y *kernel.Load, xAxis, yAxis *kernel.Axis) bool {
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

// sameExtent reports that two axes have the same known extent.
func sameExtent(x, y *kernel.Axis) bool {
	m, ok1 := count([]kernel.Axis{*x})
	n, ok2 := count([]kernel.Axis{*y})
	return ok1 && ok2 && m == n && x.Begin == y.Begin
}

// cached reports that l is cached already.
func (c *rowCache) cached(l *kernel.Load, axis *kernel.Axis) bool { return c.find(l, axis) != nil }

func (c *rowCache) find(l *kernel.Load, axis *kernel.Axis) *cachedRow {
	for i := range c.rows {
		if r := &c.rows[i]; sameExtent(r.axis, axis) && sameElements(r.load, l, r.axis, axis) {
			return r
		}
	}
	return nil
}

// readAgain reports that a loop among stmts reads what l reads.
func (c *rowCache) readAgain(stmts []kernel.Stmt, l *kernel.Load, axis *kernel.Axis) bool {
	return slices.ContainsFunc(stmts, func(s kernel.Stmt) bool {
		other, body, ok := rowLoop(s)
		return ok && sameExtent(axis, other) && slices.ContainsFunc(body.Stmts, func(st kernel.Stmt) bool {
			m, ok := st.(*kernel.Load)
			return ok && sameElements(l, m, axis, other)
		})
	})
}

// withCachedRows makes the kernel with the rows.
func (c *rowCache) withCachedRows() *kernel.Kernel {
	out := *c.k
	out.Params = slices.Clone(c.k.Params)
	for _, r := range c.rows {
		out.Params = append(out.Params, kernel.Param{Name: "cached", DType: c.k.Params[r.load.Param].DType, Out: true,
			Local: true, Shape: []abi.Extent{r.axis.Extent}})
	}
	out.Body = &kernel.Block{}
	for _, s := range c.k.Body.Stmts {
		if axis, body, ok := rowLoop(s); ok {
			s = withBody(s, c.cachedBody(body, axis))
		}
		out.Body.Stmts = append(out.Body.Stmts, s)
	}
	return &out
}

// cachedBody is a loop's body that loads from cached rows, or stores to them.
func (c *rowCache) cachedBody(b *kernel.Block, axis *kernel.Axis) *kernel.Block {
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

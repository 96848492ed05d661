package transform

import (
	"fmt"
	"slices"

	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Row caching]: loops over one row often compute the same thing. The softmax of a row is
//
//	%m = reduce max %j { x[i, j] }
//	%s = reduce sum %j { exp(x[i, j] - %m) }
//	parallel %j { y[i, j] = exp(x[i, j] - %m) / %s }
//
// where each exp is computed twice. Where that costs more than writing and reading it again, the first loop stores what
// it computed in memory of the kernel itself, which stays in the first-level cache, and the later ones load it:
//
//	%s = reduce sum %j { %e = exp(x[i, j] - %m); store row0[%j], %e; yield %e }
//	parallel %j { %e = load row0[%j]; y[i, j] = %e / %s }
//
// It is done for the loops of one block over one axis that reads memory along it, because those run row after row;
// loops that are vectorised over the columns around them would need a row for each. Values of the loops are numbered
// (global value numbering): two with one number compute the same. A store and a load together cost about as much as
// plan.recompute instructions, and a slow instruction counts plan.slow_operation.

// RowCache lets loops of k over the same row share what they compute, see Note [Row caching]. Rows whose length is
// known only when the program runs are cached where versions says so, see Note [Row caching for any length].
func RowCache(k *kernel.Kernel, versions bool) {
	if rowCaches(k, versions) {
		Renumber(k)
	}
}

// rowCaches is RowCache for a kernel whose scalars keep their numbers, those in versions of its body too. It reports
// whether there are cached rows.
func rowCaches(k *kernel.Kernel, versions bool) bool {
	if versions && rowCacheVersions(k) {
		return true
	}
	c := &rowCache{k: k}
	c.block(k.Body)
	if c.rows == 0 {
		return false
	}
	DeadCode(k.Body)
	return true
}

// A rowCache has the cached rows of one kernel.
type rowCache struct {
	k       *kernel.Kernel
	rows    int
	bytes   int64
	unknown *unknownRows // those whose length is not known; nil when there may be none
}

// A rowLoop is a loop over a row: a reduction or a parallel loop.
type rowLoop struct {
	axis    kernel.Axis
	body    *kernel.Block
	val     kernel.Ref         // that is reduced
	number  map[kernel.Ref]int // the value numbers of the scalars of the body
	defines map[int]kernel.Ref // the first scalar with a number
}

// block caches the rows of the loops of b, and of the blocks in it.
func (c *rowCache) block(b *kernel.Block) {
	groups := map[string][]*rowLoop{} // by extent
	var order []string
	for _, st := range b.Stmts {
		kernel.Visitor{Block: c.block}.Stmt(st)
		l := c.rowLoop(st)
		if l == nil {
			continue
		}
		key := l.axis.Extent.Dim.String()
		if groups[key] == nil {
			order = append(order, key)
		}
		groups[key] = append(groups[key], l)
	}
	for _, key := range order {
		if g := groups[key]; len(g) > 1 {
			c.share(g)
		}
	}
}

// rowLoop is st as a loop over a row that may be cached, nil when it is none.
func (c *rowCache) rowLoop(st kernel.Stmt) *rowLoop {
	l := &rowLoop{val: scalar.None}
	switch st := st.(type) {
	case *kernel.Reduce:
		if len(st.Axes) != 1 || st.Chunk != scalar.None || st.Order == kernel.Columns {
			return nil
		}
		l.axis, l.body, l.val = st.Axes[0], st.Body, st.Val
	case *kernel.Loop:
		if !st.Parallel {
			return nil
		}
		l.axis, l.body = st.Axis, st.Body
	default:
		return nil
	}
	n, known := l.axis.Extent.Dim.Const()
	if known && n < 2 || !known && c.unknown == nil || l.axis.Begin != 0 || l.axis.Extent.Div > 1 {
		return nil
	}
	return l
}

// share lets loops over one extent, in their order, read what earlier ones have computed.
func (c *rowCache) share(loops []*rowLoop) {
	numbers := map[string]int{}
	along := false
	for _, l := range loops {
		along = c.numberValues(l, numbers) || along
	}
	if !along {
		return
	}
	rowOf := map[int]int{} // value number to parameter
	for i, l := range loops[1:] {
		for _, ref := range l.recomputed(loops[:i+1]) {
			n := l.number[ref]
			row, ok := rowOf[n]
			if !ok {
				if row, ok = c.store(loops[:i+1], n); !ok {
					continue
				}
				rowOf[n] = row
			}
			for k, st := range l.body.Stmts {
				if let, ok := st.(*kernel.Let); ok && let.ID == ref {
					l.body.Stmts[k] = &kernel.Load{ID: ref, Param: row, At: elementOf(l.axis)}
				}
			}
		}
		// What l loads now it can no longer give to others.
		c.numberValues(l, numbers)
	}
}

// elementOf is the element of a row at the index of its loop.
func elementOf(a kernel.Axis) kernel.Access {
	return kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: a.Var}}}
}

// numberValues gives the scalars of l their value numbers; numbers has those of what is computed so far. It reports
// that l reads memory along its row.
func (c *rowCache) numberValues(l *rowLoop, numbers map[string]int) (along bool) {
	l.number, l.defines = map[kernel.Ref]int{}, map[int]kernel.Ref{}
	name := func(x kernel.Ref) string {
		if x == l.axis.Var {
			return "row"
		}
		if n, ok := l.number[x]; ok {
			return fmt.Sprint("#", n)
		}
		return fmt.Sprint("%", x)
	}
	for _, st := range l.body.Stmts {
		var key string
		var id kernel.Ref
		switch st := st.(type) {
		case *kernel.Let:
			if st.In.Op == scalar.Check {
				continue
			}
			id, key = st.ID, fmt.Sprint(st.In.Op, st.In.Type, st.In.Imm)
			for _, a := range st.In.Args {
				if a != scalar.None {
					key += name(a)
				}
			}
		case *kernel.Load:
			if c.k.Params[st.Param].Out {
				continue
			}
			id, key = st.ID, fmt.Sprint("load ", st.Param, " ", st.At.Offset)
			for _, t := range st.At.Terms {
				key += fmt.Sprint("|", t.Coef, name(t.Var))
				along = along || t.Var == l.axis.Var && t.Coef.IsConst(1)
			}
		default:
			continue
		}
		key += c.k.Types[id].String()
		n, ok := numbers[key]
		if !ok {
			n = len(numbers)
			numbers[key] = n
		}
		l.number[id] = n
		if _, there := l.defines[n]; !there {
			l.defines[n] = id
		}
	}
	return along
}

// recomputed lists the scalars of l that earlier loops compute, too, and that are better loaded than computed again:
// the last of each chain of such scalars.
func (l *rowLoop) recomputed(earlier []*rowLoop) []kernel.Ref {
	def := map[kernel.Ref]*kernel.Let{}
	shared := map[kernel.Ref]bool{}
	for _, st := range l.body.Stmts {
		let, ok := st.(*kernel.Let)
		if !ok || let.In.Op == scalar.Check {
			continue
		}
		def[let.ID] = let
		for _, e := range earlier {
			if _, made := e.defines[l.number[let.ID]]; made {
				shared[let.ID] = true
			}
		}
	}
	last := map[kernel.Ref]bool{} // what is read by something that is not shared
	mark := func(x *kernel.Ref) { last[*x] = last[*x] || shared[*x] }
	mark(&l.val)
	for _, st := range l.body.Stmts {
		if let, ok := st.(*kernel.Let); !ok || !shared[let.ID] {
			reads := kernel.Visitor{Read: mark}
			reads.Stmt(st)
			kernel.Visitor{Block: reads.All}.Stmt(st)
		}
	}
	var out []kernel.Ref
	for _, st := range l.body.Stmts {
		let, ok := st.(*kernel.Let)
		if ok && last[let.ID] && costOf(let.ID, def, map[kernel.Ref]bool{}) >= profile.Base().Plan.Recompute {
			out = append(out, let.ID)
		}
	}
	return out
}

// costOf counts the instructions of x and of what it is computed from among the definitions def, each once.
func costOf(x kernel.Ref, def map[kernel.Ref]*kernel.Let, seen map[kernel.Ref]bool) int {
	let := def[x]
	if let == nil || seen[x] {
		return 0
	}
	seen[x] = true
	n := 1
	switch let.In.Op {
	case scalar.Const, scalar.Bitcast:
		n = 0
	case scalar.Div, scalar.Sqrt, scalar.Rem:
		n = profile.Base().Plan.SlowOperation
	}
	for _, a := range let.In.Args {
		if a != scalar.None {
			n += costOf(a, def, seen)
		}
	}
	return n
}

// store lets the first of loops that computes value number n store it in a row, and returns the parameter of the row.
func (c *rowCache) store(loops []*rowLoop, n int) (int, bool) {
	for _, l := range loops {
		id, ok := l.defines[n]
		if !ok {
			continue
		}
		t := c.k.Types[id]
		extent, known := l.axis.Extent.Dim.Const()
		size := extent * int64(t.Bytes())
		if c.bytes+size > int64(profile.Base().Plan.CacheBytes) {
			return 0, false
		}
		i := slices.IndexFunc(l.body.Stmts, func(st kernel.Stmt) bool {
			let, ok := st.(*kernel.Let)
			return ok && let.ID == id
		})
		if i < 0 {
			continue
		}
		c.bytes += size
		row := len(c.k.Params)
		if !known {
			c.unknown.add(row, l.axis.Extent.Dim, t)
		}
		c.k.Params = append(c.k.Params, kernel.Param{
			Name: fmt.Sprintf("row%d", c.rows), DType: t, Out: true, Local: true,
			Shape: []abi.Extent{{Dim: types.Lit(extent)}},
		})
		c.rows++
		l.body.Stmts = slices.Insert(l.body.Stmts, i+1,
			kernel.Stmt(&kernel.Store{Param: row, At: elementOf(l.axis), Val: id}))
		return row, true
	}
	return 0, false
}

package bufferize

import (
	"fmt"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Kept rows]: loops over one row often compute the same thing. The softmax of a row is
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
// loops that are vectorised over the columns around them would need a row for each. An instruction counts keepWork
// when it is slow, a store and a load together about as much as keepLeast others.

const (
	keepLeast = 6
	keepSlow  = 8
	keepBytes = 256 << 10 // of all rows of a kernel: they lie on the stack, and in the second-level cache at worst
)

// keepRows lets loops of k over the same row share what they compute, those over rows of any length only when free says
// so.
func keepRows(k *kernel.Kernel, free bool) {
	if free && keepFreeRows(k) {
		return
	}
	r := &keeper{k: k}
	r.block(k.Body)
	if r.count == 0 {
		return
	}
	sweep(k.Body)
	renumber(k)
}

// A keeper does it for one kernel.
type keeper struct {
	k     *kernel.Kernel
	count int
	bytes int64
	free  *freeRows // what is kept of rows whose length is not known; nil when nothing may be
}

// rowLoop is a loop over a row: a reduction or a parallel loop.
type rowLoop struct {
	axis kernel.Axis
	body *kernel.Block
	val  kernel.Ref // that is reduced
	// For every scalar of the body a number that is the same where the same thing is computed.
	number map[kernel.Ref]int
	made   map[int]kernel.Ref
}

func (r *keeper) block(b *kernel.Block) {
	groups := map[string][]*rowLoop{}
	var order []string
	for _, st := range b.Stmts {
		parts{block: r.block}.of(st)
		l := &rowLoop{val: scalar.None}
		switch st := st.(type) {
		case *kernel.Reduce:
			if len(st.Axes) != 1 || st.Chunk != scalar.None || st.Order == kernel.Columns {
				continue
			}
			l.axis, l.body, l.val = st.Axes[0], st.Body, st.Val
		case *kernel.Loop:
			if !st.Parallel {
				continue
			}
			l.axis, l.body = st.Axis, st.Body
		default:
			continue
		}
		n, known := l.axis.Extent.Dim.Const()
		if known && n < 2 || !known && r.free == nil || l.axis.Begin != 0 || l.axis.Extent.Div > 1 {
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
			r.share(g)
		}
	}
}

// share looks at loops over one space, in their order.
func (r *keeper) share(loops []*rowLoop) {
	numbers := map[string]int{}
	along := false
	for _, l := range loops {
		along = r.enumerate(l, numbers) || along
	}
	if !along {
		return
	}
	rows := map[int]int{} // number to parameter
	for i, l := range loops[1:] {
		for _, ref := range r.wanted(l, loops[:i+1]) {
			n := l.number[ref]
			row, ok := rows[n]
			if !ok {
				row, ok = r.keep(loops[:i+1], n)
				if !ok {
					continue
				}
				rows[n] = row
			}
			for k, st := range l.body.Stmts {
				if let, ok := st.(*kernel.Let); ok && let.ID == ref {
					l.body.Stmts[k] = &kernel.Load{ID: ref, Param: row, At: elementOf(l.axis)}
				}
			}
		}
		// What l has replaced it can no longer give to others.
		r.enumerate(l, numbers)
	}
}

func elementOf(a kernel.Axis) kernel.Access {
	return kernel.Access{Terms: []kernel.Term{{Coef: types.Lit(1), Var: a.Var}}}
}

// enumerate numbers the scalars of l. It reports that l reads memory along its row.
func (r *keeper) enumerate(l *rowLoop, numbers map[string]int) (along bool) {
	l.number, l.made = map[kernel.Ref]int{}, map[int]kernel.Ref{}
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
			if r.k.Params[st.Param].Out {
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
		key += r.k.Types[id].String()
		n, ok := numbers[key]
		if !ok {
			n = len(numbers)
			numbers[key] = n
		}
		l.number[id] = n
		if _, there := l.made[n]; !there {
			l.made[n] = id
		}
	}
	return along
}

// wanted lists the scalars of l that are better read than computed again, after an earlier loop has made them.
func (r *keeper) wanted(l *rowLoop, before []*rowLoop) []kernel.Ref {
	def := map[kernel.Ref]*kernel.Let{}
	shared := map[kernel.Ref]bool{}
	for _, st := range l.body.Stmts {
		let, ok := st.(*kernel.Let)
		if !ok || let.In.Op == scalar.Check {
			continue
		}
		def[let.ID] = let
		for _, b := range before {
			if _, made := b.made[l.number[let.ID]]; made {
				shared[let.ID] = true
			}
		}
	}
	// What is shared and read by something that is not.
	front := map[kernel.Ref]bool{}
	mark := func(x *kernel.Ref) { front[*x] = front[*x] || shared[*x] }
	mark(&l.val)
	for _, st := range l.body.Stmts {
		if let, ok := st.(*kernel.Let); !ok || !shared[let.ID] {
			parts{read: mark}.of(st)
			parts{block: func(b *kernel.Block) { parts{read: mark}.all(b) }}.of(st)
		}
	}
	var out []kernel.Ref
	for _, st := range l.body.Stmts {
		if let, ok := st.(*kernel.Let); ok && front[let.ID] && behind(let.ID, def, map[kernel.Ref]bool{}) >= keepLeast {
			out = append(out, let.ID)
		}
	}
	return out
}

// behind counts the work of x and of what it is computed from in its loop.
func behind(x kernel.Ref, def map[kernel.Ref]*kernel.Let, seen map[kernel.Ref]bool) int {
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
		n = keepSlow
	}
	for _, a := range let.In.Args {
		if a != scalar.None {
			n += behind(a, def, seen)
		}
	}
	return n
}

// keep stores scalar number n of the first loop that makes it in a row, and returns the row.
func (r *keeper) keep(loops []*rowLoop, n int) (int, bool) {
	for _, l := range loops {
		id, ok := l.made[n]
		if !ok {
			continue
		}
		t := r.k.Types[id]
		extent, known := l.axis.Extent.Dim.Const()
		size := extent * int64(t.Bytes())
		if r.bytes+size > keepBytes {
			return 0, false
		}
		for i, st := range l.body.Stmts {
			if let, ok := st.(*kernel.Let); ok && let.ID == id {
				r.bytes += size
				row := len(r.k.Params)
				if !known {
					r.free.add(row, l.axis.Extent.Dim, t)
				}
				r.k.Params = append(r.k.Params, kernel.Param{
					Name: fmt.Sprintf("row%d", r.count), DType: t, Out: true, Local: true,
					Shape: []abi.Extent{{Dim: types.Lit(extent)}},
				})
				r.count++
				put := &kernel.Store{Param: row, At: elementOf(l.axis), Val: id}
				l.body.Stmts = append(l.body.Stmts[:i+1:i+1], append([]kernel.Stmt{put}, l.body.Stmts[i+1:]...)...)
				return row, true
			}
		}
	}
	return 0, false
}

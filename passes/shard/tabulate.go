package shard

import (
	"fmt"
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
	parts "healc/runtime/exchange"
)

// farthest is how far from its index an element is read at most.
const farthest = 1 << 30

// read is a read of a tensor that is cut in the function of a tabulate: at an index plus a constant.
type read struct {
	op     *ir.Op // an Index
	at     int    // which of its operands is the position along the axis that is cut
	index  int    // which index of the tabulate it is
	offset int64
}

// reads are the reads of v, which is cut along axis s, in a region and those within; why says what is none.
func reads(region *ir.Block, v *ir.Value, s int) (all []read, why string) {
	var look func(b *ir.Block)
	look = func(b *ir.Block) {
		for _, in := range b.Ops {
			for i, a := range in.Args {
				if a != v {
					continue
				}
				if in.Def.Sharding != ir.ShardRead || !drops(in) || i != 0 {
					why = "all of it is read"
					continue
				}
				k := slices.Index(in.Ints("axes"), int64(s))
				if k < 0 {
					why = "whole rows are read"
					continue
				}
				r := read{op: in, at: 1 + k}
				if r.index, r.offset = position(in.Args[1+k], region.Params); r.index < 0 {
					why = "a position is no index plus a constant"
				}
				all = append(all, r)
			}
			for _, r := range in.Regions {
				look(r)
			}
		}
		if slices.Contains(b.Yields, v) {
			why = "all of it is read"
		}
	}
	look(region)
	return all, why
}

// position is which of the indices v is, and what is added to it; -1 where it is none.
func position(v *ir.Value, indices []*ir.Value) (index int, offset int64) {
	if k := slices.Index(indices, v); k >= 0 {
		return k, 0
	}
	if v.Def == nil {
		return -1, 0
	}
	switch op := v.Def; op.Def {
	case ops.Cast:
		if op.Type().Elem == types.I64 {
			return position(op.Args[0], indices)
		}
	case ops.Add:
		for i := range 2 {
			k, n := position(op.Args[i], indices)
			if c, ok := constant(op.Args[1-i]); ok && k >= 0 && near(n+c) {
				return k, n + c
			}
		}
	case ops.Sub:
		k, n := position(op.Args[0], indices)
		if c, ok := constant(op.Args[1]); ok && k >= 0 && near(n-c) {
			return k, n - c
		}
	}
	return -1, 0
}

func near(n int64) bool { return -farthest <= n && n <= farthest }

// constant is a number that the program says.
func constant(v *ir.Value) (int64, bool) {
	op := v.Def
	if op == nil || op.Def != ops.Const {
		return 0, false
	}
	a := op.Attr("value").(*ir.Array)
	if !a.DType.IsInt() || len(a.Bits) != 1 {
		return 0, false
	}
	unused := 64 - 8*a.DType.Bytes()
	n := int64(a.Bits[0]<<unused) >> unused
	return n, near(n)
}

// tabulate is a tensor that is computed from its indices. It is cut along an index axis at which everything that is cut
// is read, or near which, and along none where nothing is.
func (p *placement) tabulate(op *ir.Op) {
	region := op.Regions[0]
	axis := whole
	if p.sumAt(region) != nil {
		p.inner(op, region)
		p.results(op, whole)
		return
	}
	for _, v := range p.captured.Of(region) {
		s := p.of(v)
		if s == whole {
			continue
		}
		all, why := reads(region, v, s)
		for _, r := range all {
			if axis == whole {
				axis = r.index
			}
			if why == "" && r.index != axis {
				why = fmt.Sprintf("the reads are at index %d and at index %d", axis, r.index)
			}
		}
		if why != "" {
			p.fail(op, "read all that is sharded at one index plus a constant, move it by slices, or gather it "+
				"by `replicate(x)`", "the function reads a sharded tensor, %s, far from its index: %s",
				typed(v.Type, s), why)
			p.results(op, whole)
			return
		}
	}
	p.inner(op, region)
	p.results(op, axis)
}

// tabulate writes a tabulate along whose index the tensors that it reads are cut. What lies near the part of this rank
// is got from its neighbours.
func (w *rewriter) tabulate(op *ir.Op) {
	axis := w.of(op.Results[0])
	if axis == whole && w.cut(op) {
		w.sumsAt(op)
		return
	}
	if axis == whole {
		w.copied(op)
		return
	}
	from := op.Regions[0]
	to := w.blocksOf(op.Type().Shape[axis])
	first := w.cast(w.start(to), types.I32)
	m := moved{rewriter: w, axis: axis, first: first, reads: map[*ir.Op]movedRead{}}
	for _, v := range w.captured.Of(from) {
		if s := w.of(v); s != whole {
			m.window(v, s, to, from)
		}
	}
	body := &ir.Block{}
	inner := &ir.Builder{Block: body, Span: op.Span}
	for k, p := range from.Params {
		v := body.Param(p.Name, p.Type, p.Span)
		if k == axis {
			m.local = v
			v = inner.Emit(ops.Add, nil, v, first)
		}
		w.clone.Values[p] = v
	}
	m.block(from, body)
	shape := slices.Clone(op.Dims("shape"))
	shape[axis] = types.Lit(w.mine(shape[axis]))
	w.emit(op, nil, ir.A{"shape": shape}, []*ir.Block{body})
}

// moved copies the function of a tabulate, whose reads of what is cut become reads of windows.
type moved struct {
	*rewriter
	axis  int
	first *ir.Value // where this rank's part of the index begins
	local *ir.Value // the index within the part
	reads map[*ir.Op]movedRead
}

// movedRead is a read of a window.
type movedRead struct {
	at      int
	window  *ir.Value
	own     int64 // what the program adds to the index
	offset  int64 // what is added to the local one
	extent  types.Dim
	checked bool // a position may leave the axis
}

// window gets what a rank reads of v, which is cut along axis s.
func (m *moved) window(v *ir.Value, s int, to parts.Blocks, region *ir.Block) {
	all, why := reads(region, v, s)
	if why != "" {
		panic("BUG: a tabulate reads what is cut elsewhere: " + why)
	}
	least, most := all[0].offset, all[0].offset
	for _, r := range all {
		least, most = min(least, r.offset), max(most, r.offset)
	}
	extent := v.Type.Shape[s]
	n := literal(extent)
	want := func(rank int) parts.Window {
		lo, hi := to.Of(rank)
		if lo == hi {
			return parts.Window{}
		}
		lo, hi = max(lo+least, 0), min(hi+most, n)
		return parts.Window{Lo: min(lo, hi), Hi: hi}
	}
	x := m.part(v, s)
	if b := m.blocks(v); least != 0 || most != 0 || b != to {
		x = m.rewriter.window(x, s, b, want)
	}
	lo, _ := to.Of(m.ranks.Rank)
	for _, r := range all {
		m.reads[r.op] = movedRead{at: r.at, window: x, own: r.offset, offset: r.offset + lo - want(m.ranks.Rank).Lo,
			extent: extent, checked: r.offset < 0 || to.Extent+r.offset > n}
	}
}

// block copies a block into another one.
func (m *moved) block(from, to *ir.Block) {
	for _, in := range from.Ops {
		alone := *in
		alone.Regions = nil
		c, err := m.clone.Op(&alone)
		if err != nil {
			panic("BUG: copying without substitution: " + err.Error())
		}
		if r, ok := m.reads[in]; ok {
			c.Args = slices.Clone(c.Args)
			c.Args[0], c.Args[r.at] = r.window, m.position(r, &ir.Builder{Block: to, Span: in.Span}, c.Args[r.at])
		}
		for _, region := range in.Regions {
			inner := &ir.Block{}
			for _, p := range region.Params {
				m.clone.Values[p] = inner.Param(p.Name, p.Type, p.Span)
			}
			m.block(region, inner)
			c.Regions = append(c.Regions, inner)
		}
		to.Ops = append(to.Ops, c)
	}
	to.Yields = m.clone.ValueList(from.Yields)
}

// position is where a read is in its window. A position that may leave the axis is checked as the program has it.
func (m *moved) position(r movedRead, b *ir.Builder, at *ir.Value) *ir.Value {
	number := func(d types.DType, n int64) *ir.Value {
		w := rewriter{b: b}
		return w.filled(d, n, nil)
	}
	if !r.checked {
		if r.offset == 0 {
			return m.local
		}
		return b.Emit(ops.Add, nil, m.local, number(types.I32, r.offset))
	}
	// The window begins at first + own - offset.
	d := at.Type.Elem
	at = b.Emit(ops.Position, ir.A{"extent": r.extent, "size": types.Lit(1)}, at)
	first := m.first
	if d != first.Type.Elem {
		first = b.Emit(ops.Cast, ir.A{"to": d}, first)
	}
	at = b.Emit(ops.Sub, nil, at, first)
	return b.Emit(ops.Add, nil, at, number(d, r.offset-r.own))
}

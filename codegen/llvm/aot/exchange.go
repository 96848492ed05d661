package aot

import (
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"

	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/exchange"
)

// exchanges are the Host operations by which ranks exchange bytes, as package runtime/exchange does. What is sent is
// known but for positions, so a step is a table of boxes to pack, lengths, and a table of boxes to unpack.
var exchanges map[string]func(p *planFunc, h *abi.HostCall)

func init() {
	exchanges = map[string]func(p *planFunc, h *abi.HostCall){
		"shard_start": (*planFunc).shardStart, "exchange_halo": (*planFunc).halo, "all_gather": (*planFunc).gather,
		"exchange_fetch": (*planFunc).fetch, "all_to_all": (*planFunc).allToAll, "exchange_take": (*planFunc).take,
		"exchange_sorted": (*planFunc).sorted, "from_previous": (*planFunc).fromPrevious,
		"to_next": (*planFunc).toNext, "exchange_update_rounds": (*planFunc).updateRounds,
		"exchange_updates": (*planFunc).updates,
	}
}

// rank is the rank whose code this is.
func (p *planFunc) rank() *Rank { return p.of.entry.Ranks[p.of.number] }

func attr(h *abi.HostCall, name string) int64 {
	n, err := strconv.ParseInt(h.Attrs[name], 10, 64)
	if err != nil {
		panic(fmt.Sprintf("BUG: the attribute %s of %s: %v", name, h.Name, err))
	}
	return n
}

func blocksOf(h *abi.HostCall) exchange.Blocks {
	b := exchange.Blocks{Extent: attr(h, "extent"), Block: attr(h, "block")}
	if h.Attrs["origin"] != "" {
		b.Origin = attr(h, "origin")
	}
	return b
}

// extents are those of a view, which are known.
func extents(v *abi.View) []int64 {
	out := make([]int64, len(v.Shape))
	for k, d := range v.Shape {
		n, ok := d.Const()
		if !ok {
			panic("BUG: extents are known where parts are exchanged")
		}
		out[k] = n
	}
	return out
}

func (p *planFunc) layout(h *abi.HostCall, axis int64) exchange.Layout {
	v := &h.Args[0]
	return exchange.LayoutOf(axis, blocksOf(h), extents(v), int64(p.def.Buffers[v.Buffer].DType.Bytes()))
}

// window is what rank r has of the elements from lo on and before hi.
func window(b exchange.Blocks, r int, lo, hi int64) (int64, int64) {
	first, end := b.Of(r)
	lo, hi = max(lo, first), min(hi, end)
	return lo, max(lo, hi)
}

// box is the extents of a tensor of bytes, and where a part of it begins.
type box struct {
	dims, from [5]int64
	base       int64 // of the tensor in memory
}

// rows is a tensor of n elements of an axis, from which on a part of it is meant.
func rows(l exchange.Layout, base, n, from int64) box {
	return box{[5]int64{l.Outer, n, 1, 1, l.Inner}, [5]int64{1: from}, base}
}

func rowsSize(l exchange.Layout, n int64) [5]int64 { return [5]int64{l.Outer, n, 1, 1, l.Inner} }

// moves are boxes that are copied, as heal.moves takes them.
type moves struct {
	words []int64
	n     int
}

// add copies a part of the given extents. Trailing axes that are whole in both are one run of bytes.
func (m *moves) add(to, from box, size [5]int64) {
	for _, n := range size {
		if n == 0 {
			return
		}
	}
	at := func(b box) (offset int64, strides [5]int64) {
		stride := int64(1)
		for k := 4; k >= 0; k-- {
			strides[k] = stride
			offset += b.from[k] * stride
			stride *= b.dims[k]
		}
		return b.base + offset, strides
	}
	t, ts := at(to)
	f, fs := at(from)
	last := 4
	for last > 0 && size[last] == to.dims[last] && size[last] == from.dims[last] {
		size[last-1], size[last] = size[last-1]*size[last], 1
		ts[last-1], fs[last-1] = ts[last], fs[last]
		to.dims[last-1] *= to.dims[last]
		from.dims[last-1] *= from.dims[last]
		last--
	}
	// The run is the axis behind which all have one element; heal.copy wants it last.
	run, rt, rf := size[last], ts[last], fs[last]
	size[last], size[4], ts[4], fs[4] = 1, run, rt, rf
	m.words = append(append(append(append(m.words, t, f), size[:]...), ts[:]...), fs[:]...)
	m.n++
}

// words is a constant of 64-bit words.
func (p *planFunc) words(list []int64) string {
	raw := make([]byte, 0, 8*len(list))
	for _, n := range list {
		raw = binary.LittleEndian.AppendUint64(raw, uint64(n))
	}
	return p.w.data(raw)
}

func (p *planFunc) move(to, from string, m *moves) {
	if m.n > 0 {
		p.do("call void @heal.moves(ptr %s, ptr %s, ptr %s, i64 %d)", to, from, p.words(m.words), m.n)
	}
}

// room is memory for what is packed in a step: its size, and its address when it is taken.
type room struct {
	size int64
	addr string
}

// part reserves bytes, and is where they begin.
func (r *room) part(bytes int64) int64 {
	at := r.size
	r.size += (bytes + 63) &^ 63
	return at
}

func (p *planFunc) in(r *room, part int64) string {
	return p.v("getelementptr i8, ptr %s, i64 %d", r.addr, part)
}

// within takes the room, runs a step that gives a code, and gives the room back.
func (p *planFunc) within(r *room, step func() (code string)) {
	r.addr = "null"
	if r.size > 0 {
		r.addr = p.v("call ptr @heal.take(i64 %d)", r.size)
		p.unless(p.v("icmp eq ptr %s, null", r.addr), func() {
			p.fail(p.v("call i32 @heal.memory(i64 %d)", r.size))
		})
	}
	code := step()
	if r.size > 0 {
		p.do("call void @heal.give(ptr %s)", r.addr)
	}
	if code != "0" {
		p.unless(p.v("icmp ne i32 %s, 0", code), func() { p.fail(code) })
	}
}

// viewBytes is the size of a view.
func (p *planFunc) viewBytes(v *abi.View) int64 {
	n := int64(p.def.Buffers[v.Buffer].DType.Bytes())
	for _, k := range extents(v) {
		n *= k
	}
	return n
}

// isRowMajor reports that the elements of a view lie one after the other.
func isRowMajor(v *abi.View) bool {
	stride := int64(1)
	shape := extents(v)
	for k := len(shape) - 1; k >= 0; k-- {
		if shape[k] != 1 && !v.Strides[k].IsConst(stride) {
			return false
		}
		stride *= shape[k]
	}
	return true
}

// packed is the elements of a view in row-major order, where they lie or in a part of the room; it is asked for before
// the room is taken.
func (p *planFunc) packed(r *room, v *abi.View) func() string {
	if isRowMajor(v) || p.viewBytes(v) == 0 {
		return func() string { return p.address(v) }
	}
	part := r.part(p.viewBytes(v))
	return func() string {
		at := p.in(r, part)
		p.copyView(v, at, nil)
		return at
	}
}

// filled is memory for the elements of a buffer in row-major order, and what brings them into it.
func (p *planFunc) filled(r *room, buffer int) (addr func() string, done func()) {
	b := &p.def.Buffers[buffer]
	v := &abi.View{Buffer: buffer}
	for _, x := range b.Shape {
		if x.Div > 1 {
			panic("BUG: a result of an exchange has an extent that is rounded")
		}
		v.Shape = append(v.Shape, x.Dim)
	}
	if v.Strides = b.Strides; b.Strides == nil || isRowMajor(v) || p.viewBytes(v) == 0 {
		return func() string { return p.ptr(buffer) }, func() {}
	}
	part := r.part(p.viewBytes(v))
	return func() string { return p.in(r, part) }, func() {
		n := len(v.Shape)
		shape, to, from := p.array(n), p.array(n), p.array(n)
		stride := int64(1)
		for k := n - 1; k >= 0; k-- {
			x, _ := v.Shape[k].Const()
			p.storeWord(shape, k, fmt.Sprint(x))
			p.storeWord(to, k, p.dim(b.Strides[k]))
			p.storeWord(from, k, fmt.Sprint(stride))
			stride *= x
		}
		p.do("call void @heal.copy(ptr %s, ptr %s, ptr %s, ptr %s, ptr %s, i64 %d, i64 %d)", p.ptr(buffer), to,
			p.in(r, part), from, shape, n, b.DType.Bytes())
	}
}

func (p *planFunc) shardStart(h *abi.HostCall) {
	lo, _ := blocksOf(h).Of(p.rank().Rank)
	p.do("store i64 %d, ptr %s, align 8", lo, p.ptr(h.Out[0]))
}

// exchanged sends parts of x to all ranks, by how many bytes to each and where they come from, and receives.
func (p *planFunc) exchanged(send, receive string, to, from []int64) string {
	return p.v("call i32 @heal.all(ptr %s, ptr %s, ptr %s, ptr %s)", send, p.words(to), receive, p.words(from))
}

func (p *planFunc) halo(h *abi.HostCall) {
	l, me, n := p.layout(h, attr(h, "axis")), p.rank().Rank, p.rank().Size
	var list []int64
	for _, word := range strings.Fields(strings.Trim(h.Attrs["windows"], "[]")) {
		k, err := strconv.ParseInt(word, 10, 64)
		if err != nil {
			panic(fmt.Sprintf("BUG: the windows of an exchange: %v", err))
		}
		list = append(list, k)
	}
	windows := exchange.Windows(list)
	first, _ := l.Of(me)
	to, from := make([]int64, n), make([]int64, n)
	var pack, before, after moves
	sends, receives, early := int64(0), int64(0), [2]int64{}
	for r := range n {
		if r == me {
			continue
		}
		lo, hi := window(l.Blocks, r, windows[me].Lo, windows[me].Hi)
		if r < me {
			early[0] += hi - lo
		} else {
			early[1] += hi - lo
		}
	}
	put := [2]int64{}
	for r := range n {
		if r == me {
			continue
		}
		lo, hi := window(l.Blocks, me, windows[r].Lo, windows[r].Hi)
		pack.add(rows(l, sends, hi-lo, 0), rows(l, 0, l.Len(me), lo-first), rowsSize(l, hi-lo))
		to[r] = l.Outer * (hi - lo) * l.Inner
		sends += to[r]
		lo, hi = window(l.Blocks, r, windows[me].Lo, windows[me].Hi)
		side, unpack := 0, &before
		if r > me {
			side, unpack = 1, &after
		}
		unpack.add(rows(l, 0, early[side], put[side]), rows(l, receives, hi-lo, 0), rowsSize(l, hi-lo))
		put[side] += hi - lo
		from[r] = l.Outer * (hi - lo) * l.Inner
		receives += from[r]
	}
	var r room
	x := p.packed(&r, &h.Args[0])
	a, doneA := p.filled(&r, h.Out[0])
	b, doneB := p.filled(&r, h.Out[1])
	send, receive := r.part(max(sends, 1)), r.part(max(receives, 1))
	p.within(&r, func() string {
		s, g := p.in(&r, send), p.in(&r, receive)
		p.move(s, x(), &pack)
		code := p.exchanged(s, g, to, from)
		p.move(a(), g, &before)
		p.move(b(), g, &after)
		doneA()
		doneB()
		return code
	})
}

func (p *planFunc) gather(h *abi.HostCall) {
	l, me, n := p.layout(h, attr(h, "axis")), p.rank().Rank, p.rank().Size
	counts := make([]int64, n)
	var own, place moves
	at := int64(0)
	for r := range n {
		lo, hi := l.Of(r)
		if r == me {
			own.add(rows(l, at, hi-lo, 0), rows(l, 0, hi-lo, 0), rowsSize(l, hi-lo))
		}
		place.add(rows(l, 0, l.Extent, lo), rows(l, at, hi-lo, 0), rowsSize(l, hi-lo))
		counts[r] = l.Outer * (hi - lo) * l.Inner
		at += counts[r]
	}
	var r room
	x := p.packed(&r, &h.Args[0])
	out, done := p.filled(&r, h.Out[0])
	all := int64(0)
	if l.Outer > 1 {
		all = r.part(at)
	}
	p.within(&r, func() string {
		to := out()
		from := to
		if l.Outer > 1 {
			from = p.in(&r, all)
		}
		p.move(from, x(), &own)
		code := p.v("call i32 @heal.gather(ptr %s, ptr %s)", from, p.words(counts))
		if l.Outer > 1 {
			p.move(to, from, &place)
		}
		done()
		return code
	})
}

func (p *planFunc) fetch(h *abi.HostCall) {
	l, n := p.layout(h, attr(h, "axis")), p.rank().Size
	size := attr(h, "size")
	var blocks []int64
	for r := range n {
		lo, hi := l.Of(r)
		blocks = append(blocks, lo, hi)
	}
	var r room
	x := p.packed(&r, &h.Args[0])
	out, done := p.filled(&r, h.Out[0])
	all := int64(0)
	if l.Outer > 1 {
		all = r.part(max(l.Outer*size*l.Inner, 1))
	}
	at := p.v("load i64, ptr %s, align 8", p.address(&h.Args[1]))
	p.within(&r, func() string {
		to := out()
		from := to
		if l.Outer > 1 {
			from = p.in(&r, all)
		}
		code := p.v("call i32 @heal.fetch(ptr %s, ptr %s, ptr %s, ptr %s, ptr %s, i64 %s, i64 %d, i64 %d, i64 %d)", x(),
			to, from, p.array(n), p.words(blocks), at, size, l.Outer, l.Inner)
		done()
		return code
	})
}

func (p *planFunc) allToAll(h *abi.HostCall) {
	v := &h.Args[0]
	s := exchange.SwapOf(attr(h, "axis"), blocksOf(h), attr(h, "to"), attr(h, "to_block"), extents(v),
		int64(p.def.Buffers[v.Buffer].DType.Bytes()))
	me, n := p.rank().Rank, p.rank().Size
	f, t := 1, 3
	if s.Back {
		f, t = 3, 1
	}
	cut := func(n, m int64) [5]int64 {
		d := s.Dims
		d[f], d[t] = n, m
		return d
	}
	bytes := func(d [5]int64) int64 { return d[0] * d[1] * d[2] * d[3] * d[4] }
	to, from := make([]int64, n), make([]int64, n)
	var pack, unpack moves
	sends, receives := int64(0), int64(0)
	for r := range n {
		size := cut(s.From.Len(me), s.To.Len(r))
		src := box{dims: cut(s.From.Len(me), s.To.Extent)}
		src.from[t], _ = s.To.Of(r)
		pack.add(box{dims: size, base: sends}, src, size)
		to[r] = bytes(size)
		sends += to[r]
		size = cut(s.From.Len(r), s.To.Len(me))
		dst := box{dims: cut(s.From.Extent, s.To.Len(me))}
		dst.from[f], _ = s.From.Of(r)
		unpack.add(dst, box{dims: size, base: receives}, size)
		from[r] = bytes(size)
		receives += from[r]
	}
	var r room
	x := p.packed(&r, v)
	out, done := p.filled(&r, h.Out[0])
	send, receive := r.part(max(sends, 1)), r.part(max(receives, 1))
	p.within(&r, func() string {
		b, g := p.in(&r, send), p.in(&r, receive)
		p.move(b, x(), &pack)
		code := p.exchanged(b, g, to, from)
		p.move(out(), g, &unpack)
		done()
		return code
	})
}

func (p *planFunc) take(h *abi.HostCall) {
	l := p.layout(h, 0)
	first, _ := l.Of(p.rank().Rank)
	var r room
	x, at := p.packed(&r, &h.Args[0]), p.packed(&r, &h.Args[1])
	out, done := p.filled(&r, h.Out[0])
	p.within(&r, func() string {
		code := p.v("call i32 @heal.ask(ptr %s, ptr %s, i64 %d, i64 %d, ptr %s, i64 %d, i64 %d, i64 %d)", x(), at(),
			p.def.Buffers[h.Args[1].Buffer].DType.Bytes(), extents(&h.Args[1])[0], out(), l.Block, first, l.Inner)
		done()
		return code
	})
}

// sorted sends each element to the rank in whose block of the sorted rows it belongs.
func (p *planFunc) sorted(h *abi.HostCall) {
	shape, b := extents(&h.Args[0]), blocksOf(h)
	rows, mine, n := shape[0], shape[1], int64(p.rank().Size)
	if rows == 0 {
		return
	}
	d := p.def.Buffers[h.Args[0].Buffer].DType
	kind, infinity := 0, int64(0)
	if d.IsSigned() {
		kind = 1
	}
	if d.IsFloat() {
		kind, infinity = 2, infinities[d]
		if infinity == 0 {
			panic(fmt.Sprintf("BUG: %s is sorted", d))
		}
	}
	var table []int64
	for r := range int(n) {
		lo, hi := b.Of(r)
		table = append(table, lo, hi-lo)
	}
	var r room
	var parts, outs []func() string
	var dones []func()
	most := int64(0)
	for i := range h.Args {
		out, done := p.filled(&r, h.Out[i])
		parts, outs, dones = append(parts, p.packed(&r, &h.Args[i])), append(outs, out), append(dones, done)
		most = max(most, p.viewBytes(&h.Args[i]))
	}
	m := (n - 1) * rows
	split := r.part(8 * (n + 1) * rows * n)
	scratch := r.part(max(8*(2*n*m+m+n), 8*(2*n+rows)+2*most))
	p.within(&r, func() string {
		at, free, keys := p.in(&r, split), p.in(&r, scratch), parts[0]()
		code := p.v("call i32 @heal.split(ptr %s, i64 %d, i64 %d, i64 %d, i64 %d, i64 %d, ptr %s, ptr %s, ptr %s)",
			keys, rows, mine, d.Bytes(), kind, infinity, p.words(table), at, free)
		for i := range h.Args {
			x := keys
			if i > 0 {
				x = parts[i]()
			}
			code = p.v("call i32 @heal.column(i32 %s, ptr %s, ptr %s, i64 %d, i64 %d, i64 %d, ptr %s, ptr %s)", code, x,
				outs[i](), rows, mine, p.def.Buffers[h.Args[i].Buffer].DType.Bytes(), at, free)
			dones[i]()
		}
		return code
	})
}

// updateRounds is in how many rounds it is exchanged what is added at positions.
func (p *planFunc) updateRounds(h *abi.HostCall) {
	n := int64(p.rank().Size)
	var r room
	at := p.packed(&r, &h.Args[0])
	free := r.part(8 * 4 * n)
	p.within(&r, func() string {
		return p.v("call i32 @heal.rounds(ptr %s, i64 %d, i64 %d, i64 %d, ptr %s, ptr %s)", at(),
			extents(&h.Args[0])[0], blocksOf(h).Block, attr(h, "size"), p.ptr(h.Out[0]), p.in(&r, free))
	})
}

// updates exchanges what is added at positions in one round.
func (p *planFunc) updates(h *abi.HostCall) {
	n, b, size := int64(p.rank().Size), blocksOf(h), attr(h, "size")
	count, width := extents(&h.Args[0])[0], int64(p.def.Buffers[h.Args[1].Buffer].DType.Bytes())
	first, end := b.Of(p.rank().Rank)
	var r room
	at, values := p.packed(&r, &h.Args[0]), p.packed(&r, &h.Args[1])
	toAt, doneAt := p.filled(&r, h.Out[0])
	to, done := p.filled(&r, h.Out[1])
	free := r.part(8*11*n + (count+size)*(8+width))
	round := p.v("load i32, ptr %s, align 4", p.address(&h.Args[2]))
	p.within(&r, func() string {
		code := p.v("call i32 @heal.updates(ptr %s, i64 %d, ptr %s, i64 %d, i64 %d, i64 %d, i64 %d, i64 %d, i32 %s, "+
			"ptr %s, ptr %s, ptr %s)", at(), count, values(), width, b.Block, first, end-first, size, round, toAt(),
			to(), p.in(&r, free))
		doneAt()
		done()
		return code
	})
}

// infinities are the bits of the infinity of each float type, above which NaNs are.
var infinities = map[types.DType]int64{types.F16: 0x7c00, types.BF16: 0x7f80, types.F32: 0x7f800000,
	types.F64: 0x7ff0000000000000}

func (p *planFunc) fromPrevious(h *abi.HostCall) {
	v, me := &h.Args[0], p.rank().Rank
	var r room
	out, done := p.filled(&r, h.Out[0])
	p.within(&r, func() string {
		to, code := out(), "0"
		if me == 0 {
			p.copyView(v, to, nil)
		} else {
			code = p.v("call i32 @heal.pair(ptr null, i64 0, i32 -1, ptr %s, i64 %d, i32 %d)", to, p.viewBytes(v), me-1)
		}
		done()
		return code
	})
}

func (p *planFunc) toNext(h *abi.HostCall) {
	v, me := &h.Args[0], p.rank().Rank
	if me == p.rank().Size-1 {
		return
	}
	var r room
	x := p.packed(&r, v)
	p.within(&r, func() string {
		return p.v("call i32 @heal.pair(ptr %s, i64 %d, i32 %d, ptr null, i64 0, i32 -1)", x(), p.viewBytes(v), me+1)
	})
}

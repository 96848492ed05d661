package aot

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

// planFunc writes one function of a plan as
//
//	i32 f(ptr dims, ptr in, ptr out, ptr kernels, i64 depth)
//
// dims are the values of the plan's shape parameters, in the addresses of the arguments' elements 0, out the
// addresses of row-major memory for the results, kernels the kernels' addresses. It returns a code of codes.go.
type planFunc struct {
	*emitter
	w       *writer
	of      *variant
	km      *kernel.Module // of it
	def     *abi.Function
	base    string         // what the names of the plan's functions begin with
	kernels map[string]int // the place of a kernel in the table
	ptrs    []string       // where the address of each buffer is kept: loops swap them
	result  map[int]int    // of buffers that are the memory of a result
	slots   []slot
	slotOf  map[int]int
	err     string
	leave   string // the block that gives memory back and returns %code
	code    string
}

// slot is a part of the arena that buffers share whose lives do not meet. Extents may be known only at run time, so
// who shares is decided by lives alone, and a slot is as large as the largest.
type slot struct {
	buffers []int
	last    int
}

// Up to stackArena bytes lie on the stack: a call of a small function then costs no trip to the allocator. Functions
// that may recurse get less, because language.md lets them nest 10000 deep on a stack of 8 MB.
const (
	stackArena        = 16 << 10
	stackArenaRecurse = 256
)

func (w *writer) plan(v *variant) {
	kernels := map[string]int{}
	for i, k := range v.km.Kernels {
		kernels[k.Name] = i
	}
	w.failures(v.base(), v.km.Plan)
	for i, f := range v.km.Plan.Funcs {
		p := &planFunc{emitter: newEmitter(), w: w, of: v, km: v.km, def: f, base: v.base(), kernels: kernels,
			result: map[int]int{}, slotOf: map[int]int{}}
		p.write(i)
	}
}

// failures writes the function that turns a failing site into a code and a message.
func (w *writer) failures(base string, prog *abi.Program) {
	e := newEmitter()
	var cases []string
	for i, s := range prog.Sites {
		format, _ := abi.MessageFormat(s)
		before, after, _ := strings.Cut(s.Locate("\x00"), "\x00")
		format = escapeFormat(before) + format + escapeFormat(after)
		l := e.label()
		cases = append(cases, fmt.Sprintf("i64 %d, label %%%s", i+1, l))
		e.at(l)
		args := "i64 %a, i64 %b"
		if len(s.Shows) > 0 {
			args = e.shown(prog.Dims, s.Shows)
		}
		e.v("call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr %s, %s)",
			w.text(cFormat(format)), args)
		e.do("ret i32 %d", codeOf(s.Kind))
	}
	cases = append(cases, "i64 -1, label %stopped")
	e.at("stopped")
	e.do("ret i32 %s", e.v("call i32 @heal.stopped()"))
	cases = append(cases, "i64 -2, label %memory")
	e.at("memory")
	e.do("ret i32 %s", e.v("call i32 @heal.memory(i64 %%a)"))
	e.at("other")
	e.do("ret i32 %d", CodeFailed)
	fmt.Fprintf(&w.b,
		"define internal i32 @%s.fail(i64 %%site, i64 %%a, i64 %%b, ptr %%dims) cold noinline {\n"+
			"  switch i64 %%site, label %%other [", base)
	for _, c := range cases {
		w.b.WriteString("\n    " + c)
	}
	fmt.Fprintf(&w.b, "]\n%s}\n", e.body.String())
}

// shown are the numbers in the message of a site, as arguments of a call.
func (e *emitter) shown(dims []string, shows []types.Dim) string {
	e.dims, e.known = map[string]string{}, map[string]string{} // of this block alone
	for i, name := range dims {
		e.dims[name] = e.loadWord("%dims", i)
	}
	args := make([]string, len(shows))
	for i, d := range shows {
		args[i] = "i64 " + e.dim(d)
	}
	return strings.Join(args, ", ")
}

func (p *planFunc) write(index int) {
	prog := p.km.Plan
	for i, name := range prog.Dims {
		p.inHead(func() { p.dims[name] = p.loadWord("%dims", i) })
	}
	p.leave = p.label()
	p.code = p.alloca("i32", 4)
	p.err = p.alloca("[4 x i64]", 8)
	arena := p.alloca("ptr", 8)
	for range p.def.Buffers {
		p.ptrs = append(p.ptrs, p.alloca("ptr", 8))
	}
	p.do("store i64 0, ptr %s, align 8", p.err)
	p.do("store ptr null, ptr %s, align 8", arena)
	p.do("store i32 0, ptr %s, align 4", p.code)
	p.ownResults()
	p.place(arena, index > 0 || len(prog.Funcs) > 1)
	for i, b := range p.def.Params {
		p.do("store ptr %s, ptr %s, align 8", p.loadPtr("%in", i), p.ptrs[b])
	}
	for i := range p.def.Buffers {
		b := &p.def.Buffers[i]
		if b.Kind == abi.Data && b.DType != types.String {
			raw := b.Bytes
			if len(raw) == 0 {
				raw = []byte{0} // an empty tensor has an address, too
			}
			p.do("store ptr %s, ptr %s, align 8", p.w.data(raw), p.ptrs[i])
		}
		if r, ok := p.result[i]; ok {
			p.do("store ptr %s, ptr %s, align 8", p.loadPtr("%out", r), p.ptrs[i])
		}
	}
	p.steps(p.def.Steps)
	for r, v := range p.def.Results {
		if own, ok := p.result[v.Buffer]; !ok || own != r {
			p.copyView(&v, p.loadPtr("%out", r), nil)
		}
	}
	p.jump(p.leave)
	p.at(p.leave)
	p.do("call void @heal.give(ptr %s)", p.v("load ptr, ptr %s, align 8", arena))
	p.do("ret i32 %s", p.v("load i32, ptr %s, align 4", p.code))
	p.finish(fmt.Sprintf("define internal i32 @%s.%d(ptr %%dims, ptr %%in, ptr %%out, ptr %%kernels, i64 %%depth)",
		p.base, index))
}

// finish puts the function together: the head, the check of what it computed, and the body.
func (p *planFunc) finish(signature string) {
	b := &p.w.b
	fmt.Fprintf(b, "%s {\nentry:\n%s", signature, p.head.String())
	e := &emitter{out: b, next: p.next}
	if len(p.overflow) > 0 {
		any := p.overflow[0]
		for _, f := range p.overflow[1:] {
			any = e.v("or i1 %s, %s", any, f)
		}
		e.unless(any, func() {
			e.do("ret i32 %s", e.v("call i32 @heal.memory(i64 9223372036854775807)"))
		})
	}
	e.jump("start")
	e.at("start")
	b.WriteString(p.body.String())
	b.WriteString("}\n")
}

// ownResults finds the results that are whole output buffers: their memory is the caller's.
func (p *planFunc) ownResults() {
	for r, v := range p.def.Results {
		b := &p.def.Buffers[v.Buffer]
		if _, taken := p.result[v.Buffer]; !taken && b.Kind == abi.Output && wholeView(&v, b) {
			p.result[v.Buffer] = r
		}
	}
}

// wholeView reports that a view is its row-major buffer, element by element, for every value of the parameters.
func wholeView(v *abi.View, b *abi.Buffer) bool {
	if !v.Offset.IsConst(0) || b.Strides != nil || len(v.Shape) != len(b.Shape) {
		return false
	}
	stride := types.Lit(1)
	for k := len(v.Shape) - 1; k >= 0; k-- {
		if b.Shape[k].Div > 1 || !b.Shape[k].Dim.Equal(v.Shape[k]) {
			return false
		}
		if !v.Strides[k].Equal(stride) && !v.Shape[k].IsConst(1) {
			return false
		}
		var err error
		if stride, err = stride.Mul(v.Shape[k]); err != nil {
			return false
		}
	}
	return true
}

// extent is ceil(Dim / Div).
func (p *planFunc) extent(x abi.Extent) string {
	if x.Div <= 1 {
		return p.dim(x.Dim)
	}
	if n, ok := x.Dim.Const(); ok {
		return fmt.Sprint((n + x.Div - 1) / x.Div)
	}
	key := fmt.Sprintf("%s / %d", x.Dim, x.Div)
	if v, ok := p.known[key]; ok {
		return v
	}
	var v string
	p.inHead(func() { v = p.v("sdiv i64 %s, %d", p.checked("add", p.dim(x.Dim), fmt.Sprint(x.Div-1)), x.Div) })
	p.known[key] = v
	return v
}

// dim is the value of a dim, computed in the head.
func (p *planFunc) dim(d types.Dim) string {
	var v string
	p.inHead(func() { v = p.emitter.dim(d) })
	return v
}

// size is an extent as memory has it: 0 where it is none.
func (p *planFunc) size(x abi.Extent) string {
	n := p.extent(x)
	if _, plain := x.Dim.AsParam(); plain { // as checked where it came in
		return n
	}
	p.inHead(func() {
		if x.Guarded {
			n = p.v("select i1 %s, i64 0, i64 %s", p.v("icmp sgt i64 %s, %d", n, types.MaxExtent), n)
		}
		if slices.ContainsFunc(x.Dim.Terms(), func(t types.Term) bool { return t.Coef < 0 }) {
			n = p.v("call i64 @llvm.smax.i64(i64 %s, i64 0)", n)
		}
	})
	return n
}

// place gives every buffer of the arena its address.
func (p *planFunc) place(arena string, recurses bool) {
	var ids []int
	first, last := map[int]int{}, map[int]int{}
	for i := range p.def.Buffers {
		b := &p.def.Buffers[i]
		_, result := p.result[i]
		switch {
		case b.DType == types.String:
			continue
		case b.Kind == abi.Temp:
			first[i], last[i] = b.First, b.Last
		case b.Kind == abi.Output && !result:
			first[i], last[i] = -1, 1<<30 // copied to where results go at the end
		default:
			continue
		}
		ids = append(ids, i)
	}
	sort.SliceStable(ids, func(a, b int) bool { return first[ids[a]] < first[ids[b]] })
	for _, id := range ids {
		at := -1
		for s := range p.slots {
			if p.slots[s].last < first[id] && (at < 0 || p.sameSize(id, p.slots[s].buffers[0])) {
				at = s
			}
		}
		if at < 0 {
			at = len(p.slots)
			p.slots = append(p.slots, slot{})
		}
		s := &p.slots[at]
		s.buffers, s.last = append(s.buffers, id), last[id]
		p.slotOf[id] = at
	}
	if len(p.slots) == 0 {
		return
	}
	offsets := make([]string, len(p.slots))
	total, fixed := "0", int64(0)
	for s := range p.slots {
		size, known := p.slotBytes(&p.slots[s])
		offsets[s] = total
		if fixed >= 0 && known >= 0 {
			fixed += known
			total = fmt.Sprint(fixed)
			continue
		}
		fixed = -1
		p.inHead(func() { total = p.checked("add", total, size) })
	}
	limit := int64(stackArena)
	if recurses {
		limit = stackArenaRecurse
	}
	base := ""
	if fixed >= 0 && fixed <= limit {
		base = p.alloca(fmt.Sprintf("[%d x i8]", fixed), 64)
	} else {
		base = p.v("call ptr @heal.take(i64 %s)", total)
		p.unless(p.v("icmp eq ptr %s, null", base), func() {
			p.do("ret i32 %s", p.v("call i32 @heal.memory(i64 %s)", total))
		})
		p.do("store ptr %s, ptr %s, align 8", base, arena)
	}
	for _, id := range ids {
		at := p.v("getelementptr i8, ptr %s, i64 %s", base, offsets[p.slotOf[id]])
		p.do("store ptr %s, ptr %s, align 8", at, p.ptrs[id])
	}
}

// sameSize reports that two buffers have equally many bytes for every value of the parameters.
func (p *planFunc) sameSize(a, b int) bool {
	x, y := &p.def.Buffers[a], &p.def.Buffers[b]
	if x.DType.Bytes() != y.DType.Bytes() || len(x.Shape) != len(y.Shape) {
		return false
	}
	for k := range x.Shape {
		if x.Shape[k].Div != y.Shape[k].Div || !x.Shape[k].Dim.Equal(y.Shape[k].Dim) {
			return false
		}
	}
	return true
}

// slotBytes is the size of a slot, a multiple of 64, and its value when it is known, else -1.
func (p *planFunc) slotBytes(s *slot) (size string, known int64) {
	largest := ""
	for _, id := range s.buffers {
		n, k := p.bytes(&p.def.Buffers[id])
		if known >= 0 && k >= 0 {
			known = max(known, (k+63)&^63, 64)
		} else {
			known = -1
		}
		if largest == "" || largest == n {
			largest = n
			continue
		}
		p.inHead(func() { largest = p.v("call i64 @llvm.smax.i64(i64 %s, i64 %s)", largest, n) })
	}
	if known >= 0 {
		return fmt.Sprint(known), known
	}
	p.inHead(func() {
		size = p.v("and i64 %s, -64", p.checked("add", p.v("call i64 @llvm.smax.i64(i64 %s, i64 1)", largest), "63"))
	})
	return size, -1
}

// bytes is the size of a buffer, and its value when it is known, else -1.
func (p *planFunc) bytes(b *abi.Buffer) (size string, known int64) {
	size, known = fmt.Sprint(b.DType.Bytes()), int64(b.DType.Bytes())
	for _, x := range b.Shape {
		if c, ok := x.Dim.Const(); ok && known >= 0 {
			if x.Div > 1 {
				c = (c + x.Div - 1) / x.Div
			}
			if c > 0 && known > 1<<59/c {
				known = 1 << 60 // more than there is; the allocator says so
			} else {
				known *= c
			}
			size = fmt.Sprint(known)
			continue
		}
		known = -1
		n := p.size(x)
		p.inHead(func() { size = p.checked("mul", size, n) })
	}
	return size, known
}

package aot

import (
	"fmt"

	"healc/codegen/target/profile"
	"healc/lang/types"
	"healc/runtime/abi"
)

// fail leaves the function with a code, which is a value or a number.
func (p *planFunc) fail(code string) {
	p.do("store i32 %s, ptr %s, align 4", code, p.code)
	p.jump(p.leave)
}

// failSite leaves with the failure of a site; the details are values.
func (p *planFunc) failSite(site, a, b string) {
	p.fail(p.v("call i32 @%s.fail(i64 %s, i64 %s, i64 %s, ptr %%dims)", p.base, site, a, b))
}

// stop leaves with a failure where every number is at least 1.
func (p *planFunc) stop(f *abi.Fail) {
	all := "true"
	for _, d := range f.Where {
		all = p.v("and i1 %s, %s", all, p.v("icmp sgt i64 %s, 0", p.dim(d)))
	}
	p.unless(all, func() { p.failSite(fmt.Sprint(f.Site+1), "0", "0") })
}

// ptr is the address of a buffer now.
func (p *planFunc) ptr(buffer int) string {
	return p.v("load ptr, ptr %s, align 8", p.ptrs[buffer])
}

func (p *planFunc) steps(steps []abi.Step) {
	for i := range steps {
		s := &steps[i]
		switch {
		case s.Launch != nil:
			p.launch(s.Launch)
		case s.If != nil:
			p.choose(s.If)
		case s.Loop != nil:
			p.loop(s.Loop)
		case s.Call != nil:
			p.call(s.Call)
		case s.Copy != nil:
			p.copyView(&s.Copy.From, p.ptr(s.Copy.To), p.def.Buffers[s.Copy.To].Strides)
		case s.Host != nil && s.Host.Name == hostAssert:
			p.assert(s.Host)
		case s.Host != nil:
			exchanges[s.Host.Name](p, s.Host)
		case s.Fail != nil:
			p.stop(s.Fail)
		}
	}
}

// What any thread has left of its stack, what kernels take beside their arrays, and what a function of the plan takes
// without those that it calls.
const (
	anyStack   = 32 << 10
	spillStack = 48 << 10
	callStack  = 64 << 10
)

// stack is how much of the stack a kernel takes, or 0 where any thread has that.
func (p *planFunc) stack(l *abi.Launch) int64 {
	n := p.of.frames[l.Kernel]
	switch {
	case l.Stack > 0:
		return n + l.Stack + spillStack
	case n > anyStack:
		return n + spillStack
	}
	return 0
}

// launch runs a kernel: on several threads when each then has as much to do as the plan says is worth one.
func (p *planFunc) launch(l *abi.Launch) {
	args := p.array(len(l.Args))
	for i, b := range l.Args {
		p.storePtr(args, i, p.ptr(b))
	}
	fn := p.loadPtr("%kernels", p.kernels[l.Kernel])
	axis := l.Outer
	if l.Tasks > 0 {
		axis = abi.Extent{Dim: types.Lit(l.Tasks)}
	}
	outer := p.extent(axis)
	threads := &profile.Base().Threads
	grain, rouse, align := l.Grain(threads), l.Rouse(threads), max(l.Align, 1)
	if p.w.splitAll {
		grain, rouse = 1, 1
	}
	grain = (grain + align - 1) / align * align
	direct, several, after := p.label(), p.label(), p.label()
	// Where no thread has a flag, what is small is called here; heal.launch takes the rest.
	plain := p.v("icmp eq i32 %s, 0", p.v("load atomic i32, ptr @heal.stoppable monotonic, align 4"))
	small := false
	if n, known := axis.Dim.Const(); known && n/max(axis.Div, 1)/2+1 < grain {
		small = true
	} else {
		plain = p.v("and i1 %s, %s", plain, p.v("icmp slt i64 %s, %d", outer, 2*grain))
	}
	stack := p.stack(l)
	if stack > 0 {
		plain = p.v("and i1 %s, %s", plain, p.v("call i1 @heal.roomy(i64 %d)", stack))
	}
	p.branch(plain, direct, several)
	p.at(direct)
	p.do("call void %s(ptr %s, ptr %%dims, i64 0, i64 %s, ptr %s)", fn, args, outer, p.err)
	p.jump(after)
	p.at(several)
	if small && stack == 0 {
		p.do("call void @heal.mine(ptr %s, ptr %s, ptr %%dims, i64 0, i64 %s, ptr %s)", fn, args, outer, p.err)
	} else {
		p.do("call void @heal.launch(ptr %s, ptr %s, ptr %%dims, i64 %s, i64 %d, i64 %d, i64 %d, ptr %s, "+
			"i64 %d)", fn, args, outer, grain, align, rouse, p.err, stack)
	}
	p.jump(after)
	p.at(after)
	site := p.loadWord(p.err, 0)
	p.unless(p.v("icmp ne i64 %s, 0", site), func() {
		p.failSite(site, p.loadWord(p.err, 1), p.loadWord(p.err, 2))
	})
}

func (p *planFunc) choose(s *abi.If) {
	then, els, after := p.label(), p.label(), p.label()
	cond := p.v("load i8, ptr %s, align 1", p.ptr(s.Cond))
	p.branch(p.v("icmp ne i8 %s, 0", cond), then, els)
	p.at(then)
	p.steps(s.Then)
	p.jump(after)
	p.at(els)
	p.steps(s.Else)
	p.jump(after)
	p.at(after)
}

// loop runs steps; the states change places by changing the addresses of their buffers.
func (p *planFunc) loop(l *abi.Loop) {
	counter := p.alloca("i32", 4)
	head, body, after := p.label(), p.label(), p.label()
	count := p.v("load i32, ptr %s, align 4", p.ptr(l.Count))
	p.do("store i32 0, ptr %s, align 4", counter)
	p.jump(head)
	p.at(head)
	i := p.v("load i32, ptr %s, align 4", counter)
	p.branch(p.v("icmp slt i32 %s, %s", i, count), body, after)
	p.at(body)
	p.unless(p.v("call i1 @heal.halted()"), func() { p.failSite("-1", "0", "0") })
	if l.Index >= 0 {
		p.do("store i32 %s, ptr %s, align 4", i, p.ptr(l.Index))
	}
	p.steps(l.Body)
	for _, s := range l.Swap {
		a, b := p.ptr(s[0]), p.ptr(s[1])
		p.do("store ptr %s, ptr %s, align 8", b, p.ptrs[s[0]])
		p.do("store ptr %s, ptr %s, align 8", a, p.ptrs[s[1]])
	}
	p.do("store i32 %s, ptr %s, align 4", p.v("add i32 %s, 1", i), counter)
	if l.Until >= 0 {
		done := p.v("load i8, ptr %s, align 1", p.ptr(l.Until))
		p.branch(p.v("icmp ne i8 %s, 0", done), after, head)
	} else {
		p.jump(head)
	}
	p.at(after)
}

// call runs another function of the plan. Its arguments are row-major: bufferize copies those that are not.
func (p *planFunc) call(c *abi.Call) {
	p.unless(p.v("icmp sge i64 %%depth, %d", abi.MaxCallDepth), func() {
		s := p.km.Plan.Sites[c.Site]
		s.Kind = abi.KindRecursion
		p.failMessage(c.Site, abi.Message(s, [2]int64{}), CodeRecursion)
	})
	in, out := p.array(len(c.Args)), p.array(len(c.Out))
	for i := range c.Args {
		p.storePtr(in, i, p.address(&c.Args[i]))
	}
	for i, b := range c.Out {
		p.storePtr(out, i, p.ptr(b))
	}
	depth := p.v("add i64 %%depth, 1")
	direct, deep, after := p.label(), p.label(), p.label()
	result := p.alloca("i32", 4)
	p.branch(p.v("call i1 @heal.roomy(i64 %d)", callStack), direct, deep)
	p.at(direct)
	p.do("store i32 %s, ptr %s, align 4", p.v("call i32 @%s.%d(ptr %%dims, ptr %s, ptr %s, ptr %%kernels, i64 %s)",
		p.base, c.Func, in, out, depth), result)
	p.jump(after)
	p.at(deep)
	job := p.array(7)
	p.storePtr(job, 0, fmt.Sprintf("@%s.%d", p.base, c.Func))
	for i, word := range []string{"%dims", in, out, "%kernels"} {
		p.storePtr(job, 1+i, word)
	}
	p.storeWord(job, 5, depth)
	none := p.v("call i64 @heal.nest(ptr %s)", job)
	p.unless(p.v("icmp ne i64 %s, 0", none), func() { p.failSite("-2", none, "0") })
	p.do("store i32 %s, ptr %s, align 4", p.v("trunc i64 %s to i32", p.loadWord(job, 6)), result)
	p.jump(after)
	p.at(after)
	code := p.v("load i32, ptr %s, align 4", result)
	p.unless(p.v("icmp ne i32 %s, 0", code), func() { p.fail(code) })
}

// address is that of the first element of a view.
func (p *planFunc) address(v *abi.View) string {
	base := p.ptr(v.Buffer)
	if v.Offset.IsConst(0) {
		return base
	}
	size := p.def.Buffers[v.Buffer].DType.Bytes()
	return p.v("getelementptr [%d x i8], ptr %s, i64 %s", size, base, p.dim(v.Offset))
}

// copyView copies a view to memory with the given strides; nil is row-major.
func (p *planFunc) copyView(v *abi.View, to string, strides []types.Dim) {
	n := len(v.Shape)
	shape, from, target := p.array(n), p.array(n), p.array(n)
	stride := "1"
	for k := n - 1; k >= 0; k-- {
		x := p.dim(v.Shape[k])
		p.storeWord(shape, k, x)
		p.storeWord(from, k, p.dim(v.Strides[k]))
		if strides != nil {
			p.storeWord(target, k, p.dim(strides[k]))
			continue
		}
		p.storeWord(target, k, stride)
		stride = p.v("mul i64 %s, %s", stride, x)
	}
	size := p.def.Buffers[v.Buffer].DType.Bytes()
	p.do("call void @heal.copy(ptr %s, ptr %s, ptr %s, ptr %s, ptr %s, i64 %d, i64 %d)", to, target, p.address(v), from,
		shape, n, size)
}

// assert is the Host operation of that name. Unlike the runtime's message, a library's has no values.
func (p *planFunc) assert(h *abi.HostCall) {
	holds := p.v("load i8, ptr %s, align 1", p.address(&h.Args[0]))
	p.unless(p.v("icmp eq i8 %s, 0", holds), func() {
		p.failMessage(h.Site, types.AssertMessage(h.Attrs["what"], nil, ""), CodeAssert)
	})
}

// failMessage leaves with a message of its own.
func (p *planFunc) failMessage(site int, message string, code int) {
	if site >= 0 && site < len(p.km.Plan.Sites) {
		message = p.km.Plan.Sites[site].Locate(message)
	}
	p.v("call i32 (ptr, i64, ptr, ...) @snprintf(ptr @heal.message, i64 1024, ptr %s, ptr %s)", p.w.text("%s"),
		p.w.text(message))
	p.fail(fmt.Sprint(code))
}

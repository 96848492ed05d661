package ptxsim

import (
	"strings"

	"healc/codegen/gpu/ptx"
)

// bra goes to a label.
func (c *compiler) bra() {
	c.has("uni")
	c.operands(1)
	if c.in.Operands[0].Kind != ptx.SymbolOperand {
		c.errorf("bra needs a label")
	}
	c.o.kind, c.o.target = opBranch, 0
}

// brx goes to one of a list of labels.
func (c *compiler) brx() {
	if !c.has("idx") {
		c.errorf("brx is .idx")
	}
	c.has("uni")
	c.operands(2)
	c.o.kind, c.o.effect = opIndexed, true
	c.o.index = c.src(0, ptx.U32)
}

func (c *compiler) ret() {
	c.has("uni")
	c.operands(0)
	c.o.kind = opReturn
}

func (c *compiler) exit() {
	c.operands(0)
	c.o.kind = opExit
}

func (c *compiler) trap() {
	c.operands(0)
	c.o.kind = opTrap
}

// nanosleep does nothing that can be seen.
func (c *compiler) nanosleep() {
	c.mods = nil
	c.o.run = func(*warp, uint32) {}
}

// callOp is a call: the variables that are passed, as offsets in the areas of both frames.
type callOp struct {
	fn            *function
	args, results []passed
}

// passed is bytes that are copied between areas.
type passed struct{ from, to, n int }

// callFunction is call (results), function, (arguments).
func (c *compiler) callFunction() {
	c.has("uni")
	args := c.in.Operands
	var results, params []ptx.Operand
	if len(args) > 0 && args[0].Kind == ptx.ListOperand {
		results, args = args[0].List, args[1:]
	}
	if len(args) == 0 || args[0].Kind != ptx.SymbolOperand {
		c.errorf("indirect calls are not supported")
	}
	f := c.m.funcs[args[0].Name]
	if f == nil {
		c.errorf("function %s is not declared", args[0].Name)
	}
	if args = args[1:]; len(args) > 0 && args[0].Kind == ptx.ListOperand {
		params, args = args[0].List, args[1:]
	}
	if len(args) > 0 || f.Entry {
		c.errorf("indirect calls and calls of kernels are not supported")
	}
	if !f.Defined {
		c.external(f, results, params)
		return
	}
	k := &callOp{fn: f}
	k.args = c.pass(f, "argument", params, f.Params, true)
	k.results = c.pass(f, "result", results, f.Results, false)
	c.o.kind, c.o.call = opCall, k
	c.f.calls = append(c.f.calls, f)
}

// external is a call of a function that the driver has, and no module: there is one.
func (c *compiler) external(f *function, results, params []ptx.Operand) {
	if f.Name != setConditional {
		c.errorf("function %s has no body", f.Name)
	}
	if len(f.Results) != 0 || len(f.Params) != 2 || f.Params[0].Size != 8 || f.Params[1].Size != 4 {
		c.errorf("%s has two parameters, .b64 and .b32", f.Name)
	}
	k := c.pass(f, "argument", params, f.Params, true)
	c.pass(f, "result", results, f.Results, false)
	stride := c.f
	c.o.effect = true
	c.o.run = func(w *warp, m uint32) {
		each(m, func(i int) {
			area := w.frame.area[i*stride.AreaBytes:]
			handle, value := load(area[k[0].from:], 8), uint32(load(area[k[1].from:], 4))
			if !w.block.dev.setCondition(handle, value) {
				w.fault(Undefined, i, "%s: %#x is no condition of a graph that runs", setConditional, handle)
			}
		})
	}
}

// pass pairs the variables of a call with those of the function.
func (c *compiler) pass(f *function, what string, names []ptx.Operand, vars []*ptx.Variable, in bool) []passed {
	if len(names) != len(vars) {
		c.errorf("%s has %s, not %d", f.Name, plural(len(vars), what), len(names))
	}
	var list []passed
	for i, x := range names {
		v := vars[i]
		if x.Kind != ptx.SymbolOperand || x.Variable == nil || x.Variable.Space != ptx.Param || x.Variable.OfEntry {
			c.errorf("%ss of a call are .param variables", what)
		}
		if x.Variable.Size != v.Size {
			c.errorf("%s %d of %s has %d bytes, not %d", what, i+1, f.Name, v.Size, x.Variable.Size)
		}
		p := passed{x.Variable.Offset, v.Offset, v.Size}
		if !in {
			p.from, p.to = p.to, p.from
		}
		list = append(list, p)
	}
	return list
}

// call makes f the first instruction of the function that o calls.
func (w *warp) call(f *fragment, o *op) {
	caller, k := f.fr, o.call
	callee := w.enter(k.fn, caller, f.mask)
	callee.call = k
	copyArea(f.mask, k.args, caller, callee)
	f.top = &join{pc: f.pc, fr: caller, mask: f.mask, parent: f.top, callee: callee}
	f.fr, f.pc = callee, 0
}

// results copies what a function gives to its caller.
func (w *warp) results(f *fragment) {
	copyArea(f.mask, f.fr.call.results, f.fr, f.fr.caller)
}

func copyArea(m uint32, list []passed, from, to *frame) {
	for _, p := range list {
		each(m, func(i int) {
			copy(to.area[i*to.fn.AreaBytes+p.to:][:p.n], from.area[i*from.fn.AreaBytes+p.from:])
		})
	}
}

// barrierOp is a barrier of the block.
type barrierOp struct {
	id     int32 // slot
	count  int32 // slot, or -1: all threads
	arrive bool  // does not wait
	// All threads of a block come to the same instruction. Otherwise warps may meet at several.
	aligned bool
	reduce  func(warps []*warp)
}

// bar is bar and barrier: of a block, of a warp, with or without a reduction of a predicate.
func (c *compiler) bar() {
	if c.has("warp") {
		c.barWarp()
		return
	}
	c.has("cta")
	mode := c.mod("sync", "arrive", "red")
	b := &barrierOp{count: -1, arrive: mode == "arrive"}
	args := c.in.Operands
	var d ptx.Operand
	op := ""
	switch mode {
	case "":
		c.errorf("%s needs .sync, .arrive or .red", c.in.Opcode)
	case "red":
		if op = c.mod("popc", "and", "or"); op == "" || len(args) < 3 {
			c.errorf("%s.red is .popc, .and or .or, of a predicate", c.in.Opcode)
		}
		d, args = args[0], args[1:]
	}
	b.aligned = c.has("aligned") || c.in.Opcode == "bar"
	var p int32
	var np bool
	if mode == "red" {
		last := args[len(args)-1]
		args = args[:len(args)-1]
		p, np = c.predicate(last)
		b.reduce = c.reduction(op, d, p, np)
	}
	if len(args) < 1 || len(args) > 2 || b.arrive && len(args) != 2 {
		c.errorf("%s has a wrong number of operands",
			strings.Join(append([]string{c.in.Opcode}, c.in.Modifiers...), "."))
	}
	b.id = c.source(args[0], ptx.U32, false)
	if len(args) == 2 {
		b.count = c.source(args[1], ptx.U32, false)
	}
	c.o.kind, c.o.effect, c.o.barrier = opBarrier, true, b
}

// reduction is what bar.red gives to the threads when the barrier is complete.
func (c *compiler) reduction(op string, d ptx.Operand, p int32, np bool) func(warps []*warp) {
	var dv, dp int32
	if op == "popc" {
		c.dtype(ptx.U32)
		dv = c.dest(d, ptx.U32, false)
	} else {
		c.dtype(ptx.Pred)
		dp = c.predicateDest(d)
	}
	return func(warps []*warp) {
		n, all, anyone := uint64(0), true, false
		for _, w := range warps {
			x := w.pred(p, np) & w.live
			each(x, func(int) { n++ })
			all, anyone = all && x == w.live, anyone || x != 0
		}
		for _, w := range warps {
			var v uint32
			switch {
			case op == "popc":
				each(w.live, func(i int) { w.vals[dv][i] = n })
				continue
			case op == "and" && all, op == "or" && anyone:
				v = ^uint32(0)
			}
			w.setPred(dp, v, w.live)
		}
	}
}

// barWarp is bar.warp.sync.
func (c *compiler) barWarp() {
	if !c.has("sync") {
		c.errorf("bar.warp is .sync")
	}
	c.operands(1)
	members := c.sync(c.in.Operands[0])
	c.o.run = func(w *warp, m uint32) {
		w.member(members, m)
		w.syncLanes(m)
	}
}

// arrive notes that a warp is at its barrier. A warp that only arrives goes on at once.
func (b *block) arrive(w *warp) {
	o := w.at.barrier
	first := lane(w.live)
	id := w.vals[o.id][first]
	count := uint64(0)
	if o.count >= 0 {
		count = w.vals[o.count][first]
		if count == 0 || count%32 != 0 || count > uint64(len(b.warps)*32) {
			w.fault(Undefined, first, "a barrier of %d threads: a multiple of 32 up to %d is possible", count,
				len(b.warps)*32)
		}
	}
	each(w.live, func(i int) {
		if w.vals[o.id][i] != id || o.count >= 0 && w.vals[o.count][i] != count {
			w.fault(BarrierDivergence, i, "the lanes of a warp name different barriers")
		}
	})
	if id > 15 {
		w.fault(Undefined, first, "there are barriers 0 to 15, and no barrier %d", id)
	}
	s := &b.waiting[id]
	if len(s.arrived)+len(s.passed) > 0 {
		if s.threads != int(count) {
			w.fault(BarrierDivergence, first, "barrier %d is used with %d threads here and with %d at line %d", id,
				count, s.threads, s.at.in.Line)
		}
		if count == 0 && o.aligned && s.at != w.at {
			w.fault(BarrierDivergence, first, "warp %d comes to barrier %d here, and warp %d at line %d: %s", w.index,
				id, s.arrived[0].index, s.at.in.Line, b.m.Line(s.at.in.Line))
		}
	}
	s.threads, s.at = int(count), w.at
	if o.arrive {
		s.passed = append(s.passed, w)
		f := w.aside[0]
		w.wake(f.fr, f.pc)
		w.status, w.at = warpReady, nil
		return
	}
	s.arrived = append(s.arrived, w)
}

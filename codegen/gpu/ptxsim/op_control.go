package ptxsim

import (
	"strings"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// bra goes to a label.
func (c *compiler) bra() {
	c.has("uni")
	c.operands(1)
	if c.in.Operands[0].Kind != ptx.SymbolOperand {
		c.errorf("bra needs a label")
	}
	c.o.Kind, c.o.Target = machine.OpBranch, 0
}

// brx goes to one of a list of labels.
func (c *compiler) brx() {
	if !c.has("idx") {
		c.errorf("brx is .idx")
	}
	c.has("uni")
	c.operands(2)
	c.o.Kind, c.o.Effect = machine.OpIndexed, true
	c.o.Index = c.src(0, ptx.U32)
}

func (c *compiler) ret() {
	c.has("uni")
	c.operands(0)
	c.o.Kind = machine.OpReturn
}

func (c *compiler) exit() {
	c.operands(0)
	c.o.Kind = machine.OpExit
}

func (c *compiler) trap() {
	c.operands(0)
	c.o.Kind = machine.OpTrap
}

// nanosleep does nothing that can be seen.
func (c *compiler) nanosleep() {
	c.mods = nil
	c.o.Run = func(*machine.Warp, uint32) {}
}

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
	f := c.m.Code[args[0].Name]
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
	k := &machine.Call{Function: f}
	k.Args = c.pass(f, "argument", params, f.Params, true)
	k.Results = c.pass(f, "result", results, f.Results, false)
	c.o.Kind, c.o.Call = machine.OpCall, k
	c.f.Calls = append(c.f.Calls, f)
}

// external is a call of a function that the driver has, and no module: there is one.
func (c *compiler) external(f *machine.Function, results, params []ptx.Operand) {
	if f.Name != machine.SetConditional {
		c.errorf("function %s has no body", f.Name)
	}
	if len(f.Results) != 0 || len(f.Params) != 2 || f.Params[0].Size != 8 || f.Params[1].Size != 4 {
		c.errorf("%s has two parameters, .b64 and .b32", f.Name)
	}
	k := c.pass(f, "argument", params, f.Params, true)
	c.pass(f, "result", results, f.Results, false)
	c.o.Effect = true
	c.o.Run = func(w *machine.Warp, m uint32) {
		machine.EachLane(m, func(i int) {
			area := w.Area(i)
			w.SetCondition(i, machine.Load(area[k[0].From:], 8), uint32(machine.Load(area[k[1].From:], 4)))
		})
	}
}

// pass pairs the variables of a call with those of the function.
func (c *compiler) pass(f *machine.Function, what string, names []ptx.Operand, vars []*ptx.Variable,
	in bool) []machine.Passed {
	if len(names) != len(vars) {
		c.errorf("%s has %s, not %d", f.Name, plural(len(vars), what), len(names))
	}
	var list []machine.Passed
	for i, x := range names {
		v := vars[i]
		if x.Kind != ptx.SymbolOperand || x.Variable == nil || x.Variable.Space != ptx.Param || x.Variable.OfEntry {
			c.errorf("%ss of a call are .param variables", what)
		}
		if x.Variable.Size != v.Size {
			c.errorf("%s %d of %s has %d bytes, not %d", what, i+1, f.Name, v.Size, x.Variable.Size)
		}
		p := machine.Passed{From: x.Variable.Offset, To: v.Offset, Bytes: v.Size}
		if !in {
			p.From, p.To = p.To, p.From
		}
		list = append(list, p)
	}
	return list
}

// bar is bar and barrier: of a block, of a warp, with or without a reduction of a predicate.
func (c *compiler) bar() {
	if c.has("warp") {
		c.barWarp()
		return
	}
	c.has("cta")
	mode := c.mod("sync", "arrive", "red")
	b := &machine.Barrier{Count: -1, Arrive: mode == "arrive"}
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
	b.Aligned = c.has("aligned") || c.in.Opcode == "bar"
	var p int32
	var np bool
	if mode == "red" {
		last := args[len(args)-1]
		args = args[:len(args)-1]
		p, np = c.predicate(last)
		b.Reduce = c.reduction(op, d, p, np)
	}
	if len(args) < 1 || len(args) > 2 || b.Arrive && len(args) != 2 {
		c.errorf("%s has a wrong number of operands",
			strings.Join(append([]string{c.in.Opcode}, c.in.Modifiers...), "."))
	}
	b.ID = c.source(args[0], ptx.U32, false)
	if len(args) == 2 {
		b.Count = c.source(args[1], ptx.U32, false)
	}
	c.o.Kind, c.o.Effect, c.o.Barrier = machine.OpBarrier, true, b
}

// reduction is what bar.red gives to the threads when the barrier is complete.
func (c *compiler) reduction(op string, d ptx.Operand, p int32, np bool) func(warps []*machine.Warp) {
	var dv, dp int32
	if op == "popc" {
		c.dtype(ptx.U32)
		dv = c.dest(d, ptx.U32, false)
	} else {
		c.dtype(ptx.Pred)
		dp = c.predicateDest(d)
	}
	return func(warps []*machine.Warp) {
		n, all, anyone := uint64(0), true, false
		for _, w := range warps {
			x := w.Pred(p, np) & w.Live
			machine.EachLane(x, func(int) { n++ })
			all, anyone = all && x == w.Live, anyone || x != 0
		}
		for _, w := range warps {
			var v uint32
			switch {
			case op == "popc":
				machine.EachLane(w.Live, func(i int) { w.Values[dv][i] = n })
				continue
			case op == "and" && all, op == "or" && anyone:
				v = ^uint32(0)
			}
			w.SetPred(dp, v, w.Live)
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
	c.o.Run = func(w *machine.Warp, m uint32) {
		w.CheckMembers(members, m)
		w.SyncLanes(m)
	}
}

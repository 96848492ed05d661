package ptxsim

import (
	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// cp is cp.async with its groups. Its other forms, for bulks and tensors, are not there.
func (c *compiler) cp() {
	if !c.has("async") {
		c.errorf("cp is .async")
	}
	switch c.mod("commit_group", "wait_group", "wait_all") {
	case "commit_group":
		c.operands(0)
		c.o.Run = func(w *machine.Warp, m uint32) { machine.EachLane(m, w.CommitCopies) }
	case "wait_group":
		c.operands(1)
		n := c.in.Operands[0]
		if n.Kind != ptx.IntegerOperand || n.Bits > 1<<20 {
			c.errorf("cp.async.wait_group needs a number of groups")
		}
		c.o.Run = func(w *machine.Warp, m uint32) {
			machine.EachLane(m, func(i int) { w.WaitForCopies(i, int(n.Bits)) })
		}
	case "wait_all":
		c.operands(0)
		c.o.Run = func(w *machine.Warp, m uint32) {
			machine.EachLane(m, func(i int) { w.WaitForCopies(i, -1) })
		}
	default:
		c.copyAsync()
	}
}

func (c *compiler) copyAsync() {
	cache := c.mod("ca", "cg")
	if cache == "" || c.mod("shared", "shared::cta") == "" || !c.has("global") {
		c.errorf("cp.async is .ca.shared.global or .cg.shared.global")
	}
	c.mod("L2::64B", "L2::128B", "L2::256B")
	if n := len(c.in.Operands); n != 3 && n != 4 {
		c.errorf("cp.async has 3 or 4 operands, not %d", n)
	}
	size := c.in.Operands[2]
	if size.Kind != ptx.IntegerOperand || size.Bits != 16 && (cache == "cg" || size.Bits != 4 && size.Bits != 8) {
		c.errorf("cp.async.%s does not copy %d bytes", cache, size.Bits)
	}
	to, addTo := c.address(c.in.Operands[0])
	from, addFrom := c.address(c.in.Operands[1])
	count := int32(-1)
	if len(c.in.Operands) == 4 {
		count = c.src(3, ptx.U32)
	}
	c.o.Effect = true
	bytes := int(size.Bits)
	c.o.Run = func(w *machine.Warp, m uint32) {
		machine.EachLane(m, func(i int) {
			n := bytes
			if count >= 0 {
				n = int(min(w.Values[count][i], uint64(n)))
			}
			w.CopyAsync(i, w.Values[to][i]+addTo, w.Values[from][i]+addFrom, n, bytes)
		})
	}
}

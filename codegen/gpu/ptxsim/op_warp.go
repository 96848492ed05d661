package ptxsim

import (
	"math/bits"

	"healc/codegen/gpu/ptx"
	"healc/codegen/gpu/ptxsim/machine"
)

// sync makes the instruction wait for the lanes that its member mask names.
func (c *compiler) sync(mask ptx.Operand) int32 {
	c.o.Kind, c.o.Effect = machine.OpSync, true
	c.o.Members = c.source(mask, ptx.B32, false)
	return c.o.Members
}

// shfl exchanges values between lanes.
func (c *compiler) shfl() {
	if !c.has("sync") {
		c.errorf("shfl without .sync does not exist from sm_70 on")
	}
	mode := c.mod("up", "down", "bfly", "idx")
	if mode == "" {
		c.errorf("shfl is .up, .down, .bfly or .idx")
	}
	c.dtype(ptx.B32)
	c.operands(5)
	to, p := c.in.Operands[0], int32(-1)
	if to.Kind == ptx.PairOperand {
		p = c.predicateDest(to.List[1])
		to = to.List[0]
	}
	d, a, b, k := c.dest(to, ptx.B32, false), c.src(1, ptx.B32), c.src(2, ptx.B32), c.src(3, ptx.B32)
	members := c.sync(c.in.Operands[4])
	c.o.Run = func(w *machine.Warp, m uint32) {
		w.CheckMembers(members, m)
		A, B, C := w.Values[a], w.Values[b], w.Values[k]
		D, valid := &w.Values[d], uint32(0)
		machine.EachLane(m, func(i int) {
			lane, bval, cval, seg := uint64(i), B[i]&31, C[i]&31, C[i]>>8&31
			most := lane&seg | cval&^seg
			var j uint64
			var ok bool
			switch mode {
			case "up":
				j = lane - bval
				ok = int64(j) >= int64(most)
			case "down":
				j = lane + bval
				ok = j <= most
			case "bfly":
				j = lane ^ bval
				ok = j <= most
			default:
				j = lane&seg | bval&^seg
				ok = j <= most
			}
			if ok {
				valid |= 1 << i
			} else {
				j = lane
			}
			if m>>j&1 == 0 {
				w.Fault(machine.WarpDivergence, i,
					"shfl.sync reads lane %d, which does not take part (lanes %#x do)", j, m)
			}
			D[i] = A[j]
		})
		w.SetPred(p, valid, m)
	}
}

// vote combines a predicate of all lanes.
func (c *compiler) vote() {
	if !c.has("sync") {
		c.errorf("vote without .sync does not exist from sm_70 on")
	}
	mode := c.mod("all", "any", "uni", "ballot")
	if mode == "" {
		c.errorf("vote is .all, .any, .uni or .ballot")
	}
	if mode == "ballot" {
		c.dtype(ptx.B32)
	} else {
		c.dtype(ptx.Pred)
	}
	c.operands(3)
	a, na := c.predicate(c.in.Operands[1])
	members := c.sync(c.in.Operands[2])
	d, p := int32(-1), int32(-1)
	if mode == "ballot" {
		d = c.dst(ptx.B32)
	} else {
		p = c.predicateDest(c.in.Operands[0])
	}
	c.o.Run = func(w *machine.Warp, m uint32) {
		w.CheckMembers(members, m)
		x := w.Pred(a, na)
		M := w.Values[members]
		var result uint32
		machine.EachLane(m, func(i int) {
			g := uint32(M[i]) & m
			holds := false
			switch mode {
			case "ballot":
				w.Values[d][i] = uint64(x & g)
			case "all":
				holds = x&g == g
			case "any":
				holds = x&g != 0
			case "uni":
				holds = x&g == g || x&g == 0
			}
			if holds {
				result |= 1 << i
			}
		})
		w.SetPred(p, result, m)
	}
}

// match finds the lanes with the same value.
func (c *compiler) match() {
	mode := c.mod("any", "all")
	if mode == "" || !c.has("sync") {
		c.errorf("match is .any.sync or .all.sync")
	}
	t := c.dtype(ptx.B32, ptx.B64)
	c.operands(3)
	to, p := c.in.Operands[0], int32(-1)
	if to.Kind == ptx.PairOperand {
		if mode == "any" {
			c.errorf("match.any has one destination")
		}
		p = c.predicateDest(to.List[1])
		to = to.List[0]
	}
	d, a := c.dest(to, ptx.B32, false), c.src(1, t)
	members := c.sync(c.in.Operands[2])
	c.o.Run = func(w *machine.Warp, m uint32) {
		w.CheckMembers(members, m)
		A, M := w.Values[a], w.Values[members]
		var all uint32
		machine.EachLane(m, func(i int) {
			g := uint32(M[i]) & m
			var same uint32
			machine.EachLane(g, func(j int) {
				if A[j] == A[i] {
					same |= 1 << j
				}
			})
			if mode == "all" {
				if same == g {
					all |= 1 << i
				} else {
					same = 0
				}
			}
			w.Values[d][i] = uint64(same)
		})
		w.SetPred(p, all, m)
	}
}

// redux reduces integers over lanes.
func (c *compiler) redux() {
	if !c.has("sync") {
		c.errorf("redux needs .sync")
	}
	op := c.mod("add", "min", "max", "and", "or", "xor")
	var t ptx.Type
	switch op {
	case "add", "min", "max":
		t = c.dtype(ptx.U32, ptx.S32)
	case "and", "or", "xor":
		t = c.dtype(ptx.B32)
	default:
		c.errorf("redux needs an operation")
	}
	c.operands(3)
	d, a := c.dst(t), c.src(1, t)
	members := c.sync(c.in.Operands[2])
	c.o.Run = func(w *machine.Warp, m uint32) {
		w.CheckMembers(members, m)
		A, M := w.Values[a], w.Values[members]
		machine.EachLane(m, func(i int) {
			g := uint32(M[i]) & m
			v := A[machine.FirstLane(g)]
			for g &= g - 1; g != 0; g &= g - 1 {
				x := A[machine.FirstLane(g)]
				switch op {
				case "add":
					v = (v + x) & mask(32)
				case "min", "max":
					if less(t, x, v) == (op == "min") {
						v = x
					}
				case "and":
					v &= x
				case "or":
					v |= x
				case "xor":
					v ^= x
				}
			}
			w.Values[d][i] = v
		})
	}
}

// activemask is the lanes that run together at this moment.
func (c *compiler) activemask() {
	c.dtype(ptx.B32)
	c.operands(1)
	d := c.dst(ptx.B32)
	c.o.Run = func(w *machine.Warp, m uint32) {
		machine.EachLane(m, func(i int) { w.Values[d][i] = uint64(m) })
	}
}

// elect chooses one lane: the first.
func (c *compiler) elect() {
	if !c.has("sync") {
		c.errorf("elect needs .sync")
	}
	c.operands(2)
	if c.in.Operands[0].Kind != ptx.PairOperand {
		c.errorf("elect has two destinations")
	}
	to := c.in.Operands[0].List
	p, d := c.predicateDest(to[1]), int32(-1)
	if to[0].Kind != ptx.SinkOperand {
		d = c.dest(to[0], ptx.B32, false)
	}
	members := c.sync(c.in.Operands[1])
	c.o.Run = func(w *machine.Warp, m uint32) {
		w.CheckMembers(members, m)
		first := bits.TrailingZeros32(m)
		if d >= 0 {
			machine.EachLane(m, func(i int) { w.Values[d][i] = uint64(first) })
		}
		w.SetPred(p, 1<<first, m)
	}
}

// mma multiplies matrices of bytes that the lanes of a warp have together: to 16 by 8 sums it adds the product of 16
// rows of 32 and 8 columns of 32. A lane is one of four in a group. Its registers have four steps each: of a the first
// row of the group and the one eight below, first steps and those 16 beyond in turns, and of b the column of the group.
// Its sums are two neighbours in either row.
func (c *compiler) mma() {
	for _, name := range []string{"sync", "aligned", "m16n8k32", "row", "col", "s32"} {
		if !c.has(name) {
			c.errorf("mma is .sync.aligned.m16n8k32.row.col.s32, of bytes")
		}
	}
	at, bt := c.dtype(ptx.S8, ptx.U8), c.dtype(ptx.S8, ptx.U8)
	if !c.has("s32") {
		c.errorf("mma adds to .s32")
	}
	c.operands(4)
	vector := func(i, n int) []ptx.Operand {
		a := c.in.Operands[i]
		if a.Kind != ptx.VectorOperand || len(a.List) != n {
			c.errorf("mma: operand %d has %s in braces", i+1, plural(n, "register"))
		}
		return a.List
	}
	slots := func(i, n int) (out []int32) {
		for _, a := range vector(i, n) {
			out = append(out, c.source(a, ptx.B32, false))
		}
		return out
	}
	a, b, z := slots(1, 4), slots(2, 2), slots(3, 4)
	var d []int32
	for _, to := range vector(0, 4) {
		d = append(d, c.dest(to, ptx.B32, false))
	}
	members := c.sync(ptx.Operand{Kind: ptx.IntegerOperand, Bits: mask(32)})
	c.o.Run = func(w *machine.Warp, m uint32) {
		w.CheckMembers(members, m)
		if m != ^uint32(0) {
			w.Fault(machine.WarpDivergence, machine.FirstLane(m),
				"mma.sync is done by lanes %#x, not by a whole warp", m)
		}
		byteOf := func(t ptx.Type, slot int32, lane, e int) uint64 { return extend(t, w.Values[slot][lane]>>(8*e)) }
		var sums [4]machine.Lanes
		machine.EachLane(m, func(i int) {
			for n := range sums {
				sum := w.Values[z[n]][i]
				row, column := i/4, i%4*2+n%2
				for step := range 8 {
					for e := range 4 {
						x := byteOf(at, a[step/4*2+n/2], 4*row+step%4, e)
						sum += x * byteOf(bt, b[step/4], 4*column+step%4, e)
					}
				}
				sums[n][i] = sum & mask(32)
			}
		})
		for n, slot := range d {
			machine.EachLane(m, func(i int) { w.Values[slot][i] = sums[n][i] })
		}
	}
}

package ptxsim

import "slices"

// This file analyses the control-flow graph of a function: where branches join, and whether registers are written
// before they are read.

// graph is the basic blocks of a function. Block i is code[start[i]:start[i+1]]; the last one is the exit, which is
// empty.
type graph struct {
	start []int32
	of    []int32 // the block of each operation that begins one
	succ  [][]int32
	pred  [][]int32
}

func (g *graph) exit() int32 { return int32(len(g.succ) - 1) }

// blocks cuts the code at branches and their targets.
func (f *function) blocks() *graph {
	n := len(f.code)
	leader := make([]bool, n+1)
	leader[0] = true
	for i := range f.code {
		o := &f.code[i]
		switch o.kind {
		case opBranch:
			leader[o.target], leader[i+1] = true, true
		case opIndexed:
			for _, t := range o.targets {
				leader[t] = true
			}
			leader[i+1] = true
		case opReturn, opExit, opTrap:
			leader[i+1] = true
		}
	}
	g := &graph{of: make([]int32, n+1)}
	for i := range n {
		if leader[i] {
			g.of[i] = int32(len(g.start))
			g.start = append(g.start, int32(i))
		}
	}
	g.start = append(g.start, int32(n))
	exit := int32(len(g.start) - 1)
	g.of[n] = exit
	g.succ, g.pred = make([][]int32, exit+1), make([][]int32, exit+1)
	edge := func(from, to int32) {
		g.succ[from] = append(g.succ[from], to)
		g.pred[to] = append(g.pred[to], from)
	}
	for b := range exit {
		last := &f.code[g.start[b+1]-1]
		switch last.kind {
		case opBranch:
			edge(b, g.of[last.target])
			if last.guard >= 0 {
				edge(b, b+1)
			}
		case opIndexed:
			for _, t := range last.targets {
				edge(b, g.of[t])
			}
		case opReturn, opExit, opTrap:
			edge(b, exit)
		default:
			edge(b, b+1)
		}
	}
	return g
}

// order is the blocks in reverse postorder of a walk from root along next, and the number of each; -1 is a block that
// the walk does not reach.
func order(root int32, next [][]int32) (blocks, number []int32) {
	number = make([]int32, len(next))
	for i := range number {
		number[i] = -1
	}
	type visit struct {
		block int32
		edge  int
	}
	seen := make([]bool, len(next))
	seen[root] = true
	for stack := []visit{{root, 0}}; len(stack) > 0; {
		v := &stack[len(stack)-1]
		if v.edge < len(next[v.block]) {
			b := next[v.block][v.edge]
			v.edge++
			if !seen[b] {
				seen[b] = true
				stack = append(stack, visit{b, 0})
			}
			continue
		}
		blocks = append(blocks, v.block)
		stack = stack[:len(stack)-1]
	}
	for i, j := 0, len(blocks)-1; i < j; i, j = i+1, j-1 {
		blocks[i], blocks[j] = blocks[j], blocks[i]
	}
	for i, b := range blocks {
		number[b] = int32(i)
	}
	return blocks, number
}

// joins finds the immediate post-dominator of each branch: the first instruction on all paths from it. It is
// computed as Cooper, Harvey and Kennedy compute dominators ("A Simple, Fast Dominance Algorithm"), on the reversed
// graph. A branch whose paths join only at the exit, or not at all, has none.
func (f *function) joins() {
	g := f.blocks()
	blocks, number := order(g.exit(), g.pred)
	idom := make([]int32, len(g.succ))
	for i := range idom {
		idom[i] = -1
	}
	idom[g.exit()] = g.exit()
	for changed := true; changed; {
		changed = false
		for _, b := range blocks[1:] {
			new := int32(-1)
			for _, s := range g.succ[b] {
				if idom[s] < 0 {
					continue
				}
				if new < 0 {
					new = s
					continue
				}
				x, y := s, new
				for x != y {
					for number[x] > number[y] {
						x = idom[x]
					}
					for number[y] > number[x] {
						y = idom[y]
					}
				}
				new = x
			}
			if idom[b] != new {
				idom[b], changed = new, true
			}
		}
	}
	for b := range g.exit() {
		last := &f.code[g.start[b+1]-1]
		if last.kind != opBranch && last.kind != opIndexed {
			continue
		}
		if d := idom[b]; d >= 0 && d != g.exit() {
			last.join = g.start[d]
		}
	}
}

// registers is a set of the registers of a function: its values, then its predicates.
type registers []uint64

func (s registers) add(i int32)      { s[i/64] |= 1 << (i % 64) }
func (s registers) has(i int32) bool { return s[i/64]>>(i%64)&1 != 0 }

// intersect leaves the registers that t has, too.
func (s registers) intersect(t registers) {
	for i := range s {
		s[i] &= t[i]
	}
}

// definedness is the forward data-flow problem of the registers that were written on every path.
type definedness struct {
	f   *function
	g   *graph
	out []registers // at the end of each block; nil is not known yet, which stands for all registers
}

// mayReadUndefined reports whether some path reads a register that was not written on it. Parameters and constants are
// always defined.
func (f *function) mayReadUndefined() bool {
	g := f.blocks()
	d := &definedness{f: f, g: g, out: make([]registers, len(g.succ))}
	blocks, _ := order(0, g.succ)
	blocks = slices.DeleteFunc(blocks, func(b int32) bool { return b == g.exit() })
	for changed := true; changed; {
		changed = false
		for _, b := range blocks {
			s := d.entry(b)
			for i := g.start[b]; i < g.start[b+1]; i++ {
				d.write(s, &f.code[i])
			}
			if d.out[b] == nil || !slices.Equal(d.out[b], s) {
				d.out[b], changed = s, true
			}
		}
	}
	return slices.ContainsFunc(blocks, d.readsUndefined)
}

// entry is the set at the begin of block b: the registers that all known predecessors have at their end.
func (d *definedness) entry(b int32) registers {
	in := make(registers, (d.f.nvals+d.f.npreds+63)/64)
	if b == 0 {
		return in
	}
	first := true
	for _, p := range d.g.pred[b] {
		switch {
		case d.out[p] == nil:
			continue
		case first:
			copy(in, d.out[p])
		default:
			in.intersect(d.out[p])
		}
		first = false
	}
	return in
}

// write adds the registers that o writes for certain.
func (d *definedness) write(s registers, o *op) {
	if o.guard >= 0 {
		return
	}
	for _, v := range o.defs {
		s.add(v)
	}
	for _, p := range o.pdefs {
		s.add(int32(d.f.nvals) + p)
	}
}

// readsUndefined reports whether an instruction of block b reads a register that is not in the set before it.
func (d *definedness) readsUndefined(b int32) bool {
	s := d.entry(b)
	for i := d.g.start[b]; i < d.g.start[b+1]; i++ {
		o := &d.f.code[i]
		if slices.ContainsFunc(o.uses, func(u int32) bool { return !s.has(u) }) ||
			slices.ContainsFunc(o.puses, func(u int32) bool { return !s.has(int32(d.f.nvals) + u) }) {
			return true
		}
		d.write(s, o)
	}
	return false
}

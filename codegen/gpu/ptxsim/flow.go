package ptxsim

import (
	"slices"

	"healc/codegen/gpu/ptxsim/machine"
)

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

// blocksOf cuts the code at branches and their targets.
func blocksOf(f *machine.Function) *graph {
	n := len(f.Code)
	leader := make([]bool, n+1)
	leader[0] = true
	for i := range f.Code {
		o := &f.Code[i]
		switch o.Kind {
		case machine.OpBranch:
			leader[o.Target], leader[i+1] = true, true
		case machine.OpIndexed:
			for _, t := range o.Targets {
				leader[t] = true
			}
			leader[i+1] = true
		case machine.OpReturn, machine.OpExit, machine.OpTrap:
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
		last := &f.Code[g.start[b+1]-1]
		switch last.Kind {
		case machine.OpBranch:
			edge(b, g.of[last.Target])
			if last.Guard >= 0 {
				edge(b, b+1)
			}
		case machine.OpIndexed:
			for _, t := range last.Targets {
				edge(b, g.of[t])
			}
		case machine.OpReturn, machine.OpExit, machine.OpTrap:
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

// setJoins finds the immediate post-dominator of each branch: the first instruction on all paths from it. It is
// computed as Cooper, Harvey and Kennedy compute dominators ("A Simple, Fast Dominance Algorithm"), on the reversed
// graph. A branch whose paths join only at the exit, or not at all, has none.
func setJoins(f *machine.Function) {
	g := blocksOf(f)
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
		last := &f.Code[g.start[b+1]-1]
		if last.Kind != machine.OpBranch && last.Kind != machine.OpIndexed {
			continue
		}
		if d := idom[b]; d >= 0 && d != g.exit() {
			last.Join = g.start[d]
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
	f   *machine.Function
	g   *graph
	out []registers // at the end of each block; nil is not known yet, which stands for all registers
}

// mayReadUndefined reports whether some path reads a register that was not written on it. Parameters and constants are
// always defined.
func mayReadUndefined(f *machine.Function) bool {
	g := blocksOf(f)
	d := &definedness{f: f, g: g, out: make([]registers, len(g.succ))}
	blocks, _ := order(0, g.succ)
	blocks = slices.DeleteFunc(blocks, func(b int32) bool { return b == g.exit() })
	for changed := true; changed; {
		changed = false
		for _, b := range blocks {
			s := d.entry(b)
			for i := g.start[b]; i < g.start[b+1]; i++ {
				d.write(s, &f.Code[i])
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
	in := make(registers, (d.f.Values+d.f.Predicates+63)/64)
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
func (d *definedness) write(s registers, o *machine.Op) {
	if o.Guard >= 0 {
		return
	}
	for _, v := range o.Defs {
		s.add(v)
	}
	for _, p := range o.PredicateDefs {
		s.add(int32(d.f.Values) + p)
	}
}

// readsUndefined reports whether an instruction of block b reads a register that is not in the set before it.
func (d *definedness) readsUndefined(b int32) bool {
	s := d.entry(b)
	for i := d.g.start[b]; i < d.g.start[b+1]; i++ {
		o := &d.f.Code[i]
		if slices.ContainsFunc(o.Uses, func(u int32) bool { return !s.has(u) }) ||
			slices.ContainsFunc(o.PredicateUses, func(u int32) bool { return !s.has(int32(d.f.Values) + u) }) {
			return true
		}
		d.write(s, o)
	}
	return false
}

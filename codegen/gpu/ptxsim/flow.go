package ptxsim

// This file looks at a function as a graph of basic blocks: where branches meet again, and whether registers are
// written before they are read.

// graph is the basic blocks of a function. Block i is code[start[i]:start[i+1]]; the last one is the way out, empty.
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

// order is the blocks in reverse postorder of a walk from root along next, and the number of each, -1 where the walk
// does not come.
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

// joins finds the immediate post-dominator of each branch: the first instruction that all ways from it come through. It
// is computed as Cooper, Harvey and Kennedy compute dominators ("A Simple, Fast Dominance Algorithm"), on the graph
// turned around. A branch whose ways meet only at the way out, or not at all, has none.
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

// mayReadUndefined says whether there is a way on which a register is read that was not written on it. Parameters and
// constants are always defined.
func (f *function) mayReadUndefined() bool {
	g := f.blocks()
	words := (f.nvals + f.npreds + 63) / 64
	set := func(s []uint64, i int32) { s[i/64] |= 1 << (i % 64) }
	defined := func(s []uint64, i int32) bool { return s[i/64]>>(i%64)&1 != 0 }
	// what a block writes for certain
	writes := func(s []uint64, o *op) {
		if o.guard >= 0 {
			return
		}
		for _, d := range o.defs {
			set(s, d)
		}
		for _, d := range o.pdefs {
			set(s, int32(f.nvals)+d)
		}
	}
	blocks, _ := order(0, g.succ)
	out := make([][]uint64, len(g.succ)) // nil: not known yet, everything
	entry := func(b int32) []uint64 {
		in := make([]uint64, words)
		if b == 0 {
			return in
		}
		first := true
		for _, p := range g.pred[b] {
			if out[p] == nil {
				continue
			}
			for i := range in {
				if first {
					in[i] = out[p][i]
				} else {
					in[i] &= out[p][i]
				}
			}
			first = false
		}
		return in
	}
	for changed := true; changed; {
		changed = false
		for _, b := range blocks {
			if b == g.exit() {
				continue
			}
			s := entry(b)
			for i := g.start[b]; i < g.start[b+1]; i++ {
				writes(s, &f.code[i])
			}
			if out[b] == nil || !equal(out[b], s) {
				out[b], changed = s, true
			}
		}
	}
	for _, b := range blocks {
		if b == g.exit() {
			continue
		}
		s := entry(b)
		for i := g.start[b]; i < g.start[b+1]; i++ {
			o := &f.code[i]
			for _, u := range o.uses {
				if !defined(s, u) {
					return true
				}
			}
			for _, u := range o.puses {
				if !defined(s, int32(f.nvals)+u) {
					return true
				}
			}
			writes(s, o)
		}
	}
	return false
}

func equal(a, b []uint64) bool {
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

package fusion

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// A group is a set of materialised operations that one kernel computes.
type group struct {
	roots []*ir.Op
	epoch int
	reads map[*ir.Value]bool // from memory; true: at the kernel's own index
	order []*ir.Value
	work  float64
	heavy bool            // contains a matrix product
	tiles bool            // one that is made in tiles when it is the only loop (Note [Products stand alone])
	loops bool            // contains loops
	shape types.Shape     // the longest of the results
	deps  map[*ir.Op]bool // materialised operations and steps whose results it reads

	first, last int // positions of its roots in the block
}

// maxRoots bounds the results of a kernel: each is a stream of stores.
const maxRoots = 8

// maxCandidates bounds how far back a kernel is looked for that a new result could join.
const maxCandidates = 16

// groups joins materialised operations into kernels.
//
// Note [Joining]: two results can share a kernel when they have one shape and no effect lies between them,
// when each reads the other, if at all, at its own index, and when no other kernel must run between them.
// They do share it when one reads the other, when both read the same tensor (several reductions of the same
// rows, such as mean and variance), or when both are so small that the launch is what costs.
//
// A result for each row, such as the logarithm of its sum, can share the kernel of one that has every element of the
// rows: its shape is the beginning of the other's. They do when one reads the other at that index and there are rows
// enough for all threads; the kernel is parallel over the rows.
func (p *planner) groups() ([]*group, map[*ir.Op]*group) {
	var all []*group
	of := map[*ir.Op]*group{}
	for i, op := range p.block.Ops {
		if !p.mat[op] {
			continue
		}
		g := &group{
			roots: []*ir.Op{op}, epoch: p.epoch[i], reads: map[*ir.Value]bool{}, deps: map[*ir.Op]bool{},
			work: p.work[op], shape: op.Results[0].Type.Shape, first: i, last: i,
		}
		p.cone(g.roots, func(v *ir.Value) {
			g.read(v, p.reads[op][v]) // false for what only dead code of a region reads
			if p.mine(v) {
				g.deps[v.Def] = true
			}
		}, func(in *ir.Op) {
			g.heavy = g.heavy || in.Def.Class == ir.Contract
			g.tiles = g.tiles || tileLoss(in) > 0
			g.loops = g.loops || loops(in)
		})
		if h, why := p.join(all, of, g); h != nil {
			p.remark("fused %s into %s: %s", p.mention(op.Results[0]), p.mention(h.roots[0].Results[0]), why)
			h.merge(g)
			g = h
		} else {
			all = append(all, g)
		}
		of[op] = g
	}
	return p.bridge(all, of), of
}

func (g *group) read(v *ir.Value, own bool) {
	was, there := g.reads[v]
	if !there {
		g.order = append(g.order, v)
		was = true
	}
	g.reads[v] = was && own
}

func (g *group) merge(h *group) {
	g.roots, g.last = append(g.roots, h.roots...), max(g.last, h.last)
	for _, v := range h.order {
		g.read(v, h.reads[v])
	}
	for op := range h.deps {
		g.deps[op] = true
	}
	if len(h.shape) > len(g.shape) {
		g.shape = h.shape
	}
	g.work += h.work
	g.heavy, g.tiles, g.loops = g.heavy || h.heavy, g.tiles || h.tiles, g.loops || h.loops
}

// join finds an earlier kernel for g, and says why.
func (p *planner) join(all []*group, of map[*ir.Op]*group, g *group) (*group, string) {
	if g.stores() {
		return nil, ""
	}
	if g.roots[0].Def.Class == ir.Rows {
		return nil, "" // its kernel computes rows and nothing beside
	}
	for k := len(all) - 1; k >= max(0, len(all)-maxCandidates); k-- {
		if why := p.gain(all[k], g); why != "" && p.legal(all[k], g, of, cut(all, k)) {
			return all[k], why
		}
	}
	return nil, ""
}

// cut is a position before which nothing waits for kernel k: neither it nor what else has a root behind that position
// has one before it. Kernels are in the order of their first roots, and while the last ones are the candidates, those
// that are no longer among them have all of their roots before the ones that are.
func cut(all []*group, k int) int {
	at := all[k].first
	for j, low := k-1, k; j >= max(0, low-maxCandidates); j-- {
		if all[j].last >= at {
			at, low = all[j].first, j
		}
	}
	return at
}

// gain says why g should be computed in the kernel h, "" when it should not, by what the two are.
func (p *planner) gain(h, g *group) string {
	switch {
	case h.stores() || h.epoch != g.epoch || h.roots[0].Def.Class == ir.Rows || len(h.roots)+len(g.roots) > maxRoots:
		return ""
	case h.tiles && g.loops || g.tiles && h.loops:
		return ""
	case p.oneAfterAnother(h, g) || p.oneAfterAnother(g, h):
		return ""
	case p.readsApart(h, g) || p.readsApart(g, h):
		return ""
	case h.shape.Equal(g.shape) && h.even() && g.even():
		return p.benefit(h, g)
	case rowsOf(h.shape, g.shape):
		return p.rowBenefit(h, g)
	}
	return ""
}

// oneAfterAnother reports that g needs a result of h in a long loop (Note [One after another]).
func (p *planner) oneAfterAnother(h, g *group) bool {
	for _, r := range g.roots {
		for v := range p.within[r] {
			if p.mine(v) && of(h, v.Def) {
				return true
			}
		}
	}
	return false
}

// readsApart reports that g reads what h computes so that no other code has to (Note [Arms]).
func (p *planner) readsApart(h, g *group) bool {
	for _, r := range h.roots {
		for _, v := range r.Results {
			if _, reads := g.reads[v]; reads && p.apart[r] {
				return true
			}
		}
	}
	return false
}

// bridge joins kernels that have something in common since another one joined: the sum of x and the sum of y, when that
// of x*y reads both.
func (p *planner) bridge(all []*group, of map[*ir.Op]*group) []*group {
	for j := len(all) - 1; j > 0; j-- {
		g := all[j]
		if len(g.roots) == 1 || g.stores() || g.roots[0].Def.Class == ir.Rows {
			continue
		}
		for i := j - 1; i >= max(0, j-maxCandidates); i-- {
			h := all[i]
			why := p.gain(h, g)
			if why == "" || !p.legal(h, g, of, 0) || !p.legal(g, h, of, 0) {
				continue
			}
			p.remark("fused %s into %s: %s", p.mention(g.roots[0].Results[0]), p.mention(h.roots[0].Results[0]), why)
			h.merge(g)
			for _, r := range g.roots {
				of[r] = h
			}
			all = append(all[:j], all[j+1:]...)
			break
		}
	}
	return all
}

// stores reports that the kernel of g stores elements in a loop of its own: nothing can join a scan, nor an
// update that may happen in place, because it has no iteration of its own for each element.
func (g *group) stores() bool { return g.roots[0].Def == ops.Scan || replacesFew(g.roots[0]) }

// even reports that all results of g have one shape.
func (g *group) even() bool {
	for _, r := range g.roots {
		if !r.Results[0].Type.Shape.Equal(g.shape) {
			return false
		}
	}
	return true
}

// rowsOf reports that one shape is the other, or a beginning of it that has elements enough for all threads.
func rowsOf(x, y types.Shape) bool {
	n := min(len(x), len(y))
	return x[:n].Equal(y[:n]) && (len(x) == len(y) || n > 0 && elems(x[:n]) >= costs().fewThreads)
}

// rowBenefit says what is gained by computing rows and what belongs to each of them in one kernel.
func (p *planner) rowBenefit(h, g *group) string {
	if h.heavy || g.heavy {
		return ""
	}
	for _, v := range g.order {
		if p.mine(v) && of(h, v.Def) {
			return "it reads that value in the same row"
		}
	}
	return ""
}

// benefit says what is gained by computing g in the kernel h.
func (p *planner) benefit(h, g *group) string {
	for _, v := range g.order {
		if p.mine(v) && of(h, v.Def) {
			return "it reads that value at the same index"
		}
	}
	if h.heavy || g.heavy {
		return ""
	}
	size := elems(g.roots[0].Results[0].Type.Shape)
	for _, v := range g.order {
		if _, both := h.reads[v]; both && elems(v.Type.Shape) > 1 && 2*elems(v.Type.Shape) >= size {
			return "both read " + p.name(v) + " over the same iteration space"
		}
	}
	if h.work+g.work <= costs().launchCost {
		return "same iteration space, and both are small"
	}
	return ""
}

func of(g *group, op *ir.Op) bool {
	for _, r := range g.roots {
		if r == op {
			return true
		}
	}
	return false
}

// legal reports that g can be computed in the kernel h, for which nothing waits before the position from.
func (p *planner) legal(h, g *group, of map[*ir.Op]*group, from int) bool {
	for _, r := range append(append([]*ir.Op{}, h.roots...), g.roots...) {
		for _, v := range r.Results {
			if !rowsOf(v.Type.Shape, h.shape) || !rowsOf(v.Type.Shape, g.shape) {
				return false
			}
		}
	}
	inside := map[*ir.Op]bool{}
	for _, r := range h.roots {
		inside[r] = true
	}
	for _, v := range g.order {
		if p.mine(v) && inside[v.Def] && !g.reads[v] {
			return false
		}
	}
	// Whatever else g waits for must not wait for h.
	seen := map[*ir.Op]bool{}
	var waits func(op *ir.Op) bool
	waits = func(op *ir.Op) bool {
		if seen[op] {
			return false
		}
		seen[op] = true
		if inside[op] {
			return true
		}
		deps := map[*ir.Op]bool{}
		if k := of[op]; k != nil {
			if k.last < from {
				return false
			}
			deps = k.deps
		} else if p.index[op] < from {
			return false
		} else {
			for _, v := range p.usedBy(op) {
				if p.mine(v) {
					deps[v.Def] = true
				}
			}
		}
		for d := range deps {
			if waits(d) {
				return true
			}
		}
		return false
	}
	for d := range g.deps {
		if !inside[d] && waits(d) {
			return false
		}
	}
	return true
}

// cone calls visit for every operation that a kernel with the given roots contains, once each, in no
// particular order. outside is called for every value that it reads from memory.
func (p *planner) cone(roots []*ir.Op, outside func(*ir.Value), visit func(*ir.Op)) {
	inside, seen := map[*ir.Op]bool{}, map[*ir.Value]bool{}
	for _, r := range roots {
		inside[r] = true
	}
	var walk func(op *ir.Op)
	walk = func(op *ir.Op) {
		visit(op)
		for _, v := range p.usedBy(op) {
			if seen[v] {
				continue
			}
			seen[v] = true
			if !p.mine(v) || p.host[p.index[v.Def]] || p.mat[v.Def] && !inside[v.Def] {
				if outside != nil {
					outside(v)
				}
				continue
			}
			if !inside[v.Def] {
				inside[v.Def] = true
				walk(v.Def)
			}
		}
	}
	for _, r := range roots {
		walk(r)
	}
}

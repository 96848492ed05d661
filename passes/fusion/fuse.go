package fusion

import (
	"fmt"
	"slices"
	"sort"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/diag"
)

// An UnexpandedError says that a module has an operation that only its expansion gives a lowering.
type UnexpandedError struct {
	Op      string // as programs write it
	Span    diag.Span
	Unknown bool // there is no expansion, as an extent that decides it is symbolic
}

func (e *UnexpandedError) Error() string {
	if e.Unknown {
		return "`" + e.Op + "` over an extent that is not known when the program is compiled"
	}
	return "fuse does not take " + e.Op + ": pass expand has to run before it"
}

// expanded looks for operations of b that no kernel is made of.
func expanded(b *ir.Block) error {
	var err error
	ir.WalkBlocks(b, func(b *ir.Block) {
		for _, op := range b.Ops {
			if err == nil && op.Def.Expand != nil && !reads(op) {
				err = unexpanded(op)
			}
		}
	})
	return err
}

// unexpanded is the error for op, whether nobody expanded it, or nobody could.
func unexpanded(op *ir.Op) error {
	if op.Def.Regions == 0 && op.Def.Expand(&ir.Builder{Block: &ir.Block{}, Span: op.Span}, op) == nil {
		return &UnexpandedError{op.Def.Spelling(), op.Span, true}
	}
	return &UnexpandedError{Op: op.Def.Name, Span: op.Span}
}

// Fuse puts every computing operation of m into fusion operations. remark, which may be nil, gets one line
// for each decision. It needs a verified module and gives one; the error is a broken one's, or an *UnexpandedError,
// which leaves the module as it was.
func Fuse(m *ir.Module, remark func(format string, args ...any)) error {
	if remark == nil {
		remark = func(string, ...any) {}
	}
	steps, effects := ir.NewSteps(m), ir.NewEffects(m)
	for _, f := range m.Funcs {
		if err := expanded(f.Body); err != nil {
			return err
		}
	}
	for _, f := range m.Funcs {
		if err := privateSources(effects, steps, f.Body); err != nil {
			return fmt.Errorf("fusing %s: %w", f.Name, err)
		}
		dropSources(f)
		names := ir.Names(f)
		changed := map[*ir.Value]bool{}
		for _, k := range f.Updates {
			changed[f.Params()[k]] = true
		}
		if err := fuseBlock(effects, steps, f.Body, names, changed, remark); err != nil {
			return fmt.Errorf("fusing %s: %w", f.Name, err)
		}
	}
	return nil
}

func fuseBlock(effects *ir.Effects, steps *ir.Steps, block *ir.Block, names map[*ir.Value]string,
	changed map[*ir.Value]bool, remark func(string, ...any)) error {
	p := newPlanner(effects, steps, block, names, remark)
	p.changed = changed
	p.plan()
	groups, of := p.groups()
	e := &emitter{p: p, of: of, done: map[*ir.Op]bool{}, now: map[*ir.Value]*ir.Value{}}
	if err := e.emit(groups); err != nil {
		return err
	}
	for _, op := range block.Ops {
		if op.Def == ops.Fusion {
			continue
		}
		for _, r := range op.Regions { // only steps have regions now
			if err := fuseBlock(effects, steps, r, names, nil, remark); err != nil {
				return err
			}
		}
	}
	return nil
}

// An emitter rewrites a block by the decisions of a planner.
type emitter struct {
	p    *planner
	of   map[*ir.Op]*group
	done map[*ir.Op]bool
	made map[*group]bool
	now  map[*ir.Value]*ir.Value // results of kernels, for the values they stand for
	out  []*ir.Op

	readers map[*ir.Value]int  // how many kernels read a value
	wanted  map[*ir.Value]bool // by what is no kernel
}

// emit writes the new operations: in the order of the block, but each after what it reads.
func (e *emitter) emit(groups []*group) error {
	p := e.p
	e.made, e.readers, e.wanted = map[*group]bool{}, map[*ir.Value]int{}, map[*ir.Value]bool{}
	for _, g := range groups {
		for v := range g.reads {
			e.readers[v]++
		}
	}
	for _, v := range p.block.Yields {
		e.wanted[v] = true
	}
	units := make([]*ir.Op, 0, len(p.block.Ops))
	for i, op := range p.block.Ops {
		if p.mat[op] || p.host[i] || p.keep[op] {
			units = append(units, op)
		}
		if p.host[i] || p.keep[op] {
			for _, v := range p.usedBy(op) {
				e.wanted[v] = true
			}
		}
	}
	// What belongs before an effect comes before it, even when only a later kernel is written there.
	sort.SliceStable(units, func(i, j int) bool { return p.epoch[p.index[units[i]]] < p.epoch[p.index[units[j]]] })
	for _, op := range units {
		if err := e.unit(op); err != nil {
			return err
		}
	}
	block := p.block
	block.Ops = e.out
	ir.Replace(block, e.now)
	return nil
}

// unit writes one operation that stays, or the kernel that op belongs to.
func (e *emitter) unit(op *ir.Op) error {
	if e.done[op] {
		return nil
	}
	e.done[op] = true
	p := e.p
	g := e.of[op]
	if g == nil {
		for _, v := range p.usedBy(op) {
			if err := e.before(v); err != nil {
				return err
			}
		}
		e.out = append(e.out, op)
		return nil
	}
	if e.made[g] {
		return nil
	}
	e.made[g] = true
	for _, r := range g.roots {
		e.done[r] = true
	}
	var inside []*ir.Op
	var reads []*ir.Value
	p.cone(g.roots, func(v *ir.Value) { reads = append(reads, v) }, func(in *ir.Op) { inside = append(inside, in) })
	for _, v := range reads {
		if err := e.before(v); err != nil {
			return err
		}
	}
	return e.fusion(g, inside, reads)
}

// before writes what defines v, when that is in the block and not written yet.
func (e *emitter) before(v *ir.Value) error {
	if !e.p.mine(v) {
		return nil
	}
	if op := v.Def; e.p.mat[op] || e.p.host[e.p.index[op]] || e.p.keep[op] {
		return e.unit(op)
	}
	return nil
}

// results lists what the kernel of g writes: what anything outside reads. Of an operation with several results, such as
// a loop with a state, others may stay in the kernel, and so may a value that another result reads at the same index,
// such as the mean of a row beside its variance. What can stop the program is written, so that all of it is computed.
func (e *emitter) results(g *group) []*ir.Value {
	outside := func(v *ir.Value) bool {
		others := e.readers[v]
		if _, reads := g.reads[v]; reads {
			others--
		}
		return e.wanted[v] || others > 0
	}
	var out []*ir.Value
	for _, r := range g.roots {
		all := !slices.ContainsFunc(r.Results, func(v *ir.Value) bool {
			_, reads := g.reads[v]
			return reads || outside(v)
		})
		e.p.cone([]*ir.Op{r}, nil, func(in *ir.Op) { all = all || in.MayFail() })
		for _, v := range r.Results {
			if all || outside(v) {
				out = append(out, v)
			}
		}
	}
	return out
}

// fusion writes the kernel of g.
func (e *emitter) fusion(g *group, inside []*ir.Op, reads []*ir.Value) error {
	p := e.p
	sort.Slice(inside, func(i, j int) bool { return p.index[inside[i]] < p.index[inside[j]] })
	region := &ir.Block{}
	c := ir.NewCloner()
	for _, v := range reads {
		c.Values[v] = region.Param(v.Name, v.Type, v.Span)
	}
	for _, op := range inside {
		cp, err := c.Op(op)
		if err != nil {
			return err
		}
		region.Ops = append(region.Ops, cp)
	}
	results := e.results(g)
	region.Yields = c.ValueList(results)
	b := &ir.Builder{Block: &ir.Block{}, Span: g.roots[0].Span}
	op := b.EmitOp(ops.Fusion, nil, append([]*ir.Value{}, reads...), []*ir.Block{region})
	for i, v := range results {
		op.Results[i].Span = v.Span
		e.now[v] = op.Results[i]
	}
	e.out = append(e.out, op)
	for _, r := range g.roots[1:] {
		p.remark("kernel of %s also writes %s", p.mention(g.roots[0].Results[0]), p.mention(r.Results[0]))
	}
	roots := map[*ir.Op]bool{}
	for _, r := range g.roots {
		roots[r] = true
	}
	for _, op := range inside {
		if roots[op] || isFree(op) || op.Def.Class == ir.Source {
			continue
		}
		why := "its elements are computed where they are read"
		if op.Results[0].Type.Shape.Equal(results[0].Type.Shape) {
			why = "same iteration space"
		}
		p.remark("fused %s into %s: %s", p.mention(op.Results[0]), p.mention(results[0]), why)
	}
	return nil
}

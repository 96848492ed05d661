package fusion

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
)

// privateSources gives each block of steps its own positions and extents, and views of those, where another block has
// them or where they have to be in memory: what a kernel reads is then computed in it, and where an index lies stays
// known. To read them from memory would take longer and would hide that a loop over them counts.
func privateSources(effects *ir.Effects, steps *ir.Steps, block *ir.Block) error {
	p := newPlanner(effects, steps, block, nil, nil)
	inMemory := map[*ir.Value]bool{}
	for _, y := range block.Yields {
		inMemory[y] = true
	}
	for i, op := range block.Ops {
		if p.host[i] {
			for _, a := range op.Args {
				inMemory[a] = true
			}
		}
	}
	// away reports that something in the chain of a source is not the block's alone.
	away := func(v *ir.Value) bool {
		for p.mine(v) && !inMemory[v] {
			if len(v.Def.Args) == 0 {
				return false
			}
			v = v.Def.Args[0]
		}
		return true
	}
	var out []*ir.Op
	c := ir.NewCloner()
	for i, op := range block.Ops {
		if p.host[i] {
			for _, r := range op.Regions {
				if err := privateSources(effects, steps, r); err != nil {
					return err
				}
			}
		} else if !isFree(op) {
			own := map[*ir.Value]*ir.Value{}
			for _, v := range p.usedBy(op) {
				if !isSource(v) || !away(v) {
					continue
				}
				for chain := chainOf(v, c.Values); len(chain) > 0; chain = chain[1:] {
					cp, err := c.Op(chain[0])
					if err != nil {
						return err
					}
					out = append(out, cp)
				}
				own[v] = c.Values[v]
			}
			replaceUses(op, own)
		}
		out = append(out, op)
	}
	block.Ops = out
	return nil
}

// isSource reports that v is made of nothing: positions or an extent, perhaps seen through views.
func isSource(v *ir.Value) bool {
	for v.Def != nil && v.Def.Def.Traits.Has(ir.View) {
		v = v.Def.Args[0]
	}
	return v.Def != nil && v.Def.Def.Class == ir.Source && v.Def.Def != ops.Const
}

// chainOf are the operations that make the source v, in order, but those that are done.
func chainOf(v *ir.Value, done map[*ir.Value]*ir.Value) []*ir.Op {
	var chain []*ir.Op
	for done[v] == nil {
		chain = append(chain, v.Def)
		if len(v.Def.Args) == 0 {
			break
		}
		v = v.Def.Args[0]
	}
	slices.Reverse(chain)
	return chain
}

// replaceUses lets op, and what is in its regions, use other values.
func replaceUses(op *ir.Op, by map[*ir.Value]*ir.Value) {
	if len(by) == 0 {
		return
	}
	replace := func(vs []*ir.Value) {
		for i, v := range vs {
			if w := by[v]; w != nil {
				vs[i] = w
			}
		}
	}
	replace(op.Args)
	for _, r := range op.Regions {
		ir.WalkBlocks(r, func(b *ir.Block) {
			for _, in := range b.Ops {
				replace(in.Args)
			}
			replace(b.Yields)
		})
	}
}

// dropSources removes the sources of a block of steps that nothing reads any more.
func dropSources(f *ir.Func) {
	uses := ir.Uses(f.Body)
	var blocks []*ir.Block
	ir.WalkBlocks(f.Body, func(b *ir.Block) { blocks = append(blocks, b) })
	for _, b := range slices.Backward(blocks) { // inner ones first, which read those of outer ones
		for i := len(b.Ops) - 1; i >= 0; i-- {
			op := b.Ops[i]
			if len(op.Results) != 1 || !isSource(op.Results[0]) || len(uses[op.Results[0]]) > 0 {
				continue
			}
			b.Ops = slices.Delete(b.Ops, i, i+1)
			for _, a := range op.Args {
				uses[a] = uses[a][1:]
			}
		}
	}
}

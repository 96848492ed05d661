package transform

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
)

// DeadCode removes the statements of a block, and of the blocks in it, whose values nothing reads. Checks, calls and
// stores stay. The scalars in live are read behind the block.
func DeadCode(b *kernel.Block, live ...kernel.Ref) {
	d := deadCode{}
	for _, r := range live {
		d[r] = true
	}
	d.block(b)
}

// deadCode has the scalars that are read behind the statement that is looked at.
type deadCode map[kernel.Ref]bool

// block goes backwards: what a statement reads is marked before the statements that define it are looked at. The
// blocks of a statement come after its own reads, which are their results.
func (d deadCode) block(b *kernel.Block) {
	var kept []kernel.Stmt
	for _, st := range slices.Backward(b.Stmts) {
		needed := false
		kernel.Visitor{Define: func(r *kernel.Ref) { needed = needed || d[*r] }}.Stmt(st)
		if !needed && !hasEffect(st) {
			continue
		}
		kernel.Visitor{Read: func(r *kernel.Ref) { d[*r] = true }}.Stmt(st)
		kernel.Visitor{Block: d.block}.Stmt(st)
		kept = append(kept, st)
	}
	slices.Reverse(kept)
	b.Stmts = kept
}

// hasEffect reports that a statement, or one inside of it, does more than to give a value.
func hasEffect(st kernel.Stmt) bool {
	switch st := st.(type) {
	case *kernel.Store, *kernel.Call, *kernel.Transform, *kernel.Sort:
		return true
	case *kernel.Let:
		return st.In.Op == scalar.Check
	}
	found := false
	kernel.Visitor{Block: func(b *kernel.Block) { found = found || slices.ContainsFunc(b.Stmts, hasEffect) }}.Stmt(st)
	return found
}

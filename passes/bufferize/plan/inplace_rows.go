package plan

import (
	"slices"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/passes/bufferize/lower"
	"healc/runtime/abi"
)

// reuseRows lets output o of a kernel, which is r and is worked on in memory, have the buffer of an operand that
// nothing reads afterwards and that the kernel only copies into it: what is left is the work on the rows. It is
// a part of Note [In place].
func (fn *function) reuseRows(r *ir.Value, l *abi.Launch, k *kernel.Kernel, o int, later []abi.Step) bool {
	for i, in := range k.Params[:k.Buffers()] {
		buffer := l.Args[i]
		if in.Out || !fn.free(buffer) || !fn.dense(buffer, r) || mentioned(later, buffer) {
			continue
		}
		p, must := fn.updates[r]
		if must && p != buffer || !must && fn.plan.Buffers[buffer].Kind == abi.Input {
			continue // r has to end elsewhere, or the caller would see it
		}
		block, at := copyLoop(k, i, o)
		if block == nil {
			continue
		}
		block.Stmts = slices.Delete(block.Stmts, at, at+1)
		old := l.Args[o]
		l.Args[o], k.Params[o].Name = buffer, in.Name
		merge(k, l, o, i)
		if i < o {
			o--
		}
		k.Params[o].InPlace = false
		l.Work, l.Bytes = operationsOf(k), bytesOf(k)
		fn.moved(r, old, buffer)
		return true
	}
	return false
}

// copyLoop finds the loop that does nothing but store each element of parameter i in the same place of output o.
// The block is nil when there is none, or when parameter i is read elsewhere, too.
func copyLoop(k *kernel.Kernel, i, o int) (block *kernel.Block, at int) {
	loads := 0
	var walk func(b *kernel.Block)
	walk = func(b *kernel.Block) {
		for n, st := range b.Stmts {
			if l, ok := st.(*kernel.Load); ok && l.Param == i {
				loads++
			}
			if t, ok := st.(*kernel.Transform); ok && slices.ContainsFunc(t.Reads(), func(l *kernel.Line) bool {
				return l.Param == i
			}) {
				loads++
			}
			if s, ok := st.(*kernel.Sort); ok && s.Source.Param == i {
				loads++
			}
			if loop, ok := st.(*kernel.Loop); ok && len(loop.IDs) == 0 && len(loop.Body.Stmts) == 2 {
				from, ok1 := loop.Body.Stmts[0].(*kernel.Load)
				to, ok2 := loop.Body.Stmts[1].(*kernel.Store)
				if ok1 && ok2 && from.Param == i && to.Param == o && to.Val == from.ID &&
					lower.AccessKey(from.At) == lower.AccessKey(to.At) {
					block, at = b, n
				}
			}
			kernel.Visitor{Block: walk}.Stmt(st)
		}
	}
	walk(k.Body)
	if loads != 1 {
		return nil, 0
	}
	return block, at
}

// beneath are the operands that the results of op, a kernel of rows, may lie in: panels of rows read all that they need
// before they write (Panel of ir.OpDef). A result has what the operand of its number is computed from, if that is a
// tensor in memory of which the kernel reads the elements of the panel alone and that nothing needs afterwards; at is
// where op stands in the block.
func (fn *function) beneath(op *ir.Op, block *ir.Block, at int) []*ir.Value {
	out := make([]*ir.Value, len(op.Results))
	if op.Def != ops.Fusion && op.Def.Rows == nil {
		return out
	}
	n := fn.nestOf(op)
	row := lower.RowOp(n.Block)
	if row == nil || row.Def.Panel == nil || row.Def.Panel(row) == 1 {
		return out
	}
	params := n.Block.Params
	if op == row {
		params = op.Args
	}
	for k, p := range params {
		x := op.Args[k]
		for x.Def != nil && x.Def.Def == ops.Reshape {
			x = x.Def.Args[0]
		}
		uses := 0
		for _, a := range op.Args {
			if viewed(a) == x {
				uses++
			}
		}
		if x.Def == nil || uses != 1 || fn.uses.block[x] != block || fn.uses.last[x] != at {
			continue
		}
		same := elementsOf(p, n.Block, row)
		for i, y := range n.Block.Yields {
			if out[i] == nil && same[row.Args[y.Index]] && x.Type.Elem == y.Type.Elem {
				out[i] = x
				break
			}
		}
	}
	return out
}

// elementsOf are the values that are computed from p element by element; none if anything else is, but row.
func elementsOf(p *ir.Value, block *ir.Block, row *ir.Op) map[*ir.Value]bool {
	same := map[*ir.Value]bool{p: true}
	for _, in := range block.Ops {
		reads := slices.ContainsFunc(in.Args, func(a *ir.Value) bool { return same[a] })
		tables := slices.ContainsFunc(in.Args[min(max(in.Def.Tables, 1), len(in.Args)):],
			func(a *ir.Value) bool { return same[a] })
		switch {
		case len(in.Regions) > 0, in == row && tables, in != row && reads && in.Def != ops.Reshape &&
			in.Def.Class != ir.Pointwise:
			return nil
		case reads && in != row:
			for _, r := range in.Results {
				same[r] = true
			}
		}
	}
	return same
}

// reserveBeneath chooses the buffer of v, which block computes, for what v is made of, too, where it may lie in that.
func (fn *function) reserveBeneath(v *ir.Value, block *ir.Block, mine map[*ir.Op]bool) {
	for {
		x := fn.beneath(v.Def, block, slices.Index(block.Ops, v.Def))[v.Index]
		if x == nil || !mine[x.Def] || !fillsBuffer(x.Def) {
			return
		}
		if _, there := fn.target[x]; there {
			return
		}
		fn.target[x] = fn.target[v]
		v = x
	}
}

// allocateRows gives results of a kernel of rows their buffers, those of operands where they may lie there.
func (fn *function) allocateRows(op *ir.Op) []int {
	var out []int
	beneath := fn.beneath(op, fn.current, fn.at)
	for i, r := range op.Results {
		x := beneath[i]
		w, ok := fn.views[x]
		to, chosen := fn.target[r]
		switch {
		case !ok || !w.Offset.IsConst(0) || chosen && to != w.Buffer:
		case chosen || fn.free(w.Buffer) && fn.plan.Buffers[w.Buffer].Kind == abi.Temp && fn.dense(w.Buffer, x):
			fn.views[r] = lower.Whole(w.Buffer, r.Type.Shape)
			out = append(out, w.Buffer)
			continue
		}
		out = append(out, fn.allocate(r))
	}
	return out
}

package plan

import (
	"slices"

	"healc/ir"
	"healc/ir/kernel"
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

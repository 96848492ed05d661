package plan

import (
	"slices"

	"fmt"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/ir/ops"
	"healc/lang/types"
	"healc/passes/bufferize/lower"
	"healc/runtime/abi"
)

// Launch implements lower.Plan: it gives a kernel its name, finishes it, and appends the step that runs it.
func (fn *function) Launch(n *lower.Nest, k *kernel.Kernel, buffers map[string]int) {
	k.Name = fmt.Sprintf("k%d_%s", len(fn.u.out.Kernels), n.Name)
	k.Notes = notes(n.Block, fn.u.src.Home())
	transform.Run(transform.Build, k, fn.u.passes)
	var args []int
	for _, p := range k.Params[:k.Buffers()] {
		args = append(args, buffers[p.Name])
	}
	fn.u.out.Kernels = append(fn.u.out.Kernels, k)
	l := &abi.Launch{Kernel: k.Name, Args: args, Outer: abi.Extent{Dim: types.Lit(1)}}
	l.Work, l.Bytes, l.Open = operationsOf(k), bytesOf(k), open(k)
	if len(k.Axes) > 0 {
		l.Outer = k.Axes[0].Extent
	}
	fn.stepFor(abi.Step{Launch: l}, n.Home())
}

// notes lists what went into a kernel, for `healc explain`: the operation, and its line in the file called home, or in
// another.
func notes(block *ir.Block, home string) []kernel.Note {
	var out []kernel.Note
	for _, op := range block.Ops {
		note := kernel.Note{Op: op.Def.Name, At: op.Span}
		if op.Span.Valid() {
			note.Where = op.Span.Line(home)
		}
		out = append(out, note)
	}
	return out
}

// nestOf starts the kernels of one fusion operation, or of a single operation that stands alone.
func (fn *function) nestOf(op *ir.Op) *lower.Nest {
	n := &lower.Nest{Block: &ir.Block{Ops: []*ir.Op{op}, Yields: op.Results}, Name: fn.src.Name}
	if op.Def == ops.Fusion {
		n.Block = op.Regions[0]
		n.Args = map[*ir.Value]*ir.Value{}
		for i, p := range n.Block.Params {
			n.Args[p] = op.Args[i]
		}
	}
	return n
}

// fuse lowers one fusion operation, or a single operation that stands alone.
func (fn *function) fuse(op *ir.Op) {
	n := fn.nestOf(op)
	if row := lower.RowOp(n.Block); row != nil {
		buffers := slices.Repeat([]int{-1}, len(row.Results))
		for i, buffer := range fn.allocateRows(op) {
			buffers[n.Block.Yields[i].Index] = buffer
		}
		n.EmitRows(fn, row, buffers)
		return
	}
	n.SplitReductions(fn)
	done := make([]bool, len(op.Results))
	fn.scans(n, op, done)
	for i := range op.Results {
		if !done[i] {
			fn.fuseShape(n, op, done, i)
		}
	}
}

// fuseShape writes one kernel for the results of op from i on that are not done and have its shape, and for those that
// have its first axes only. A result without elements has no kernel, so it takes none that has elements into its own.
func (fn *function) fuseShape(n *lower.Nest, op *ir.Op, done []bool, i int) {
	n.Shape, n.Outs = op.Results[i].Type.Shape, nil
	for j := i; j < len(op.Results); j++ {
		if s := op.Results[j].Type.Shape; !done[j] && len(op.Results[i].Type.Shape) > 0 && len(s) > len(n.Shape) &&
			s[:len(n.Shape)].Equal(n.Shape) && !lower.Empty(s[len(n.Shape):]) {
			n.Shape = s
		}
	}
	for j := i; j < len(op.Results); j++ {
		r := op.Results[j]
		rank := r.Type.Rank()
		if done[j] || rank > len(n.Shape) || rank == 0 && len(n.Shape) > 0 || !r.Type.Shape.Equal(n.Shape[:rank]) {
			continue
		}
		done[j] = true
		n.Outs = append(n.Outs, lower.Output{Buffer: fn.allocate(r), Value: n.Block.Yields[j], Rank: rank})
	}
	n.Emit(fn)
}

// scans writes a kernel for every scan whose results the block of n yields, and marks these results.
func (fn *function) scans(n *lower.Nest, op *ir.Op, done []bool) {
	for i, y := range n.Block.Yields {
		if done[i] || y.Def == nil || y.Def.Def != ops.Scan {
			continue
		}
		scan := y.Def
		buffers := make([][]int, len(scan.Results))
		for j, z := range n.Block.Yields {
			if z.Def == scan && j < len(op.Results) {
				done[j] = true
				buffers[z.Index] = append(buffers[z.Index], fn.allocate(op.Results[j]))
			}
		}
		n.EmitScan(fn, scan, buffers)
	}
}

// materialise writes a value that is no view of a buffer into buffer.
func (fn *function) materialise(v *ir.Value, buffer int) {
	block := &ir.Block{}
	if v.Def != nil {
		block.Ops = []*ir.Op{v.Def}
	}
	n := &lower.Nest{Block: block, Shape: v.Type.Shape, Name: fn.src.Name,
		Outs: []lower.Output{{Buffer: buffer, Value: v, Rank: v.Type.Rank()}}}
	n.Emit(fn)
}

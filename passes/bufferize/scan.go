package bufferize

import (
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
)

// scans writes a kernel for every scan whose results the block of n yields, and marks these results. The
// rows are the parallel axes; a sequential loop goes along the last axis and stores every accumulator.
func (fn *function) scans(n nest, op *ir.Op, done []bool) {
	for i, y := range n.block.Yields {
		if done[i] || y.Def == nil || y.Def.Def != ops.Scan {
			continue
		}
		scan := y.Def
		buffers := make([][]int, len(scan.Results))
		for j, z := range n.block.Yields {
			if z.Def == scan && j < len(op.Results) {
				done[j] = true
				buffers[z.Index] = append(buffers[z.Index], fn.allocate(op.Results[j]))
			}
		}
		shape := scan.Results[0].Type.Shape
		if shape[len(shape)-1].IsConst(0) {
			continue
		}
		n.shape, n.outs = shape[:len(shape)-1], nil
		n.write = func(b *body, at []kernel.Ref) { b.scan(scan, at, buffers) }
		fn.emit(n)
	}
}

// scan writes the accumulators of one row into the buffers of each result.
func (b *body) scan(op *ir.Op, row []kernel.Ref, buffers [][]int) {
	shape := op.Results[0].Type.Shape
	strides := rowMajor(shape)
	extent := shape[len(shape)-1]
	store := func(i kernel.Ref, acc []kernel.Ref) {
		for k, list := range buffers {
			for _, buffer := range list {
				b.store(buffer, strides, append(append([]kernel.Ref{}, row...), i), acc[k])
			}
		}
	}
	run := func() {
		b.op = op
		start, skipped := ops.ScanStart(b, op, row)
		if skipped > 0 {
			store(b.E().Int(types.I64, 0), start)
		}
		b.loop(extent, skipped, start, func(i kernel.Ref, acc []kernel.Ref) []kernel.Ref {
			next := ops.ScanStep(b, op, row, i, acc)
			store(i, next)
			return next
		})
	}
	if op.Flag("init") || !maybeEmpty([]types.Dim{extent}) {
		run()
		return
	}
	// The first element is there only if there is one at all.
	some := b.E().Min(b.Extent(extent), b.E().Int(types.I64, 1))
	b.Iterate(some, nil, func(kernel.Ref, []kernel.Ref) ([]kernel.Ref, kernel.Ref) {
		run()
		return nil, scalar.None
	})
}

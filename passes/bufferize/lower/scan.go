package lower

import (
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
)

// EmitScan writes a kernel for a scan, whose results it stores into buffers, any number for each. The rows are the
// parallel axes; a sequential loop goes along the last axis and stores every accumulator.
func (n Nest) EmitScan(p Plan, scan *ir.Op, buffers [][]int) {
	shape := scan.Results[0].Type.Shape
	if shape[len(shape)-1].IsConst(0) {
		return
	}
	n.Shape, n.Outs = shape[:len(shape)-1], nil
	n.write = func(b *body, at []kernel.Ref) { b.scan(scan, at, buffers) }
	n.Emit(p)
}

// scan writes the accumulators of one row into the buffers of each result.
func (b *body) scan(op *ir.Op, row []kernel.Ref, buffers [][]int) {
	shape := op.Results[0].Type.Shape
	strides := RowMajor(shape)
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
	if op.Flag("init") || !MaybeEmpty([]types.Dim{extent}) {
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

package plan

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
	"healc/passes/bufferize/lower"
	"healc/runtime/abi"
)

// Note [Compact arguments]
//
// Elements whose stride is known when the program runs are loaded one by one. So an argument of unknown strides that
// several kernels read, or one that would copy its rows, as those of transforms do, is copied first, when it is small:
// the kernels load vectors then, and are the same as those for row-major arguments, so that code for both is generated
// once. Larger ones stay where they are, because a copy that no cache holds costs more than it saves.

// compactMost is how many bytes an argument may have that is copied.
const compactMost = 1 << 20

// compact copies the parameters of unknown strides for which that pays.
func (fn *function) compact(strides [][]types.Dim) {
	for i, p := range fn.src.Params() {
		if i >= len(strides) || !slices.ContainsFunc(strides[i], unknown) || !smallTensor(p.Type) ||
			slices.Contains(fn.src.Updates, int64(i)) || readers(fn.src.Body, p) < 2 {
			continue
		}
		to := fn.newBuffer(abi.Temp, p.Type)
		fn.materialise(p, to)
		fn.views[p] = lower.Whole(to, p.Type.Shape)
	}
}

func unknown(stride types.Dim) bool {
	_, known := stride.Const()
	return !known
}

func smallTensor(t types.Tensor) bool {
	size, err := t.Shape.Elems()
	n, known := size.Const()
	return err == nil && known && n*int64(t.Elem.Bytes()) <= compactMost
}

// transforms reports that a fusion is a transform of a parameter, or by it.
func transforms(b *ir.Block, param int) bool {
	row := lower.RowOp(b)
	return row != nil && (row.Def == ops.Ntt || row.Def == ops.Intt) &&
		slices.ContainsFunc(row.Args, func(a *ir.Value) bool { return viewed(a) == b.Params[param] })
}

// readers is how many operations of a block read p, perhaps through views. Those of a loop may do so often.
func readers(b *ir.Block, p *ir.Value) int {
	n := 0
	for _, op := range b.Ops {
		if op.Def.Traits.Has(ir.View) {
			continue
		}
		for i, a := range op.Args {
			if viewed(a) == p {
				n++
				if op.Def == ops.Fusion && transforms(op.Regions[0], i) {
					n++ // a copy takes the place of those of its rows
				}
				break
			}
		}
		for _, r := range op.Regions {
			n += readers(r, p)
			if op.IsLoop() {
				n += readers(r, p)
			}
		}
	}
	return n
}

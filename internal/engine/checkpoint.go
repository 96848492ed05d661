package engine

import (
	"crypto/sha256"
	"fmt"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// begin says to the file that keeps states what is called. A sharded argument counts with its type and shape alone:
// each rank may have its part.
func (f *Func) begin(args []*tensor.Tensor) error {
	file := f.m.opts.Checkpoint
	if file == nil {
		return nil
	}
	sum := sha256.New()
	fmt.Fprintln(sum, f.m.Identity, f.Signature())
	for i, t := range args {
		if t == nil {
			continue // which is said elsewhere
		}
		fmt.Fprintln(sum, types.Of(t.DType, f.WholeShape(i, t)...))
		if f.memory.ParamAxis(i) < 0 {
			fmt.Fprintln(sum, checksum(t))
		}
	}
	return file.Begin(f.m.opts.Cluster, fmt.Sprintf("%x", sum.Sum(nil)))
}

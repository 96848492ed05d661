package bufferize

import (
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/lang/types"
	"healc/passes/bufferize/lower"
	"healc/passes/bufferize/plan"
)

// An Error says that a legal program asks for something that cannot be lowered, and where.
type Error = lower.Error

// Options of Lower.
type Options struct {
	// InputStrides are the strides of the entry's parameters, in elements; nil, for one or for all, is row-major.
	// They may be shape parameters of their own, which are added to the function's in the order in which they come.
	InputStrides [][]types.Dim
	// Teams says that threads share what one iteration of a kernel's axes does, as on devices.
	Teams bool
}

// Lower turns the function entry of m, and what it calls, into kernels and a plan. m is not changed. The error is an
// *Error: a legal program that asks for something that cannot be lowered.
func Lower(m *ir.Module, entry string, opts Options) (*kernel.Module, error) {
	passes := transform.Options{Teams: opts.Teams}
	out, err := plan.Build(m, entry, opts.InputStrides, passes)
	if err != nil {
		return nil, err
	}
	for _, k := range out.Kernels {
		transform.Run(transform.Planned, k, passes)
	}
	tellEdges(out)
	return out, nil
}

// ConstantStrides are strides that are known.
func ConstantStrides(strides [][]int64) [][]types.Dim {
	out := make([][]types.Dim, len(strides))
	for i, list := range strides {
		if list == nil {
			continue
		}
		out[i] = make([]types.Dim, len(list))
		for k, n := range list {
			out[i][k] = types.Lit(n)
		}
	}
	return out
}

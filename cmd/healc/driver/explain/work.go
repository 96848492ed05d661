package explain

import (
	"healc/ir/kernel"
	"healc/runtime/abi"
)

// Balance is the number of operations a byte below which the model says that memory limits a kernel: see balance.
const Balance = balance

// Work is what one launch of a kernel does, for those who show it otherwise than Program. Numbers are for Sample as the
// value of every shape parameter that is not known, which Known says there is none of; the texts have these parameters.
type Work struct {
	Reads, Writes, Operations             float64 // bytes, bytes, scalar operations
	ReadsText, WritesText, OperationsText string
	Known                                 bool
	Calls                                 []string // recursive functions, whose operations are not counted
	Limit                                 string   // "" where nothing can be said
}

// Sample is the value that shape parameters are given where one number is needed.
const Sample = sample

// WorkOf counts the work of a kernel.
func WorkOf(k *kernel.Kernel) Work {
	c := measureKernel(k)
	reads, writes := cost{}, cost{}
	for i := range k.Params[:k.Buffers()] {
		reads, writes = reads.plus(c.reads[i]), writes.plus(c.writes[i])
	}
	w := Work{Reads: reads.at(), Writes: writes.at(), Operations: c.ops.at(), ReadsText: reads.inBytes(),
		WritesText: writes.inBytes(), OperationsText: c.ops.String(), Calls: c.calls,
		Known: reads.isNumber() && writes.isNumber() && c.ops.isNumber()}
	if bytes := w.Reads + w.Writes; len(c.calls) == 0 && bytes > 0 {
		w.Limit = limitOf(w.Operations / bytes)
	}
	return w
}

// Live is how many bytes of temporary buffers are alive in each step of f, in the order of abi.Buffer.First, with
// Sample as the value of shape parameters.
func Live(f *abi.Function) []float64 {
	steps := 0
	walkSteps(f.Steps, func(*abi.Step) { steps++ })
	out := make([]float64, steps)
	for i := range f.Buffers {
		b := &f.Buffers[i]
		if b.Kind != abi.Temp {
			continue
		}
		bytes := bufferCost(b).at()
		for at := max(b.First, 0); at <= b.Last && at < steps; at++ {
			out[at] += bytes
		}
	}
	return out
}

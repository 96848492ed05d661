package bufferize

import (
	"healc/ir/kernel"
	"healc/lang/types"
)

// An output is streamed past the caches when it would not be found there: the kernel's buffers, which pass through
// the caches while it runs, are larger than what a core can call its own, and the output is no small part of them.
// On a Xeon with 2 MiB of second-level cache and a share of a large third level, copying f32 arrays with
// streaming stores takes 1.04 of the time of plain ones at 8 MiB each, 0.9 at 16 MiB and 0.5 to 0.7 from 32 MiB on.
const (
	streamTraffic = 32 << 20 // bytes of all buffers of the kernel
	streamOutput  = 4 << 20  // bytes of the output
)

// markStreams sets Param.Stream where it pays. Sizes that depend on shape parameters are not known, and such
// outputs stay as they are.
func markStreams(m *kernel.Module) {
	for _, k := range m.Kernels {
		sum := int64(0)
		for i := range k.Params {
			n, _ := bytesOf(&k.Params[i])
			sum = min(sum+n, 1<<62)
		}
		if sum < streamTraffic {
			continue
		}
		for i := range k.Params {
			p := &k.Params[i]
			n, known := bytesOf(p)
			p.Stream = known && n >= streamOutput && p.Out && !p.Work && !p.InPlace && !p.Local
		}
	}
}

// bytesOf is the size of a buffer, capped at 2^61; 0 and false when it is not known.
func bytesOf(p *kernel.Param) (int64, bool) {
	n := int64(p.DType.Bytes())
	for _, e := range p.Shape {
		c, ok := e.Dim.Const()
		if !ok {
			return 0, false
		}
		if e.Div > 1 {
			c = (c + e.Div - 1) / e.Div
		}
		if c > types.MaxExtent || n > 1<<61/max(c, 1) {
			return 1 << 61, true
		}
		n *= c
	}
	return n, true
}

package bufferize

import (
	"healc/ir/kernel"
	"healc/lang/types"
)

// markStreams sets Param.Stream where it may pay: for the outputs whose size, and the size of all of the kernel's
// buffers, is large enough or depends on shape parameters. The kernel compares the latter when it runs.
func markStreams(m *kernel.Module) {
	for _, k := range m.Kernels {
		sum, symbolic := int64(0), false
		for i := range k.Params {
			n, known := bytesOf(&k.Params[i])
			sum, symbolic = min(sum+n, 1<<62), symbolic || !known
		}
		if sum < kernel.StreamTraffic && !symbolic {
			continue
		}
		for i := range k.Params {
			p := &k.Params[i]
			n, known := bytesOf(p)
			p.Stream = (n >= kernel.StreamOutput || !known) && p.Out && !p.Work && !p.InPlace && !p.Local
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

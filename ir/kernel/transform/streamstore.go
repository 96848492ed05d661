package transform

import (
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/lang/types"
)

// StreamStores marks the outputs that code generation may write past the caches (kernel.Param.Stream): those whose
// size, and the size of all buffers of the kernel, is large or depends on shape parameters. In the latter case the
// kernel compares sizes when it runs. Outputs that the kernel reads, too, and its own memory are never marked.
func StreamStores(k *kernel.Kernel) {
	sum, symbolic := int64(0), false
	for i := range k.Params {
		n, known := sizeBytes(&k.Params[i])
		sum, symbolic = min(sum+n, 1<<62), symbolic || !known
	}
	if sum < int64(profile.Base().Plan.StreamTraffic) && !symbolic {
		return
	}
	for i := range k.Params {
		p := &k.Params[i]
		n, known := sizeBytes(p)
		large := n >= int64(profile.Base().Plan.StreamOutput) || !known
		p.Stream = large && p.OnlyWritten()
	}
}

// Moved is the size of the buffers of a kernel, at most 2^62, and of those of them that it only writes; not known where
// one depends on shape parameters. Its own memory does not count.
func Moved(params []kernel.Param) (all, written int64, known bool) {
	for i := range params {
		p := &params[i]
		if p.Work || p.Local {
			continue
		}
		n, ok := sizeBytes(p)
		if !ok {
			return 0, 0, false
		}
		all = min(all+n, 1<<62)
		if p.OnlyWritten() {
			written = min(written+n, 1<<62)
		}
	}
	return all, written, true
}

// sizeBytes is the size of a buffer, at most 2^61; 0 and false when it depends on shape parameters.
func sizeBytes(p *kernel.Param) (int64, bool) {
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

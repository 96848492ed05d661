package engine

import (
	"fmt"

	"healc/internal/backend"
	"healc/internal/pipeline"
	"healc/lang/types"
	"healc/runtime/cluster"
	"healc/runtime/exchange"
	"healc/runtime/tensor"
)

// Note [Arguments in parts]. Arguments and results of a call are whole on every rank. The command line has no use for
// that: it reads files and writes them, and a tensor may be larger than the memory of a machine. So for it there is a
// form of a function of which every rank gives its part of each sharded argument, and gets its part of each sharded
// result.

// Whole is an argument of which a rank gives its part.
type Whole struct {
	Shape []int64 // of all parts together; nil: the argument is whole
	Sum   string  // tells its values from others, on each rank alike
}

// parts are what a function has that is called with parts.
type parts struct {
	code *pipeline.Module
	args []Whole
}

// HasParts reports whether the function can be called with parts of its sharded arguments: on several ranks, where
// kernels of processors run and all tensors are row-major.
func (f *Func) HasParts() bool {
	return cluster.Many(f.m.opts.Cluster) && f.m.opts.Backend == backend.CPU && f.memory.IsSharded() &&
		f.memory.IsUsual() && !f.m.opts.Debug.AnyShape
}

// OfParts is the function for a call with parts of arguments, which HasParts; see Note [Arguments in parts].
func (f *Func) OfParts(args []Whole) *Func {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	key := fmt.Sprint(f.ir.Name, " of parts ", args, f.given) // no name of a function has spaces
	if g := f.m.funcs[key]; g != nil {
		return g
	}
	code := f.m.Cut(pipeline.CutOf(f.ir, f.memory))
	g := &Func{m: f.m, ir: f.ir, memory: f.memory, given: f.given, parts: &parts{code, args}}
	f.m.funcs[key] = g
	return g
}

// compiler is what compiles the function.
func (f *Func) compiler() *pipeline.Module {
	if f.parts != nil {
		return f.parts.code
	}
	return f.m.Module
}

// WholeShape is the shape of argument i, of all ranks together.
func (f *Func) WholeShape(i int, t *tensor.Tensor) []int64 {
	if f.parts != nil && i < len(f.parts.args) && f.parts.args[i].Shape != nil {
		return f.parts.args[i].Shape
	}
	return t.Shape
}

// Block is which elements of an axis of this extent the rank has: those from lo on and before hi.
func (m *Module) Block(extent int64) (lo, hi int64) {
	c := m.opts.Cluster
	return exchange.CutFor(extent, c.Size()).Of(c.Rank())
}

// Result is result k of a call with parts: its layout on this rank, and the shape of the whole; a nil shape says that
// this rank has all of it.
func (f *Func) Result(k int, args []*tensor.Tensor) (exchange.Layout, []int64) {
	axis := f.memory.ResultAxis(k)
	shape, ok := f.resultShape(k, args)
	if f.parts == nil || axis < 0 || !ok {
		return exchange.Layout{}, nil
	}
	blocks := exchange.CutFor(shape[axis], f.m.opts.Cluster.Size())
	return exchange.LayoutOf(int64(axis), blocks, shape, int64(f.ir.Results[k].Elem.Bytes())), shape
}

// Gather is the tensor of which each rank has a part that lies so.
func (m *Module) Gather(l exchange.Layout, shape []int64, part *tensor.Tensor) (*tensor.Tensor, error) {
	dense, err := part.Contiguous()
	if err != nil {
		return nil, err
	}
	defer dense.Close()
	whole, err := tensor.New(part.DType, shape...)
	if err != nil {
		return nil, err
	}
	if err := exchange.Gather(m.opts.Cluster, l, dense.Raw(), whole.Raw()); err != nil {
		whole.Close()
		return nil, err
	}
	return whole, nil
}

// described is what ranks compare of argument i: its kind, and where values are asked for what tells these from others.
func (f *Func) described(i int, t *tensor.Tensor, values bool) (kind, sum string) {
	if t == nil {
		return "none", ""
	}
	kind = types.Of(t.DType, f.WholeShape(i, t)...).String()
	switch {
	case !values:
	case f.parts != nil && f.parts.args[i].Shape != nil:
		sum = f.parts.args[i].Sum
	default:
		sum = checksum(t)
	}
	return kind, sum
}

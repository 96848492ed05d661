package keval

import (
	"fmt"
	"slices"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/cluster"
)

// A Failure is a run-time error of the program, such as an index out of range.
type Failure struct {
	Site    abi.Site
	Info    [2]int64
	Message string // of input and output
}

func (f *Failure) Error() string {
	if f.Message != "" {
		return f.Message
	}
	return fmt.Sprintf("%s in %s at line %d: %d, %d", f.Site.Kind, f.Site.Op, f.Site.Line, f.Info[0], f.Info[1])
}

// run is one execution of a program.
type run struct {
	m       *kernel.Module
	dims    map[string]int64
	sys     ir.System
	kernels map[string]*kernel.Kernel
	funcs   map[string]*kernel.Func
	depth   int // how many functions of the plan are active, the entry not counted
	nested  int // how many scalar functions
}

// activation is one call of a function of the plan.
type activation struct {
	r    *run
	fn   *abi.Function
	mem  []*memory
	step int // the number of the current step, in pre-order
}

// Run executes the plan of m and gives its results, and after them what its `&mut` parameters then hold. dims are its
// free shape parameters. The error is a *Failure when the program fails; any other is a bug in the plan or in a kernel.
func Run(m *kernel.Module, dims map[string]int64, args []*ir.Array, sys ir.System) (out []*ir.Array, err error) {
	r := &run{m: m, dims: dims, sys: sys, kernels: map[string]*kernel.Kernel{}, funcs: map[string]*kernel.Func{},
		depth: -1}
	for _, k := range m.Kernels {
		r.kernels[k.Name] = k
	}
	for _, f := range m.Funcs {
		r.funcs[f.Name] = f
	}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case bug:
			out, err = nil, fmt.Errorf("keval: %s", p.msg)
		case *Failure:
			out, err = nil, p
		default:
			panic(p)
		}
	}()
	return r.call(m.Plan.Funcs[0], args), nil
}

func (r *run) call(fn *abi.Function, args []*ir.Array) []*ir.Array {
	r.depth++
	defer func() { r.depth-- }()
	f := &activation{r: r, fn: fn, mem: make([]*memory, len(fn.Buffers))}
	for i := range fn.Buffers {
		f.mem[i] = r.allocate(&fn.Buffers[i])
	}
	for i, p := range fn.Params {
		f.mem[p].fill(args[i])
	}
	f.steps(fn.Steps)
	var out []*ir.Array
	for _, v := range fn.Results {
		if fn.Buffers[v.Buffer].Kind == abi.Temp {
			fail("a result lies in the arena")
		}
		out = append(out, f.array(v))
	}
	for _, b := range fn.Updates {
		t := &fn.Buffers[b]
		v := abi.View{Buffer: b, Strides: make([]types.Dim, len(t.Shape))}
		for _, e := range t.Shape {
			v.Shape = append(v.Shape, e.Dim)
		}
		size := types.Lit(1)
		for k := len(t.Shape) - 1; k >= 0; k-- {
			v.Strides[k] = size
			if t.Strides != nil {
				v.Strides[k] = t.Strides[k]
			}
			size = types.Lit(r.dim(size) * r.dim(v.Shape[k]))
		}
		out = append(out, f.array(v))
	}
	return out
}

func (f *activation) steps(steps []abi.Step) {
	for i := range steps {
		f.check()
		f.one(&steps[i])
	}
}

// check forgets what lies in the arena and is not alive.
func (f *activation) check() {
	for i := range f.fn.Buffers {
		if b := &f.fn.Buffers[i]; b.Kind == abi.Temp && (f.step < b.First || f.step > b.Last) {
			f.mem[i].forget()
		}
	}
}

// write notes that the current step writes a buffer.
func (f *activation) write(buffer int) {
	switch b := &f.fn.Buffers[buffer]; {
	case b.Kind == abi.Input && !slices.Contains(f.fn.Updates, buffer) || b.Kind == abi.Data:
		fail("a step writes an input or a constant")
	case b.Kind == abi.Temp && (f.step < b.First || f.step > b.Last):
		fail("a step writes a buffer that is not alive")
	}
}

// skip counts the steps that are not taken.
func (f *activation) skip(steps []abi.Step) {
	for _, s := range steps {
		f.step++
		if s.If != nil {
			f.skip(s.If.Then)
			f.skip(s.If.Else)
		}
		if s.Loop != nil {
			f.skip(s.Loop.Body)
		}
	}
}

// loop runs the body of a loop; the steps in it have the same numbers every time.
func (f *activation) loop(l *abi.Loop) {
	count := int64(int32(f.mem[l.Count].get(0)))
	f.step++
	begin := f.step
	for i := int64(0); i < count; i++ {
		f.step = begin
		if l.Index >= 0 {
			f.mem[l.Index].set(0, uint64(uint32(i)))
		}
		f.steps(l.Body)
		for _, s := range l.Swap {
			f.mem[s[0]], f.mem[s[1]] = f.mem[s[1]], f.mem[s[0]]
		}
		if l.Until >= 0 && f.mem[l.Until].get(0) != 0 {
			break
		}
	}
	f.step = begin
	f.skip(l.Body)
}

func (f *activation) one(s *abi.Step) {
	r := f.r
	switch {
	case s.Launch != nil:
		k := r.kernels[s.Launch.Kernel]
		if k == nil {
			fail("there is no kernel %s", s.Launch.Kernel)
		}
		if len(s.Launch.Args) != k.Buffers() {
			fail("kernel %s has %d parameters, and is launched with %d buffers", k.Name, k.Buffers(),
				len(s.Launch.Args))
		}
		e := &exec{r: r, types: k.Types, params: k.Params, fresh: map[place]bool{}}
		for i, b := range s.Launch.Args {
			if k.Params[i].Out {
				f.write(b)
			}
			e.bufs = append(e.bufs, f.mem[b])
		}
		for _, p := range k.Params[k.Buffers():] {
			e.bufs = append(e.bufs, r.allocate(&abi.Buffer{Kind: abi.Temp, DType: p.DType, Shape: p.Shape}))
		}
		e.kernel(k, r.extent(s.Launch.Outer))
		f.step++
	case s.Host != nil:
		f.host(s.Host)
		f.step++
	case s.Copy != nil:
		f.write(s.Copy.To)
		f.mem[s.Copy.To].fill(f.array(s.Copy.From))
		f.step++
	case s.Call != nil:
		if r.depth >= abi.MaxCallDepth {
			panic(&Failure{Site: r.m.Sites[s.Call.Site]})
		}
		var args []*ir.Array
		for _, v := range s.Call.Args {
			args = append(args, f.array(v))
		}
		for i, a := range r.call(r.m.Plan.Funcs[s.Call.Func], args) {
			f.write(s.Call.Out[i])
			f.mem[s.Call.Out[i]].fill(a)
		}
		f.step++
	case s.Fail != nil:
		for _, d := range s.Fail.Where {
			if r.dim(d) < 1 {
				f.step++
				return
			}
		}
		panic(&Failure{Site: r.m.Sites[s.Fail.Site].With(r.dims)})
	case s.Loop != nil:
		f.loop(s.Loop)
	case s.If != nil:
		cond := f.mem[s.If.Cond].get(0)
		f.step++
		if cond != 0 {
			f.steps(s.If.Then)
			f.skip(s.If.Else)
		} else {
			f.skip(s.If.Then)
			f.steps(s.If.Else)
		}
	default:
		fail("an empty step")
	}
}

// host does input or output by the reference meaning of the operation.
func (f *activation) host(h *abi.HostCall) {
	var args []*ir.Array
	for _, v := range h.Args {
		args = append(args, f.array(v))
	}
	if h.Name == ops.LoadNpy.Name {
		a, err := f.r.sys.LoadNpy(args[0].Str)
		if err == nil && a.DType.String() != h.Attrs["dtype"] {
			err = fmt.Errorf("%s: the elements are %s, not %s", args[0].Str, a.DType, h.Attrs["dtype"])
		}
		if err != nil {
			panic(&Failure{Site: f.r.m.Sites[h.Site], Message: err.Error()})
		}
		f.write(h.Out[0])
		f.mem[h.Out[0]].fill(a)
		return
	}
	def, attrs := ir.Lookup(h.Name), ir.A{}
	for _, a := range def.Attrs {
		if a.Kind != ir.AttrStr {
			fail("%s has an attribute that is no text", h.Name)
		}
		attrs[a.Name] = h.Attrs[a.Name]
	}
	out, err := def.Eval(outside{f.r.sys}, &ir.Op{Def: def, Attrs: def.MakeAttrs(attrs)}, args)
	if err != nil {
		panic(&Failure{Site: f.r.m.Sites[h.Site], Message: err.Error()})
	}
	for i, b := range h.Out {
		f.write(b)
		f.mem[b].fill(out[i])
	}
}

// outside is the context of the operations of the host.
type outside struct{ sys ir.System }

func (o outside) System() ir.System     { return o.sys }
func (o outside) Cluster() cluster.Comm { return nil }
func (o outside) Ended() error          { return nil }
func (o outside) Dim(types.Dim) int64 {
	panic(bug{"an operation of the host reads a dim"})
}
func (o outside) Region(*ir.Op, int, ...*ir.Array) ([]*ir.Array, error) {
	panic(bug{"an operation of the host has a region"})
}
func (o outside) Call(*ir.Op, string, []int64, []*ir.Array) ([]*ir.Array, error) {
	panic(bug{"an operation of the host calls a function"})
}
func (o outside) Fail(*ir.Op, scalar.CheckKind, ...int64) error {
	panic(bug{"an operation of the host checks an index"})
}

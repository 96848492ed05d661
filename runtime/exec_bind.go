package runtime

import (
	"math/bits"
	"slices"
	"sort"
	"sync"
	"sync/atomic"
	"unsafe"

	"healc/codegen/target/profile"
	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/device"
	"healc/runtime/memory"
)

// binding is a plan with all extents evaluated and every buffer placed.
type binding struct {
	dims  []int64
	funcs []*boundFunc
}

// dimsPtr is what kernels get as `dims`.
func (b *binding) dimsPtr() *int64 {
	if len(b.dims) == 0 {
		return nil
	}
	return &b.dims[0]
}

func (b *binding) release() {
	for _, f := range b.funcs {
		if fr := f.spare.Swap(nil); fr != nil {
			fr.release()
		}
		f.mu.Lock()
		for _, fr := range f.idle {
			fr.release()
		}
		for _, fr := range f.idleOn {
			fr.release()
		}
		f.idle, f.bare, f.idleOn = nil, nil, nil
		f.mu.Unlock()
	}
}

// boundFunc is a function of a plan with its extents evaluated.
type boundFunc struct {
	def     *abi.Function
	bind    map[string]int64
	bufs    []boundBuffer
	arena   int64 // bytes
	steps   []boundStep
	data    []unsafe.Pointer // of Data buffers, by buffer
	results []boundView
	simple  bool // the results are whole outputs, each its own
	brief   bool // it ends before another thread could help

	dev      *memory.Device // nil: the host
	dataOn   []device.Ptr   // of Data buffers on the device, by buffer
	scratch  int64          // the most scratch memory that a kernel needs on the device
	numbered int            // how many steps have a number
	idleOn   []*deviceFrame // with their memory

	spare atomic.Pointer[frame] // one with its arena, which most calls find here
	mu    sync.Mutex
	idle  []*frame // others with their arenas
	bare  []*frame // without
}

type boundBuffer struct {
	kind    abi.BufferKind
	dtype   types.DType
	shape   []int64
	strides []int64 // of inputs
	bytes   int64
	offset  int64 // in the arena, for Temp
}

type boundStep struct {
	def       *abi.Step
	code      kernelCode
	outer     int64
	grain     int64 // fewest indices worth a thread
	rouse     int64 // fewest indices worth waking a thread that sleeps
	long      int64 // indices of a piece that can be stopped
	align     int64
	then, els []boundStep // arms of an if; the body of a loop is the first
	views     []boundView // what a Copy, a Call or a HostCall reads
	fails     bool        // it is a Fail, for these values of the shape parameters
	until     int         // of an exchange in halves, the step of its list at which the second half is due; 0: at once
	inner     span        // of the launch at which it is: what needs nothing of it

	launches []boundLaunch // of a kernel on a device
	number   int           // of the step among those of the function, on a device
	segment  int           // how many steps, from this one on, can be a graph (Note [Graphs])
	aside    *hostStep     // a HostCall on a device
}

func newBinding(x *Executable, dims []int64) (*binding, error) {
	bind, err := bindDims(x.plan, dims)
	if err != nil {
		return nil, err
	}
	b := &binding{dims: append([]int64(nil), dims...)}
	for _, def := range x.plan.Funcs {
		f, err := bindBuffers(def, bind)
		if err != nil {
			return nil, err
		}
		f.dev = x.dev
		if err := f.constants(x); err != nil {
			return nil, err
		}
		if f.steps, err = f.bindSteps(x, def.Steps, nil); err != nil {
			return nil, err
		}
		if f.results, err = f.bindViews(def.Results); err != nil {
			return nil, err
		}
		f.simple, f.brief = f.wholeOutputs(), f.isBrief()
		b.funcs = append(b.funcs, f)
	}
	return b, nil
}

// constants gives constant data memory, on the host or the device: once, as it is the same for all extents.
func (f *boundFunc) constants(x *Executable) error {
	if x.dev != nil {
		return f.constantsOn(x)
	}
	f.data = make([]unsafe.Pointer, len(f.bufs))
	for i, b := range f.bufs {
		if b.kind != abi.Data || b.dtype == types.String {
			continue
		}
		def := &f.def.Buffers[i]
		if x.data[def] == nil {
			s, err := memory.New(max(b.bytes, 1))
			if err != nil {
				return f.noRoom(err, abi.Data)
			}
			copy(unsafe.Slice((*byte)(s.Ptr()), b.bytes), def.Bytes)
			x.data[def] = s
		}
		f.data[i] = x.data[def].Ptr()
	}
	return nil
}

func (f *boundFunc) extent(e abi.Extent) (int64, error) {
	n, err := e.Dim.Eval(f.bind)
	if err != nil {
		return 0, err
	}
	if e.Div > 1 {
		n = (n + e.Div - 1) / e.Div
	}
	if n < 0 || e.Guarded && n > types.MaxExtent {
		return 0, nil
	}
	return n, nil
}

// fails reports whether a Fail step stops the program.
func (f *boundFunc) fails(s *abi.Fail) (bool, error) {
	ns, err := f.dimsOf(s.Where)
	return err == nil && !slices.ContainsFunc(ns, func(n int64) bool { return n < 1 }), err
}

func (f *boundFunc) dimsOf(ds []types.Dim) ([]int64, error) {
	out := make([]int64, len(ds))
	for i, d := range ds {
		n, err := d.Eval(f.bind)
		if err != nil {
			return nil, err
		}
		out[i] = n
	}
	return out, nil
}

func (f *boundFunc) bindBuffer(b *abi.Buffer) (boundBuffer, error) {
	out := boundBuffer{kind: b.Kind, dtype: b.DType}
	for _, e := range b.Shape {
		x, err := f.extent(e)
		if err != nil {
			return out, err
		}
		out.shape = append(out.shape, x)
	}
	n := int64(1)
	if slices.Contains(out.shape, 0) {
		n = 0 // whatever the other extents make
	}
	for _, x := range out.shape {
		hi, lo := bits.Mul64(uint64(n), uint64(x))
		if hi != 0 || lo >= 1<<60 {
			return out, &memory.OutOfMemoryError{Bytes: 1<<63 - 1}
		}
		n = int64(lo)
	}
	out.bytes = n * int64(b.DType.Bytes())
	var err error
	if b.Strides != nil {
		out.strides, err = f.dimsOf(b.Strides)
	} else {
		out.strides = memory.RowMajor(out.shape)
	}
	return out, err
}

// place gives every Temp its offset in the arena: largest first, each at the lowest place where it meets no
// buffer that is alive at the same time (first fit by decreasing size).
func (f *boundFunc) place() error {
	var ids []int
	for i := range f.bufs {
		if f.bufs[i].kind == abi.Temp {
			ids = append(ids, i)
		}
	}
	sort.SliceStable(ids, func(a, b int) bool { return f.bufs[ids[a]].bytes > f.bufs[ids[b]].bytes })
	var placed []int
	for _, id := range ids {
		b, d := &f.bufs[id], &f.def.Buffers[id]
		// an empty tensor has an address too
		size := max(b.bytes+memory.Alignment-1, memory.Alignment) &^ (memory.Alignment - 1)
		var busy []int
		for _, p := range placed {
			o := &f.def.Buffers[p]
			if o.First <= d.Last && d.First <= o.Last {
				busy = append(busy, p)
			}
		}
		sort.Slice(busy, func(i, j int) bool { return f.bufs[busy[i]].offset < f.bufs[busy[j]].offset })
		at := int64(0)
		for _, p := range busy {
			if f.bufs[p].offset >= at+size {
				break
			}
			at = max(at, (f.bufs[p].offset+f.bufs[p].bytes+memory.Alignment-1)&^(memory.Alignment-1))
		}
		b.offset = at
		placed = append(placed, id)
		if at > 1<<62-size {
			return &memory.OutOfMemoryError{Bytes: 1<<63 - 1}
		}
		f.arena = max(f.arena, at+size)
	}
	return nil
}

func (f *boundFunc) bindSteps(x *Executable, steps []abi.Step, handed []int) ([]boundStep, error) {
	out := make([]boundStep, len(steps))
	for i := range steps {
		out[i].def = &steps[i]
		if err := f.bindStep(x, &out[i]); err != nil {
			return nil, err
		}
	}
	f.bindHalves(out, handed)
	if x.dev != nil {
		for i := range out {
			f.numbered++
			out[i].number = f.numbered
		}
		f.segments(out)
	}
	return out, nil
}

// bindStep evaluates what the definition of a step says, and the steps inside it.
func (f *boundFunc) bindStep(x *Executable, s *boundStep) (err error) {
	switch d := s.def; {
	case d.Launch != nil && x.dev != nil:
		err = f.bindKernel(x, s)
	case d.Launch != nil:
		err = f.bindLaunch(x, s)
	case d.Copy != nil:
		s.views, err = f.bindViews([]abi.View{d.Copy.From})
	case d.Call != nil:
		s.views, err = f.bindViews(d.Call.Args)
	case d.Host != nil:
		if s.views, err = f.bindViews(d.Host.Args); err == nil && x.dev != nil {
			s.aside = f.hostStep(s)
		}
	case d.Fail != nil:
		s.fails, err = f.fails(d.Fail)
	case d.Loop != nil:
		s.then, err = f.bindSteps(x, d.Loop.Body, d.Loop.Handed())
	case d.If != nil:
		if s.then, err = f.bindSteps(x, d.If.Then, nil); err == nil {
			s.els, err = f.bindSteps(x, d.If.Else, nil)
		}
	}
	return err
}

// bindLaunch finds the machine code of a kernel and evaluates how far its outermost axis goes.
func (f *boundFunc) bindLaunch(x *Executable, s *boundStep) error {
	l := s.def.Launch
	n, err := f.extent(l.Outer)
	if err != nil {
		return err
	}
	if l.Tasks > 0 {
		n = l.Tasks
	}
	s.code, s.outer = x.fns[l.Kernel], n
	threads := &profile.Host().Profile.Threads
	if s.long = 1; !l.Open {
		s.long = l.Within(stopTime, threads)
	}
	s.grain, s.rouse, s.align = l.Grain(threads), l.Rouse(threads), max(l.Align, 1)
	return nil
}

// isBrief reports whether the function is nothing but kernels that take less than a region costs, all together.
func (f *boundFunc) isBrief() bool {
	threads := &profile.Host().Profile.Threads
	left := abi.RegionTime(threads)
	for i := range f.steps {
		s := &f.steps[i]
		if s.def.Launch == nil || s.def.Launch.Open || s.outer >= s.grain {
			return false
		}
		if left -= s.outer * s.def.Launch.IndexTime(threads); left < 0 {
			return false
		}
	}
	return true
}

// wholeOutputs reports whether every result is a whole Output buffer, no two the same.
func (f *boundFunc) wholeOutputs() bool {
	seen := map[int]bool{}
	for i := range f.results {
		v := &f.results[i]
		if b := &f.bufs[v.buf]; b.kind != abi.Output || b.dtype == types.String || seen[v.buf] || !v.whole {
			return false
		}
		seen[v.buf] = true
	}
	return true
}

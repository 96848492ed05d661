package runtime

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"unsafe"

	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/checkpoint"
	"healc/runtime/cluster"
	"healc/runtime/collective"
	"healc/runtime/device"
	"healc/runtime/jitinfo"
	"healc/runtime/memory"
	"healc/runtime/objload"
	"healc/runtime/pool"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
	"healc/runtime/trace"
)

// Executable is a compiled program that is ready to run: its plan, its machine code in memory, and its
// constant data. It may be called by several goroutines at once.
type Executable struct {
	plan   *abi.Program
	images []*objload.Image
	forget []func() // of what profilers and debuggers were told about them
	fns    map[string]kernelCode
	data   map[*abi.Buffer]*memory.Storage // constant buffers of all functions; held by mu

	away func(env Env, dims []int64, args []*tensor.Tensor) ([]*tensor.Tensor, error) // nil: it runs on this processor

	dev     *memory.Device // nil: it runs on the host
	module  device.Module
	entries map[string]device.Function

	closed atomic.Bool // of one on a device

	mu   sync.Mutex              // held by who changes last
	last atomic.Pointer[binding] // of the most recent dims; the only one when the program has none
}

// System is the world outside, as programs see it. A call whose context ends waits for no file that is being read.
type System interface {
	Print(text string) error
	LoadNpy(path string) (*tensor.Tensor, error)
	SaveNpy(path string, t *tensor.Tensor) error
}

// NpyPartLoader is a System that can read a part of a file without the others.
type NpyPartLoader interface {
	// LoadNpyPart reads the part of the tensor in a .npy file that cut asks for.
	LoadNpyPart(path string, cut tensorfile.Cut) (*tensor.Tensor, error)
}

// LoadNpyPart reads a part of a file by a system, which may have to read all of it.
func LoadNpyPart(s System, path string, cut tensorfile.Cut) (*tensor.Tensor, error) {
	switch s := s.(type) {
	case NpyPartLoader:
		return s.LoadNpyPart(path, cut)
	case OS:
		return s.loadNpyPart(path, cut)
	}
	t, err := s.LoadNpy(path)
	if err != nil {
		return nil, err
	}
	defer t.Close()
	return tensorfile.PartOf(t, cut)
}

// ImageSaver is a System that writes pictures.
type ImageSaver interface {
	SaveImage(path string, form tensorfile.Image, t *tensor.Tensor) error
}

// SaveImage writes a picture by a system, which may know none.
func SaveImage(s System, path string, form tensorfile.Image, t *tensor.Tensor) error {
	if s, ok := s.(ImageSaver); ok {
		return s.SaveImage(path, form, t)
	}
	return fmt.Errorf("cannot write %s: the System of this program, a %T, writes no pictures: it has no method "+
		"SaveImage", path, s)
}

// FileSharer is a System whose files the ranks of a program write together.
type FileSharer interface {
	// SharedFiles is nil where rank 0 writes what was gathered, by SaveNpy.
	SharedFiles() collective.Files
}

// SharedFiles are those of a system: of the plain file system, and of one that says so.
func SharedFiles(s System) collective.Files {
	switch s := s.(type) {
	case FileSharer:
		return s.SharedFiles()
	case OS:
		return sharedFiles{s}
	}
	return nil
}

// Env is what a call runs in.
type Env struct {
	Ctx    context.Context // its end ends the call, with a *StoppedError; nil for none
	System System          // nil: standard output and the file system
	Pool   *pool.Pool      // nil: one thread
	Limits Limits
	// Cluster are the ranks of the program, of which this call is a part on each; nil: there is one.
	Cluster cluster.Comm
	// Checkpoint keeps the states of loops that are compiled so that they can be gone on with; nil for none.
	Checkpoint *checkpoint.File
	// Places says where the results are wanted, by number: on the device of the executable, in unified memory of it,
	// or, as all that it does not name, on the host.
	Places []types.Place
	// Trace records the steps of the call. On a device each is waited for, so that it has its time. nil: nothing does.
	Trace *trace.Recorder
	// Counts adds up calls and kernels; on a device calls alone. nil: nothing does.
	Counts *trace.Counts
	// Labels gives the goroutines that run kernels the labels heal_function and heal_kernel (runtime/pprof).
	Labels bool

	// Now is told what the call is at, where it runs on the host; nil for nobody.
	Now *trace.Now

	outside context.Context // Ctx as the caller gave it
}

// complete gives the fields that are not set their meaning. A context that cannot end is none.
func (env *Env) complete() {
	if env.System == nil {
		env.System = OS{}
	}
	env.outside = env.Ctx
	if env.Ctx != nil && env.Ctx.Done() == nil {
		env.Ctx = nil
	}
}

// RuntimeError is a failure of the program that runs: an index, a division, a fold of nothing, input or output.
type RuntimeError struct {
	Site    abi.Site
	Message string
	Err     error // what caused it, for input and output
	Step    int64 // how many steps had been begun, on the host; 0 where that is not known
}

func (e *RuntimeError) Error() string {
	return e.Site.Locate(e.Message)
}

// Unwrap returns the cause.
func (e *RuntimeError) Unwrap() error { return e.Err }

// ArgumentError says which argument of a function does not fit it.
type ArgumentError struct {
	Func    string // the signature of the function
	Message string
	Err     error // what is wrong with a tensor that cannot be used, as tensor.ErrClosed; nil for what does not fit
}

func (e *ArgumentError) Error() string { return e.Func + ": " + e.Message }

// Unwrap returns the cause.
func (e *ArgumentError) Unwrap() error { return e.Err }

// ErrClosed is in the error of a call whose module is closed.
var ErrClosed = errors.New("its module is closed")

// Load makes a program ready to run. objects are the ELF objects with its kernels.
func Load(plan *abi.Program, objects ...[]byte) (*Executable, error) {
	x := &Executable{plan: plan, fns: map[string]kernelCode{}, data: map[*abi.Buffer]*memory.Storage{}}
	to, err := jitinfo.Default()
	if err != nil {
		return nil, err
	}
	for _, object := range objects {
		img, err := objload.Load(object, objload.Options{Inspect: to != nil})
		if err != nil {
			x.Close()
			if errors.Is(err, syscall.ENOMEM) { // also where the system has no more maps for the process
				err = &memory.OutOfMemoryError{Bytes: int64(len(object)), Err: err}
			}
			return nil, err
		}
		x.images = append(x.images, img)
		if to != nil {
			forget, err := to.Loaded(described(plan, img))
			if err != nil {
				x.Close()
				return nil, err
			}
			x.forget = append(x.forget, forget)
		}
	}
	for _, f := range plan.Funcs {
		if err := x.prepare(f.Steps); err != nil {
			x.Close()
			return nil, err
		}
	}
	return x, nil
}

// described is what profilers and debuggers are told about code: heal.FUNCTION.KERNEL, as in libraries.
func described(plan *abi.Program, img *objload.Image) jitinfo.Code {
	code := jitinfo.Code{File: img.File()}
	for _, f := range img.Functions() {
		name := "heal." + plan.Funcs[0].Name + "." + f.Name
		code.Functions = append(code.Functions, jitinfo.Function{Name: name, Addr: f.Addr, Size: f.Size})
	}
	return code
}

// prepare finds the kernels that steps launch.
func (x *Executable) prepare(steps []abi.Step) error {
	for _, s := range steps {
		switch {
		case s.Launch != nil:
			name := s.Launch.Kernel
			for _, img := range x.images {
				if addr, _ := img.Symbol(name); addr != 0 {
					x.fns[name] = kernelCode{img, addr}
				}
			}
			if x.fns[name].fn == 0 {
				return fmt.Errorf("the compiled code has no kernel %q", name)
			}
		case s.Loop != nil:
			if err := x.prepare(s.Loop.Body); err != nil {
				return err
			}
		case s.If != nil:
			if err := x.prepare(s.If.Then); err != nil {
				return err
			}
			if err := x.prepare(s.If.Else); err != nil {
				return err
			}
		}
	}
	return nil
}

// Share is another executable with the code of x, and with memory of its own: for other values of the shape parameters,
// so that they need not take turns. It is closed before x.
func (x *Executable) Share() *Executable {
	return &Executable{plan: x.plan, fns: x.fns, data: map[*abi.Buffer]*memory.Storage{}, away: x.away, dev: x.dev,
		entries: x.entries}
}

// CodeBytes is the memory that the machine code takes on the host.
func (x *Executable) CodeBytes() int64 {
	n := 0
	for _, img := range x.images {
		n += img.SizeBytes()
	}
	return int64(n)
}

// Plan is the plan that the executable runs.
func (x *Executable) Plan() *abi.Program { return x.plan }

// Close frees the machine code. No call may be running; what calls that were stopped have left on a device may use the
// code, which is freed when that has ended.
func (x *Executable) Close() {
	if x.dev == nil {
		x.free()
		return
	}
	x.closed.Store(true)
	x.dev.WhenDone(func() {
		if x.mu.TryLock() {
			x.mu.Unlock()
			x.free()
			return
		}
		go x.free() // a call that was stopped still binds extents
	})
}

func (x *Executable) free() {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, forget := range x.forget {
		forget()
	}
	x.forget = nil
	for _, img := range x.images {
		img.Close()
	}
	x.images = nil
	if b := x.last.Swap(nil); b != nil {
		b.release()
	}
	for _, s := range x.data {
		s.Release()
	}
	x.data = nil
	if x.module != nil {
		_ = x.module.Close() // a device that is lost does not unload it, and it is gone with the device
		x.module = nil
	}
}

// Call runs the entry with the given arguments. dims are the values of the program's free shape
// parameters, in order. Arguments must have the dtype, extents and strides that the plan declares; those of an
// executable on a device may be on the host or on that device. The
// results belong to the caller. A failure of the program is a *RuntimeError.
func (x *Executable) Call(env Env, dims []int64, args ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	if x.away != nil {
		return x.away(env, dims, args)
	}
	env.complete()
	b, err := x.bindUntil(env.Ctx, dims)
	if err != nil {
		return nil, err
	}
	if x.dev != nil {
		return x.callOn(env, b, args)
	}
	if !b.funcs[0].brief {
		env.Pool.Enter()
		defer env.Pool.Leave()
	}
	return b.funcs[0].run(x, &env, b, args)
}

// bindUntil is bind as long as ctx lasts, where that is not nil: constants go to the device.
func (x *Executable) bindUntil(ctx context.Context, dims []int64) (*binding, error) {
	if x.dev == nil || ctx == nil {
		return x.bind(dims)
	}
	if b := x.last.Load(); b != nil && slices.Equal(b.dims, dims) {
		return b, nil
	}
	kept := slices.Clone(dims) // the caller's, and the work may outlast the call
	return Before(ctx, 0, func() (*binding, error) { return x.bind(kept) }, nil)
}

// bind evaluates all extents for the given dims.
func (x *Executable) bind(dims []int64) (*binding, error) {
	if b := x.last.Load(); b != nil && slices.Equal(b.dims, dims) && !x.closed.Load() {
		return b, nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.closed.Load() {
		return nil, fmt.Errorf("the code of %s is closed", x.plan.Name)
	}
	if b := x.last.Load(); b != nil && slices.Equal(b.dims, dims) {
		return b, nil
	}
	b, err := newBinding(x, dims)
	if err != nil {
		return nil, err
	}
	// An older binding may still be in use by a call; the collector frees its idle frames.
	x.last.Store(b)
	return b, nil
}

// run is one call of a program.
type run struct {
	x   *Executable
	env Env
	b   *binding

	stop  *stopper // nil: no kernel had need of it so far
	trace *traced  // nil: nothing is recorded
	half  halfDone // an exchange that has begun
	begun int64    // steps
	taken int64    // steps, where there is a limit
	bytes int64    // of tensors
}

// kernelCode is where a kernel is.
type kernelCode struct {
	image *objload.Image
	fn    uintptr
}

// run executes a function that the outside calls. The environment is large: it is copied once, to the frame.
func (f *boundFunc) run(x *Executable, env *Env, b *binding, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	if err := f.check(args); err != nil {
		return nil, err
	}
	bytes, err := env.Limits.take(0, f)
	if err != nil {
		return nil, err
	}
	fr, err := f.frame()
	if err != nil {
		return nil, err
	}
	defer f.recycle(fr)
	fr.takeArgs(args)
	if err := fr.outputs(); err != nil {
		return nil, err
	}
	if err := fr.execute(x, env, b, bytes); err != nil {
		return nil, err
	}
	if f.simple { // every result is a whole Output of its own
		out := make([]*tensor.Tensor, len(f.results))
		for i := range f.results {
			b := f.results[i].buf
			out[i], fr.tensors[b] = fr.tensors[b], nil
		}
		return out, nil
	}
	return fr.results()
}

// execute runs the steps of the function that the outside calls. The tensors of the call have so many bytes.
func (fr *frame) execute(x *Executable, env *Env, b *binding, bytes int64) (err error) {
	r := &fr.run
	r.x, r.env, r.b, r.bytes, r.begun, r.half = x, *env, b, bytes, 0, halfDone{}
	if r.trace = beginTrace(env, fr.f); r.trace != nil {
		defer r.trace.end(&err)
	}
	err = r.finish(r.do(fr, fr.f.steps, 0))
	if failure, ok := err.(*RuntimeError); ok {
		failure.Step = r.begun
	}
	return err
}

// do runs a list of steps in order.
func (r *run) do(fr *frame, steps []boundStep, depth int) error {
	for i := range steps {
		s := &steps[i]
		r.begun++
		if r.counts() {
			if err := r.count(); err != nil {
				return err
			}
		}
		var err error
		due := r.half.step != nil && i == r.half.step.until
		if r.trace == nil {
			err = r.step(fr, s, due, depth)
		} else {
			err = r.trace.step(s, r.b.funcs, func() error { return r.step(fr, s, due, depth) })
		}
		if err != nil {
			return err
		}
	}
	if r.half.step != nil && r.half.step.until == len(steps) {
		return r.end()
	}
	return nil
}

// step runs one step. due: the exchange that has begun ends before it.
func (r *run) step(fr *frame, s *boundStep, due bool, depth int) (err error) {
	if due && s.inner == (span{}) {
		err, due = r.end(), false
	}
	switch {
	case err != nil:
	case due:
		err = r.around(fr, s)
	case s.code.fn != 0:
		if r.env.Now != nil {
			r.env.Now.Begin(&s.def.Launch.Kernel)
		}
		err = r.launch(fr, s)
	case s.def.Host != nil:
		err = r.host(fr, s)
	case s.def.If != nil:
		arm := s.els
		if *(*byte)(fr.ptrs[s.def.If.Cond]) != 0 {
			arm = s.then
		}
		err = r.do(fr, arm, depth)
	case s.def.Loop != nil:
		err = r.loop(fr, s, depth)
	case s.def.Call != nil:
		err = r.call(fr, s, depth)
	case s.def.Copy != nil:
		err = r.copy(fr, s)
	case s.fails:
		err = r.failure(&abi.Error{Site: 1 + int64(s.def.Fail.Site)})
	}
	return err
}

func (r *run) site(i int) abi.Site {
	if i < 0 || i >= len(r.x.plan.Sites) {
		return abi.Site{}
	}
	s := r.x.plan.Sites[i]
	if len(s.Shows) > 0 {
		s = s.With(r.b.funcs[0].bind)
	}
	return s
}

// launch runs one kernel over its outermost axis.
func (r *run) launch(fr *frame, s *boundStep) error { return r.launchPart(fr, s, span{0, s.outer}) }

// span is indices of the outermost axis of a kernel, from begin on and before end.
type span struct{ begin, end int64 }

// launchPart runs a part of a kernel, on the threads that pay.
func (r *run) launchPart(fr *frame, s *boundStep, part span) error {
	bufs := fr.argSpace(len(s.def.Launch.Args))
	for i, b := range s.def.Launch.Args {
		bufs[i] = fr.ptrs[b]
	}
	var first *unsafe.Pointer
	if len(bufs) > 0 {
		first = &bufs[0]
	}
	dims := r.b.dimsPtr()
	if p := r.env.Pool; p.Threads() > 1 && (part.end-part.begin)/2 >= p.Grain(s.grain) {
		return r.region(fr, s, part, first, dims)
	}
	stack, err := takeStack(s.def.Launch)
	if err != nil {
		return err
	}
	defer stack.Give()
	fr.err = abi.Error{}
	fn := stack.On(s.code.fn, &fr.err)
	if stop := r.stopper(s); stop == nil {
		objload.CallKernel(fn, first, dims, part.begin, part.end, &fr.err)
	} else if !stop.CallKernel(s.code.image, fn, first, dims, part.begin, part.end, &fr.err) {
		return Ended(r.env.Ctx)
	}
	if fr.err.Site != 0 {
		return r.failure(&fr.err)
	}
	return nil
}

// takeStack is the stack that a kernel gets, to be given back; nil is that of the thread.
func takeStack(l *abi.Launch) (*objload.Stack, error) {
	if l.Stack == 0 {
		return nil, nil
	}
	stack, err := objload.TakeStack(l.Stack)
	if err != nil {
		return nil, &memory.OutOfMemoryError{Bytes: l.Stack, Err: err}
	}
	return stack, nil
}

func (r *run) failure(e *abi.Error) error {
	s := r.site(int(e.Site - 1))
	return &RuntimeError{Site: s, Message: abi.Message(s, e.Info)}
}

// check compares the arguments with the declared inputs.
func (f *boundFunc) check(args []*tensor.Tensor) error {
	if len(args) != len(f.def.Params) {
		return fmt.Errorf("%s takes %d arguments, not %d", f.def.Name, len(f.def.Params), len(args))
	}
	for i, t := range args {
		b := f.def.Params[i]
		want := &f.bufs[b]
		if t == nil {
			return fmt.Errorf("argument %d of %s is nil", i, f.def.Name)
		}
		if err := t.Err(); err != nil && !t.IsText() {
			return fmt.Errorf("argument %d of %s: %w", i, f.def.Name, err)
		}
		if d := t.Device(); d != nil && d != f.dev {
			return fmt.Errorf("argument %d of %s is on a device, and the program does not run there", i, f.def.Name)
		}
		if t.DType != want.dtype || !slices.Equal(t.Shape, want.shape) {
			return fmt.Errorf("argument %d of %s is %s; the code was compiled for %s%v", i, f.def.Name, t, want.dtype,
				want.shape)
		}
		if !memory.SameStrides(t.Shape, t.Strides, want.strides) {
			return fmt.Errorf("argument %d of %s has strides %v; the code was compiled for %v", i, f.def.Name,
				t.Strides, want.strides)
		}
	}
	return nil
}

// Package engine runs compiled programs. A Module has the functions of a program; a Func makes code for each shape that
// it is called with, by internal/pipeline, and calls it with tensors of the runtime, or calls the interpreter. The root
// package is its public face. What this package has beyond that is for the tools and tests of this module: the forms
// between source and code, and options that only they need.
package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"healc/codegen"
	"healc/codegen/target/profile"
	"healc/codegen/target/tuned"
	"healc/internal/backend"
	"healc/internal/cache"
	"healc/internal/pipeline"
	"healc/internal/residency"
	"healc/internal/testhook"
	"healc/internal/until"
	"healc/ir"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/passes/shard"
	"healc/runtime"
	"healc/runtime/checkpoint"
	"healc/runtime/cluster"
	"healc/runtime/memory"
	"healc/runtime/pool"
	"healc/runtime/tensor"
	"healc/runtime/trace"
)

// Options say how programs are compiled and run. The zero value runs on the CPU, on all its cores.
type Options struct {
	Backend  string         // one of backend.Names; "" is the CPU
	Device   *memory.Device // of a backend that has devices; nil is its first one
	Threads  int            // 0: HEAL_THREADS, else GOMAXPROCS
	Target   codegen.Target // the zero value is this machine
	System   runtime.System // input and output; nil is standard output and the file system
	Cache    *cache.Cache   // compiled code on disk; nil for none
	Debug    pipeline.Debug // what to show of the passes
	Tests    bool           // compile the `test` blocks of the source too
	Once     bool           // every function is called once, so that code that runs briefly is better compiled quickly
	SplitAll bool           // run every kernel on all threads, however small: for tests
	Entry    string         // an instance of a generic function that is wanted, as `norm[f32]`; "" for none
	Limits   runtime.Limits // of each call
	Imports  check.Importer // finds what the source imports; nil is the library and the disk
	Cluster  cluster.Comm   // the ranks that run the module together; nil for one

	Checkpoints *pipeline.Checkpoints // whose loops keep their states; nil: none do
	Checkpoint  *checkpoint.File      // where

	Trace  *trace.Recorder // records the steps of calls; nil for nobody
	Counts *trace.Counts   // adds them up; nil for nobody
	Labels bool            // labels goroutines for profiles of Go
	Now    *trace.Now      // is told what a call is at, one at a time; nil for nobody

	MaxShapes int   // for how many shapes a function keeps code; 0 is 256
	MaxCode   int64 // bytes of that code; 0 is 64 MiB

	Tuned        *tuned.File // those of pipeline.Options
	RequireTuned bool
	Native       bool
}

// Module is a compiled source: its functions are typed, and become machine code when they are called.
type Module struct {
	*pipeline.Module

	opts Options
	pool *pool.Pool
	uses *until.Uses // calls on the interpreter; those that have code count as uses of that

	mu    sync.Mutex
	funcs map[string]*Func
	sum   string // tells the program from others; "": not made
}

// Compile parses and checks a source. The error is a *diag.List.
func Compile(src string, opts Options) (*Module, error) {
	return CompileFile(diag.NewFile("<source>", src), opts)
}

// CompileFile is Compile for a file with a name.
func CompileFile(file *diag.File, opts Options) (*Module, error) {
	src, err := pipeline.Read(file, pipeline.ReadOptions{Imports: opts.Imports, Entry: opts.Entry, Tests: opts.Tests,
		Checkpoints: opts.Checkpoints})
	if err != nil {
		return nil, err
	}
	return CompileSource(src, opts)
}

// CompileSource is Compile for a source that was read before.
func CompileSource(src *pipeline.Source, opts Options) (*Module, error) {
	m, err := compile(src, opts)
	if err != nil {
		return nil, err
	}
	if err := m.CheckPromises(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// CompileIR is Compile for a verified module of tensor IR, such as one read by ir.Parse.
func CompileIR(code *ir.Module, opts Options) (*Module, error) {
	return compile(&pipeline.Source{IR: code}, opts)
}

// compile makes a module of a source, for the backend of the options.
func compile(src *pipeline.Source, opts Options) (*Module, error) {
	switch opts.Backend {
	case "":
		opts.Backend = backend.CPU
	case backend.CPU, backend.Interp:
	case backend.GPU, backend.PTXSim:
		if opts.Device == nil {
			d, err := backend.Open(opts.Backend, 0)
			if err != nil {
				return nil, err
			}
			opts.Device = d
		}
	default:
		return nil, fmt.Errorf("unknown backend %q: there are %s", opts.Backend, strings.Join(backend.Names, ", "))
	}
	if here := profile.Host(); here.Asked && here.Err != nil {
		return nil, fmt.Errorf("%s: %w", profile.Env, here.Err)
	}
	if opts.System == nil {
		opts.System = runtime.OS{}
	}
	if cluster.Many(opts.Cluster) {
		opts.System = rankSystem{opts.System, opts.Cluster}
	}
	var ranks shard.Ranks
	if cluster.Many(opts.Cluster) {
		ranks = shard.Ranks{Rank: opts.Cluster.Rank(), Size: opts.Cluster.Size()}
	}
	m := &Module{opts: opts, funcs: map[string]*Func{}, uses: new(until.Uses)}
	target := backend.Target(opts.Backend, opts.Target, opts.Device)
	if !opts.Native {
		target = backend.Processor(target)
	}
	m.Module = pipeline.New(src, pipeline.Options{Target: target, Ranks: ranks,
		Cache: opts.Cache, Debug: opts.Debug, Once: opts.Once,
		Tuned: opts.Tuned, RequireTuned: opts.RequireTuned, Native: opts.Native})
	if opts.Backend == backend.CPU && opts.Threads != 1 {
		threads, err := pool.New(opts.Threads)
		if err != nil {
			return nil, err
		}
		if opts.SplitAll {
			threads.SplitAll()
		}
		m.pool = threads
	}
	return m, nil
}

// Close waits for the calls that run, and frees the module's machine code and threads. Calls that come later, or still
// compile, give errors that are runtime.ErrClosed.
func (m *Module) Close() {
	interpreted := m.uses.Stop(nil)
	m.mu.Lock()
	funcs := slices.Collect(maps.Values(m.funcs))
	m.mu.Unlock()
	for _, f := range funcs {
		f.close()
	}
	<-interpreted
	if m.pool != nil {
		m.pool.Close()
	}
}

// closedErr is the error of a call after Close.
func (f *Func) closedErr() error {
	return fmt.Errorf("%s cannot be called: %w", f.ir.Name, runtime.ErrClosed)
}

// Options are those that the module was compiled with.
func (m *Module) Options() Options { return m.opts }

// Device is what the module runs on, nil when that is the host. Tensors of its programs that are `on device` are there.
func (m *Module) Device() *memory.Device { return m.opts.Device }

// device is Device for what functions declare: a device that the backend does not use is none.
func (m *Module) device() *memory.Device {
	if !backend.HasDevices(m.opts.Backend) {
		return nil
	}
	return m.opts.Device
}

// home is what tensors are compared with that enter and leave.
func (m *Module) home() residency.Home {
	return residency.Home{Backend: m.opts.Backend, Device: m.opts.Device, Declared: m.Program() != nil}
}

// Func returns the function called name, public or not. An instance of a function with type parameters is
// called as `norm[f32]`; one that the source does not use itself has to be asked for by Options.Entry.
func (m *Module) Func(name string) (*Func, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.funcs[name]; f != nil {
		return f, nil
	}
	code, declared, err := m.Find(name)
	if err != nil {
		return nil, err
	}
	if f := m.funcs[code.Name]; f != nil { // an instance, named as messages show it
		return f, nil
	}
	f := &Func{m: m, ir: code, memory: residency.Of(code, declared, m.device())}
	m.funcs[code.Name] = f
	return f, nil
}

// load makes machine code, by a compiler, of an entry for arguments of these shapes and strides ready to run.
func (m *Module) load(by *pipeline.Module, entry string, bind map[string]int64, args []*tensor.Tensor) (
	*runtime.Executable, error) {
	var strides [][]int64
	for _, t := range args {
		strides = append(strides, t.Strides)
	}
	if err := m.CheckPromise(entry, bind); err != nil {
		return nil, err
	}
	art, err := by.Build(entry, bind, strides)
	if err != nil {
		return nil, err
	}
	return m.executable(art)
}

// executable makes code ready to run.
func (m *Module) executable(art *codegen.Artifact) (*runtime.Executable, error) {
	defer m.opts.Debug.Timer.Stage("load")()
	if backend.HasDevices(m.opts.Backend) {
		return runtime.LoadOn(m.opts.Device, art.Plan, art.PTX)
	}
	return m.Load(art)
}

// Load makes what Artifact gives for a CPU ready to run.
func (m *Module) Load(art *codegen.Artifact) (*runtime.Executable, error) {
	if p, err := testhook.Processor(m.opts.Target.CPU); p != nil || err != nil {
		return runtime.LoadAway(p, art.Plan, art.Objects...), err
	}
	return runtime.Load(art.Plan, art.Objects...)
}

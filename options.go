package heal

import (
	"healc/codegen/target/tuned"
	"healc/internal/backend"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/internal/modules"
	"healc/internal/testhook"
	"healc/runtime"
	"healc/runtime/trace"
)

// Options say how programs are compiled and run. The zero value runs on the CPU, on all its cores.
type Options struct {
	Backend string  // one of Backends; "" is CPU
	Device  *Device // of GPU and PTXSim; nil is OpenDevice(Backend, 0)
	Threads int     // of the CPU; 0 is HEAL_THREADS, else GOMAXPROCS
	System  System  // input and output; nil is standard output and the file system
	Cache   *Cache  // machine code on disk; nil for none
	Once    bool    // every function is called once, so that code that runs briefly is better compiled quickly
	Entry   string  // an instance of a generic function that is wanted, as `norm[f32]`; "" for none

	// MaxSteps is how many steps a call may take: operations on the interpreter, and launches of kernels, copies
	// and prints elsewhere, those of loops counted each time. One more is a *StepsError. 0 is any number. What a
	// kernel does is one step, however long: the context of a call bounds its time.
	MaxSteps int64
	// MaxMemory is how many bytes the tensors of a call may take beside its arguments. A function that needs more is
	// not begun, and the error, a *MemoryLimitError, says by how much. The interpreter looks when it comes to a tensor.
	// 0 is any number.
	MaxMemory int64

	// MaxShapes is for how many combinations of shapes and strides a function keeps machine code, and MaxCode how many
	// bytes that code may have. Where there is more, the code goes that was not called for the longest time, when its
	// calls are over; it is compiled again, or comes from Cache, when it is needed. The code that was called last
	// stays. From the ninth shape on, a function is called with code for any shape, and one that is called with often
	// enough to pay gets code of its own meanwhile. 0 is 256 and 64 MiB, for each function; a module in a Sandbox
	// always has these.
	MaxShapes int
	MaxCode   int64

	// ReadFile returns the text of a file that is imported, and an error that is fs.ErrNotExist where there is none.
	// nil reads from the file system. Modules of the standard library are part of the compiler, and not asked for.
	ReadFile func(path string) ([]byte, error)

	// Tuned is a file of `healc tune`: which schedules were measured to be the best ones for kernels of a processor. It
	// changes no result. nil is none; what does not fit the program or the processor is not used. Text that is no such
	// file is an error of Compile.
	Tuned []byte
	// RequireTuned makes it a *MissingTunedError where Tuned has nothing about a kernel that is compiled for the CPU.
	RequireTuned bool

	// Sandbox compiles and runs the module in a process that has given up what it does not need. nil is this process.
	Sandbox *Sandbox

	// Cluster connects the ranks that run the module together: processes, or goroutines of LocalCluster with a module
	// each. All of them compile the same source and make the same calls in the same order, one at a time. What a
	// program prints and writes is printed and written by rank 0 alone. A call that fails on one rank fails on all; on
	// the others it is a *RankError. nil is one process. A module in a Sandbox has no ranks.
	Cluster Cluster

	// Trace records what calls do, and when. nil is nothing. On a device each kernel is waited for then. The
	// interpreter records nothing, and a module in a Sandbox is recorded by none.
	Trace *Trace

	// Counts adds up calls and kernels, their time and bytes. On a device it counts whole calls, and on the
	// interpreter nothing. nil is nothing. A module in a Sandbox has neither Counts nor Labels.
	Counts *Counts

	// Labels gives the goroutines that run kernels the labels heal_function and heal_kernel, which CPU profiles of Go
	// (runtime/pprof) can be divided by. Traces of Go (runtime/trace) have a region for each call and each kernel
	// without it.
	Labels bool

	// AllowImport are folders from which a program may import beside its own, which is that of the file that is
	// compiled; neither `..` nor links lead elsewhere. Links are not looked at where ReadFile is given.
	AllowImport []string

	splitAll bool // run every kernel on all threads, however small: for tests
}

func init() { testhook.SplitAll = func(opts any) { opts.(*Options).splitAll = true } }

// engine is the options as the engine has them.
func (o Options) engine() (engine.Options, error) {
	file, err := tuned.ParseOption(o.Tuned)
	if err != nil {
		return engine.Options{}, err
	}
	return engine.Options{Backend: o.Backend, Device: o.Device, Threads: o.Threads, System: o.System,
		Cache: (*cache.Cache)(o.Cache), Once: o.Once, Entry: o.Entry,
		Imports:  &modules.Importer{Read: o.ReadFile, Allow: o.AllowImport},
		SplitAll: o.splitAll, Limits: runtime.Limits{Steps: o.MaxSteps, Memory: o.MaxMemory},
		MaxShapes: o.MaxShapes, MaxCode: o.MaxCode,
		Tuned: file, RequireTuned: o.RequireTuned, Cluster: o.Cluster, Trace: o.Trace,
		Counts: o.Counts, Labels: o.Labels}, nil
}

// Trace records what programs do: calls, their kernels, the pieces of these on threads. Write writes it as Chrome's
// trace events, which https://ui.perfetto.dev shows. Several modules, and calls at once, may have the same one.
type Trace = trace.Recorder

// NewTrace starts to record.
func NewTrace() *Trace { return trace.New() }

// Counts adds up what programs do, for monitoring: it is a Var of package expvar, and All gives each number. Several
// modules, and calls at once, may have the same one.
type Counts = trace.Counts

// Count is what is known about a function, or about one of its kernels.
type Count = trace.Count

// CountAside stands for a kernel where code for one shape was made while calls of a function went on. After a failure,
// for want of memory or by a bug in the compiler, calls go on with code for any shape.
const CountAside = trace.Aside

// NewCounts has counted nothing yet.
func NewCounts() *Counts { return trace.NewCounts() }

// The backends, which give the same bits.
const (
	CPU    = backend.CPU    // "cpu": machine code, made by libLLVM
	GPU    = backend.GPU    // "gpu": a device of NVIDIA, by PTX that libLLVM makes
	PTXSim = backend.PTXSim // "ptxsim": the same PTX, executed on the CPU with every access checked; slow
	Interp = backend.Interp // "interp": the reference interpreter; slow, needs nothing
)

// Backends lists them.
var Backends = backend.Names

// Cache keeps machine code on disk, so that a process that runs a known program compiles nothing. Several processes may
// share one. What cannot be read or written is compiled. What lies in the folder is executed, so one that others own or
// may write is not used.
type Cache struct {
	Dir   string // the folder, which is made where it is not there
	Limit int64  // bytes; when there are more, what was not used for the longest time goes. 0 is 256 MiB
}

// DefaultCache is the one that the command healc has: in the folder HEAL_CACHE, or in the folder heal of the user's
// cache folder. HEAL_CACHE=off is no cache; it is nil then, and when there is no such folder.
func DefaultCache() *Cache { return (*Cache)(cache.Default()) }

// Refused says why the folder of the cache is not used, though it is there: others own it or may write it.
func (c *Cache) Refused() error { return (*cache.Cache)(c).Refused() }

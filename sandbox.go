package heal

import (
	"errors"
	"math"
	"time"

	"healc/codegen/target/tuned"
	"healc/internal/sandbox"
	"healc/internal/sandbox/remote"
	"healc/internal/sandbox/serve"
	"healc/internal/sandbox/wire"
	"healc/lang/diag"
	"healc/runtime/cluster"
)

// Sandbox compiles and runs a module in a process of its own, which has given up what a program does not need: files
// of others, sockets, other programs and processes. SECURITY.md says what is promised. What a call computes, and how it
// fails, is the same.
//
// The process is this very program, executed again: package heal takes over in it before main runs. Packages that do
// not import heal, directly or through others, may be initialised in it before that, so such a package should start
// nothing when it is initialised. The process ends with Module.Close, and with this one.
//
// Arguments and results are copied between the processes: a call of a few elements takes tens of times what it takes
// without a sandbox, and one of large tensors the time of several copies more. So let a call do much. There are no
// devices, Options.Cache is not used, and the backends are CPU and Interp. A transcript has no sandbox.
type Sandbox struct {
	// Read and Write are folders. load_npy may read in both and below, save_npy, save_png and save_pgm write in those
	// of Write. Without any a program uses no files, and once it is compiled its process cannot open one. The folder
	// of the source can be read, since imports are there, and so can Options.AllowImport, unless Options.ReadFile
	// reads them. A System of your own in Options is called in this process, and it alone says what load_npy and
	// save_npy do, and as a runtime.ImageSaver save_png and save_pgm; with a runtime.OS only what is printed is.
	Read, Write []string

	Memory int64         // bytes of the process, which the compiler needs some of; 0 is no limit
	CPU    time.Duration // processor time of the process, of all its threads and calls, in whole seconds; 0 is no limit
	File   int64         // bytes of a file that is written; 0 is 16 GiB

	// BestEffort makes a sandbox of what there is on a Linux without Landlock or seccomp. Otherwise Compile is an error
	// there, as it always is on other systems. SandboxMissing says what there is not.
	BestEffort bool
}

// SandboxError says that there is no process for a Sandbox, or none any more: it ended, or was ended because of its
// limits or because it said what it may not. The module can do nothing after that.
type SandboxError = remote.Error

// SandboxMissing says what this system lacks for a Sandbox, and what that means; "" is nothing.
func SandboxMissing() string { return sandbox.Available().Missing() }

// init is where the process of a sandbox leaves the program that it is an execution of.
func init() { serve.Enter() }

// errSandbox says what a sandbox does not do.
var (
	errSandboxDevice     = errors.New("Options.Sandbox and Options.Device do not go together: a sandbox has no devices")
	errSandboxTrace      = errors.New("Options.Sandbox and Options.Trace do not go together: it is another process")
	errSandboxCounts     = errors.New("Options.Sandbox goes with no Options.Counts and Labels: it is another process")
	errSandboxCluster    = errors.New("Options.Sandbox and Options.Cluster do not go together: a sandbox has no ranks")
	errSandboxTranscript = errors.New("Options.Sandbox is for programs: a transcript has no sandbox")
)

// compileSandboxed is CompileFile in a process of its own.
func compileSandboxed(file *diag.File, opts Options) (*Module, error) {
	if opts.Device != nil {
		return nil, errSandboxDevice
	}
	if opts.Trace != nil {
		return nil, errSandboxTrace
	}
	if opts.Counts != nil || opts.Labels {
		return nil, errSandboxCounts
	}
	if cluster.Many(opts.Cluster) {
		return nil, errSandboxCluster
	}
	if _, err := tuned.ParseOption(opts.Tuned); err != nil {
		return nil, err
	}
	is := *opts.Sandbox
	far, err := remote.Compile(file, remote.Options{
		Program: wire.Program{Backend: opts.Backend, Threads: opts.Threads, Once: opts.Once, Entry: opts.Entry,
			From: opts.AllowImport, SplitAll: opts.splitAll, Steps: opts.MaxSteps, Memory: opts.MaxMemory,
			Tuned: opts.Tuned, RequireTuned: opts.RequireTuned},
		Rules: sandbox.Rules{Read: is.Read, Write: is.Write, Memory: is.Memory, File: is.File,
			CPU: int64(math.Ceil(is.CPU.Seconds()))},
		Weaker: is.BestEffort, System: opts.System, ReadFile: opts.ReadFile})
	if err != nil {
		return nil, err
	}
	opts.Sandbox, opts.Backend, opts.System = &is, far.Backend(), far.System()
	return &Module{far: far, opts: opts}, nil
}

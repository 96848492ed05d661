package heal

import (
	"sync"

	"healc/internal/engine"
	"healc/internal/identity"
	"healc/internal/sandbox/remote"
	"healc/lang/diag"
)

// Version is the version of the compiler, as 1.2.3: that of the module where it was taken as a release.
var Version = identity.Version

// Module is a compiled source. Its functions are typed; they become machine code when they are called.
type Module struct {
	in    *engine.Module
	far   *remote.Module // of Options.Sandbox, in place of in
	opts  Options
	funcs sync.Map // *engine.Func or *remote.Func to the *Func that stands for it
}

// Compile parses and types a source. The error is a *Diagnostics, all that is wrong with it, or says that the options
// cannot be met.
func Compile(src string, opts Options) (*Module, error) {
	return CompileFile(diag.NewFile("<source>", src), opts)
}

// CompileFile is Compile for a file with a name, which messages show, and to which the paths of imports are relative.
func CompileFile(file *diag.File, opts Options) (*Module, error) {
	if opts.Sandbox != nil {
		return compileSandboxed(file, opts)
	}
	given, err := opts.engine()
	if err != nil {
		return nil, err
	}
	in, err := engine.CompileFile(file, given)
	if err != nil {
		return nil, err
	}
	// What was chosen for the caller: the backend, its device and the system.
	is := in.Options()
	opts.Backend, opts.Device, opts.System = is.Backend, is.Device, is.System
	return &Module{in: in, opts: opts}, nil
}

// Close waits for the calls that run, and then frees the module's machine code and ends its threads. Calls that come
// later, and those for which code is still compiled, give errors that are ErrClosed. What a call calls, such as a
// System and a Cluster, must not close its module. Close does not wait for kernels that calls which were stopped have
// left on a device: what these use is freed when they have ended.
func (m *Module) Close() {
	if m.far != nil {
		m.far.Close()
		return
	}
	m.in.Close()
}

// Options are those that the module was compiled with. A backend, a device and a system are there, even where none were
// given.
func (m *Module) Options() Options { return m.opts }

// Device is what the module runs on, nil when that is the host. Tensors of its programs that are `on device` are there.
func (m *Module) Device() *Device { return m.opts.Device }

// Names lists the functions, sorted.
func (m *Module) Names() []string {
	if m.far != nil {
		return m.far.Names()
	}
	return m.in.Names()
}

// Func returns the function called name, public or not. An instance of a function with type parameters is called as
// `norm[f32]`; one that the source does not use itself has to be asked for by Options.Entry.
func (m *Module) Func(name string) (*Func, error) {
	if m.far != nil {
		return m.farFace(m.far.Func(name))
	}
	return m.face(m.in.Func(name))
}

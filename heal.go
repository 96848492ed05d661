package heal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"healc/codegen"
	"healc/ir"
	"healc/ir/interp"
	"healc/ir/kernel"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/irgen"
	"healc/lang/parser"
	"healc/lang/types"
	"healc/runtime"
)

// The backends.
const (
	CPU    = "cpu"    // machine code, made by libLLVM
	Interp = "interp" // the reference interpreter: slow, needs nothing
	GPU    = "gpu"    // a device of NVIDIA, by PTX that libLLVM makes
	PTXSim = "ptxsim" // the same PTX, executed on the CPU with every access checked: slow
)

// Backends lists them.
var Backends = []string{CPU, GPU, PTXSim, Interp}

// Options say how programs are compiled and run. The zero value runs on the CPU, on all its cores.
type Options struct {
	Backend  string          // CPU, GPU, PTXSim or Interp; "" is CPU
	Device   *runtime.Device // of GPU and PTXSim; nil is OpenDevice(Backend, 0)
	Threads  int             // 0: HEAL_THREADS, else GOMAXPROCS
	Target   codegen.Target  // the zero value is this machine
	System   runtime.System  // input and output; nil is standard output and the file system
	Cache    *Cache          // compiled code on disk; nil for none
	Debug    Debug           // what to show of the passes
	Tests    bool            // compile the `test` blocks of the source too
	Once     bool            // every function is called once, so that code that runs briefly is better compiled quickly
	SplitAll bool            // run every kernel on all threads, however small: for tests
	Entry    string          // an instance of a generic function that is wanted, as `norm[f32]`; "" for none
	Imports  check.Importer  // finds what the source imports; nil is &Importer{}, the library and the disk
}

// Module is a compiled source: its functions are typed, and become machine code when they are called.
type Module struct {
	opts Options
	prog *check.Program
	ir   *ir.Module
	pool *runtime.Pool

	source string // stands for the texts that ir was made of; "" when it was made otherwise

	mu     sync.Mutex
	funcs  map[string]*Func
	closed atomic.Bool
}

// Compile parses and checks a source. The error is a *diag.List.
func Compile(src string, opts Options) (*Module, error) {
	return CompileFile(diag.NewFile("<source>", src), opts)
}

// CompileFile is Compile for a file with a name.
func CompileFile(file *diag.File, opts Options) (*Module, error) {
	read := &sources{from: opts.Imports}
	if read.from == nil {
		read.from = &Importer{}
	}
	prog, err := CheckWith(file, read)
	if err != nil {
		return nil, err
	}
	if opts.Entry != "" && prog.Func(opts.Entry) == nil {
		prog.Use(opts.Entry)
	}
	if !opts.Tests {
		prog.Tests = nil
	}
	m, err := CompileIR(irgen.Generate(prog), opts)
	if err != nil {
		return nil, err
	}
	m.prog, m.source = prog, read.key(file, opts.Entry, strconv.FormatBool(opts.Tests))
	if err := m.checkKernels(); err != nil {
		m.Close()
		return nil, err
	}
	return m, nil
}

// Check parses and type-checks a file and what it imports. The error is a *diag.List.
func Check(file *diag.File) (*check.Program, error) { return CheckWith(file, nil) }

// CheckWith is Check with another way to find imports; nil is &Importer{}.
func CheckWith(file *diag.File, imports check.Importer) (*check.Program, error) {
	if imports == nil {
		imports = &Importer{}
	}
	tree, list := parser.Parse(file)
	if err := list.Err(); err != nil {
		return nil, err
	}
	prog, list := check.CheckWith(tree, imports)
	if err := list.Err(); err != nil {
		return nil, err
	}
	if err := checkGradients(prog); err != nil {
		return nil, err
	}
	return prog, nil
}

// CompileIR is Compile for a verified module of tensor IR, such as one read by ir.Parse.
func CompileIR(code *ir.Module, opts Options) (*Module, error) {
	switch opts.Backend {
	case "":
		opts.Backend = CPU
	case CPU, Interp:
	case GPU, PTXSim:
		if opts.Device == nil {
			d, err := OpenDevice(opts.Backend, 0)
			if err != nil {
				return nil, err
			}
			opts.Device = d
		}
	default:
		return nil, fmt.Errorf("unknown backend %q: there are %s", opts.Backend, strings.Join(Backends, ", "))
	}
	if opts.System == nil {
		opts.System = runtime.OS{}
	}
	m := &Module{opts: opts, ir: code, funcs: map[string]*Func{}}
	if opts.Backend == CPU && opts.Threads != 1 {
		pool, err := runtime.NewPool(opts.Threads)
		if err != nil {
			return nil, err
		}
		if opts.SplitAll {
			pool.SplitAll()
		}
		m.pool = pool
	}
	return m, nil
}

// Close frees the module's machine code and ends its threads. No call may be running; those that come later give
// errors.
func (m *Module) Close() {
	m.closed.Store(true)
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, f := range m.funcs {
		f.close()
	}
	if m.pool != nil {
		m.pool.Close()
	}
}

// Options are those that the module was compiled with.
func (m *Module) Options() Options { return m.opts }

// Program is the typed program; nil for a module that was made from IR.
func (m *Module) Program() *check.Program { return m.prog }

// IR is the tensor IR before any pass.
func (m *Module) IR() *ir.Module { return m.ir }

// Names lists the functions, sorted.
func (m *Module) Names() []string {
	var out []string
	for _, f := range m.ir.Funcs {
		out = append(out, f.Name)
	}
	sort.Strings(out)
	return out
}

// Func returns the function called name, public or not. An instance of a function with type parameters is
// called as `norm[f32]`; one that the source does not use itself has to be asked for by Options.Entry.
func (m *Module) Func(name string) (*Func, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.funcs[name]; f != nil {
		return f, nil
	}
	code := m.ir.Func(name)
	if code == nil && m.prog != nil {
		if f := m.prog.Func(name); f != nil { // an instance, named as messages show it
			code, name = m.ir.Func(f.Name), f.Name
		}
	}
	if code == nil {
		return nil, fmt.Errorf("there is no function %q; there are %s", name, strings.Join(m.Names(), ", "))
	}
	f := &Func{m: m, name: name, ir: code}
	if m.prog != nil {
		var dev *runtime.Device
		if m.onDevice() {
			dev = m.opts.Device
		}
		for _, t := range m.prog.Tests {
			if t.Fn.Name == name {
				f.memory = memoryOf(t.Fn, dev)
			}
		}
		if typed := m.prog.Func(name); typed != nil {
			f.memory = memoryOf(typed, dev)
		}
	}
	m.funcs[name] = f
	return f, nil
}

// Func is a function of a module. Each combination of shapes and strides that it is called with becomes
// machine code of its own, once.
type Func struct {
	m    *Module
	name string
	ir   *ir.Func

	memory *memory // nil when layouts and places are the usual ones

	last  atomic.Pointer[compiled]
	mu    sync.Mutex
	codes []*compiled
}

// compiled is a function for one set of shapes and strides.
type compiled struct {
	dtypes  []types.DType
	shapes  [][]int64
	strides [][]int64
	exec    *runtime.Executable
}

// Module is where the function is compiled: that of the source, or for a gradient one with the gradient beside it.
func (f *Func) Module() *Module { return f.m }

// IR is the function before any pass; its Params have the names and types of the parameters.
func (f *Func) IR() *ir.Func { return f.ir }

// Signature is the function's type as source.
func (f *Func) Signature() string {
	var b strings.Builder
	b.WriteString(f.name)
	if len(f.ir.Dims) > 0 {
		b.WriteString("[" + strings.Join(f.ir.Dims, ", ") + "]")
	}
	b.WriteString("(")
	for i, p := range f.ir.Params() {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name + ": ")
		if slices.Contains(f.ir.Updates, int64(i)) {
			b.WriteString("&mut ")
		}
		t := p.Type
		if f.memory != nil {
			t = f.memory.params[i]
		}
		b.WriteString(t.String())
	}
	results := types.Tuple{}
	for i, r := range f.ir.Results[:len(f.ir.Results)-len(f.ir.Updates)] {
		if f.memory != nil {
			r = f.memory.results[i]
		}
		results.Elems = append(results.Elems, r)
	}
	var t types.Type = results
	if len(results.Elems) == 1 {
		t = results.Elems[0]
	}
	b.WriteString(") -> " + t.String())
	return b.String()
}

// Call runs a function that has one tensor as its result; one that has another number of them, as where it only changes
// its arguments, is not run, and needs CallAll. Shape parameters are bound from the arguments. A failure of the program
// is a *runtime.RuntimeError.
func (f *Func) Call(ctx context.Context, args ...*runtime.Tensor) (*runtime.Tensor, error) {
	// Asked before it runs: it may write arguments, print, or write files.
	if n := len(f.ir.Results) - len(f.ir.Updates); n != 1 {
		return nil, fmt.Errorf("%s has %s; use CallAll", f.name, types.Count(n, "result"))
	}
	out, err := f.CallAll(ctx, args...)
	if err != nil {
		return nil, err
	}
	return out[0], nil
}

// CallAll runs a function and returns all its results, tuples flattened from left to right. The arguments
// of `&mut` parameters are written in place; after an error their contents are undefined.
func (f *Func) CallAll(ctx context.Context, args ...*runtime.Tensor) ([]*runtime.Tensor, error) {
	if f.memory == nil {
		return f.callAll(ctx, args, nil)
	}
	if err := f.accepts(args); err != nil {
		return nil, err
	}
	out, err := f.callAll(ctx, args, f.memory.stay)
	if err != nil {
		return nil, err
	}
	return f.arrange(out)
}

// callAll is CallAll where layouts do not matter. stay says where the results stay.
func (f *Func) callAll(ctx context.Context, args []*runtime.Tensor, stay []types.Place) ([]*runtime.Tensor, error) {
	if err := f.inPlace("argument", args, f.Place); err != nil {
		return nil, err
	}
	if f.m.opts.Backend == Interp {
		return f.interpret(ctx, args)
	}
	c, err := f.code(args)
	if err != nil {
		return nil, err
	}
	env := runtime.Env{Ctx: ctx, System: f.m.opts.System, Pool: f.m.pool, Places: stay}
	return c.exec.Call(env, nil, args...)
}

// code returns the machine code for the arguments, which are fit to be written where the function does so.
func (f *Func) code(args []*runtime.Tensor) (*compiled, error) {
	c := f.last.Load()
	if c == nil || !c.fits(args) {
		var err error
		if c, err = f.find(args); err != nil {
			return nil, err
		}
	}
	if len(f.ir.Updates) > 0 {
		if err := f.updatable(args); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// fits reports whether the code was made for arguments of these types, shapes and strides.
func (c *compiled) fits(args []*runtime.Tensor) bool {
	if len(args) != len(c.shapes) {
		return false
	}
	for i, t := range args {
		if t == nil || t.DType != c.dtypes[i] || len(t.Shape) != len(c.shapes[i]) {
			return false
		}
		for k, n := range c.shapes[i] {
			if t.Shape[k] != n || t.Strides[k] != c.strides[i][k] && n > 1 {
				return false
			}
		}
	}
	return true
}

// find returns the code for the arguments, compiling it when this is the first such call. Calls that take turns with
// other shapes allocate nothing here.
func (f *Func) find(args []*runtime.Tensor) (*compiled, error) {
	if c := f.known(args); c != nil {
		return c, nil
	}
	bind, err := f.bind(args)
	if err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if c := f.among(args); c != nil { // another call has compiled it meanwhile
		return c, nil
	}
	c := &compiled{}
	for _, t := range args {
		c.dtypes = append(c.dtypes, t.DType)
		c.shapes = append(c.shapes, append([]int64(nil), t.Shape...))
		c.strides = append(c.strides, append([]int64(nil), t.Strides...))
	}
	if c.exec, err = f.m.build(f.name, bind, args); err != nil {
		return nil, err
	}
	f.codes = append(f.codes, c)
	f.last.Store(c)
	return c, nil
}

// known is the code for arguments of these shapes and strides, nil where there is none yet.
func (f *Func) known(args []*runtime.Tensor) *compiled {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.among(args)
}

// among is known for who holds the lock.
func (f *Func) among(args []*runtime.Tensor) *compiled {
	for _, c := range f.codes {
		if c.fits(args) {
			f.last.Store(c)
			return c
		}
	}
	return nil
}

func (f *Func) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, c := range f.codes {
		c.exec.Close()
	}
	f.codes = nil
	f.last.Store(nil)
}

// ArgumentError says which argument does not fit the function.
type ArgumentError struct {
	Func, Message string
}

func (e *ArgumentError) Error() string { return e.Func + ": " + e.Message }

// bind checks the arguments and returns the values of the shape parameters.
func (f *Func) bind(args []*runtime.Tensor) (map[string]int64, error) {
	fail := func(format string, a ...any) error {
		return &ArgumentError{f.Signature(), fmt.Sprintf(format, a...)}
	}
	if f.m.closed.Load() {
		return nil, fmt.Errorf("%s cannot be called: its module is closed", f.name)
	}
	params := f.ir.Params()
	if len(args) != len(params) {
		return nil, fail("%d arguments are needed, %d were given", len(params), len(args))
	}
	shapes := make([][]int64, len(args))
	for i, t := range args {
		if t == nil {
			return nil, fail("argument `%s` is nil", params[i].Name)
		}
		if _, isText := t.Text(); !isText && t.Err() != nil {
			return nil, fail("argument `%s`: %v", params[i].Name, t.Err())
		}
		if t.DType != params[i].Type.Elem {
			return nil, fail("argument `%s` is %s; its elements must be %s", params[i].Name,
				types.Of(t.DType, t.Shape...), params[i].Type.Elem)
		}
		shapes[i] = t.Shape
	}
	bind, err := ir.BindDims(f.ir, shapes)
	if err != nil {
		return nil, fail("%v", err)
	}
	return bind, nil
}

// interpret runs the function on the reference interpreter.
func (f *Func) interpret(ctx context.Context, args []*runtime.Tensor) ([]*runtime.Tensor, error) {
	bind, err := f.bind(args)
	if err != nil {
		return nil, err
	}
	if err := f.m.checkKernel(f.name, bind); err != nil {
		return nil, err
	}
	if err := f.updatable(args); err != nil {
		return nil, err
	}
	if ctx != nil && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	in := make([]*ir.Array, len(args))
	for i, t := range args {
		in[i] = toArray(t)
	}
	out, err := interp.Run(f.m.ir, f.name, in, interpSystem{f.m.opts.System})
	if err != nil {
		var e *interp.RuntimeError
		if errors.As(err, &e) {
			return nil, &runtime.RuntimeError{Site: kernel.SiteAt(e.Span), Message: e.Message, Err: errors.Unwrap(e)}
		}
		return nil, err
	}
	if out, err = f.update(args, out); err != nil {
		return nil, err
	}
	res := make([]*runtime.Tensor, len(out))
	for i, a := range out {
		if res[i], err = fromArray(a); err != nil {
			return nil, err
		}
	}
	return res, nil
}

package engine

import (
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"

	"healc/internal/residency"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/tensor"
)

// Func is a function of a module. Each combination of shapes and strides that it is called with becomes
// machine code of its own, of which as much is kept as the options say.
type Func struct {
	m      *Module
	ir     *ir.Func
	memory *residency.Memory
	given  map[string]int64 // shape parameters that are known from elsewhere than the arguments

	parts   *parts      // Note [Arguments in parts]; nil: arguments and results are whole
	met     atomic.Bool // the ranks have compared their inputs
	columns *Func       // Note [Column-major results]; nil: not made

	last    atomic.Pointer[compiled]
	mu      sync.Mutex        // of codes and bytes
	codes   []*compiled       // what was used last is the last
	bytes   int64             // of their machine code
	making  sync.Mutex        // held by who compiles
	leaving []<-chan struct{} // of code that is no longer among them, and has calls

	anyShape *runtime.Executable // Note [Shapes that change]; nil: not made
	sorts    int                 // of shapes and strides for which there was no code
	took     atomic.Int64        // nanoseconds that the latest code for one shape took to compile
	exactly  bool                // there is no code for any shape
}

// Module is where the function is compiled: that of the source, or for a gradient one with the gradient beside it.
func (f *Func) Module() *Module { return f.m }

// IR is the function before any pass; its Params have the names and types of the parameters.
func (f *Func) IR() *ir.Func { return f.ir }

// Memory is what the function declares about where its arguments and results lie.
func (f *Func) Memory() *residency.Memory { return f.memory }

// Signature is the function's type as source.
func (f *Func) Signature() string { return f.memory.Signature() }

// With is the function with values of shape parameters, which the arguments then need not determine and have to agree
// with.
func (f *Func) With(dims map[string]int64) *Func {
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	key := fmt.Sprint(f.ir.Name, " with ", dims) // no name of a function has spaces
	if g := f.m.funcs[key]; g != nil {
		return g
	}
	g := &Func{m: f.m, ir: f.ir, memory: f.memory, given: dims}
	f.m.funcs[key] = g
	return g
}

// BindDims finds the values of the shape parameters from the shapes of arguments.
func (f *Func) BindDims(shapes [][]int64) (map[string]int64, error) {
	return ir.BindDimsWith(f.ir, f.given, shapes)
}

// bind checks the arguments and returns the values of the shape parameters.
func (f *Func) bind(args []*tensor.Tensor) (map[string]int64, error) {
	fail := func(format string, a ...any) error {
		return &runtime.ArgumentError{Func: f.Signature(), Message: fmt.Sprintf(format, a...)}
	}
	if f.m.uses.Stopped() {
		return nil, f.closedErr()
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
			return nil, f.unusable(params[i].Name, t.Err())
		}
		if t.DType != params[i].Type.Elem {
			return nil, fail("argument `%s` is %s; its elements must be %s", params[i].Name,
				types.Of(t.DType, t.Shape...), params[i].Type.Elem)
		}
		shapes[i] = f.WholeShape(i, t)
	}
	bind, err := f.BindDims(shapes)
	if err != nil {
		return nil, fail("%v", err)
	}
	return bind, nil
}

// unusable is the error for an argument that cannot be used.
func (f *Func) unusable(name string, why error) error {
	return &runtime.ArgumentError{Func: f.Signature(), Message: fmt.Sprintf("argument `%s`: %v", name, why), Err: why}
}

// hold keeps the memory of the tensors of a call, whoever closes them while it runs, until tensor.ReleaseAll.
func (f *Func) hold(args []*tensor.Tensor) error {
	i := tensor.HoldAll(args)
	if i < 0 {
		return nil
	}
	name := strconv.Itoa(i)
	if p := f.ir.Params(); i < len(p) {
		name = p[i].Name
	}
	return f.unusable(name, tensor.ErrClosed)
}

// holdInto is hold with places for the results.
func (f *Func) holdInto(out, args []*tensor.Tensor) error {
	if err := f.hold(args); err != nil {
		return err
	}
	if i := tensor.HoldAll(out); i >= 0 {
		tensor.ReleaseAll(args)
		return fmt.Errorf("the tensor for result %d of %s: %w", i, f.ir.Name, tensor.ErrClosed)
	}
	return nil
}

// releaseInto ends what holdInto began.
func releaseInto(out, args []*tensor.Tensor) {
	tensor.ReleaseAll(out)
	tensor.ReleaseAll(args)
}

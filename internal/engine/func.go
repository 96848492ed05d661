package engine

import (
	"fmt"
	"sync"
	"sync/atomic"

	"healc/codegen"
	"healc/internal/residency"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/tensor"
)

// Func is a function of a module. Each combination of shapes and strides that it is called with becomes
// machine code of its own, once.
type Func struct {
	m      *Module
	ir     *ir.Func
	memory *residency.Memory

	last     atomic.Pointer[compiled]
	mu       sync.Mutex
	codes    []*compiled
	anyShape *codegen.Artifact // of Debug.AnyShape; nil: not made
}

// Module is where the function is compiled: that of the source, or for a gradient one with the gradient beside it.
func (f *Func) Module() *Module { return f.m }

// IR is the function before any pass; its Params have the names and types of the parameters.
func (f *Func) IR() *ir.Func { return f.ir }

// Memory is what the function declares about where its arguments and results lie.
func (f *Func) Memory() *residency.Memory { return f.memory }

// Signature is the function's type as source.
func (f *Func) Signature() string { return f.memory.Signature() }

// bind checks the arguments and returns the values of the shape parameters.
func (f *Func) bind(args []*tensor.Tensor) (map[string]int64, error) {
	fail := func(format string, a ...any) error {
		return &runtime.ArgumentError{Func: f.Signature(), Message: fmt.Sprintf(format, a...)}
	}
	if f.m.closed.Load() {
		return nil, fmt.Errorf("%s cannot be called: its module is closed", f.ir.Name)
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

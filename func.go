package heal

import (
	"context"
	"slices"

	"healc/internal/engine"
	"healc/internal/sandbox/remote"
	"healc/lang/types"
)

// Func is a function of a module. Each combination of shapes and strides that it is called with becomes machine code of
// its own, or is called with code for any shape: Options.MaxShapes says when, and how much code is kept.
type Func struct {
	in  *engine.Func
	far *remote.Func // of a module in a sandbox, in place of in
}

// face is the Func for what the engine returns, the same one each time.
func (m *Module) face(in *engine.Func, err error) (*Func, error) {
	if err != nil {
		return nil, err
	}
	f, _ := m.funcs.LoadOrStore(in, &Func{in: in})
	return f.(*Func), nil
}

// farFace is face for what another process has.
func (m *Module) farFace(far *remote.Func, err error) (*Func, error) {
	if err != nil {
		return nil, err
	}
	f, _ := m.funcs.LoadOrStore(far, &Func{far: far})
	return f.(*Func), nil
}

// Name is the name of the function.
func (f *Func) Name() string {
	if f.far != nil {
		return f.far.Is().Name
	}
	return f.in.IR().Name
}

// Signature is the function's type as source.
func (f *Func) Signature() string {
	if f.far != nil {
		return f.far.Is().Signature
	}
	return f.in.Signature()
}

// Param is a parameter of a function.
type Param struct {
	Name    string       // of one that is a tuple, `p.0`, `p.1` and so on for its tensors
	Type    types.Tensor // as declared; shape parameters are symbolic
	Updated bool         // it is declared `&mut`: the call writes the argument
}

// Params are the parameters, those that are tuples flattened: the tensors that the function is called with.
func (f *Func) Params() []Param {
	if f.far != nil {
		var out []Param
		for _, p := range f.far.Is().Params {
			out = append(out, Param(p))
		}
		return out
	}
	code := f.in.IR()
	out := make([]Param, len(code.Params()))
	for i, p := range code.Params() {
		out[i] = Param{p.Name, f.in.Memory().Param(i), slices.Contains(code.Updates, int64(i))}
	}
	return out
}

// Results are the types of the results as declared, tuples flattened: the tensors that CallAll returns.
func (f *Func) Results() []types.Tensor {
	if f.far != nil {
		return slices.Clone(f.far.Is().Results)
	}
	return slices.Clone(f.in.Memory().Results())
}

// Call runs a function that has one tensor as its result; one that has another number of them, as where it only changes
// its arguments, is not run, and needs CallAll. Shape parameters are bound from the arguments. The error is an
// *ArgumentError where an argument does not fit, and a *RuntimeError where the program fails. The end of ctx ends the
// call wherever it is, with a *StoppedError; a kernel that runs on a GPU then goes on by itself, with the tensors that
// it was given on the device (docs/gpu.md).
func (f *Func) Call(ctx context.Context, args ...*Tensor) (*Tensor, error) {
	if f.far != nil {
		return f.far.Call(ctx, slices.Clone(args)...)
	}
	return f.in.Call(ctx, args...)
}

// CallAll runs a function and returns all its results, tuples flattened from left to right. The arguments of `&mut`
// parameters are written in place; after an error their contents are undefined.
func (f *Func) CallAll(ctx context.Context, args ...*Tensor) ([]*Tensor, error) {
	if f.far != nil {
		return f.far.CallAll(ctx, slices.Clone(args)...)
	}
	return f.in.CallAll(ctx, args...)
}

// CallInto is CallAll with the results written into out, one tensor a result, of its type and shape. Where a tensor is
// contiguous and shares no memory with an argument the machine code writes it directly; otherwise the result is
// computed aside and copied, so that every tensor is right, a strided view or an argument itself too. A second call
// with the same shapes allocates nothing on Go's heap, but for what prints, concatenates strings, or reads and writes
// files. An argument that shares memory with a result must not be smaller than it, as where broadcasting enlarges the
// argument: that is an error. After an error the contents of out are undefined.
func (f *Func) CallInto(ctx context.Context, out []*Tensor, args ...*Tensor) error {
	if f.far != nil { // of slices that are given on: those of a caller stay on its stack
		return f.far.CallInto(ctx, slices.Clone(out), slices.Clone(args)...)
	}
	return f.in.CallInto(ctx, out, args...)
}

package runtime

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/memory"
	"healc/runtime/pool"
	"healc/runtime/tensor"
)

// Compiled is a set of functions that were compiled ahead of time, in the form in which `healc compile --emit go`
// puts them into a Go package. It is safe for concurrent use.
type Compiled struct {
	text string

	once  sync.Once // opens it
	err   error
	funcs map[string]*compiledFunc

	mu      sync.Mutex // held by who changes what follows
	threads int
	pool    atomic.Pointer[pool.Pool] // nil before it is opened
}

// NewCompiled takes an abi.Bundle as JSON, compressed by gzip, in base64. It is read by the first call.
func NewCompiled(text string) *Compiled { return &Compiled{text: text} }

// SetThreads sets how many threads a call uses; 0 is DefaultThreads. Calls that run may go on with fewer.
func (c *Compiled) SetThreads(n int) error {
	if n < 0 || n > pool.MaxThreads {
		return fmt.Errorf("%d threads are not from 0 to %d", n, pool.MaxThreads)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.pool.Load()
	if old != nil {
		p, err := pool.New(n)
		if err != nil {
			return err
		}
		c.pool.Store(p)
		old.Close()
	}
	c.threads = n
	return nil
}

// compiledFunc is a function whose code is loaded when it is first needed.
type compiledFunc struct {
	def     *abi.BundleFunc
	level   int
	last    atomic.Pointer[fit] // of the call before, mostly: a call of the same shapes finds it here
	mu      sync.Mutex
	packed  *Executable
	strided *Executable
}

func (c *Compiled) open() {
	var bundle abi.Bundle
	raw, err := gzip.NewReader(base64.NewDecoder(base64.StdEncoding, strings.NewReader(c.text)))
	if err == nil {
		err = json.NewDecoder(raw).Decode(&bundle)
	}
	if missing := processorLacks(bundle.Needs); err == nil && missing != "" {
		err = fmt.Errorf("the machine code is for %s, and this processor has no %s: %w", bundle.CPU, missing,
			errors.ErrUnsupported)
	}
	if err == nil {
		err = c.startPool()
	}
	level := 0
	for i, name := range bundle.Levels {
		if processorHas(name) {
			level = i
		}
	}
	c.err = err
	c.funcs = map[string]*compiledFunc{}
	for i := range bundle.Funcs {
		c.funcs[bundle.Funcs[i].Name] = &compiledFunc{def: &bundle.Funcs[i], level: level}
	}
}

func (c *Compiled) startPool() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, err := pool.New(c.threads)
	if err == nil {
		c.pool.Store(p)
	}
	return err
}

// Call runs a function. Shape parameters are bound from the arguments; the results belong to the caller. A failure of
// the program is a *RuntimeError.
func (c *Compiled) Call(ctx context.Context, name string, args ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	f, err := c.function(name)
	if err != nil {
		return nil, err
	}
	if i := tensor.HoldAll(args); i >= 0 {
		return nil, f.closed(i)
	}
	defer tensor.ReleaseAll(args)
	x, dims, err := f.ready(args)
	if err != nil {
		return nil, err
	}
	return x.Call(Env{Ctx: ctx, Pool: c.pool.Load()}, dims, args...)
}

// CallInto is Call with the results written into out, one tensor a result, of its type and shape, as
// Executable.CallInto does it. A second call with the same shapes allocates nothing.
func (c *Compiled) CallInto(ctx context.Context, name string, out []*tensor.Tensor, args ...*tensor.Tensor) error {
	f, err := c.function(name)
	if err != nil {
		return err
	}
	if i := tensor.HoldAll(args); i >= 0 {
		return f.closed(i)
	}
	defer tensor.ReleaseAll(args)
	if i := tensor.HoldAll(out); i >= 0 {
		return fmt.Errorf("%s: the tensor for result %d: %w", f.def.Signature, i, tensor.ErrClosed)
	}
	defer tensor.ReleaseAll(out)
	x, dims, err := f.ready(args)
	if err != nil {
		return err
	}
	return x.CallInto(Env{Ctx: ctx, Pool: c.pool.Load()}, dims, out, args...)
}

// function is the function of a name.
func (c *Compiled) function(name string) (*compiledFunc, error) {
	c.once.Do(c.open)
	if c.err != nil {
		return nil, c.err
	}
	f := c.funcs[name]
	if f == nil {
		return nil, fmt.Errorf("there is no function %q", name)
	}
	return f, nil
}

// closed is the error of a call with a closed argument.
func (f *compiledFunc) closed(i int) error {
	name := strconv.Itoa(i)
	if i < len(f.def.Params) {
		name = f.def.Params[i]
	}
	return fmt.Errorf("%s: argument `%s`: %w", f.def.Signature, name, tensor.ErrClosed)
}

// ready checks the arguments, and finds the code for them and its dims.
func (f *compiledFunc) ready(args []*tensor.Tensor) (*Executable, []int64, error) {
	k, err := f.bind(args)
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", f.def.Signature, err)
	}
	x, err := f.code(k.dense)
	return x, k.dims, err
}

// code loads the code for row-major arguments or for others.
func (f *compiledFunc) code(dense bool) (*Executable, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	slot, code := &f.packed, &f.def.Packed
	if !dense && f.def.Strided != nil {
		slot, code = &f.strided, f.def.Strided
	}
	if *slot == nil {
		var objects [][]byte
		if len(code.Objects) > 0 {
			level := f.level
			for level > 0 && len(code.Objects[level]) == 0 {
				level--
			}
			objects = code.Objects[level : level+1]
		}
		x, err := Load(code.Plan, objects...)
		if err != nil {
			return nil, err
		}
		*slot = x
	}
	return *slot, nil
}

// fit is what arguments of some shapes and strides make of a function.
type fit struct {
	shapes []int64 // shape and strides of each argument
	dims   []int64 // for its code
	dense  bool    // all are row-major
}

// holds reports that the arguments, of the right types and ranks, have the shapes and strides of k.
func (k *fit) holds(args []*tensor.Tensor) bool {
	rest := k.shapes
	for _, t := range args {
		n := t.Rank()
		if !slices.Equal(t.Shape, rest[:n]) || !slices.Equal(t.Strides, rest[n:2*n]) {
			return false
		}
		rest = rest[2*n:]
	}
	return true
}

// bind checks the arguments, and finds what they make of the function.
func (f *compiledFunc) bind(args []*tensor.Tensor) (*fit, error) {
	entry := f.def.Packed.Plan.Funcs[0]
	if len(args) != len(entry.Params) {
		return nil, fmt.Errorf("%d arguments are needed, %d were given", len(entry.Params), len(args))
	}
	for i, t := range args {
		b := &entry.Buffers[entry.Params[i]]
		switch {
		case t == nil:
			return nil, fmt.Errorf("argument `%s` is nil", f.def.Params[i])
		case t.Err() != nil:
			return nil, fmt.Errorf("argument `%s`: %w", f.def.Params[i], t.Err())
		case t.DType != b.DType || t.Rank() != len(b.Shape):
			return nil, fmt.Errorf("argument `%s` is %s", f.def.Params[i], t.String())
		}
	}
	k := f.last.Load()
	if k == nil || !k.holds(args) {
		var err error
		if k, err = f.fit(entry, args); err != nil {
			return nil, err
		}
		f.last.Store(k)
	}
	for _, u := range entry.Updates {
		for i, b := range entry.Params {
			if b == u {
				if err := f.updatable(args, i); err != nil {
					return nil, err
				}
			}
		}
	}
	return k, nil
}

// fit binds the shape parameters.
func (f *compiledFunc) fit(entry *abi.Function, args []*tensor.Tensor) (*fit, error) {
	values, err := f.solve(entry, args)
	if err != nil {
		return nil, err
	}
	k := &fit{dense: true}
	for _, name := range f.def.Packed.Plan.Dims {
		k.dims = append(k.dims, values[name])
	}
	for _, t := range args {
		k.dense = k.dense && memory.SameStrides(t.Shape, t.Strides, memory.RowMajor(t.Shape))
		k.shapes = append(append(k.shapes, t.Shape...), t.Strides...)
	}
	if !k.dense {
		for _, t := range args {
			k.dims = append(k.dims, t.Strides...)
		}
	}
	return k, nil
}

// solve finds the shape parameters, and checks all extents.
func (f *compiledFunc) solve(entry *abi.Function, args []*tensor.Tensor) (map[string]int64, error) {
	values := map[string]int64{}
	known := func(name string) bool { _, ok := values[name]; return ok }
	for again := true; again; {
		again = false
		for i, t := range args {
			for k, e := range entry.Buffers[entry.Params[i]].Shape {
				name, coef, rest, ok := types.Unknown(e.Dim, known)
				if !ok {
					continue
				}
				c, err1 := coef.Eval(values)
				r, err2 := rest.Eval(values)
				if err1 != nil || err2 != nil || c == 0 || (t.Shape[k]-r)%c != 0 || (t.Shape[k]-r)/c < 0 {
					return nil, fmt.Errorf("axis %d of `%s` has extent %d, which is %s for no %s", k, f.def.Params[i],
						t.Shape[k], e.Dim, name)
				}
				values[name], again = (t.Shape[k]-r)/c, true
			}
		}
	}
	for i, t := range args {
		for k, e := range entry.Buffers[entry.Params[i]].Shape {
			n, err := e.Dim.Eval(values)
			if err != nil {
				return nil, err
			}
			if _, literal := e.Dim.Const(); literal && n != t.Shape[k] {
				return nil, fmt.Errorf("axis %d of `%s` has extent %d, and its type asks for %d", k, f.def.Params[i],
					t.Shape[k], n)
			}
			if n != t.Shape[k] {
				return nil, fmt.Errorf("axis %d of `%s` has extent %d, but %s is %d", k, f.def.Params[i], t.Shape[k],
					e.Dim, n)
			}
		}
	}
	return values, nil
}

// updatable checks an argument that the function writes: it shares memory with no other, nor with itself.
func (f *compiledFunc) updatable(args []*tensor.Tensor, i int) error {
	t := args[i]
	if err := t.WriteErr(); err != nil {
		return fmt.Errorf("argument `%s` is `&mut`, and %w", f.def.Params[i], err)
	}
	for k, n := range t.Shape {
		if n > 1 && t.Strides[k] == 0 {
			return fmt.Errorf("argument `%s` is `&mut`, and its elements along axis %d are one place in memory",
				f.def.Params[i], k)
		}
	}
	for k, o := range args {
		if k != i && t.Overlaps(o) {
			return fmt.Errorf("argument `%s` is `&mut`, and shares memory with argument `%s`", f.def.Params[i],
				f.def.Params[k])
		}
	}
	return nil
}

// scalars are tensors of rank 0 that no call has, by their types.
var scalars [int(types.F64) + 1]sync.Pool

// LendScalar is a tensor of rank 0 on Go's own memory, which ReturnScalar takes back.
func LendScalar[T tensor.Elem](v T) *tensor.Tensor {
	if t, _ := scalars[tensor.DTypeOf[T]()].Get().(*tensor.Tensor); t != nil {
		*(*T)(t.Ptr()) = v
		return t
	}
	t, err := tensor.Wrap([]T{v}).Reshape()
	if err != nil {
		panic("BUG: a tensor of one element has another shape: " + err.Error())
	}
	return t
}

// ReturnScalar is the element of a tensor of LendScalar, which nobody has any more.
func ReturnScalar[T tensor.Elem](t *tensor.Tensor) T {
	v := *(*T)(t.Ptr())
	scalars[t.DType].Put(t)
	return v
}

// TakeScalar is the element of a tensor of rank 0, which is closed.
func TakeScalar[T tensor.Elem](t *tensor.Tensor) T {
	defer t.Close()
	v, err := tensor.Slice[T](t)
	if err != nil {
		panic("BUG: a compiled function returned another type: " + err.Error())
	}
	return v[0]
}

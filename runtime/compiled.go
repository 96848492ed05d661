package runtime

import (
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
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
	c.once.Do(c.open)
	if c.err != nil {
		return nil, c.err
	}
	f := c.funcs[name]
	if f == nil {
		return nil, fmt.Errorf("there is no function %q", name)
	}
	dims, dense, err := f.bind(args)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.def.Signature, err)
	}
	x, err := f.code(dense)
	if err != nil {
		return nil, err
	}
	if !dense {
		for _, t := range args {
			dims = append(dims, t.Strides...)
		}
	}
	return x.Call(Env{Ctx: ctx, Pool: c.pool.Load()}, dims, args...)
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

// bind checks the arguments and finds the values of the shape parameters. dense says that all are row-major.
func (f *compiledFunc) bind(args []*tensor.Tensor) (dims []int64, dense bool, err error) {
	plan := f.def.Packed.Plan
	entry := plan.Funcs[0]
	if len(args) != len(entry.Params) {
		return nil, false, fmt.Errorf("%d arguments are needed, %d were given", len(entry.Params), len(args))
	}
	dense = true
	for i, t := range args {
		b := &entry.Buffers[entry.Params[i]]
		switch {
		case t == nil:
			return nil, false, fmt.Errorf("argument `%s` is nil", f.def.Params[i])
		case t.Err() != nil:
			return nil, false, fmt.Errorf("argument `%s`: %w", f.def.Params[i], t.Err())
		case t.DType != b.DType || t.Rank() != len(b.Shape):
			return nil, false, fmt.Errorf("argument `%s` is %s", f.def.Params[i], t.String())
		}
		dense = dense && memory.SameStrides(t.Shape, t.Strides, memory.RowMajor(t.Shape))
	}
	values, err := f.solve(entry, args)
	if err != nil {
		return nil, false, err
	}
	for _, name := range plan.Dims {
		dims = append(dims, values[name])
	}
	for _, u := range entry.Updates {
		for i, b := range entry.Params {
			if b == u {
				if err := f.updatable(args, i); err != nil {
					return nil, false, err
				}
			}
		}
	}
	return dims, dense, nil
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

// TakeScalar is the element of a tensor of rank 0, which is closed.
func TakeScalar[T tensor.Elem](t *tensor.Tensor) T {
	defer t.Close()
	v, err := tensor.Slice[T](t)
	if err != nil {
		panic("BUG: a compiled function returned another type: " + err.Error())
	}
	return v[0]
}

package engine

import (
	"context"
	"slices"

	"healc/internal/backend"
	"healc/internal/until"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/tensor"
)

// compiled is a function for one set of shapes and strides.
type compiled struct {
	dtypes  []types.DType
	shapes  [][]int64
	strides [][]int64
	exec    *runtime.Executable
	dims    []int64    // what exec is called with: nothing where it is made for these shapes
	uses    until.Uses // calls; exec is closed when they are over
	general *general   // of code for any shape; nil: it is for these shapes
}

// code returns the machine code for the arguments, which are fit to be written where the function does so. It is in use
// until uses.End.
func (f *Func) code(ctx context.Context, args []*tensor.Tensor) (*compiled, error) {
	c := f.last.Load()
	if c == nil || !c.fits(args) || !c.uses.Begin() {
		var err error
		if c, err = f.find(ctx, args); err != nil {
			return nil, err
		}
	}
	if len(f.ir.Updates) > 0 {
		if err := f.updatable(args); err != nil {
			c.uses.End()
			return nil, err
		}
	}
	return c, nil
}

// fits reports whether the code was made for arguments of these types, shapes and strides.
func (c *compiled) fits(args []*tensor.Tensor) bool {
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
// other shapes allocate nothing here. Where ctx ends first the code is made nevertheless, for later calls.
func (f *Func) find(ctx context.Context, args []*tensor.Tensor) (*compiled, error) {
	if c := f.known(args); c != nil {
		return c, nil
	}
	bind, err := f.bind(args)
	if err != nil {
		return nil, err
	}
	// The tensors are the caller's, and the work may outlast the call.
	heads := make([]*tensor.Tensor, len(args))
	for i, t := range args {
		heads[i] = &tensor.Tensor{DType: t.DType, Shape: slices.Clone(t.Shape), Strides: slices.Clone(t.Strides)}
	}
	return runtime.Before(ctx, 0, func() (*compiled, error) { return f.make(heads, bind) },
		func(c *compiled) { c.uses.End() })
}

// make compiles the code for arguments of which only types, shapes and strides count.
func (f *Func) make(args []*tensor.Tensor, bind map[string]int64) (c *compiled, err error) {
	f.making.Lock()
	defer f.making.Unlock()
	if f.m.uses.Stopped() {
		return nil, f.closedErr()
	}
	if c := f.known(args); c != nil { // another call has compiled it meanwhile
		return c, nil
	}
	c = newCompiled(args)
	if err := f.load(c, args, bind); err != nil {
		return nil, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.m.uses.Stopped() { // close has come by, or waits for the lock and finds nothing
		c.exec.Close()
		return nil, f.closedErr()
	}
	c.uses.Begin()
	f.codes = append(f.codes, c)
	f.bytes += c.exec.CodeBytes()
	f.last.Store(c)
	f.bound()
	return c, nil
}

func newCompiled(args []*tensor.Tensor) *compiled {
	c := &compiled{}
	for _, t := range args {
		c.dtypes = append(c.dtypes, t.DType)
		c.shapes = append(c.shapes, t.Shape)
		c.strides = append(c.strides, t.Strides)
	}
	return c
}

// What Options.MaxShapes and MaxCode are where they say nothing.
const (
	usualShapes = 256
	usualCode   = 64 << 20
)

// bound forgets the code that was not used for the longest time, all but the last, until it is within the options. It
// is freed when the calls that use it are over.
func (f *Func) bound() {
	shapes, code := f.m.opts.MaxShapes, f.m.opts.MaxCode
	if shapes <= 0 {
		shapes = usualShapes
	}
	if code <= 0 {
		code = usualCode
	}
	for len(f.codes) > 1 && (len(f.codes) > shapes || f.bytes > code) {
		c := f.codes[0]
		f.codes = slices.Delete(f.codes, 0, 1)
		f.retire(c)
	}
}

// retire ends code that is no longer among those of f, when its calls are over.
func (f *Func) retire(c *compiled) {
	f.bytes -= c.exec.CodeBytes()
	f.leaving = slices.DeleteFunc(f.leaving, isClosed)
	if ended := c.uses.Stop(c.exec.Close); !isClosed(ended) {
		f.leaving = append(f.leaving, ended)
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// known is the code for arguments of these shapes and strides, whose use begins; nil where there is none yet.
func (f *Func) known(args []*tensor.Tensor) *compiled {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := len(f.codes) - 1; i >= 0; i-- {
		if c := f.codes[i]; c.fits(args) {
			copy(f.codes[i:], f.codes[i+1:])
			f.codes[len(f.codes)-1] = c
			c.uses.Begin()
			f.last.Store(c)
			return c
		}
	}
	return nil
}

// close frees the code when the calls that use it are over, and waits for that. Code that is still being made is freed
// by who makes it.
func (f *Func) close() {
	f.m.mu.Lock()
	columns := f.columns
	f.m.mu.Unlock()
	if columns != nil {
		columns.close()
	}
	f.mu.Lock()
	for _, c := range f.codes {
		f.retire(c)
	}
	leaving, anyShape := f.leaving, f.anyShape
	f.codes, f.leaving, f.anyShape = nil, nil, nil
	f.last.Store(nil)
	f.mu.Unlock()
	for _, ended := range leaving {
		<-ended
	}
	if anyShape != nil {
		anyShape.Close()
	}
}

// Prepare makes the code with which CallAll runs for the arguments, where there is none yet. It reports whether the
// backend has code.
func (f *Func) Prepare(ctx context.Context, args []*tensor.Tensor) (bool, error) {
	if g := f.turned(); g != nil {
		f = g
	}
	return f.PrepareStaying(ctx, args)
}

// PrepareStaying is Prepare for CallStaying.
func (f *Func) PrepareStaying(ctx context.Context, args []*tensor.Tensor) (bool, error) {
	if f.m.opts.Backend == backend.Interp {
		return false, nil
	}
	c, err := f.code(ctx, args)
	if err == nil {
		c.uses.End()
	}
	return true, err
}

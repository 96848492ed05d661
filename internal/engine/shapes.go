package engine

import (
	"sync/atomic"
	"time"

	"healc/internal/backend"
	"healc/internal/caught"
	"healc/internal/pipeline"
	"healc/runtime/cluster"
	"healc/runtime/tensor"
	"healc/runtime/trace"
)

// Note [Shapes that change]
//
// Code for one shape is faster than code for any, and most functions are called with few shapes. A server's may come
// with each request, and the compiler takes longer than the call. So the first shapes of a function get code of their
// own at once, as the compiler is called once for each in any case. From then on a new shape is called with code for
// any shape, which is made once and has one place in memory, whatever the number of shapes. The time of these calls is
// counted: when it is as long as the compiler took for one shape, that shape gets code of its own, which is made aside.
// So no shape takes more than about twice the time that the better choice would have, and no number is that of a
// machine. The bits are the same.

// atOnce is how many shapes of a function get code of their own when they are first called with.
const atOnce = 8

// general is what code for any shape has beside that for one, for the shape of a compiled.
type general struct {
	bind  map[string]int64
	spent atomic.Int64 // nanoseconds of calls
	asked atomic.Bool  // code for the shape is made, or cannot be
}

// takesAny reports whether shapes that are new are called with code for any shape.
func (f *Func) takesAny(bind map[string]int64) bool {
	o := &f.m.opts
	if o.Debug.AnyShape {
		return true
	}
	return f.sorts > atOnce && len(bind) > 0 && !f.exactly && o.Backend == backend.CPU && f.parts == nil &&
		!cluster.Many(o.Cluster) && o.Checkpoint == nil && !o.RequireTuned
}

// load completes c with code for arguments of which only types, shapes and strides count. Who calls it holds f.making.
func (f *Func) load(c *compiled, args []*tensor.Tensor, bind map[string]int64) error {
	f.sorts++
	if f.takesAny(bind) {
		err := f.loadAnyShape(c, bind)
		if err == nil || f.m.opts.Debug.AnyShape {
			return err
		}
		c.general, f.exactly = nil, true // what is wrong, code for the shape says better
	}
	return f.loadExactly(c, args, bind)
}

// loadExactly is load by code for these shapes.
func (f *Func) loadExactly(c *compiled, args []*tensor.Tensor, bind map[string]int64) (err error) {
	begun := time.Now()
	c.exec, err = f.m.load(f.compiler(), f.ir.Name, bind, args)
	f.took.Store(int64(time.Since(begun)))
	return err
}

// loadAnyShape is load by the code of f for any shape, which is made once.
func (f *Func) loadAnyShape(c *compiled, bind map[string]int64) error {
	if err := f.m.CheckPromise(f.ir.Name, bind); err != nil {
		return err
	}
	f.mu.Lock()
	code := f.anyShape
	f.mu.Unlock()
	if code == nil {
		art, err := f.m.BuildAnyShape(f.ir.Name)
		if err != nil {
			return err
		}
		if code, err = f.m.executable(art); err != nil {
			return err
		}
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.m.uses.Stopped() { // close has come by
			code.Close()
			return f.closedErr()
		}
		f.anyShape = code
	}
	c.exec, c.dims = code.Share(), pipeline.AnyShapeDims(code.Plan().Dims, bind, c.strides)
	if !f.m.opts.Debug.AnyShape {
		c.general = &general{bind: bind}
	}
	return nil
}

// begun is when a call of code for any shape begins.
func (c *compiled) begun() (at time.Time) {
	if c.general != nil {
		at = time.Now()
	}
	return at
}

// ended ends a call of code that began at a time.
func (f *Func) ended(c *compiled, begun time.Time) {
	if g := c.general; g != nil && g.spent.Add(int64(time.Since(begun))) > f.took.Load() &&
		g.asked.CompareAndSwap(false, true) {
		go f.specialise(c)
	}
	c.uses.End()
}

// specialise makes code for the shape of c, and says in the counters what became of that.
func (f *Func) specialise(c *compiled) {
	begun := time.Now()
	err := f.makeOwn(c)
	if n := f.m.opts.Counts; n != nil {
		n.Add(f.ir.Name, trace.Aside, time.Since(begun), 0, 0, err != nil)
	}
}

// makeOwn makes code for the shape of c, and puts it in its place. Where that cannot be, c stays as it is. A panic of
// the compiler is an error: no call asked for this code, and c is right without it.
func (f *Func) makeOwn(c *compiled) (err error) {
	defer func() {
		if e := recover(); e != nil {
			err = caught.By(e)
		}
	}()
	f.making.Lock()
	defer f.making.Unlock()
	if f.m.uses.Stopped() {
		return nil
	}
	heads := make([]*tensor.Tensor, len(c.shapes))
	for i := range heads {
		heads[i] = &tensor.Tensor{DType: c.dtypes[i], Shape: c.shapes[i], Strides: c.strides[i]}
	}
	own := newCompiled(heads)
	if err := f.loadExactly(own, heads, c.general.bind); err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.codes {
		if f.codes[i] == c {
			f.codes[i] = own
			f.bytes += own.exec.CodeBytes()
			f.last.CompareAndSwap(c, own)
			f.retire(c)
			f.bound()
			return nil
		}
	}
	own.exec.Close() // nobody has called with the shape for a long time, or the module is closed
	return nil
}

package runtime

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	goruntime "runtime"

	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/device"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// Note [Programs on a device]
//
// A plan runs on a device as it runs on the host: the same buffers, steps and places in the arena (exec_bind.go), with
// addresses of the device in place of pointers. All that a call starts is put on one stream, in order, and the host
// waits for it only where it has to know something: the condition of an if, the number of runs of a loop or whether it
// is over, a value that is printed or goes to a file, the results. Kernels report a failing check in a cell of memory,
// and do nothing when something is in it; it is read wherever the host waits, so that nothing is printed that comes
// after a failure.
//
// Arguments that are on the host are copied to the device first, results that are wanted there are copied back at the
// end; between the two only values cross that host steps use. Memory is given back with the queue of the call, when the
// device is done with it: no other stream can meet memory that is in use. A call whose context ends does not wait for
// that (Note [Work that is left] in package memory).

// LoadOn makes a program ready to run on a device. ptx has the entries of plan.Device; it may be nil for a plan without
// kernels.
func LoadOn(d *memory.Device, plan *abi.Program, ptx []byte) (*Executable, error) {
	x := &Executable{plan: plan, fns: map[string]kernelCode{}, data: map[*abi.Buffer]*memory.Storage{}, dev: d}
	if plan.Device == nil || len(ptx) == 0 {
		return x, x.needsNoKernel()
	}
	if err := d.Driver().SetStack(plan.Device.Stack); err != nil {
		return nil, err
	}
	m, err := d.Driver().Load(plan.Name, ptx)
	if err != nil {
		return nil, err
	}
	x.module, x.entries = m, map[string]device.Function{}
	for _, f := range plan.Funcs {
		if err := x.loopEntries(f.Steps); err != nil {
			x.Close()
			return nil, err
		}
	}
	for _, k := range plan.Device.Kernels {
		for _, l := range k.Launches {
			f, err := m.Function(l.Entry, l.Shared)
			if err != nil {
				x.Close()
				return nil, err
			}
			x.entries[l.Entry] = f
		}
	}
	return x, nil
}

// loopEntries finds the entries of the loops among the steps.
func (x *Executable) loopEntries(steps []abi.Step) error {
	for _, s := range steps {
		var inner []abi.Step
		switch {
		case s.If != nil:
			inner = append(append(inner, s.If.Then...), s.If.Else...)
		case s.Loop != nil && s.Loop.Device != nil:
			f, err := x.module.Function(s.Loop.Device.Entry, 0)
			if err != nil {
				return err
			}
			x.entries[s.Loop.Device.Entry] = f
		case s.Loop != nil:
			inner = s.Loop.Body
		}
		if err := x.loopEntries(inner); err != nil {
			return err
		}
	}
	return nil
}

// needsNoKernel is an error when the plan launches a kernel, for which there is no code.
func (x *Executable) needsNoKernel() error {
	for _, f := range x.plan.Funcs {
		if err := x.prepare(f.Steps); err != nil {
			return err
		}
	}
	return nil
}

// Device is the device that the executable runs on, nil for the host.
func (x *Executable) Device() *memory.Device { return x.dev }

// boundLaunch is one launch of a kernel with its extents evaluated.
type boundLaunch struct {
	fn      device.Function
	blocks  int64
	threads int
	shared  int64
}

// bindKernel evaluates the launches of a kernel.
func (f *boundFunc) bindKernel(x *Executable, s *boundStep) (err error) {
	k, ok := x.plan.Device.Kernels[s.def.Launch.Kernel]
	if !ok {
		return fmt.Errorf("the compiled code has no kernel %q", s.def.Launch.Kernel)
	}
	extent := func(e abi.Extent) int64 {
		n, xerr := f.extent(e)
		if xerr != nil && err == nil {
			err = xerr
		}
		return n
	}
	for i := range k.Launches {
		l := &k.Launches[i]
		if blocks := l.Blocks(extent); blocks > 0 {
			s.launches = append(s.launches, boundLaunch{x.entries[l.Entry], blocks, l.Threads, l.Shared})
		}
	}
	f.scratch = max(f.scratch, k.ScratchBytes(extent))
	return err
}

// constantsOn copies constant data to the device.
func (f *boundFunc) constantsOn(x *Executable) error {
	f.dataOn = make([]device.Ptr, len(f.bufs))
	return x.dev.With(context.Background(), func(q *memory.Queue) error {
		for i, b := range f.bufs {
			if b.kind != abi.Data || b.dtype == types.String {
				continue
			}
			def := &f.def.Buffers[i]
			if s := x.data[def]; s != nil {
				f.dataOn[i] = s.Addr()
				continue
			}
			s, err := memory.NewOn(x.dev, b.bytes)
			if err != nil {
				return err
			}
			if err := q.Transfer.Upload(s.Addr(), def.Bytes[:b.bytes]); err != nil {
				s.Release()
				return err
			}
			x.data[def], f.dataOn[i] = s, s.Addr()
		}
		return nil
	})
}

// deviceRun is one call of a program on a device.
type deviceRun struct {
	run
	d         *memory.Device
	q         *memory.Queue
	cell      device.Ptr // of its abi.Error, and of what loops count
	unsettled bool       // kernels were started since the cell was read
}

// callOn is Call on a device.
func (x *Executable) callOn(env Env, b *binding, args []*tensor.Tensor) (out []*tensor.Tensor, err error) {
	f := b.funcs[0]
	if err := f.check(args); err != nil {
		return nil, err
	}
	bytes, err := env.Limits.take(0, f)
	if err != nil {
		return nil, err
	}
	var uses []*memory.Storage
	for _, t := range args {
		if t.Device() != nil {
			uses = append(uses, t.Storage())
		}
	}
	if err := x.dev.Await(env.Ctx, uses...); err != nil {
		return nil, stopped(env, err)
	}
	q, err := x.dev.Queue(env.Ctx)
	if err != nil {
		return nil, stopped(env, err)
	}
	r := &deviceRun{run: run{x: x, env: env, b: b, bytes: bytes}, d: x.dev, q: q}
	if r.trace = beginTrace(&env, f); r.trace != nil {
		defer func() { r.trace.end(&err) }()
	}
	out, err = r.whole(f, args)
	if ended := Ended(env.Ctx); err == nil && ended != nil {
		for _, t := range out {
			t.Close()
		}
		out, err = nil, ended
	}
	if err != nil {
		x.dev.Leave(q, uses...) // what was started may still run
	} else {
		x.dev.GiveBack(q)
	}
	goruntime.KeepAlive(args)
	return out, stopped(env, err)
}

// stopped is the error of a call. Of one whose context has ended that is the reason, whatever failed by it.
func stopped(env Env, err error) error {
	if ended := Ended(env.Ctx); err != nil && ended != nil {
		return ended
	}
	return err
}

// whole runs the function that the outside calls. What it takes goes back with the queue.
func (r *deviceRun) whole(f *boundFunc, args []*tensor.Tensor) ([]*tensor.Tensor, error) {
	fr, err := r.frame(f)
	if err != nil {
		return nil, err
	}
	r.q.Defer(func() { r.recycle(fr) })
	cell, err := r.q.New(abi.CellBytes)
	if err != nil {
		return nil, err
	}
	r.q.Defer(cell.Release)
	r.cell = cell.Addr()
	r.q.Unwanted = func(other device.Stream) error { // which kernels take for a loop that has ended
		return other.Fill(cell.Addr(), math.MaxUint32, 2)
	}
	if err := r.q.Fill(r.cell, 0, abi.ErrorBytes/4); err != nil {
		return nil, err
	}
	if err := r.makeRoom(); err != nil {
		return nil, err
	}
	if err := fr.takeArgs(r, args); err != nil {
		return nil, err
	}
	if err := fr.outputs(r, r.env.Places); err != nil {
		return nil, err
	}
	if err := r.steps(fr, f.steps, 0); err != nil {
		return nil, err
	}
	if err := r.settle(); err != nil {
		return nil, err
	}
	if err := fr.update(r); err != nil {
		return nil, err
	}
	out, err := fr.results(r)
	if err != nil {
		return nil, err
	}
	if err := r.q.Sync(); err != nil { // the results that stay may still be on their way
		for _, t := range out {
			r.q.Defer(t.Close)
		}
		return nil, err
	}
	return out, nil
}

// makeRoom says how many bytes of the stack of a thread calls of scalar functions may take: see Note [Stack of a
// thread] in codegen/llvm/emit. It is at least one, since none is no detail of a failure.
func (r *deviceRun) makeRoom() error {
	p := r.x.plan.Device
	if p == nil || p.Stack == 0 {
		return nil
	}
	has, err := r.d.Driver().Stack()
	if err != nil {
		return err
	}
	return r.set(abi.StackRoom, uint32(min(max(has-p.Reserve, 1), math.MaxInt32)))
}

// callIntoOn is CallInto on a device: the results are computed aside and copied there or to the host.
func (x *Executable) callIntoOn(env Env, b *binding, out, args []*tensor.Tensor) error {
	if err := b.funcs[0].checkOut(out); err != nil {
		return err
	}
	env.Places = make([]types.Place, len(out))
	for i, t := range out {
		if t.Device() == x.dev {
			env.Places[i] = t.Place()
		}
	}
	results, err := x.callOn(env, b, args)
	for i, t := range results {
		if err == nil {
			err = stopped(env, t.CopyUntil(env.Ctx, out[i]))
		}
		t.Close()
	}
	return err
}

// steps runs a list of steps in order.
func (r *deviceRun) steps(fr *deviceFrame, steps []boundStep, depth int) error {
	done := 0 // steps of a segment that ran
	for i := range steps {
		s := &steps[i]
		if err := r.count(); err != nil {
			return err
		}
		if i < done {
			continue
		}
		var err error
		switch {
		case r.trace.records():
			err = r.trace.step(s, r.b.funcs, func() error {
				if err := r.step(fr, s, depth); err != nil {
					return err
				}
				return r.q.Sync()
			})
		case s.segment > 0 && r.d.Graphs():
			err = r.segment(fr, steps[i:i+s.segment])
			done = i + s.segment
		default:
			err = r.step(fr, s, depth)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// step runs one step.
func (r *deviceRun) step(fr *deviceFrame, s *boundStep, depth int) error {
	switch {
	case s.def.Launch != nil:
		return r.launch(fr, s)
	case s.def.Copy != nil:
		return r.copy(fr, s)
	case s.def.Host != nil:
		return r.host(fr, s)
	case s.def.If != nil:
		return r.choose(fr, s, depth)
	case s.def.Loop != nil:
		return r.loop(fr, s, depth)
	case s.def.Call != nil:
		return r.call(fr, s, depth)
	case s.fails:
		if err := r.settle(); err != nil {
			return err
		}
		return r.failure(&abi.Error{Site: 1 + int64(s.def.Fail.Site)})
	}
	return nil
}

// launch starts a kernel.
func (r *deviceRun) launch(fr *deviceFrame, s *boundStep) error {
	w := r.words(fr, s.def.Launch.Args)
	for i := range s.launches {
		l := &s.launches[i]
		if err := r.q.Launch(l.fn, l.blocks, l.threads, l.shared, w); err != nil {
			return err
		}
		r.unsettled = true
	}
	return nil
}

// words are the parameters of an entry for these buffers.
func (r *deviceRun) words(fr *deviceFrame, bufs []int) []uint64 {
	w := fr.words[:0]
	for _, b := range bufs {
		w = append(w, uint64(fr.addrs[b]))
	}
	for _, d := range r.b.dims {
		w = append(w, uint64(d))
	}
	w = append(w, uint64(fr.scratch), uint64(r.cell))
	fr.words = w
	return w
}

// settle waits for the device, if anything was started since it was waited for, and reports what kernels found wrong.
func (r *deviceRun) settle() error {
	if !r.unsettled {
		return nil
	}
	_, err := r.read(0, 0)
	return err
}

// read waits for the device, reports what kernels found wrong, and returns n bytes at an address. They are there until
// the next read.
func (r *deviceRun) read(at device.Ptr, n int) ([]byte, error) {
	small := r.q.Small
	if err := r.q.Download(small[:abi.ErrorBytes], r.cell); err != nil {
		return nil, err
	}
	value := small[abi.ErrorBytes : abi.ErrorBytes+n]
	if err := r.q.Download(value, at); err != nil {
		return nil, err
	}
	if err := r.q.Sync(); err != nil {
		return nil, err
	}
	r.unsettled = false
	word := func(i int) int64 { return int64(binary.LittleEndian.Uint64(small[8*i:])) }
	if site := word(0); site != 0 && site != abi.Stopped {
		return nil, r.failure(&abi.Error{Site: site, Info: [2]int64{word(1), word(2)}})
	}
	return value, nil
}

// value is the first n bytes of a buffer, which the host has to know.
func (r *deviceRun) value(fr *deviceFrame, buf, n int) ([]byte, error) {
	if fr.f.bufs[buf].kind == abi.Data {
		return fr.f.def.Buffers[buf].Bytes[:n], nil
	}
	return r.read(fr.addrs[buf], n)
}

// choose runs an If step.
func (r *deviceRun) choose(fr *deviceFrame, s *boundStep, depth int) error {
	cond, err := r.value(fr, s.def.If.Cond, 1)
	if err != nil {
		return err
	}
	arm := s.els
	if cond[0] != 0 {
		arm = s.then
	}
	return r.steps(fr, arm, depth)
}

// copy runs a Copy step.
func (r *deviceRun) copy(fr *deviceFrame, s *boundStep) error {
	from, to := &s.views[0], s.def.Copy.To
	if fr.isString(from) {
		fr.strs[to] = fr.strs[from.buf]
		return nil
	}
	return r.move(fr.buffer(to), fr.remote(from))
}

// move copies on the device. After a failure that nobody has seen yet, what it reads may never have been written, so a
// kernel that copies does nothing then, as other kernels do.
func (r *deviceRun) move(to, from memory.DeviceArray) error {
	if to.Overlaps(from) || to.Layout().IsRowMajor() && from.Layout().IsRowMajor() {
		return r.d.Move(r.q, to, from)
	}
	return r.d.CopyUnless(r.q, to, from, r.cell)
}

// call runs another function of the plan and copies its results. It waits for the device, since the callee's memory
// goes back when it has returned.
func (r *deviceRun) call(fr *deviceFrame, s *boundStep, depth int) (err error) {
	c := s.def.Call
	if depth >= abi.MaxCallDepth {
		if err := r.settle(); err != nil {
			return err
		}
		site := r.site(c.Site)
		site.Kind = abi.KindRecursion
		return &RuntimeError{Site: site, Message: abi.Message(site, [2]int64{})}
	}
	f := r.b.funcs[c.Func]
	callee, err := r.frame(f)
	if err != nil {
		return err
	}
	defer func() {
		serr := r.q.Sync()
		if err == nil {
			err = serr
		}
		if serr != nil {
			r.q.Defer(func() { r.recycle(callee) })
			return
		}
		r.recycle(callee)
	}()
	for i := range s.views {
		if err := callee.pass(r, f.def.Params[i], fr, &s.views[i]); err != nil {
			return err
		}
	}
	if err := callee.outputs(r, nil); err != nil {
		return err
	}
	if err := r.steps(callee, f.steps, depth+1); err != nil {
		return err
	}
	for i := range f.results {
		v, to := &f.results[i], c.Out[i]
		if callee.isString(v) {
			fr.strs[to] = callee.strs[v.buf]
			continue
		}
		if err := r.move(fr.buffer(to), callee.remote(v)); err != nil {
			return err
		}
	}
	return nil
}

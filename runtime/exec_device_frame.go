package runtime

import (
	"fmt"

	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/device"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// deviceFrame is the memory of one activation on a device, as frame is on the host. Idle frames are kept with their
// memory, except where accesses are checked, which works best on fresh memory.
type deviceFrame struct {
	f       *boundFunc
	addrs   []device.Ptr      // address of each buffer
	strs    []string          // of string buffers
	tensors []*tensor.Tensor  // of inputs (borrowed) and outputs, on the device
	hosts   []*tensor.Tensor  // of inputs that the caller has on the host
	memory  []*memory.Storage // of temporaries and kernels
	scratch device.Ptr        // of kernels, which run one after the other; 0 when none needs any

	uploads []*tensor.Tensor // copies of arguments
	asides  []*memory.Storage
	words   []uint64 // parameters of a launch
	graphs  graphs
}

// frame returns the memory for an activation of a function.
func (r *deviceRun) frame(f *boundFunc) (*deviceFrame, error) {
	f.mu.Lock()
	if n := len(f.idleOn); n > 0 {
		fr := f.idleOn[n-1]
		f.idleOn = f.idleOn[:n-1]
		f.mu.Unlock()
		return fr, nil
	}
	f.mu.Unlock()
	n := len(f.bufs)
	fr := &deviceFrame{f: f, addrs: make([]device.Ptr, n), strs: make([]string, n), tensors: make([]*tensor.Tensor, n),
		hosts: make([]*tensor.Tensor, n)}
	if err := fr.allocate(r.q); err != nil {
		fr.release()
		return nil, err
	}
	return fr, nil
}

// allocate gives the temporaries memory: one arena, or where accesses are checked a piece for each.
func (fr *deviceFrame) allocate(q *memory.Queue) error {
	f := fr.f
	get := func(bytes int64) (device.Ptr, error) {
		s, err := q.New(bytes)
		if err != nil {
			return 0, err
		}
		fr.memory = append(fr.memory, s)
		return s.Addr(), nil
	}
	var arena device.Ptr
	var err error
	separate := f.dev.Info().Checked
	if f.arena > 0 && !separate {
		if arena, err = get(f.arena); err != nil {
			return err
		}
	}
	for i := range f.bufs {
		switch b := &f.bufs[i]; {
		case b.dtype == types.String:
			fr.strs[i] = f.def.Buffers[i].Str
		case b.kind == abi.Data:
			fr.addrs[i] = f.dataOn[i]
		case b.kind == abi.Temp && separate:
			if fr.addrs[i], err = get(b.bytes); err != nil {
				return err
			}
		case b.kind == abi.Temp:
			fr.addrs[i] = arena + device.Ptr(b.offset)
		}
	}
	if f.scratch > 0 {
		fr.scratch, err = get(f.scratch)
	}
	return err
}

// recycle ends an activation, with which the device is done: what the caller did not get goes back.
func (r *deviceRun) recycle(fr *deviceFrame) {
	f := fr.f
	for i, t := range fr.tensors {
		if t != nil && f.bufs[i].kind == abi.Output {
			t.Close()
		}
	}
	for _, t := range fr.uploads {
		t.Close()
	}
	for _, s := range fr.asides {
		s.Release()
	}
	clear(fr.tensors)
	clear(fr.hosts)
	clear(fr.uploads)
	clear(fr.asides)
	fr.uploads, fr.asides = fr.uploads[:0], fr.asides[:0]
	if !f.dev.Info().Checked {
		f.mu.Lock()
		defer f.mu.Unlock()
		if len(f.idleOn) < maxIdle {
			f.idleOn = append(f.idleOn, fr)
			return
		}
	}
	fr.release()
}

func (fr *deviceFrame) release() {
	fr.graphs.close()
	for _, s := range fr.memory {
		s.Release()
	}
	fr.memory = nil
}

// takeArgs gives the frame the caller's arguments; those on the host are copied.
func (fr *deviceFrame) takeArgs(r *deviceRun, args []*tensor.Tensor) error {
	for i, t := range args {
		id := fr.f.def.Params[i]
		if s, ok := t.Text(); ok {
			fr.strs[id] = s
			continue
		}
		switch t.Device() {
		case r.d:
		case nil:
			up, err := tensor.Upload(r.d, r.q, t)
			if err != nil {
				return err
			}
			fr.uploads = append(fr.uploads, up)
			fr.hosts[id], t = t, up
		default:
			return fmt.Errorf("argument %d of %s is on another device than the program", i, fr.f.def.Name)
		}
		at, err := fr.align(r, t.DeviceArray())
		if err != nil {
			return err
		}
		fr.addrs[id], fr.tensors[id] = at.Addr, t
	}
	return nil
}

// align is a place from which kernels can read: from itself, or a copy of it.
func (fr *deviceFrame) align(r *deviceRun, from memory.DeviceArray) (memory.DeviceArray, error) {
	to, memory, err := r.d.Aligned(r.q, from)
	if memory != nil {
		fr.asides = append(fr.asides, memory)
	}
	return to, err
}

// pass makes a view of the caller's memory a parameter, which lies as the plan declares.
func (fr *deviceFrame) pass(r *deviceRun, param int, caller *deviceFrame, v *boundView) error {
	if caller.isString(v) {
		fr.strs[param] = caller.strs[v.buf]
		return nil
	}
	from, b := caller.remote(v), &fr.f.bufs[param]
	if !memory.SameStrides(v.shape, v.strides, b.strides) {
		s, err := r.q.New(b.bytes)
		if err != nil {
			return err
		}
		fr.asides = append(fr.asides, s)
		dense := memory.DeviceArray{Addr: s.Addr(), Size: from.Size, Shape: b.shape, Strides: b.strides}
		if err := r.move(dense, from); err != nil {
			return err
		}
		from = dense
	}
	from, err := fr.align(r, from)
	fr.addrs[param] = from.Addr
	return err
}

// outputs allocates the results, in unified memory where they are wanted there.
func (fr *deviceFrame) outputs(r *deviceRun, places []types.Place) error {
	unified := func(buf int) types.Place {
		for i, at := range places {
			if at == types.OnUnified && fr.f.results[i].buf == buf {
				return at
			}
		}
		return types.OnDevice
	}
	for i := range fr.f.bufs {
		b := &fr.f.bufs[i]
		if b.kind != abi.Output || b.dtype == types.String {
			continue
		}
		t, err := tensor.NewFor(r.q, unified(i), b.dtype, b.shape)
		if err != nil {
			return err
		}
		fr.tensors[i], fr.addrs[i] = t, t.DeviceAddr()
	}
	return nil
}

func (fr *deviceFrame) isString(v *boundView) bool { return fr.f.bufs[v.buf].dtype == types.String }

// remote is what a view shows in the memory of the device.
func (fr *deviceFrame) remote(v *boundView) memory.DeviceArray {
	size := int64(fr.f.bufs[v.buf].dtype.Bytes())
	at := fr.addrs[v.buf] + device.Ptr(v.offset*size)
	return memory.DeviceArray{Addr: at, Size: size, Shape: v.shape, Strides: v.strides}
}

// buffer is a whole buffer.
func (fr *deviceFrame) buffer(i int) memory.DeviceArray {
	b := &fr.f.bufs[i]
	return memory.DeviceArray{Addr: fr.addrs[i], Size: int64(b.dtype.Bytes()), Shape: b.shape, Strides: b.strides}
}

// update writes what became of `&mut` arguments of which the program had a copy.
func (fr *deviceFrame) update(r *deviceRun) error {
	for _, id := range fr.f.def.Updates {
		host, at := fr.hosts[id], fr.buffer(id)
		if host == nil {
			if to := fr.tensors[id].DeviceArray(); to.Addr != at.Addr {
				if err := r.d.Copy(r.q, to, at); err != nil {
					return err
				}
			}
			continue
		}
		t, err := tensor.Fetch(r.d, r.q, host.DType, at)
		if err != nil {
			return err
		}
		err = t.CopyTo(host)
		t.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// results builds the tensors that the program returns, on the host or on the device; each holds its memory on its own.
func (fr *deviceFrame) results(r *deviceRun) (out []*tensor.Tensor, err error) {
	for i := range fr.f.results {
		place := types.OnHost
		if i < len(r.env.Places) {
			place = r.env.Places[i]
		}
		t, err := fr.result(r, &fr.f.results[i], place)
		if err != nil {
			for _, t := range out {
				r.q.Defer(t.Close)
			}
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

func (fr *deviceFrame) result(r *deviceRun, v *boundView, place types.Place) (*tensor.Tensor, error) {
	dtype := fr.f.bufs[v.buf].dtype
	switch {
	case fr.isString(v):
		return tensor.Text(fr.strs[v.buf]), nil
	case place == types.OnHost && fr.hosts[v.buf] != nil: // an argument, or a view of one
		return viewOf(fr.hosts[v.buf], v)
	case place == types.OnHost:
		return tensor.Fetch(r.d, r.q, dtype, fr.remote(v))
	case fr.tensors[v.buf] != nil && fr.tensors[v.buf].Place() == place:
		return viewOf(fr.tensors[v.buf], v)
	}
	// Of the arena or constant data, which outlive nothing, or in another place.
	t, err := tensor.NewFor(r.q, place, dtype, v.shape)
	if err != nil {
		return nil, err
	}
	if err := r.d.Copy(r.q, t.DeviceArray(), fr.remote(v)); err != nil {
		r.q.Defer(t.Close)
		return nil, err
	}
	return t, nil
}

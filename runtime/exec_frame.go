package runtime

import (
	goruntime "runtime"
	"unsafe"

	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// frame is the memory of one activation. Idle frames are kept, so that a call allocates its outputs only.
type frame struct {
	f       *boundFunc
	ptrs    []unsafe.Pointer // address of each buffer
	tensors []*tensor.Tensor // of inputs (borrowed) and outputs (owned until they are handed out)
	strs    []string         // of string buffers
	arena   *memory.Storage
	owned   []*memory.Storage // of this activation: outputs without a place of the caller's, arguments that were copied
	args    []unsafe.Pointer
	from    []memory.Array // of the results of a CallInto
	err     abi.Error
	run     run // of a call from outside
	region  region
}

// Idle frames that a function keeps: some with their arenas, as several calls at once need them, and many without, as
// a deep recursion does, of which each is about as large as its list of buffers.
const (
	maxIdle = 4
	maxBare = 1024
)

func (f *boundFunc) frame() (*frame, error) {
	fr := f.takeIdle()
	if fr == nil {
		n := len(f.bufs)
		fr = &frame{f: f, ptrs: make([]unsafe.Pointer, n), tensors: make([]*tensor.Tensor, n), strs: make([]string, n)}
		for i := range f.bufs {
			switch b := &f.bufs[i]; {
			case b.dtype == types.String:
				fr.strs[i] = f.def.Buffers[i].Str
			case b.kind == abi.Data:
				fr.ptrs[i] = f.data[i]
			}
		}
	}
	if f.arena == 0 || fr.arena != nil {
		return fr, nil
	}
	var err error
	if fr.arena, err = memory.New(f.arena); err != nil {
		return nil, f.noRoom(err, abi.Temp)
	}
	for i := range f.bufs {
		if b := &f.bufs[i]; b.kind == abi.Temp && b.dtype != types.String {
			fr.ptrs[i] = unsafe.Add(fr.arena.Ptr(), b.offset)
		}
	}
	return fr, nil
}

// takeIdle returns a frame of an activation that ended, nil when there is none.
func (f *boundFunc) takeIdle() *frame {
	if fr := f.spare.Swap(nil); fr != nil {
		return fr
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, list := range []*[]*frame{&f.idle, &f.bare} {
		if n := len(*list); n > 0 {
			fr := (*list)[n-1]
			*list = (*list)[:n-1]
			return fr
		}
	}
	return nil
}

// recycle ends an activation: outputs that were not handed out are closed, and the memory of the caller forgotten.
func (f *boundFunc) recycle(fr *frame) {
	for i := range f.bufs {
		if k := f.bufs[i].kind; k == abi.Input || k == abi.Output {
			if fr.tensors[i] != nil && k == abi.Output {
				fr.tensors[i].Close()
			}
			fr.tensors[i], fr.ptrs[i] = nil, nil
		}
	}
	for i, s := range fr.owned {
		s.Release()
		fr.owned[i] = nil
	}
	fr.owned, fr.run = fr.owned[:0], run{}
	if f.spare.CompareAndSwap(nil, fr) {
		return
	}
	f.mu.Lock()
	if len(f.idle) < maxIdle-1 {
		f.idle = append(f.idle, fr)
		f.mu.Unlock()
		return
	}
	f.mu.Unlock()
	fr.release()
	f.mu.Lock()
	if len(f.bare) < maxBare {
		f.bare = append(f.bare, fr)
	}
	f.mu.Unlock()
}

func (fr *frame) release() {
	if fr.arena != nil {
		fr.arena.Release()
		fr.arena = nil
	}
}

// outputs allocates tensors for the results.
func (fr *frame) outputs() error {
	for i := range fr.f.bufs {
		b := &fr.f.bufs[i]
		if b.kind != abi.Output || b.dtype == types.String {
			continue
		}
		t, err := tensor.New(b.dtype, b.shape...)
		if err != nil {
			return err
		}
		fr.tensors[i], fr.ptrs[i] = t, t.Ptr()
	}
	return nil
}

// room gives memory for the time of the activation to the outputs for which the caller has no place.
func (fr *frame) room() error {
	for i := range fr.f.bufs {
		b := &fr.f.bufs[i]
		if b.kind != abi.Output || b.dtype == types.String || fr.ptrs[i] != nil {
			continue
		}
		s, err := memory.New(max(b.bytes, 1))
		if err != nil {
			return fr.f.noRoom(err, abi.Output)
		}
		fr.owned = append(fr.owned, s)
		fr.ptrs[i] = s.Ptr()
	}
	return nil
}

// takeArgs gives the frame the caller's arguments.
func (fr *frame) takeArgs(args []*tensor.Tensor) {
	for i, t := range args {
		id := fr.f.def.Params[i]
		if t.IsText() { // Text alone is too large to be inlined here
			fr.strs[id], _ = t.Text()
			continue
		}
		fr.ptrs[id] = t.Ptr()
		fr.tensors[id] = t
	}
}

// argSpace returns room for n kernel arguments, used by one launch at a time.
func (fr *frame) argSpace(n int) []unsafe.Pointer {
	if cap(fr.args) < n {
		fr.args = make([]unsafe.Pointer, n)
	}
	return fr.args[:n]
}

// fill copies t into a whole buffer.
func (fr *frame) fill(buf int, t *tensor.Tensor) error {
	err := memory.Move(fr.buffer(buf), t.Array())
	goruntime.KeepAlive(t)
	return err
}

// results builds the tensors that the function returns; each holds its memory on its own.
func (fr *frame) results() ([]*tensor.Tensor, error) {
	out := make([]*tensor.Tensor, 0, len(fr.f.results))
	for i := range fr.f.results {
		v := &fr.f.results[i]
		t, err := fr.view(v)
		// of the arena or constant data, which outlive nothing
		if err == nil && fr.tensors[v.buf] == nil && !fr.isString(v) {
			var c *tensor.Tensor
			c, err = t.Clone()
			t.Close()
			t = c
		}
		if err != nil {
			for _, t := range out {
				t.Close()
			}
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

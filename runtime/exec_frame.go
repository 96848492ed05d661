package runtime

import (
	"fmt"
	"unsafe"

	"healc/lang/types"
	"healc/runtime/abi"
)

// frame is the memory of one activation. Idle frames are kept, so that a call allocates its outputs only.
type frame struct {
	f       *boundFunc
	ptrs    []unsafe.Pointer // address of each buffer
	tensors []*Tensor        // of inputs (borrowed) and outputs (owned until they are handed out)
	strs    []string         // of string buffers
	arena   *Storage
	args    []unsafe.Pointer
	err     abi.Error
	run     run // of a CallInto
	region  region
}

// maxIdle bounds the frames that a function keeps.
const maxIdle = 4

func (f *boundFunc) frame() (*frame, error) {
	f.mu.Lock()
	if n := len(f.idle); n > 0 {
		fr := f.idle[n-1]
		f.idle = f.idle[:n-1]
		f.mu.Unlock()
		return fr, nil
	}
	f.mu.Unlock()
	n := len(f.bufs)
	fr := &frame{f: f, ptrs: make([]unsafe.Pointer, n), tensors: make([]*Tensor, n), strs: make([]string, n)}
	if f.arena > 0 {
		s, err := NewStorage(f.arena)
		if err != nil {
			return nil, err
		}
		fr.arena = s
	}
	for i := range f.bufs {
		switch b := &f.bufs[i]; {
		case b.dtype == types.String:
			fr.strs[i] = f.def.Buffers[i].Str
		case b.kind == abi.Temp:
			fr.ptrs[i] = unsafe.Add(fr.arena.Ptr(), b.offset)
		case b.kind == abi.Data:
			fr.ptrs[i] = f.data[i]
		}
	}
	return fr, nil
}

// recycle ends an activation: outputs that were not handed out are closed.
func (f *boundFunc) recycle(fr *frame) {
	for i := range fr.tensors {
		if fr.tensors[i] != nil {
			if f.bufs[i].kind == abi.Output {
				fr.tensors[i].Close()
			}
			fr.tensors[i] = nil
		}
	}
	f.mu.Lock()
	if len(f.idle) < maxIdle {
		f.idle = append(f.idle, fr)
		fr = nil
	}
	f.mu.Unlock()
	if fr != nil {
		fr.release()
	}
}

func (fr *frame) release() {
	if fr.arena != nil {
		fr.arena.Release()
		fr.arena = nil
	}
}

// outputs allocates the results, but those that the caller has a place for.
func (fr *frame) outputs() error {
	for i := range fr.f.bufs {
		b := &fr.f.bufs[i]
		if b.kind != abi.Output || b.dtype == types.String || fr.tensors[i] != nil {
			continue
		}
		t, err := New(b.dtype, b.shape...)
		if err != nil {
			return err
		}
		fr.tensors[i], fr.ptrs[i] = t, t.Ptr()
	}
	return nil
}

// argSpace returns room for n kernel arguments, used by one launch at a time.
func (fr *frame) argSpace(n int) []unsafe.Pointer {
	if cap(fr.args) < n {
		fr.args = make([]unsafe.Pointer, n)
	}
	return fr.args[:n]
}

// view returns a tensor on a buffer; it shares the memory. A string is copied.
func (fr *frame) view(v *abi.View) (*Tensor, error) {
	f := fr.f
	if fr.isString(v) {
		return Text(fr.strs[v.Buffer]), nil
	}
	shape, err := f.dimsOf(v.Shape)
	if err != nil {
		return nil, err
	}
	strides, err := f.dimsOf(v.Strides)
	if err != nil {
		return nil, err
	}
	off, err := v.Offset.Eval(f.bind)
	if err != nil {
		return nil, err
	}
	b := &f.bufs[v.Buffer]
	if base := fr.tensors[v.Buffer]; base != nil {
		t, err := base.View()
		if err != nil {
			return nil, err
		}
		t.Shape, t.Strides, t.Offset = shape, strides, base.Offset+off
		return t, nil
	}
	if fr.ptrs[v.Buffer] == nil {
		return nil, fmt.Errorf("BUG: buffer %d of %s has no memory", v.Buffer, f.def.Name)
	}
	t, err := FromStorage(WrapStorage(fr.ptrs[v.Buffer], max(b.bytes, 1), fr, nil), b.dtype, b.shape...)
	if err != nil {
		return nil, err
	}
	t.Shape, t.Strides, t.Offset = shape, strides, off
	return t, nil
}

// fill copies t into a whole buffer.
func (fr *frame) fill(buf int, t *Tensor) error {
	if s, ok := t.Text(); ok {
		fr.strs[buf] = s
		return nil
	}
	b := &fr.f.bufs[buf]
	v := abi.View{Buffer: buf}
	for i, n := range b.shape {
		v.Shape = append(v.Shape, types.Lit(n))
		v.Strides = append(v.Strides, types.Lit(b.strides[i]))
	}
	dst, err := fr.view(&v)
	if err != nil {
		return err
	}
	defer dst.Close()
	return t.CopyTo(dst)
}

// results builds the tensors that the function returns; each holds its memory on its own.
func (fr *frame) results() ([]*Tensor, error) {
	out := make([]*Tensor, 0, len(fr.f.def.Results))
	for i := range fr.f.def.Results {
		v := &fr.f.def.Results[i]
		t, err := fr.view(v)
		if err == nil && fr.tensors[v.Buffer] == nil && !fr.isString(v) { // of the arena or constant data, which outlive nothing
			var c *Tensor
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

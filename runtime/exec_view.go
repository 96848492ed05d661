package runtime

import (
	"fmt"
	"slices"
	"unsafe"

	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// boundView is a view of a buffer with its extents evaluated.
type boundView struct {
	buf     int
	shape   []int64
	strides []int64 // in elements, as offset
	offset  int64
	dense   []int64 // strides of a row-major copy
	whole   bool    // it is its buffer, element by element
}

func (f *boundFunc) bindView(v *abi.View) (boundView, error) {
	out := boundView{buf: v.Buffer}
	var err error
	if out.shape, err = f.dimsOf(v.Shape); err != nil {
		return out, err
	}
	if out.strides, err = f.dimsOf(v.Strides); err != nil {
		return out, err
	}
	if out.offset, err = v.Offset.Eval(f.bind); err != nil {
		return out, err
	}
	out.dense = memory.RowMajor(out.shape)
	b := &f.bufs[v.Buffer]
	out.whole = out.offset == 0 && slices.Equal(out.shape, b.shape) &&
		memory.SameStrides(out.shape, out.strides, b.strides)
	return out, nil
}

func (f *boundFunc) bindViews(vs []abi.View) ([]boundView, error) {
	out := make([]boundView, len(vs))
	for i := range vs {
		var err error
		if out[i], err = f.bindView(&vs[i]); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// elements are what a view shows in the memory of a frame.
func (fr *frame) elements(v *boundView) memory.Array {
	size := int64(fr.f.bufs[v.buf].dtype.Bytes())
	return memory.Array{Ptr: unsafe.Add(fr.ptrs[v.buf], v.offset*size), Size: size, Shape: v.shape, Strides: v.strides}
}

// buffer is a whole buffer of a frame.
func (fr *frame) buffer(i int) memory.Array {
	b := &fr.f.bufs[i]
	return memory.Array{Ptr: fr.ptrs[i], Size: int64(b.dtype.Bytes()), Shape: b.shape, Strides: b.strides}
}

// scalar is where the one element of a view lies.
func (fr *frame) scalar(v *boundView) unsafe.Pointer {
	return unsafe.Add(fr.ptrs[v.buf], v.offset*int64(fr.f.bufs[v.buf].dtype.Bytes()))
}

func (fr *frame) isString(v *boundView) bool { return fr.f.bufs[v.buf].dtype == types.String }

// view returns a tensor on a buffer; it shares the memory. A string is copied.
func (fr *frame) view(v *boundView) (*tensor.Tensor, error) {
	if fr.isString(v) {
		return tensor.Text(fr.strs[v.buf]), nil
	}
	b := &fr.f.bufs[v.buf]
	base := fr.tensors[v.buf]
	if base == nil {
		if fr.ptrs[v.buf] == nil {
			return nil, fmt.Errorf("BUG: buffer %d of %s has no memory", v.buf, fr.f.def.Name)
		}
		var err error
		s := memory.Wrap(fr.ptrs[v.buf], max(b.bytes, 1), fr, nil)
		if base, err = tensor.FromStorage(s, b.dtype, b.shape...); err != nil {
			return nil, err
		}
		defer base.Close()
	}
	return viewOf(base, v)
}

// copy runs a Copy step.
func (r *run) copy(fr *frame, s *boundStep) error {
	to := s.def.Copy.To
	if fr.isString(&s.views[0]) {
		fr.strs[to] = fr.strs[s.views[0].buf]
		return nil
	}
	return memory.Move(fr.buffer(to), fr.elements(&s.views[0]))
}

// viewOf is a view on the memory of a tensor that is a whole buffer.
func viewOf(base *tensor.Tensor, v *boundView) (*tensor.Tensor, error) {
	return base.Unchecked(v.offset, v.shape, v.strides)
}

package runtime

import (
	"unsafe"

	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// hostStep is a HostCall of a program on a device. It runs on the host, in a frame of its own whose buffers are its
// operands, copied from the device, and its results, which are copied there afterwards.
type hostStep struct {
	step boundStep // the step with the buffers of the frame
	f    boundFunc
	out  []int // of each result, the buffer of the program; -1 when nobody wants it
}

// hostStep prepares a step whose operands are known.
func (f *boundFunc) hostStep(s *boundStep) *hostStep {
	call := *s.def.Host
	h := &hostStep{}
	h.f.def = f.def
	for i, v := range s.views {
		b := boundBuffer{dtype: f.bufs[v.buf].dtype, shape: v.shape, strides: v.dense}
		b.bytes = memory.Count(b.shape) * int64(b.dtype.Bytes())
		h.f.bufs = append(h.f.bufs, b)
		h.step.views = append(h.step.views, boundView{buf: i, shape: v.shape, strides: v.dense, dense: v.dense,
			whole: true})
	}
	h.out, call.Out = call.Out, nil
	for _, buf := range h.out {
		if buf < 0 {
			call.Out = append(call.Out, -1)
			continue
		}
		call.Out = append(call.Out, len(h.f.bufs))
		b := f.bufs[buf]
		b.strides = memory.RowMajor(b.shape)
		h.f.bufs = append(h.f.bufs, b)
	}
	h.step.def = &abi.Step{Host: &call}
	return h
}

// host runs a HostCall.
func (r *deviceRun) host(fr *deviceFrame, s *boundStep) error {
	if err := r.settle(); err != nil {
		return err
	}
	h := s.aside
	n := len(h.f.bufs)
	on := &frame{f: &h.f, ptrs: make([]unsafe.Pointer, n), tensors: make([]*tensor.Tensor, n), strs: make([]string, n)}
	defer func() {
		for _, t := range on.tensors {
			t.Close()
		}
	}()
	for i := range s.views {
		v := &s.views[i]
		if fr.isString(v) {
			on.strs[i] = fr.strs[v.buf]
			continue
		}
		t, err := tensor.Fetch(r.d, r.q, fr.f.bufs[v.buf].dtype, fr.remote(v))
		if err != nil {
			return err
		}
		on.tensors[i], on.ptrs[i] = t, t.Ptr()
	}
	call := h.step.def.Host
	for _, to := range call.Out {
		if to < 0 || h.f.bufs[to].dtype == types.String {
			continue
		}
		t, err := tensor.New(h.f.bufs[to].dtype, h.f.bufs[to].shape...)
		if err != nil {
			return err
		}
		on.tensors[to], on.ptrs[to] = t, t.Ptr()
	}
	if err := r.run.host(on, &h.step); err != nil {
		return err
	}
	for i, to := range call.Out {
		buf := h.out[i]
		switch {
		case to < 0:
		case h.f.bufs[to].dtype == types.String:
			fr.strs[buf] = on.strs[to]
		default:
			up, err := tensor.Upload(r.d, r.q, on.tensors[to])
			if err != nil {
				return err
			}
			fr.uploads = append(fr.uploads, up)
			if err := r.d.Copy(r.q, fr.buffer(buf), up.DeviceArray()); err != nil {
				return err
			}
		}
	}
	return nil
}

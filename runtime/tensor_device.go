package runtime

import (
	"errors"
	"fmt"
	goruntime "runtime"
	"unsafe"

	"healc/lang/types"
	"healc/runtime/device"
)

// ErrOnDevice is the error of every read or write of elements by the host when they are in the memory of a device.
var ErrOnDevice = errors.New("the tensor is in the memory of a device, which the host cannot read; ToHost copies it")

// Device is the device that the elements are on, nil for the host.
func (t *Tensor) Device() *Device {
	if t == nil || t.storage == nil {
		return nil
	}
	return t.storage.Device()
}

// Unified reports whether the elements are in memory that both the host and the tensor's device reach. The host may use
// them while no program runs that uses them.
func (t *Tensor) Unified() bool { return t.Device() != nil && t.storage.Unified() }

// Place is the memory that the elements are in.
func (t *Tensor) Place() types.Place {
	switch {
	case t.Device() == nil:
		return types.OnHost
	case t.Unified():
		return types.OnUnified
	}
	return types.OnDevice
}

// hostErr is Err for what needs the elements where the host reaches them.
func (t *Tensor) hostErr() error {
	if err := t.Err(); err != nil {
		return err
	}
	if t.storage.Device() != nil && !t.storage.Unified() {
		return ErrOnDevice
	}
	return nil
}

// DeviceAddr is the address of element [0, ..., 0] in the memory of the tensor's device; 0 when it is on none.
func (t *Tensor) DeviceAddr() device.Ptr {
	if t.Device() == nil {
		return 0
	}
	return t.storage.Addr() + device.Ptr(t.Offset*int64(t.DType.Bytes()))
}

// NewOn is New in the memory of a device.
func NewOn(d *Device, dtype types.DType, shape ...int64) (*Tensor, error) {
	return newOn(d, NewStorageOn, dtype, shape)
}

// NewUnified is NewOn in memory that the host reaches as well. The error is a *NoUnifiedError when the device has none.
func NewUnified(d *Device, dtype types.DType, shape ...int64) (*Tensor, error) {
	return newOn(d, NewUnifiedStorage, dtype, shape)
}

// newAt is NewOn or NewUnified.
func newAt(d *Device, place types.Place, dtype types.DType, shape []int64) (*Tensor, error) {
	if place == types.OnUnified {
		return newOn(d, NewUnifiedStorage, dtype, shape)
	}
	return newOn(d, NewStorageOn, dtype, shape)
}

func newOn(d *Device, storage func(*Device, int64) (*Storage, error), dtype types.DType, shape []int64) (*Tensor,
	error) {
	bytes, err := checkShape(dtype, shape)
	if err != nil {
		return nil, err
	}
	s, err := storage(d, bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", typeName(dtype, shape), err)
	}
	t := newView(s, dtype, len(shape))
	copy(t.Shape, shape)
	setRowMajor(t.Strides, t.Shape)
	return t, nil
}

// ToDevice copies the elements to a device, into a row-major tensor. A tensor that is there already gives a view of it,
// as Contiguous does.
func (t *Tensor) ToDevice(d *Device) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	switch t.storage.Device() {
	case d:
		if t.Unified() {
			return t.cloneOn(types.OnDevice)
		}
		return t.Contiguous()
	case nil:
	default: // from one device to another, by way of the host
		h, err := t.ToHost()
		if err != nil {
			return nil, err
		}
		defer h.Close()
		return h.ToDevice(d)
	}
	c, err := t.Contiguous()
	if err != nil {
		return nil, err
	}
	defer c.Close()
	out, err := NewOn(d, t.DType, t.Shape...)
	if err != nil {
		return nil, err
	}
	if err := d.with(func(q *queue) error { return q.transfer.Upload(out.DeviceAddr(), c.raw()) }); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// ToUnified copies the elements to memory that a device and the host reach, into a row-major tensor. A tensor that is
// there already gives a view of it, as Contiguous does. The error is a *NoUnifiedError when the device has no such
// memory.
func (t *Tensor) ToUnified(d *Device) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	switch {
	case t.storage.Device() == d && t.Unified():
		return t.Contiguous()
	case t.storage.Device() == d:
		return t.cloneOn(types.OnUnified)
	case t.hostErr() != nil: // from one device to another, by way of the host
		h, err := t.ToHost()
		if err != nil {
			return nil, err
		}
		defer h.Close()
		return h.ToUnified(d)
	}
	out, err := NewUnified(d, t.DType, t.Shape...)
	if err != nil {
		return nil, err
	}
	copyElements(out.elements(), t.elements())
	goruntime.KeepAlive(t)
	return out, nil
}

// Mirror copies all of the memory that t is a view of to a device: the result is the same view of the copy, with the
// offset and the strides of t, which is on the host.
func (t *Tensor) Mirror(d *Device) (*Tensor, error) {
	if err := t.hostErr(); err != nil {
		return nil, err
	}
	s, err := NewStorageOn(d, t.storage.Bytes())
	if err != nil {
		return nil, err
	}
	v := newView(s, t.DType, len(t.Shape))
	copy(v.Shape, t.Shape)
	copy(v.Strides, t.Strides)
	v.Offset = t.Offset
	all := unsafe.Slice((*byte)(t.storage.Ptr()), t.storage.Bytes())
	if err := d.with(func(q *queue) error { return q.transfer.Upload(s.Addr(), all) }); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// ToHost copies the elements from a device to the host, into a row-major tensor. A tensor that is on the host gives a
// view of it.
func (t *Tensor) ToHost() (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	d := t.storage.Device()
	if d == nil {
		return t.View()
	}
	var out *Tensor
	err := d.with(func(q *queue) (err error) {
		out, err = d.fetch(q, t.DType, t.remote())
		return err
	})
	return out, err
}

// fetch copies elements of the device to the host, into a row-major tensor.
func (d *Device) fetch(q *queue, dtype types.DType, from remote) (*Tensor, error) {
	out, err := New(dtype, from.shape...)
	if err != nil || out.Elems() == 0 {
		return out, err
	}
	if !from.layout().rowMajor() {
		dense, err := NewStorageOn(d, out.Bytes())
		if err != nil {
			out.Close()
			return nil, err
		}
		defer dense.Release()
		to := remote{dense.Addr(), from.size, out.Shape, out.Strides}
		if err := d.copyRemote(q, to, from); err != nil {
			out.Close()
			return nil, err
		}
		from = to
	}
	if err := q.transfer.Download(out.raw(), from.at); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// upload copies a tensor of the host to memory of its own on the device, with the strides that it has: the range of
// memory that its elements are in is copied as it is. Its first element is aligned to deviceAlign.
func (d *Device) upload(q *queue, t *Tensor) (*Tensor, error) {
	if t.Elems() == 0 {
		return NewOn(d, t.DType, t.Shape...)
	}
	lo, hi := t.elements().span()
	before := int64(uintptr(t.Ptr()) - lo)
	pad := alignPad(before)
	s, err := NewStorageOn(d, pad+int64(hi-lo))
	if err != nil {
		return nil, err
	}
	v := newView(s, t.DType, len(t.Shape))
	copy(v.Shape, t.Shape)
	copy(v.Strides, t.Strides)
	v.Offset = (pad + before) / int64(t.DType.Bytes())
	if t.sparse(int64(hi - lo)) {
		if err := d.scatter(q, v, t); err != nil {
			v.Close()
			return nil, err
		}
		return v, nil
	}
	if err := q.transfer.Upload(s.Addr()+device.Ptr(pad), unsafe.Slice((*byte)(unsafe.Add(t.Ptr(), -before)),
		int64(hi-lo))); err != nil {
		v.Close()
		return nil, err
	}
	return v, nil
}

// sparse reports whether a tensor of the host has so few of the bytes that its elements are spread over that copying
// only these pays.
func (t *Tensor) sparse(span int64) bool {
	const least = 64 << 10
	for i, n := range t.Shape {
		if n > 1 && t.Strides[i] == 0 {
			return false // elements that are one place in memory
		}
	}
	return span > least+4*t.Bytes()
}

// scatter copies the elements of a tensor of the host to v, of the same strides, by way of dense memory on both sides.
func (d *Device) scatter(q *queue, v, t *Tensor) error {
	dense, err := t.Clone()
	if err != nil {
		return err
	}
	defer dense.Close()
	there, err := NewOn(d, t.DType, t.Shape...)
	if err != nil {
		return err
	}
	defer there.Close()
	if err := q.transfer.Upload(there.DeviceAddr(), dense.raw()); err != nil {
		return err
	}
	if err := d.copyRemote(q, v.remote(), there.remote()); err != nil {
		return err
	}
	return q.Sync()
}

// deviceAlign is what the address of every buffer of a kernel is a multiple of: the widest access to memory.
const deviceAlign = 16

// alignPad is how many bytes to leave free so that what lies some bytes behind them is aligned.
func alignPad(before int64) int64 { return -before & (deviceAlign - 1) }

// copyAcross is CopyTo where one of the tensors, or both, are on a device.
func copyAcross(dst, src *Tensor) error {
	from, to := src.storage.Device(), dst.storage.Device()
	switch {
	case from == to:
		return to.with(func(q *queue) error { return to.moveRemote(q, dst.remote(), src.remote()) })
	case to == nil:
		h, err := src.ToHost()
		if err != nil {
			return err
		}
		defer h.Close()
		return h.CopyTo(dst)
	}
	x, err := src.ToDevice(to)
	if err != nil {
		return err
	}
	defer x.Close()
	return to.with(func(q *queue) error { return to.copyRemote(q, dst.remote(), x.remote()) })
}

// cloneOn is Clone of a tensor on a device, to a place there.
func (t *Tensor) cloneOn(place types.Place) (*Tensor, error) {
	d := t.storage.Device()
	out, err := newAt(d, place, t.DType, t.Shape)
	if err != nil {
		return nil, err
	}
	if err := d.with(func(q *queue) error { return d.copyRemote(q, out.remote(), t.remote()) }); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

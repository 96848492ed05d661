package tensor

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"unsafe"

	"healc/lang/types"
	"healc/runtime/device"
	"healc/runtime/memory"
)

func (t *Tensor) Array() memory.Array {
	return memory.Array{Ptr: t.Ptr(), Size: int64(t.DType.Bytes()), Shape: t.Shape, Strides: t.Strides}
}

// DeviceArray is where the elements of a tensor on a device lie.
func (t *Tensor) DeviceArray() memory.DeviceArray {
	return memory.DeviceArray{Addr: t.DeviceAddr(), Size: int64(t.DType.Bytes()), Shape: t.Shape, Strides: t.Strides}
}

// ErrOnDevice is the error of every read or write of elements by the host when they are in the memory of a device.
var ErrOnDevice = errors.New("the tensor is in the memory of a device, which the host cannot read; ToHost copies it")

// Device is the device that the elements are on, nil for the host.
func (t *Tensor) Device() *memory.Device {
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

// HostErr is Err for what needs the elements where the host reaches them.
func (t *Tensor) HostErr() error {
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
func NewOn(d *memory.Device, dtype types.DType, shape ...int64) (*Tensor, error) {
	return newOn(d, memory.NewOn, dtype, shape)
}

// NewUnified is NewOn in memory that the host reaches as well. The error is a *NoUnifiedError when the device has none.
func NewUnified(d *memory.Device, dtype types.DType, shape ...int64) (*Tensor, error) {
	return newOn(d, memory.NewUnified, dtype, shape)
}

// NewFor is NewOn or NewUnified for what uses a queue.
func NewFor(q *memory.Queue, place types.Place, dtype types.DType, shape []int64) (*Tensor, error) {
	if place == types.OnUnified {
		return newIn(q.NewUnified, dtype, shape)
	}
	return newIn(q.New, dtype, shape)
}

func newOn(d *memory.Device, storage func(*memory.Device, int64) (*memory.Storage, error), dtype types.DType,
	shape []int64) (*Tensor, error) {
	return newIn(func(bytes int64) (*memory.Storage, error) { return storage(d, bytes) }, dtype, shape)
}

func newIn(storage func(bytes int64) (*memory.Storage, error), dtype types.DType, shape []int64) (*Tensor, error) {
	bytes, err := CheckShape(dtype, shape)
	if err != nil {
		return nil, err
	}
	s, err := storage(bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", TypeName(dtype, shape), err)
	}
	t := newView(s, dtype, len(shape))
	copy(t.Shape, shape)
	memory.SetRowMajor(t.Strides, t.Shape)
	return t, nil
}

// ToDevice copies the elements to a device, into a row-major tensor. A tensor that is there already gives a view of it,
// as Contiguous does.
func (t *Tensor) ToDevice(d *memory.Device) (*Tensor, error) {
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
	if err := upload(d, out.DeviceAddr(), c.Raw()); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// upload copies bytes to memory of a device that nobody uses yet.
func upload(d *memory.Device, to device.Ptr, from []byte) error {
	return d.With(context.Background(), func(q *memory.Queue) error { return q.Transfer.Upload(to, from) })
}

// ToUnified copies the elements to memory that a device and the host reach, into a row-major tensor. A tensor that is
// there already gives a view of it, as Contiguous does. The error is a *NoUnifiedError when the device has no such
// memory.
func (t *Tensor) ToUnified(d *memory.Device) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	switch {
	case t.storage.Device() == d && t.Unified():
		return t.Contiguous()
	case t.storage.Device() == d:
		return t.cloneOn(types.OnUnified)
	case t.HostErr() != nil: // from one device to another, by way of the host
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
	memory.Copy(out.Array(), t.Array())
	goruntime.KeepAlive(t)
	return out, nil
}

// Mirror copies all of the memory that t is a view of to a device: the result is the same view of the copy, with the
// offset and the strides of t, which is on the host.
func (t *Tensor) Mirror(d *memory.Device) (*Tensor, error) {
	if err := t.HostErr(); err != nil {
		return nil, err
	}
	s, err := memory.NewOn(d, t.storage.Bytes())
	if err != nil {
		return nil, err
	}
	v := newView(s, t.DType, len(t.Shape))
	copy(v.Shape, t.Shape)
	copy(v.Strides, t.Strides)
	v.Offset = t.Offset
	all := unsafe.Slice((*byte)(t.storage.Ptr()), t.storage.Bytes())
	if err := upload(d, s.Addr(), all); err != nil {
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
	err := d.With(context.Background(), func(q *memory.Queue) (err error) {
		out, err = Fetch(d, q, t.DType, t.DeviceArray())
		return err
	}, t.storage)
	return out, err
}

// Fetch copies elements of the device to the host, into a row-major tensor.
func Fetch(d *memory.Device, q *memory.Queue, dtype types.DType, from memory.DeviceArray) (*Tensor, error) {
	out, err := New(dtype, from.Shape...)
	if err != nil || out.Elems() == 0 {
		return out, err
	}
	var dense *memory.Storage
	if !from.Layout().IsRowMajor() {
		if dense, err = q.New(out.Bytes()); err != nil {
			out.Close()
			return nil, err
		}
		to := memory.DeviceArray{Addr: dense.Addr(), Size: from.Size, Shape: out.Shape, Strides: out.Strides}
		err = d.Copy(q, to, from)
		from = to
	}
	if err == nil {
		err = q.Transfer.Download(out.Raw(), from.Addr)
	}
	if dense != nil {
		q.Drop(dense, err)
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// Upload copies a tensor of the host to memory of its own on the device, with the strides that it has: the range of
// memory that its elements are in is copied as it is. Its first element is aligned to deviceAlign.
func Upload(d *memory.Device, q *memory.Queue, t *Tensor) (*Tensor, error) {
	if t.Elems() == 0 {
		return NewFor(q, types.OnDevice, t.DType, t.Shape)
	}
	lo, hi := t.Array().Span()
	before := int64(uintptr(t.Ptr()) - lo)
	pad := memory.AlignPad(before)
	s, err := q.New(pad + int64(hi-lo))
	if err != nil {
		return nil, err
	}
	v := newView(s, t.DType, len(t.Shape))
	copy(v.Shape, t.Shape)
	copy(v.Strides, t.Strides)
	v.Offset = (pad + before) / int64(t.DType.Bytes())
	if t.sparse(int64(hi - lo)) {
		if err := scatter(d, q, v, t); err != nil {
			q.Defer(v.Close)
			return nil, err
		}
		return v, nil
	}
	if err := q.Transfer.Upload(s.Addr()+device.Ptr(pad), unsafe.Slice((*byte)(unsafe.Add(t.Ptr(), -before)),
		int64(hi-lo))); err != nil {
		q.Defer(v.Close)
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
func scatter(d *memory.Device, q *memory.Queue, v, t *Tensor) error {
	dense, err := t.Clone()
	if err != nil {
		return err
	}
	defer dense.Close()
	there, err := NewFor(q, types.OnDevice, t.DType, t.Shape)
	if err != nil {
		return err
	}
	if err = q.Transfer.Upload(there.DeviceAddr(), dense.Raw()); err == nil {
		err = d.Copy(q, v.DeviceArray(), there.DeviceArray())
	}
	if err == nil {
		err = q.Sync()
	}
	if err != nil {
		q.Defer(there.Close)
		return err
	}
	there.Close()
	return nil
}

// copyAcross is CopyTo where one of the tensors, or both, are on a device. Where both are on one it ends with ctx.
func copyAcross(ctx context.Context, dst, src *Tensor) error {
	from, to := src.storage.Device(), dst.storage.Device()
	switch {
	case from == to:
		return to.With(ctx, func(q *memory.Queue) error { return to.Move(q, dst.DeviceArray(), src.DeviceArray()) },
			dst.storage, src.storage)
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
	return to.With(context.Background(), func(q *memory.Queue) error {
		return to.Copy(q, dst.DeviceArray(), x.DeviceArray())
	}, dst.storage)
}

// cloneOn is Clone of a tensor on a device, to a place there.
func (t *Tensor) cloneOn(place types.Place) (*Tensor, error) {
	d := t.storage.Device()
	storage := memory.NewOn
	if place == types.OnUnified {
		storage = memory.NewUnified
	}
	out, err := newOn(d, storage, t.DType, t.Shape)
	if err != nil {
		return nil, err
	}
	if err := d.With(context.Background(), func(q *memory.Queue) error {
		return d.Copy(q, out.DeviceArray(), t.DeviceArray())
	}, t.storage); err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

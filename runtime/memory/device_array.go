package memory

import "healc/runtime/device"

// DeviceArray is where the elements of a tensor lie in the memory of a device, as Array is for the host. Nothing keeps
// the memory.
type DeviceArray struct {
	Addr    device.Ptr
	Size    int64 // bytes of an element
	Shape   []int64
	Strides []int64 // in elements
}

// Layout is the shape and strides alone, for what does not look at the memory.
func (m DeviceArray) Layout() Array { return Array{nil, m.Size, m.Shape, m.Strides} }

// span returns the addresses from which and below which the elements lie, of which there are some.
func (m DeviceArray) span() (lo, hi device.Ptr) {
	lo, hi = m.Addr, m.Addr+device.Ptr(m.Size)
	for i, d := range m.Shape {
		if reach := (d - 1) * m.Strides[i] * m.Size; reach < 0 {
			lo -= device.Ptr(-reach)
		} else {
			hi += device.Ptr(reach)
		}
	}
	return lo, hi
}

// Overlaps reports whether the address ranges of the two meet.
func (m DeviceArray) Overlaps(o DeviceArray) bool {
	if Count(m.Shape) == 0 || Count(o.Shape) == 0 {
		return false
	}
	lo, hi := m.span()
	olo, ohi := o.span()
	return lo < ohi && olo < hi
}

// Copy starts a copy between two places of the device, of one size and shape, that do not overlap.
func (d *Device) Copy(q *Queue, dst, src DeviceArray) error {
	return d.CopyUnless(q, dst, src, 0)
}

// CopyUnless is Copy that does nothing where a word of the device is not 0.
func (d *Device) CopyUnless(q *Queue, dst, src DeviceArray, word device.Ptr) error {
	if Count(src.Shape) == 0 {
		return nil
	}
	var room [fewCopyAxes]copyAxis
	return d.copyStrided(q, dst.Size, dst.Addr, src.Addr, copyLoops(room[:0], dst.Layout(), src.Layout()), word)
}

// Move is Copy for places that may overlap: the result is as if src had been copied away first. It waits for the copy
// where they do.
func (d *Device) Move(q *Queue, dst, src DeviceArray) error {
	if !dst.Overlaps(src) {
		return d.Copy(q, dst, src)
	}
	aside, err := q.New(Count(src.Shape) * src.Size)
	if err != nil {
		return err
	}
	tmp := DeviceArray{aside.Addr(), src.Size, src.Shape, RowMajor(src.Shape)}
	if err = d.Copy(q, tmp, src); err == nil {
		err = d.Copy(q, dst, tmp)
	}
	if err == nil {
		err = q.Sync()
	}
	q.Drop(aside, err)
	return err
}

// Aligned is from when its first element is aligned to deviceAlign, else a copy with the same strides, whose memory is
// returned, too.
func (d *Device) Aligned(q *Queue, from DeviceArray) (DeviceArray, *Storage, error) {
	if from.Addr%deviceAlign == 0 || Count(from.Shape) == 0 {
		return from, nil, nil
	}
	lo, hi := from.span()
	pad := AlignPad(int64(from.Addr - lo))
	aside, err := q.New(pad + int64(hi-lo))
	if err != nil {
		return from, nil, err
	}
	to := aside.Addr() + device.Ptr(pad)
	if err := q.Stream.Copy(to, lo, int64(hi-lo)); err != nil {
		q.Drop(aside, err)
		return from, nil, err
	}
	return DeviceArray{to + (from.Addr - lo), from.Size, from.Shape, from.Strides}, aside, nil
}

// deviceAlign is what the address of every buffer of a kernel is a multiple of: the widest access to memory.
const deviceAlign = 16

// AlignPad is how many bytes to leave free so that what lies some bytes behind them is aligned.
func AlignPad(before int64) int64 { return -before & (deviceAlign - 1) }

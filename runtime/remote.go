package runtime

import "healc/runtime/device"

// remote is where the elements of a tensor lie in the memory of a device, as elements is for the host. Nothing keeps
// the memory.
type remote struct {
	at      device.Ptr
	size    int64 // bytes of an element
	shape   []int64
	strides []int64 // in elements
}

// remote is where the elements of a tensor on a device lie.
func (t *Tensor) remote() remote {
	return remote{t.DeviceAddr(), int64(t.DType.Bytes()), t.Shape, t.Strides}
}

// layout is the shape and strides alone, for what does not look at the memory.
func (m remote) layout() elements { return elements{nil, m.size, m.shape, m.strides} }

// span returns the addresses from which and below which the elements lie, of which there are some.
func (m remote) span() (lo, hi device.Ptr) {
	lo, hi = m.at, m.at+device.Ptr(m.size)
	for i, d := range m.shape {
		if reach := (d - 1) * m.strides[i] * m.size; reach < 0 {
			lo -= device.Ptr(-reach)
		} else {
			hi += device.Ptr(reach)
		}
	}
	return lo, hi
}

// overlaps reports whether the address ranges of the two meet.
func (m remote) overlaps(o remote) bool {
	if product(m.shape) == 0 || product(o.shape) == 0 {
		return false
	}
	lo, hi := m.span()
	olo, ohi := o.span()
	return lo < ohi && olo < hi
}

// copyRemote starts a copy between two places of the device, of one size and shape, that do not overlap.
func (d *Device) copyRemote(s device.Stream, dst, src remote) error {
	return d.copyUnless(s, dst, src, 0)
}

// copyUnless is copyRemote that does nothing where a word of the device is not 0.
func (d *Device) copyUnless(s device.Stream, dst, src remote, word device.Ptr) error {
	if product(src.shape) == 0 {
		return nil
	}
	var room [fewCopyAxes]copyAxis
	return d.copyStrided(s, dst.size, dst.at, src.at, copyLoops(room[:0], dst.layout(), src.layout()), word)
}

// moveRemote is copyRemote for places that may overlap: the result is as if src had been copied away first. It waits
// for the copy where they do.
func (d *Device) moveRemote(s device.Stream, dst, src remote) error {
	if !dst.overlaps(src) {
		return d.copyRemote(s, dst, src)
	}
	aside, err := NewStorageOn(d, product(src.shape)*src.size)
	if err != nil {
		return err
	}
	defer aside.Release()
	tmp := remote{aside.Addr(), src.size, src.shape, rowMajor(src.shape)}
	if err := d.copyRemote(s, tmp, src); err != nil {
		return err
	}
	if err := d.copyRemote(s, dst, tmp); err != nil {
		return err
	}
	return s.Sync()
}

// aligned is from when its first element is aligned to deviceAlign, else a copy with the same strides, whose memory is
// returned, too.
func (d *Device) aligned(s device.Stream, from remote) (remote, *Storage, error) {
	if from.at%deviceAlign == 0 || product(from.shape) == 0 {
		return from, nil, nil
	}
	lo, hi := from.span()
	pad := alignPad(int64(from.at - lo))
	memory, err := NewStorageOn(d, pad+int64(hi-lo))
	if err != nil {
		return from, nil, err
	}
	to := memory.Addr() + device.Ptr(pad)
	if err := s.Copy(to, lo, int64(hi-lo)); err != nil {
		memory.Release()
		return from, nil, err
	}
	return remote{to + (from.at - lo), from.size, from.shape, from.strides}, memory, nil
}

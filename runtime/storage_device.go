package runtime

import (
	goruntime "runtime"

	"healc/runtime/device"
)

// NewStorageOn returns memory of a device for at least bytes bytes, with unspecified contents. It counts as LiveBytes of
// the device.
func NewStorageOn(d *Device, bytes int64) (*Storage, error) {
	addr, err := d.pool.Get(bytes)
	if err != nil {
		return nil, err
	}
	s := &Storage{block: block{bytes: max(bytes, 1), class: deviceClass}, dev: d, addr: addr}
	s.refs.Store(1)
	s.cleanup = goruntime.AddCleanup(s, d.free, addr) // when the last tensor on it is forgotten
	return s, nil
}

// free gives memory back to the pool. Programs end when the device is done with them, so nothing uses it any more.
func (d *Device) free(addr device.Ptr) {
	// The pool asks the device only where every access is checked. What a device that is lost does not take back is gone with it.
	_ = d.pool.Put(addr)
}

// Device is the device that the memory is on, nil for the host.
func (s *Storage) Device() *Device { return s.dev }

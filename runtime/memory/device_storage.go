package memory

import (
	"context"
	"errors"
	goruntime "runtime"
	"sync/atomic"
	"unsafe"

	"healc/runtime/device"
)

// NewOn returns memory of a device for at least bytes bytes, with unspecified contents. It counts as LiveBytes
// of the device.
func NewOn(d *Device, bytes int64) (*Storage, error) { return newOn(context.Background(), d, bytes) }

// newOn is NewOn as long as ctx lasts.
func newOn(ctx context.Context, d *Device, bytes int64) (*Storage, error) {
	addr, kept := d.pool.Take(bytes)
	if !kept {
		var err error
		if addr, err = before(ctx, func() (device.Ptr, error) { return d.pool.Get(bytes) }, d.free); err != nil {
			return nil, err
		}
	}
	s := &Storage{block: block{bytes: max(bytes, 1), class: deviceClass}, dev: d, addr: addr}
	s.refs.Store(1)
	s.cleanup = goruntime.AddCleanup(s, d.free, addr) // when the last tensor on it is forgotten
	return s, nil
}

// free gives memory back to the pool. Programs end when the device is done with them, so nothing uses it any more.
func (d *Device) free(addr device.Ptr) {
	// The pool asks the device only where every access is checked. What a device that is lost does not take back is
	// gone with it.
	_ = d.pool.Put(addr)
}

// NewUnified returns memory that a device and the host reach, for at least bytes bytes. It is zero at first, and
// is the driver's: it is not kept for later when it is released. It counts as LiveBytes of the device.
func NewUnified(d *Device, bytes int64) (*Storage, error) {
	info := d.dev.Info()
	if !info.Managed {
		return nil, &NoUnifiedError{Device: info.Name}
	}
	bytes = max(bytes, 1)
	addr, host, err := d.dev.AllocManaged(bytes)
	var full *device.OutOfMemoryError
	if errors.As(err, &full) && d.pool.Trim() == nil {
		addr, host, err = d.dev.AllocManaged(bytes)
	}
	if err != nil {
		return nil, err
	}
	clear(host)
	d.unified.Add(bytes)
	s := &Storage{block: block{ptr: unsafe.Pointer(&host[0]), bytes: bytes, class: unifiedClass,
		pinned: new(atomic.Bool)}, dev: d, addr: addr}
	s.refs.Store(1)
	pinned := s.pinned
	s.cleanup = goruntime.AddCleanup(s, func(addr device.Ptr) { // when the last tensor on it is forgotten
		if !pinned.Load() { // and Go code has no slice of it
			d.freeUnified(addr, bytes)
		}
	}, addr)
	return s, nil
}

// freeUnified gives unified memory back to the driver, which waits for the device then.
func (d *Device) freeUnified(addr device.Ptr, bytes int64) {
	d.WhenDone(func() {
		d.unified.Add(-bytes)
		_ = d.dev.Free(addr) // what a device that is lost does not take back is gone with it
	})
}

// NoUnifiedError says that a device has no unified memory.
type NoUnifiedError struct{ Device string }

func (e *NoUnifiedError) Error() string {
	return e.Device +
		" has no unified memory: the driver does not let the host reach managed memory while the device works; use " +
		"`on device`"
}

// Unified reports whether the host reaches memory that is on a device.
func (s *Storage) Unified() bool { return s.dev != nil && s.ptr != nil }

// Addr is the address in the memory of the device; 0 for memory of the host.
func (s *Storage) Addr() device.Ptr { return s.addr }

// Device is the device that the memory is on, nil for the host.
func (s *Storage) Device() *Device { return s.dev }

package cuda

import (
	goruntime "runtime"
	"sync"
	"unsafe"

	"healc/runtime/device"
)

// dev is a device with its primary context, which other libraries in the process use as well.
type dev struct {
	*api
	loops *loopAPI // nil where the driver is too old for it
	info  device.Info
	ctx   uintptr

	mu   sync.Mutex
	lost error // the first error after which the context is of no use
}

// do calls the driver with the context of the device, which belongs to a thread of the system.
func (v *dev) do(f *function, call func() result) error {
	v.mu.Lock()
	lost := v.lost
	v.mu.Unlock()
	if lost != nil {
		return lost
	}
	goruntime.LockOSThread()
	defer goruntime.UnlockOSThread()
	if r := v.CtxSetCurrent.call(v.ctx); r != success {
		return v.note(r.failure(v.CtxSetCurrent.name, v.info.Name))
	}
	if r := call(); r != success {
		return v.note(r.failure(f.name, v.info.Name))
	}
	return nil
}

// query asks a stream or an event whether it is done.
func (v *dev) query(f *function, handle uintptr) (bool, error) {
	done := false
	err := v.do(f, func() result {
		r := f.call(handle)
		if r == notReady {
			return success
		}
		done = r == success
		return r
	})
	return done, err
}

// note remembers an error after which nothing works any more.
func (v *dev) note(err error) error {
	if e, ok := err.(*device.Error); ok && e.Lost {
		v.mu.Lock()
		if v.lost == nil {
			v.lost = err
		}
		v.mu.Unlock()
	}
	return err
}

func (v *dev) Info() device.Info { return v.info }

func (v *dev) Alloc(bytes int64) (device.Ptr, error) {
	var p device.Ptr
	var r result
	err := v.do(&v.MemAlloc_v2, func() result {
		r = v.MemAlloc_v2.call(uintptr(unsafe.Pointer(&p)), uintptr(max(bytes, 1)))
		return r
	})
	return p, v.full(r, bytes, err)
}

func (v *dev) AllocManaged(bytes int64) (device.Ptr, []byte, error) {
	var p unsafe.Pointer // one address for both, outside of Go's heap
	var r result
	bytes = max(bytes, 1)
	err := v.do(&v.MemAllocManaged, func() result {
		r = v.MemAllocManaged.call(uintptr(unsafe.Pointer(&p)), uintptr(bytes), attachGlobal)
		return r
	})
	if err = v.full(r, bytes, err); err != nil {
		return 0, nil, err
	}
	return device.Ptr(uintptr(p)), unsafe.Slice((*byte)(p), bytes), nil
}

// full makes the error of an allocation one that says how much there is, when it failed for want of memory.
func (v *dev) full(r result, bytes int64, err error) error {
	if r != outOfMemory {
		return err
	}
	free, ferr := v.Available()
	if ferr != nil {
		free = -1
	}
	return &device.OutOfMemoryError{Device: v.info.Name, Bytes: bytes, Available: free}
}

func (v *dev) Free(p device.Ptr) error {
	return v.do(&v.MemFree_v2, func() result { return v.MemFree_v2.call(uintptr(p)) })
}

func (v *dev) AllocHost(bytes int64) ([]byte, error) {
	var p unsafe.Pointer // memory of the driver, which is not in Go's heap
	bytes = max(bytes, 1)
	err := v.do(&v.MemHostAlloc, func() result {
		return v.MemHostAlloc.call(uintptr(unsafe.Pointer(&p)), uintptr(bytes), hostPortable)
	})
	if err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), bytes), nil
}

func (v *dev) FreeHost(b []byte) error {
	return v.do(&v.MemFreeHost, func() result {
		return v.MemFreeHost.call(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	})
}

func (v *dev) Available() (int64, error) {
	var free, total uintptr
	err := v.do(&v.MemGetInfo_v2, func() result {
		return v.MemGetInfo_v2.call(uintptr(unsafe.Pointer(&free)), uintptr(unsafe.Pointer(&total)))
	})
	return int64(free), err
}

// stackFor is the stack that a thread gets where a program asks for some bytes. The driver takes memory for every
// thread that the device can run at once, whatever is launched: half of what is free, at most, so that the other
// half is there for tensors, and never less than a thread has by itself.
func stackFor(bytes, free int64, info device.Info) int64 {
	threads := int64(info.Processors) * int64(info.Threads)
	return min(bytes, max(1024, free/2/max(threads, 1)&^1023))
}

// SetStack makes no stack smaller: programs that were loaded before still need theirs.
func (v *dev) SetStack(bytes int64) error {
	has, err := v.Stack()
	if err != nil || bytes <= has {
		return err
	}
	free, err := v.Available()
	if err != nil {
		return err
	}
	most := stackFor(bytes, free, v.info)
	if most <= has {
		return nil
	}
	return v.do(&v.CtxSetLimit, func() result { return v.CtxSetLimit.call(limitStack, uintptr(most)) })
}

// Stack asks the driver each time, since the context is that of all libraries in the process.
func (v *dev) Stack() (int64, error) {
	var bytes uintptr
	err := v.do(&v.CtxGetLimit, func() result {
		return v.CtxGetLimit.call(uintptr(unsafe.Pointer(&bytes)), limitStack)
	})
	return int64(bytes), err
}

func (v *dev) NewStream() (device.Stream, error) {
	s := &stream{dev: v}
	err := v.do(&v.StreamCreate, func() result {
		return v.StreamCreate.call(uintptr(unsafe.Pointer(&s.handle)), streamNonBlocking)
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

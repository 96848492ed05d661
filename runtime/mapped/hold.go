//go:build linux && (amd64 || arm64)

package mapped

import (
	"errors"
	"maps"
	"os"
	"os/signal"
	"slices"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"healc/runtime/memory"
)

// Note [Leases]
//
// A file that is held has a lease of Linux for reading (fcntl F_SETLEASE): the system gives one where nobody has the
// file open for writing, or has such a mapping of it, and whoever wants to open it for writing, or to shorten it, then
// waits until the lease is given back (or has EAGAIN, with O_NONBLOCK). The system says so by SIGIO. Then a copy takes
// the place of what is mapped, which takes about as long as reading the file would have, the lease is given back, and
// whoever waited goes on. So what is mapped never changes, and who computes with it is not told.
//
// Where there is no memory for the copy, zeros take its place, and Err says so. The system waits for
// /proc/sys/fs/lease-break-time, 45 seconds, and not longer: where the lease was taken away before, Err says that the
// file was changed.
//
// Leases are for files of the user who runs the process, and known only to the kernel that gives them; so a file of
// a file system that others may change, behind the back of the kernel, is not held. Renaming, removing and replacing a
// file change nothing for who has it open, and do not wait.

// kept are the file systems whose files change through this kernel alone, and whose leases know of all who may write:
// an overlay (OVERLAYFS_SUPER_MAGIC) does not know of mappings, which are those of the file below.
var kept = []int64{unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC,
	unix.F2FS_SUPER_MAGIC}

// File is a file that is held: what is mapped of it stays what it was when the file was held, or Err says why not.
type File struct {
	f *os.File

	mu     sync.Mutex
	leased bool
	r      *mapping
	err    error
}

// held are the files that have a lease, or are about to.
var held struct {
	sync.Mutex
	files   map[*File]bool
	signals chan os.Signal // while there are some
}

// Hold holds a regular file that is open for reading, and owns it from then on. The error is errors.ErrUnsupported
// where it cannot be held; the caller then still owns the file.
func Hold(f *os.File) (*File, error) {
	var system unix.Statfs_t
	if err := unix.Fstatfs(int(f.Fd()), &system); err != nil || !slices.Contains(kept, int64(system.Type)) {
		return nil, errors.ErrUnsupported
	}
	h := &File{f: f, leased: true}
	h.mu.Lock() // until it is leased
	defer h.mu.Unlock()
	watch(h)
	if _, err := unix.FcntlInt(f.Fd(), unix.F_SETLEASE, unix.F_RDLCK); err != nil {
		forget(h)
		return nil, errors.ErrUnsupported
	}
	return h, nil
}

// Map maps bytes of the file, once. The address is valid until Close.
func (h *File) Map(offset, bytes int64) (unsafe.Pointer, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.intact() || h.r != nil {
		return nil, errors.ErrUnsupported
	}
	r, err := newMapping(h.f, offset, bytes)
	if err != nil {
		return nil, err
	}
	h.r = r
	return r.ptr(), nil
}

// Err says why what is mapped may not be what the file held when it was held: a *FileError, or nil. It is asked after
// the memory was used, since pages are read when they are touched; after Close it is what it was then.
func (h *File) Err() error {
	if h == nil {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.look()
	return h.err
}

// Close unmaps and closes the file. Nobody uses the memory any more.
func (h *File) Close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.f == nil {
		return
	}
	if h.leased && !h.giveBack() {
		h.fail(errChanged)
	}
	if h.r != nil {
		if h.r.failed() {
			h.fail(errUnreadable)
		}
		h.r.unmap()
		h.r = nil
	}
	h.f.Close()
	h.f = nil
	forget(h)
}

// intact reports whether the lease is there and nobody waits for its end.
func (h *File) intact() bool {
	if !h.leased {
		return false
	}
	now, err := unix.FcntlInt(h.f.Fd(), unix.F_GETLEASE, 0)
	return err == nil && now == unix.F_RDLCK
}

// look makes what is mapped the process's own when somebody waits for the end of the lease, and notes what failed.
func (h *File) look() {
	if h.f == nil {
		return
	}
	if h.leased && !h.intact() {
		if h.r != nil && (memory.Available() < int64(len(h.r.memory)) || h.r.own() != nil) {
			h.r.clear() // so that a kernel never finds what strangers write while it runs
			h.fail(errNoMemory)
		}
		if !h.giveBack() {
			h.fail(errChanged)
		}
	}
	if h.r != nil && h.r.failed() {
		h.fail(errUnreadable)
	}
}

// giveBack ends the lease. It reports whether it was there until now.
func (h *File) giveBack() bool {
	h.leased = false
	_, err := unix.FcntlInt(h.f.Fd(), unix.F_SETLEASE, unix.F_UNLCK)
	return err == nil
}

// fail notes the first reason why the memory is not to be trusted.
func (h *File) fail(err error) {
	if h.err == nil {
		h.err = &FileError{Path: h.f.Name(), Err: err}
	}
}

// watch has the ends of leases noticed, from before the first until after the last.
func watch(h *File) {
	held.Lock()
	defer held.Unlock()
	if len(held.files) == 0 {
		held.files, held.signals = map[*File]bool{}, make(chan os.Signal, 1)
		signal.Notify(held.signals, syscall.SIGIO)
		go listen(held.signals)
	}
	held.files[h] = true
}

func forget(h *File) {
	held.Lock()
	defer held.Unlock()
	if !held.files[h] {
		return
	}
	delete(held.files, h)
	if len(held.files) == 0 {
		signal.Stop(held.signals)
		close(held.signals)
	}
}

// listen looks at all files whenever somebody waits for the end of a lease.
func listen(signals <-chan os.Signal) {
	for range signals {
		held.Lock()
		files := slices.Collect(maps.Keys(held.files))
		held.Unlock()
		for _, h := range files {
			h.mu.Lock()
			h.look()
			h.mu.Unlock()
		}
	}
}

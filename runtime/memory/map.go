//go:build unix

package memory

import (
	goruntime "runtime"
	"syscall"
)

// mapPages returns size bytes of zeroed memory. The kernel provides pages as they are first touched.
func mapPages(size int64) ([]byte, error) {
	return syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

// unmap ends a large block. Its safety net goes first, so that it cannot fire for memory that is gone.
func unmap(s *Storage) {
	s.cleanup.Stop()
	mapped := s.mapped
	s.ptr, s.mapped = nil, nil
	mappedBytes.Add(-s.bytes)
	if err := syscall.Munmap(mapped); err != nil {
		panic("BUG: runtime: munmap: " + err.Error())
	}
	goruntime.KeepAlive(s)
}

// AddressLimit is what RLIMIT_AS allows this process to map in all.
func AddressLimit() (int64, bool) {
	var lim syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &lim) != nil || uint64(lim.Cur) > maxInt64 {
		return 0, false
	}
	return int64(lim.Cur), true
}

//go:build unix

package memory

import "syscall"

// mapPages returns size bytes of zeroed memory. The kernel provides pages as they are first touched.
func mapPages(size int64) ([]byte, error) {
	return syscall.Mmap(-1, 0, int(size), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
}

// unmapPages gives them back.
func unmapPages(pages []byte) error { return syscall.Munmap(pages) }

// AddressLimit is what RLIMIT_AS allows this process to map in all.
func AddressLimit() (int64, bool) {
	var lim syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_AS, &lim) != nil || uint64(lim.Cur) > maxInt64 {
		return 0, false
	}
	return int64(lim.Cur), true
}

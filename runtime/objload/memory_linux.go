//go:build linux && (amd64 || arm64)

package objload

import (
	"fmt"
	"os"
	"syscall"
	"unsafe"
)

func pageSize() uint64 { return uint64(os.Getpagesize()) }

// mapMemory maps size bytes of zeros that can be written, at an address of the system's choice.
func mapMemory(size int) (mem []byte, base uint64, err error) {
	mem, err = syscall.Mmap(-1, 0, size, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_PRIVATE|syscall.MAP_ANON)
	if err != nil {
		return nil, 0, fmt.Errorf("cannot map %d bytes for machine code: %w", size, err)
	}
	return mem, uint64(uintptr(unsafe.Pointer(&mem[0]))), nil
}

func unmapMemory(mem []byte) error { return syscall.Munmap(mem) }

// protect gives every group of a linked image its final protection. Nothing is writable and executable
// at any time.
func (l *layout) protect() error {
	for g, prot := range [groupCount]int{
		groupText:     syscall.PROT_READ | syscall.PROT_EXEC,
		groupReadOnly: syscall.PROT_READ,
		groupData:     syscall.PROT_READ | syscall.PROT_WRITE,
	} {
		from, to := l.groupRange(group(g))
		if from == to {
			continue
		}
		part := l.mem[from:to]
		if group(g) == groupText {
			syncCode(unsafe.Pointer(&part[0]), uintptr(len(part)))
		}
		if err := syscall.Mprotect(part, prot); err != nil {
			return fmt.Errorf("cannot make machine code executable: %w", err)
		}
	}
	return nil
}

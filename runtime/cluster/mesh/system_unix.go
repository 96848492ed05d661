//go:build unix

package mesh

import (
	"net"
	"os"
	"syscall"
	"unsafe"
)

// pair is a connection within this process.
func pair() (ends [2]net.Conn, err error) {
	syscall.ForkLock.RLock() // no program that is started meanwhile gets them
	fds, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fds[0])
		syscall.CloseOnExec(fds[1])
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return ends, os.NewSyscallError("socketpair", err)
	}
	for i, fd := range fds {
		f := os.NewFile(uintptr(fd), "pair")
		c, ferr := net.FileConn(f)
		_ = f.Close() // the connection has a duplicate
		if ferr != nil {
			err = ferr
			continue
		}
		ends[i] = c
	}
	if err != nil {
		closeAll(ends[:])
	}
	return ends, err
}

// writeBoth writes what a connection takes without waiting of two pieces, and says how much that was; nothing, where
// there is an error.
func writeBoth(fd uintptr, first, second []byte) int {
	pieces := []syscall.Iovec{{Base: &first[0]}, {Base: unsafe.SliceData(second)}}
	pieces[0].SetLen(len(first))
	pieces[1].SetLen(len(second))
	n, _, errno := syscall.Syscall(syscall.SYS_WRITEV, fd, uintptr(unsafe.Pointer(&pieces[0])), uintptr(len(pieces)))
	if errno != 0 {
		return 0
	}
	return int(n)
}

// readFD reads what a connection has, without waiting.
func readFD(fd uintptr, b []byte) (int, error) { return syscall.Read(int(fd), b) }

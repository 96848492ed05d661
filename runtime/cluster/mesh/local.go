package mesh

import (
	"net"
	"os"
	"syscall"

	"healc/runtime/cluster"
)

// Local makes the ranks of a run in one process, each for a goroutine.
func Local(n int) ([]cluster.Comm, error) {
	if n < 1 {
		panic("BUG: a run without ranks")
	}
	conns := make([][]net.Conn, n)
	for r := range conns {
		conns[r] = make([]net.Conn, n)
	}
	for a := range n {
		for b := range a {
			ends, err := pair()
			if err != nil {
				for _, row := range conns {
					closeAll(row)
				}
				return nil, err
			}
			conns[a][b], conns[b][a] = ends[0], ends[1]
		}
	}
	comms := make([]cluster.Comm, n)
	for r := range comms {
		comms[r] = newMesh(r, conns[r])
	}
	return comms, nil
}

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

func closeAll(conns []net.Conn) {
	for _, c := range conns {
		if c != nil {
			_ = c.Close()
		}
	}
}

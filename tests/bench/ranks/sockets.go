package main

import (
	"encoding/binary"
	"net"
	"unsafe"

	"github.com/ebitengine/purego"
)

// sockets connects two ranks once more, for the loop in C.
func (r *rank) sockets(dl uintptr) error {
	var loop func(fd int32, bytes int, times int32, send, recv unsafe.Pointer) float64
	purego.RegisterLibFunc(&loop, dl, "sockets")
	fd := int32(-1)
	if r.Size() == 2 {
		conn, err := r.another()
		if err != nil {
			return err
		}
		f, err := conn.(*net.TCPConn).File()
		if err != nil {
			return err
		}
		r.socket, fd = f, int32(f.Fd()) // which makes it block
		if err := setNonblock(f.Fd()); err != nil {
			return err
		}
		r.c = func(_ int32, bytes int, times int32, send, recv unsafe.Pointer) float64 {
			return loop(fd, bytes, times, send, recv)
		}
	}
	return nil
}

// another is a connection between two ranks.
func (r *rank) another() (net.Conn, error) {
	var l net.Listener
	port := make([]byte, 8)
	if r.Rank() == 0 {
		var err error
		if l, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
			return nil, err
		}
		defer l.Close()
		binary.LittleEndian.PutUint64(port, uint64(l.Addr().(*net.TCPAddr).Port))
	}
	if err := r.AllGather(port, []int{8, 0}); err != nil {
		return nil, err
	}
	if r.Rank() == 0 {
		return l.Accept()
	}
	return net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1),
		Port: int(binary.LittleEndian.Uint64(port))})
}

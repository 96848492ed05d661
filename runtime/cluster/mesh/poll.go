package mesh

import (
	"io"
	"runtime"
	"syscall"
	"time"
)

// Note [Polling]. A thread that sleeps until a message comes has to be woken, which takes longer than the message,
// above all on a virtual machine that has given its idle processor back to the host. And the system likes to wake it on
// the processor of the one that has sent, where both then take turns. So a rank polls for a while before it sleeps.
// Whoever polls offers the processor to the other goroutines of its process, one of which may be what sends the rest of
// a message, and to other processes, one of which may be the rank that is waited for.

// poller reads from a connection for which it polls.
type poller struct {
	conn  syscall.RawConn
	limit time.Duration // how long it polls before it sleeps
	try   func(fd uintptr) bool

	// of the call in progress
	b     []byte
	n     int
	err   error
	slept bool
}

func newPoller(conn syscall.RawConn, limit time.Duration) *poller {
	p := &poller{conn: conn, limit: limit}
	p.try = p.read
	return p
}

// Read implements io.Reader.
func (p *poller) Read(b []byte) (int, error) {
	p.b, p.slept = b, false
	defer func() { p.b = nil }()
	if err := p.conn.Read(p.try); err != nil {
		return 0, err
	}
	switch {
	case p.err != nil:
		return 0, p.err
	case p.n == 0 && len(b) > 0:
		return 0, io.EOF
	}
	return p.n, nil
}

// read reports false where nothing has come: the caller is to sleep until something has, and to call again.
func (p *poller) read(fd uintptr) bool {
	for start := time.Now(); ; {
		switch p.n, p.err = readFD(fd, p.b); p.err {
		case syscall.EINTR:
			continue
		case syscall.EAGAIN:
		default:
			return true
		}
		if p.slept || time.Since(start) > p.limit {
			p.slept = true
			return false
		}
		runtime.Gosched()
		giveWay()
	}
}

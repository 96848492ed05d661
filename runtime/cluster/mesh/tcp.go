package mesh

import (
	"context"
	"crypto/subtle"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"time"

	"healc/runtime/cluster"
)

// Place is where a rank finds the others.
type Place struct {
	Rank int
	// Addrs are where the ranks listen, this one too, as "127.0.0.1:4711"; one that begins with @ is the name of an
	// abstract socket on this machine, which Linux has.
	Addrs []string
	// Key is the same for all ranks of a run, and nobody else knows it: a connection without it is dropped.
	Key [16]byte
	// Poll is how long this rank polls for a message before it sleeps: not at all where a machine has more ranks than
	// processors. See Note [Polling].
	Poll time.Duration
}

// network is that of an address.
func network(addr string) string {
	if strings.HasPrefix(addr, "@") {
		return "unix"
	}
	return "tcp"
}

// helloBytes are what both ends of a connection say first: who, of how many, in which run.
const helloBytes = 8 + 16 + 8 + 8

// helloMagic is "heal" and a version.
const helloMagic = 0x6865616c_00000001

// helloTime is how long a stranger may take to say who he is.
const helloTime = 5 * time.Second

func (p *Place) hello() []byte {
	b := binary.LittleEndian.AppendUint64(nil, helloMagic)
	b = append(b, p.Key[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(p.Rank))
	return binary.LittleEndian.AppendUint64(b, uint64(len(p.Addrs)))
}

// greeted reads the hello of the other end, and says which rank it is.
func (p *Place) greeted(c net.Conn) (rank int, err error) {
	b := make([]byte, helloBytes)
	if _, err := io.ReadFull(c, b); err != nil {
		return 0, err
	}
	theirs, of := binary.LittleEndian.Uint64(b[24:]), binary.LittleEndian.Uint64(b[32:])
	switch {
	case subtle.ConstantTimeCompare(b[:24], p.hello()[:24]) == 0:
		return 0, errors.New("it is not of this run")
	case of != uint64(len(p.Addrs)) || theirs >= of:
		return 0, fmt.Errorf("it is rank %d of %d, and this one is rank %d of %d", theirs, of, p.Rank, len(p.Addrs))
	}
	return int(theirs), nil
}

// Join connects this rank, which listens at l, with all others: it calls those before it, and those after it call. It
// gives up when ctx ends, and closes l. What other programs send to l is dropped.
func Join(ctx context.Context, l net.Listener, p Place) (cluster.Comm, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	n := len(p.Addrs)
	conns := make([]net.Conn, n)
	var all sync.WaitGroup
	var mu sync.Mutex
	var failed error
	fail := func(err error) {
		mu.Lock()
		defer mu.Unlock()
		if failed == nil {
			failed = err
		}
		cancel()
	}
	stop := context.AfterFunc(ctx, func() { _ = l.Close() })
	for r := range p.Rank {
		all.Go(func() {
			c, err := p.call(ctx, r)
			if err != nil {
				fail(fmt.Errorf("cannot reach rank %d at %s: %w", r, p.Addrs[r], err))
			}
			conns[r] = c
		})
	}
	all.Go(func() {
		if err := p.answer(ctx, l, conns[p.Rank+1:]); err != nil {
			fail(fmt.Errorf("the ranks after rank %d have not all come: %w", p.Rank, err))
		}
	})
	all.Wait()
	_ = l.Close()
	stop()
	if failed != nil {
		closeAll(conns)
		return nil, failed
	}
	if n == 1 {
		return cluster.Alone(), nil
	}
	return newMesh(p.Rank, conns, p.Poll), nil
}

// call connects to a rank before this one, which may not have come up yet.
func (p *Place) call(ctx context.Context, r int) (net.Conn, error) {
	var d net.Dialer
	for wait := time.Millisecond; ; wait = min(2*wait, 100*time.Millisecond) {
		c, err := d.DialContext(ctx, network(p.Addrs[r]), p.Addrs[r])
		if err == nil {
			err = p.shake(c, r)
			if err == nil {
				return c, nil
			}
			_ = c.Close()
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(wait):
		}
	}
}

// shake exchanges hellos with rank r.
func (p *Place) shake(c net.Conn, r int) error {
	_ = c.SetDeadline(time.Now().Add(helloTime))
	if _, err := c.Write(p.hello()); err != nil {
		return err
	}
	who, err := p.greeted(c)
	if err == nil && who != r {
		err = fmt.Errorf("rank %d answers there", who)
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	return err
}

// caller is who has called this rank.
type caller struct {
	rank int
	conn net.Conn
}

// answer takes the calls of the ranks after this one, in any order. Each caller has its goroutine, so that one who says
// nothing keeps nobody waiting.
func (p *Place) answer(ctx context.Context, l net.Listener, conns []net.Conn) error {
	if len(conns) == 0 {
		return nil
	}
	known, lost := make(chan caller), make(chan error, 1)
	var all sync.WaitGroup
	defer all.Wait()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				lost <- err
				return
			}
			all.Go(func() { p.welcome(ctx, c, known) })
		}
	})
	for left := len(conns); left > 0; {
		select {
		case got := <-known:
			place := &conns[got.rank-p.Rank-1]
			if *place != nil { // it did not hear our hello
				_ = (*place).Close()
				left++
			}
			*place = got.conn
			left--
		case err := <-lost:
			return err
		}
	}
	return l.Close()
}

// welcome exchanges hellos with who has called, and passes him on if he is one of this run.
func (p *Place) welcome(ctx context.Context, c net.Conn, known chan<- caller) {
	stop := context.AfterFunc(ctx, func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(helloTime))
	rank, err := p.greeted(c)
	if err == nil && rank > p.Rank {
		_, err = c.Write(p.hello())
		if err = errors.Join(err, c.SetDeadline(time.Time{})); err == nil && stop() {
			select {
			case known <- caller{rank, c}:
				return
			case <-ctx.Done():
			}
		}
	}
	_ = c.Close()
}

package mesh

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	goruntime "runtime"
	"sync"
	"testing"
	"time"

	"healc/runtime/cluster"
	"healc/runtime/cluster/clustertest"
)

// overTCP makes n ranks that are connected over loopback.
func overTCP(t testing.TB, n int) []cluster.Comm {
	t.Helper()
	return joined(t, n, "tcp", "127.0.0.1:0", 0)
}

// polling makes n ranks that are connected by abstract sockets, where there are such, and poll.
func polling(t testing.TB, n int) []cluster.Comm {
	t.Helper()
	if goruntime.GOOS != "linux" {
		return joined(t, n, "tcp", "127.0.0.1:0", 50*time.Microsecond)
	}
	return joined(t, n, "unix", "", 50*time.Microsecond)
}

// joined makes n ranks that listen at addresses of this kind.
func joined(t testing.TB, n int, network, addr string, poll time.Duration) []cluster.Comm {
	t.Helper()
	p := Place{Key: [16]byte{1, 2, 3}, Poll: poll}
	listeners := make([]net.Listener, n)
	for r := range n {
		l, err := net.Listen(network, addr)
		if err != nil {
			t.Fatal(err)
		}
		listeners[r] = l
		p.Addrs = append(p.Addrs, l.Addr().String())
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	comms, errs := make([]cluster.Comm, n), make([]error, n)
	var all sync.WaitGroup
	for r := range n {
		all.Go(func() {
			p := p
			p.Rank = r
			comms[r], errs[r] = Join(ctx, listeners[r], p)
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return comms
}

func inProcess(t testing.TB, n int) []cluster.Comm {
	t.Helper()
	comms, err := Local(n)
	if err != nil {
		t.Fatal(err)
	}
	return comms
}

var ways = map[string]func(testing.TB, int) []cluster.Comm{"TCP": overTCP, "polling": polling,
	"in one process": inProcess}

// TestRanks: what every communicator does, for several numbers of ranks.
func TestRanks(t *testing.T) {
	for name, make := range ways {
		for _, n := range numbers() {
			t.Run(fmt.Sprintf("%s/%d", name, n), func(t *testing.T) {
				for r, err := range clustertest.OnEach(make(t, n), clustertest.Conforms) {
					if err != nil {
						t.Errorf("rank %d: %v", r, err)
					}
				}
			})
		}
	}
}

func numbers() []int {
	if testing.Short() {
		return []int{1, 2, 4}
	}
	return []int{1, 2, 3, 4, 7}
}

// TestAbort: when one rank ends the run, the others hear of it with its code and reason, wherever they wait.
func TestAbort(t *testing.T) {
	for name, make := range ways {
		t.Run(name, func(t *testing.T) {
			const why = "n is 3, and 4 is needed"
			for r, err := range clustertest.OnEach(make(t, 3), func(c cluster.Comm) error {
				if c.Rank() == 1 {
					c.Abort(7, why)
					return c.Barrier()
				}
				// Each waits for the other, who sends too little.
				return c.SendRecv(nil, 2-c.Rank(), []byte{0}, 2-c.Rank())
			}) {
				var ended *cluster.AbortError
				var length *cluster.LengthError
				if !errors.As(err, &ended) && !errors.As(err, &length) {
					t.Errorf("rank %d: %v", r, err)
				}
			}
			for r, err := range clustertest.OnEach(make(t, 3), func(c cluster.Comm) error {
				if c.Rank() == 1 {
					c.Abort(7, why)
				}
				return c.Barrier()
			}) {
				var ended *cluster.AbortError
				if !errors.As(err, &ended) || *ended != (cluster.AbortError{Rank: 1, Code: 7, Why: why}) {
					t.Errorf("rank %d: %v", r, err)
				}
			}
		})
	}
}

// TestAbortOfAnother: the reason goes on from rank to rank, with who gave it.
func TestAbortOfAnother(t *testing.T) {
	comms := inProcess(t, 3)
	hear := make(chan bool)
	errs := clustertest.OnEach(comms, func(c cluster.Comm) error {
		switch c.Rank() {
		case 2:
			c.Abort(3, "no room")
			return nil
		case 1:
			err := c.SendRecv(nil, cluster.Nobody, []byte{0}, 2)
			close(hear)
			return err
		}
		<-hear
		return c.SendRecv(nil, cluster.Nobody, []byte{0}, 1) // of rank 1, not of who began
	})
	for r, err := range errs[:2] {
		var ended *cluster.AbortError
		if !errors.As(err, &ended) || ended.Rank != 2 || ended.Code != 3 || ended.Why != "no room" {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// TestLost: a rank that is gone is an error of whoever waits for it, and of those who wait for them.
func TestLost(t *testing.T) {
	for name, make := range ways {
		t.Run(name, func(t *testing.T) {
			comms := make(t, 4)
			errs := clustertest.OnEach(comms, func(c cluster.Comm) error {
				if c.Rank() == 2 {
					for _, p := range c.(*mesh).peers {
						if p != nil {
							_ = p.conn.Close() // as the system does for a process that was killed
						}
					}
					return nil
				}
				return c.Barrier()
			})
			for r, err := range errs {
				var lost *cluster.LostError
				var ended *cluster.AbortError
				if r != 2 && !errors.As(err, &lost) && !errors.As(err, &ended) {
					t.Errorf("rank %d: %v", r, err)
				}
				if r != 2 && comms[r].Barrier() != err {
					t.Errorf("rank %d: its communicator has not ended", r)
				}
			}
		})
	}
}

// TestLength: ranks that do not do the same are told so.
func TestLength(t *testing.T) {
	for name, make := range ways {
		t.Run(name, func(t *testing.T) {
			errs := clustertest.OnEach(make(t, 2), func(c cluster.Comm) error {
				return c.SendRecv([]byte("12345678")[:8-c.Rank()], 1-c.Rank(), []byte("12345678"), 1-c.Rank())
			})
			var length *cluster.LengthError
			if !errors.As(errs[0], &length) || *length != (cluster.LengthError{From: 1, Sent: 7, Want: 8}) {
				t.Errorf("rank 0: %v", errs[0])
			}
		})
	}
}

// TestStrangers: who has no key, says nothing or something else, or calls from a run of another size is dropped, and
// keeps nobody waiting.
func TestStrangers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := Place{Addrs: []string{addr, other.Addr().String()}, Key: [16]byte{9}}
	q := p
	q.Rank = 1
	wrongKey, wrongSize, wrongRank := q, q, q
	wrongKey.Key[0] = 8
	wrongSize.Addrs = append(wrongSize.Addrs[:2:2], addr)
	wrongRank.Rank = 0
	var strangers []net.Conn
	for _, said := range [][]byte{nil, []byte("GET / HTTP/1.1\r\n\r\n"), bytes.Repeat([]byte{255}, helloBytes),
		wrongKey.hello(), wrongSize.hello(), wrongRank.hello()} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write(said); err != nil {
			t.Fatal(err)
		}
		strangers = append(strangers, c)
	}
	defer closeAll(strangers)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var comms [2]cluster.Comm
	var errs [2]error
	var all sync.WaitGroup
	all.Go(func() { comms[0], errs[0] = Join(ctx, l, p) })
	all.Go(func() { comms[1], errs[1] = Join(ctx, other, q) })
	all.Wait()
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	for r, err := range clustertest.OnEach(comms[:], clustertest.Conforms) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// TestJoinEnds: who waits for ranks that do not come gives up with the context.
func TestJoinEnds(t *testing.T) {
	for rank := range 2 {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		nobody, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		_ = nobody.Close()
		p := Place{Rank: rank, Addrs: []string{nobody.Addr().String(), nobody.Addr().String()}}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		if c, err := Join(ctx, l, p); err == nil {
			t.Errorf("rank %d of 2 has joined nobody: %v", rank, c)
		}
		cancel()
	}
}

// TestCloseTwice: a communicator may be closed again, and does nothing more.
func TestCloseTwice(t *testing.T) {
	for _, err := range clustertest.OnEach(inProcess(t, 2), func(c cluster.Comm) error {
		return errors.Join(c.Close(), c.Close())
	}) {
		if err != nil {
			t.Error(err)
		}
	}
}

// BenchmarkGather gathers messages of several sizes on two ranks.
func BenchmarkGather(b *testing.B) {
	for _, size := range []int{8, 1 << 12, 1 << 20, 1 << 26} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			comms := overTCP(b, 2)
			b.SetBytes(int64(size))
			b.ResetTimer()
			for _, err := range clustertest.OnEach(comms, func(c cluster.Comm) error {
				all := make([]byte, 2*size)
				for range b.N {
					if err := c.AllGather(all, []int{size, size}); err != nil {
						return err
					}
				}
				return nil
			}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestSettle: all ranks learn which of them has failed, and one that is not heard gives up after a while.
func TestSettle(t *testing.T) {
	broken, full := errors.New("broken"), errors.New("full")
	errs := clustertest.OnEach(inProcess(t, 3), func(c cluster.Comm) error {
		if err := cluster.Settle(c, 0, 3, nil); err != nil {
			return err
		}
		return cluster.Settle(c, 7, 40+c.Rank(), []error{nil, broken, full}[c.Rank()])
	})
	for r, want := range []error{nil, broken, nil} {
		var failed *cluster.FailedError
		if !errors.As(errs[r], &failed) || *failed != (cluster.FailedError{Rank: 1, Code: 41, Err: want, Known: true}) {
			t.Errorf("rank %d: %v", r, errs[r])
		}
		if again := cluster.Settle(nil, 0, 3, errs[r]); again != errs[r] {
			t.Errorf("rank %d settles again: %v", r, again)
		}
	}
	comms := inProcess(t, 2)
	start := time.Now()
	var failed *cluster.FailedError
	err := cluster.Settle(comms[1], 7, 41, broken) // rank 0 does not come
	if !errors.As(err, &failed) || *failed != (cluster.FailedError{Rank: 1, Code: 41, Err: broken}) {
		t.Errorf("alone: %v", err)
	}
	if took := time.Since(start); took < 200*time.Millisecond || took > 10*time.Second {
		t.Errorf("it has waited for %v", took)
	}
	comms[1].Abort(41, "broken")
	// The other has the word, and perhaps hears of the end before it looks at it.
	var ended *cluster.AbortError
	err = cluster.Settle(comms[0], 0, 3, nil)
	if errors.As(err, &failed) && (failed.Rank != 1 || failed.Code != 41 || failed.Err != nil) ||
		!errors.As(err, &failed) && (!errors.As(err, &ended) || ended.Code != 41) {
		t.Errorf("the other: %v", err)
	}
}

// TestMeetings: where a rank fails, those that exchange data meanwhile learn of it, whatever they are at, and all ranks
// agree on the failure that counts.
func TestMeetings(t *testing.T) {
	const n, size = 4, 1 << 20
	exchanges := map[string]func(c cluster.Comm) error{
		"gather": func(c cluster.Comm) error {
			return c.AllGather(make([]byte, n*size), []int{size, size, size, size})
		},
		"words of data": func(c cluster.Comm) error { return c.AllGather(make([]byte, 8*n), []int{8, 8, 8, 8}) },
		"to all": func(c cluster.Comm) error {
			counts := []int{size, size, size, size}
			return c.AllToAll(make([]byte, n*size), counts, make([]byte, n*size), counts)
		},
		"ring": func(c cluster.Comm) error {
			return c.SendRecv(make([]byte, size), (c.Rank()+1)%n, make([]byte, size), (c.Rank()+n-1)%n)
		},
		"line": func(c cluster.Comm) error { // one after the other
			from, to := c.Rank()-1, c.Rank()+1
			if to == n {
				to = cluster.Nobody
			}
			if err := c.SendRecv(nil, cluster.Nobody, make([]byte, size), from); err != nil {
				return err
			}
			return c.SendRecv(make([]byte, size), to, nil, cluster.Nobody)
		},
	}
	broken := errors.New("broken")
	for way, make := range ways {
		for name, exchange := range exchanges {
			for _, fails := range []int{1, 2, 4, 8, 3, 9, 14, 15} { // which ranks fail: even ones before the others
				first := -1
				errs := clustertest.OnEach(make(t, n), func(c cluster.Comm) error {
					for round := range 3 {
						if fails>>c.Rank()&1 != 0 && round == 1+c.Rank()%2 {
							return cluster.Settle(c, uint64(round), 40+c.Rank(), broken)
						}
						if err := exchange(c); err != nil {
							return cluster.Settle(c, cluster.Anywhere, 3, fmt.Errorf("exchange: %w", err))
						}
					}
					return cluster.Settle(c, 0, 0, nil)
				})
				for r := range n {
					if fails>>r&1 != 0 && (first < 0 || r%2 < first%2) {
						first = r
					}
				}
				for r, err := range errs {
					want := cluster.FailedError{Rank: first, Code: 40 + first, Known: true}
					if r == first {
						want.Err = broken
					}
					var failed *cluster.FailedError
					if !errors.As(err, &failed) || *failed != want {
						t.Fatalf("%s, %s, %04b fail: rank %d: %#v", way, name, fails, r, err)
					}
				}
			}
		}
	}
}

// TestFailsBetween: a rank that fails between the halves of an exchange, or before them, goes to a meeting. The others
// leave the second half, or the first, and come, too; then all go on.
func TestFailsBetween(t *testing.T) {
	for name, make := range ways {
		for _, size := range []int{8, 8 << 20} {
			for _, before := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %d bytes, before: %v", name, size, before), func(t *testing.T) {
					comms := make(t, 3)
					for r, err := range clustertest.OnEach(comms, func(c cluster.Comm) error {
						return failsOn(c, 1, size, before)
					}) {
						if err != nil {
							t.Errorf("rank %d: %v", r, err)
						}
					}
				})
			}
		}
	}
}

// failsOn has one rank fail before an exchange, or between its halves.
func failsOn(c cluster.Comm, rank, size int, before bool) error {
	out, in := make([][]byte, c.Size()), make([][]byte, c.Size())
	for r := range out {
		out[r], in[r] = make([]byte, size), make([]byte, size)
	}
	word := uint64(0)
	if c.Rank() == rank {
		word = cluster.Failure(5, 9)
	}
	if word == 0 || !before {
		err := c.Begin(out, in)
		if err == nil && word == 0 {
			err = c.Finish()
		}
		var meeting *cluster.MeetingError
		if err != nil && !errors.As(err, &meeting) {
			return err
		}
	}
	got, err := cluster.Agree(c, word)
	if want := (cluster.Agreed{Failed: true, Rank: rank, Code: 9}); err != nil || got != want {
		return fmt.Errorf("agreed on %v, not %v: %w", got, want, err)
	}
	all := []byte{7, 7, 7}
	all[c.Rank()] = byte(c.Rank())
	if err := c.AllGather(all, []int{1, 1, 1}); err != nil || !bytes.Equal(all, []byte{0, 1, 2}) {
		return fmt.Errorf("after the meeting %v is gathered: %w", all, err)
	}
	return nil
}

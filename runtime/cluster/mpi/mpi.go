package mpi

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"healc/runtime/cluster"
)

// LibEnv is the environment variable that names the MPI library.
const LibEnv = "HEAL_LIBMPI"

// mostBytes is the most that a call of MPI moves: its counts are 32-bit numbers. Longer messages go in pieces.
const mostBytes = 1 << 30

// epochs is how many tags there are: any MPI has these.
const epochs = 1 << 14

// mpi is a communicator by an MPI library, which only moves bytes.
type mpi struct {
	lib        *library
	rank, size int
	most       int
	meeting    uintptr // the communicator of Meet, as its calls are apart from others

	mu    sync.Mutex // MPI_THREAD_SERIALIZED: one call at a time, from any thread
	err   error
	done  uint64    // calls of do
	since time.Time // when it gave way
	// what calls fill or read
	status          [64]byte
	got             int32
	counts, offsets []int32
	calls           series
	epoch           int // how many meetings there were
	exchange        exchange
}

// Open makes this process, started by a launcher such as mpirun, a rank of MPI_COMM_WORLD. The library is the one
// named by HEAL_LIBMPI, or the first of Libraries that is there. It can be done once in a process.
func Open() (cluster.Comm, error) {
	lib, err := load()
	if err != nil {
		return nil, err
	}
	m := &mpi{lib: lib, most: mostBytes}
	if err := m.start(); err != nil {
		return nil, fmt.Errorf("%s: %w", lib, err)
	}
	if err := checkLauncher(m.size, lib.String()); err != nil {
		return nil, err
	}
	return m, nil
}

// Find names the library that Open takes.
func Find() (string, error) {
	lib, err := load()
	if err != nil {
		return "", err
	}
	return lib.String(), nil
}

func load() (*library, error) {
	// UCX, which carries messages for MPICH and Open MPI, would take the handler of SIGSEGV from Go's runtime, for
	// which a nil pointer is a panic. It reads the variable when it is loaded.
	if os.Getenv("UCX_ERROR_SIGNALS") == "" {
		if err := setenvC("UCX_ERROR_SIGNALS", ""); err != nil {
			return nil, err
		}
	}
	return findLibrary(os.Getenv(LibEnv))
}

func (m *mpi) start() error {
	l := m.lib
	if err := l.check(l.call(l.initialized, ptr(&m.got))); err != nil {
		return err
	}
	if m.got != 0 {
		return errors.New("MPI has been started in this process before")
	}
	if err := l.check(l.call(l.initThread, 0, 0, uintptr(l.serialized), ptr(&m.got))); err != nil {
		return err
	}
	if m.got < l.serialized {
		return fmt.Errorf("it lets only the thread that started it make calls (level %d, and %d is needed)", m.got,
			l.serialized)
	}
	err := l.check(l.call(l.commSetErrhandler, l.world, l.errorsReturn))
	if err == nil {
		err = l.check(l.call(l.commRank, l.world, ptr(&m.got)))
		m.rank = int(m.got)
	}
	if err == nil {
		err = l.check(l.call(l.commSize, l.world, ptr(&m.got)))
		m.size = int(m.got)
	}
	if err == nil {
		err = l.check(l.call(l.commDup, l.world, ptr(&m.meeting))) // with its handler of errors
	}
	m.counts, m.offsets = make([]int32, m.size), make([]int32, m.size)
	return err
}

// tag is that of messages since the last meeting.
func (m *mpi) tag() uintptr { return uintptr(1 + m.epoch%epochs) }

func (m *mpi) Rank() int { return m.rank }
func (m *mpi) Size() int { return m.size }

// timeInTurn is how long a goroutine makes calls before it lets others go on, and callsPerLook after how many it looks
// at the clock.
const (
	timeInTurn   = 2 * time.Millisecond
	callsPerLook = 32
)

// do makes one call.
//
// Go's monitor takes the processor from a goroutine that has run for 10 ms and is in a call of C, and then looks again
// every 20 us. A goroutine that makes one short call after the other loses it each time, and another thread has to be
// woken; the ranks that wait for it wait for that, too. One that has given way by itself has just begun to run. To give
// way wakes a thread, too, so that is done seldom.
func (m *mpi) do(f func() error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.mayGo() {
		m.err = f()
	}
	return m.err
}

// mayGo says that a call can be made: none has failed before. do and what is as short as a call of it begin with it.
func (m *mpi) mayGo() bool {
	if m.done++; m.done%callsPerLook == 0 {
		m.giveWay()
	}
	return m.err == nil
}

func (m *mpi) giveWay() {
	if now := time.Now(); now.Sub(m.since) > timeInTurn {
		runtime.Gosched()
		m.since = now
	}
}

func (m *mpi) AllGather(all []byte, counts []int) error {
	cluster.CheckCounts(m.size, all, counts)
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.mayGo():
	case len(all) > m.most:
		m.err = m.inTurn(func(int) []byte { return cluster.Part(all, counts, m.rank) },
			func(r int) []byte { return cluster.Part(all, counts, r) })
	default:
		m.err = m.gather(m.lib.world, all, counts)
	}
	return m.err
}

// gather is AllGather in one piece, on a communicator of the library. Parts of equal lengths have a call of their own,
// for which libraries have better ways.
func (m *mpi) gather(comm uintptr, all []byte, counts []int) error {
	l := m.lib
	if n := counts[0]; n*m.size == len(all) && !slices.ContainsFunc(counts, func(k int) bool { return k != n }) {
		c := m.calls.next(l.allgather)
		c[0], c[1], c[2] = l.inPlace, 0, l.bytes
		c[3], c[4], c[5], c[6] = data0(all), uintptr(n), l.bytes, comm
	} else {
		place(m.counts, m.offsets, counts)
		c := m.calls.next(l.allgatherv)
		c[0], c[1], c[2] = l.inPlace, 0, l.bytes
		c[3], c[4], c[5], c[6], c[7] = data0(all), ptr(&m.counts[0]), ptr(&m.offsets[0]), l.bytes, comm
	}
	err := l.check(m.calls.run())
	runtime.KeepAlive(all)
	return err
}

// Meet implements cluster.Comm. A rank that waits for data does not see that others have come to a meeting: who has
// failed ends it. What was begun before is dropped: messages after the meeting have another tag.
func (m *mpi) Meet(words []uint64) error {
	return m.do(func() error {
		if err := m.drop(); err != nil {
			return err
		}
		m.epoch++
		each := len(words) / m.size
		all, counts := make([]byte, 8*len(words)), make([]int, m.size)
		for r := range counts {
			counts[r] = 8 * each
		}
		for i := each * m.rank; i < each*(m.rank+1); i++ {
			binary.LittleEndian.PutUint64(all[8*i:], words[i])
		}
		if err := m.gather(m.meeting, all, counts); err != nil {
			return err
		}
		for i := range words {
			words[i] = binary.LittleEndian.Uint64(all[8*i:])
		}
		return nil
	})
}

func (m *mpi) AllToAll(send []byte, to []int, recv []byte, from []int) error {
	cluster.CheckCounts(m.size, send, to)
	cluster.CheckCounts(m.size, recv, from)
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.mayGo() {
		return m.err
	}
	m.err = cluster.ToSelf(m.rank, cluster.Part(send, to, m.rank), cluster.Part(recv, from, m.rank))
	switch {
	case m.err != nil:
	case m.size == 2:
		other := 1 - m.rank
		m.err = m.swap(cluster.Part(send, to, other), other, cluster.Part(recv, from, other), other)
	default: // not MPI_Alltoallv, which may take a message that is shorter than was expected for the whole
		m.begin(func(r int) []byte { return some(cluster.Part(send, to, r)) },
			func(r int) []byte { return some(cluster.Part(recv, from, r)) })
		m.err = m.end()
	}
	return m.err
}

// some is b, or nil where that is empty: it is not sent, as both ranks know.
func some(b []byte) []byte {
	if len(b) == 0 {
		return nil
	}
	return b
}

// inTurn sends to and receives from one other rank after the other, beginning with the nearest.
func (m *mpi) inTurn(out, in func(r int) []byte) error {
	for k := 1; k < m.size; k++ {
		to, from := (m.rank+k)%m.size, (m.rank+m.size-k)%m.size
		if err := m.swap(out(to), to, in(from), from); err != nil {
			return err
		}
	}
	return nil
}

// swap is sendRecv, where what is empty is not sent, as both ranks know that it is.
func (m *mpi) swap(send []byte, to int, recv []byte, from int) error {
	if len(send) == 0 {
		to = cluster.Nobody
	}
	if len(recv) == 0 {
		from = cluster.Nobody
	}
	return m.sendRecv(send, to, recv, from)
}

func (m *mpi) SendRecv(send []byte, to int, recv []byte, from int) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.mayGo():
	case to == m.rank && from == m.rank:
		m.err = cluster.ToSelf(m.rank, send, recv)
	default:
		m.err = m.sendRecv(send, to, recv, from)
	}
	return m.err
}

// sendRecv goes by pieces, at least one each way, so that an empty message is one too.
func (m *mpi) sendRecv(send []byte, to int, recv []byte, from int) error {
	for first := true; ; first = false {
		out, in := to != cluster.Nobody && (first || len(send) > 0), from != cluster.Nobody && (first || len(recv) > 0)
		s, r := send[:min(len(send), m.most)], recv[:min(len(recv), m.most)]
		l, tag := m.lib, m.tag()
		switch {
		case out && in:
			c := m.calls.next(l.sendrecv)
			c[0], c[1], c[2], c[3], c[4] = data0(s), uintptr(len(s)), l.bytes, uintptr(to), tag
			c[5], c[6], c[7], c[8], c[9] = data0(r), uintptr(len(r)), l.bytes, uintptr(from), tag
			c[10], c[11] = l.world, ptr(&m.status[0])
		case out:
			c := m.calls.next(l.send)
			c[0], c[1], c[2], c[3], c[4], c[5] = data0(s), uintptr(len(s)), l.bytes, uintptr(to), tag, l.world
		case in:
			c := m.calls.next(l.recv)
			c[0], c[1], c[2], c[3], c[4], c[5] = data0(r), uintptr(len(r)), l.bytes, uintptr(from), tag, l.world
			c[6] = ptr(&m.status[0])
		default:
			return nil
		}
		if in {
			c := m.calls.next(l.getCount)
			c[0], c[1], c[2] = ptr(&m.status[0]), l.bytes, ptr(&m.got)
		}
		err := l.check(m.calls.run())
		runtime.KeepAlive(send)
		runtime.KeepAlive(recv)
		if err != nil {
			return err
		}
		if in {
			if int(m.got) != len(r) {
				return &cluster.LengthError{From: from, Sent: int64(m.got), Want: int64(len(r))}
			}
			recv = recv[len(r):]
		}
		if out {
			send = send[len(s):]
		}
		if len(send) == 0 && len(recv) == 0 {
			return nil
		}
	}
}

func (m *mpi) Barrier() error {
	return m.do(func() error { return m.lib.check(m.lib.call(m.lib.barrier, m.lib.world)) })
}

// Abort does not wait for a call that is in progress, which may never end.
func (m *mpi) Abort(code int, _ string) { m.lib.call(m.lib.abort, m.lib.world, uintptr(code)) }

func (m *mpi) Close() error {
	return m.do(func() error { return m.lib.check(m.lib.call(m.lib.finalize)) })
}

// place writes counts, and where each part begins.
func place(counts, offsets []int32, from []int) {
	at := 0
	for r, n := range from {
		counts[r], offsets[r] = int32(n), int32(at)
		at += n
	}
}

// ptr is an address as C takes it, of what is kept alive by the caller. It lies on the heap, since a stack may move
// before the call: the compiler takes what may become global for something that cannot be on a stack.
func ptr[T any](p *T) uintptr {
	if escaped.ever {
		escaped.to = unsafe.Pointer(p)
	}
	return uintptr(unsafe.Pointer(p))
}

// escaped is where an address may go, for all that the compiler knows. None ever does.
var escaped struct {
	ever bool
	to   unsafe.Pointer
}

// data0 is where b begins. MPI takes any address for no bytes, but some libraries not nil.
func data0(b []byte) uintptr {
	if len(b) == 0 {
		return ptr(&nothing)
	}
	return ptr(&b[0])
}

var nothing [8]byte

// call calls a C function.
func (l *library) call(f uintptr, args ...uintptr) uintptr {
	r, _, _ := purego.SyscallN(f, args...)
	return r
}

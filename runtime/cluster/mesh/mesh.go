package mesh

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"

	"healc/runtime/cluster"
)

// mesh is a communicator over a connection to each other rank.
//
// What a connection takes at once is written by the caller. The rest goes through a goroutine for each connection,
// because two ranks that first send and then receive would wait for each other once the buffers of a connection are
// full. What is received goes straight to its place.
type mesh struct {
	rank  int
	peers []*peer // nil for this rank

	calls   sync.Mutex            // one at a time: who tells of a failure may come while another call waits
	meeting *cluster.MeetingError // a rank has come to a meeting, and this one has not
	begun   bool                  // an exchange, with these parts for other ranks and from them
	out, in [][]byte

	mu  sync.Mutex
	err error // why the communicator has ended
}

type peer struct {
	rank  int
	conn  net.Conn
	raw   syscall.RawConn // nil: nothing is written at once
	in    *bufio.Reader   // which polls, where ranks do
	mu    sync.Mutex      // held from the first byte of a message until it has gone or the goroutine has the rest
	shut  bool            // no message begins any more
	now   bool            // the last message has gone at once
	out   chan message    // what is to be sent
	sent  chan struct{}   // a token for each message that has gone
	quit  chan struct{}   // closed to end the goroutine, after the message that it writes
	gone  chan struct{}   // closed when it has ended
	space [headerBytes]byte
	err   error // why, once gone is closed; nil by quit

	coming chan arrival // its words of the next meeting; nil where nobody reads them yet
}

// message is what goes to a rank: its beginning, unless that has gone, and the rest.
type message struct{ head, bytes []byte }

// arrival is what has come for a meeting.
type arrival struct {
	words []byte
	err   error
}

// A message begins with its kind and length. Those of an abort are followed by rank, code and reason.
const (
	headerBytes = 8
	lengthBits  = 56
	data        = 0
	abort       = 1
	words       = 2
	mostReason  = 1 << 12
	mostWords   = 1 << 12 // bytes

	// mostBuffered is how much may be read with a header. More goes to its place without a copy.
	mostBuffered = 1 << 12

	// mostAtOnce is how much a connection within a machine is asked to take at once (docs/tuning/exchanges.md).
	mostAtOnce = 1 << 19
)

// patience is how long a rank that has failed tries to tell the others, and linger how long it waits for them to have
// heard: a connection that is closed while there is something unread loses what was sent last.
const (
	patience = 300 * time.Millisecond
	linger   = 200 * time.Millisecond
)

var errClosed = errors.New("the communicator is closed")

// newMesh is a rank that polls for so long for a message before it sleeps.
func newMesh(rank int, conns []net.Conn, poll time.Duration) *mesh {
	n := len(conns)
	m := &mesh{rank: rank, peers: make([]*peer, n), out: make([][]byte, n), in: make([][]byte, n)}
	for r, c := range conns {
		if r == rank {
			continue
		}
		p := &peer{rank: r, conn: c, in: bufio.NewReaderSize(c, mostBuffered), out: make(chan message, 1),
			sent: make(chan struct{}, 1), quit: make(chan struct{}), gone: make(chan struct{})}
		if s, ok := c.(syscall.Conn); ok {
			p.raw, _ = s.SyscallConn()
		}
		if u, ok := c.(*net.UnixConn); ok {
			_ = u.SetWriteBuffer(mostAtOnce) // it takes less where the system allows no more
		}
		if p.raw != nil && poll > 0 {
			p.in.Reset(newPoller(p.raw, poll))
		}
		m.peers[r] = p
		go p.send()
	}
	return m
}

func (m *mesh) Rank() int { return m.rank }
func (m *mesh) Size() int { return len(m.peers) }

// send is the goroutine that writes to a connection what it does not take at once.
func (p *peer) send() {
	defer close(p.gone)
	for {
		var next message
		select {
		case next = <-p.out:
		case <-p.quit:
			select {
			case next = <-p.out: // which has begun
			default:
				return
			}
		}
		both := net.Buffers{next.head, next.bytes}
		if _, p.err = both.WriteTo(p.conn); p.err != nil {
			return
		}
		p.sent <- struct{}{}
	}
}

// post has b sent; flushed waits until it has gone.
func (p *peer) post(kind uint64, b []byte) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gone:
		return &cluster.LostError{Rank: p.rank, Err: p.err}
	default:
	}
	if p.shut {
		return &cluster.LostError{Rank: p.rank, Err: errClosed}
	}
	next := message{binary.LittleEndian.AppendUint64(p.space[:0], kind<<lengthBits|uint64(len(b))), b}
	if p.now = p.atOnce(&next); p.now {
		return nil
	}
	select {
	case p.out <- next:
		return nil
	case <-p.gone:
		return &cluster.LostError{Rank: p.rank, Err: p.err}
	}
}

// atOnce writes what the connection takes without waiting, and reports whether that was all. Errors are left to the
// goroutine, which meets them again.
func (p *peer) atOnce(m *message) (all bool) {
	if p.raw == nil {
		return false
	}
	sent := 0
	err := p.raw.Write(func(fd uintptr) bool {
		sent = writeBoth(fd, m.head, m.bytes)
		return true
	})
	begun := min(sent, len(m.head))
	m.head, m.bytes = m.head[begun:], m.bytes[sent-begun:]
	return err == nil && len(m.head)+len(m.bytes) == 0
}

func (p *peer) flushed() error {
	if p.now {
		return nil
	}
	select {
	case <-p.sent:
		return nil
	case <-p.gone:
		select {
		case <-p.sent: // it had gone before
			return nil
		default:
			return &cluster.LostError{Rank: p.rank, Err: p.err}
		}
	}
}

// why is the reason for which nothing can be sent to a rank: what it has said before it closed the connection, if it
// has ended the run, and otherwise that it is lost.
func (p *peer) why(lost error) error {
	_ = p.conn.SetReadDeadline(time.Now().Add(linger))
	for {
		kind, n, err := p.header()
		if err != nil {
			return lost
		}
		if kind == abort {
			return p.aborted(n)
		}
		if _, err := io.CopyN(io.Discard, p.in, n); err != nil {
			return lost
		}
	}
}

// receive fills b with the next message of the peer.
func (p *peer) receive(b []byte) error {
	kind, n, err := p.header()
	switch {
	case err != nil:
		return err
	case kind == abort:
		return p.aborted(n)
	case kind == words:
		came := p.take(n)
		p.coming = make(chan arrival, 1)
		p.coming <- came
		return &cluster.MeetingError{Rank: p.rank}
	case kind != data:
		return &cluster.LostError{Rank: p.rank, Err: fmt.Errorf("it sent a message of kind %d", kind)}
	case n != int64(len(b)):
		return &cluster.LengthError{From: p.rank, Sent: n, Want: int64(len(b))}
	}
	if _, err := io.ReadFull(p.in, b); err != nil {
		return p.lost(err)
	}
	return nil
}

// take reads the words of a meeting.
func (p *peer) take(n int64) arrival {
	if n > mostWords {
		return arrival{err: &cluster.LengthError{From: p.rank, Sent: n, Want: mostWords}}
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(p.in, b); err != nil {
		return arrival{err: p.lost(err)}
	}
	return arrival{words: b}
}

// await begins to read the words of the next meeting. Data that was on its way is dropped.
func (p *peer) await() {
	if p.coming != nil {
		return
	}
	coming := make(chan arrival, 1)
	p.coming = coming
	go func() {
		for {
			kind, n, err := p.header()
			switch {
			case err != nil:
				coming <- arrival{err: err}
			case kind == abort:
				coming <- arrival{err: p.aborted(n)}
			case kind == words:
				coming <- p.take(n)
			default:
				if _, err = io.CopyN(io.Discard, p.in, n); err == nil {
					continue
				}
				coming <- arrival{err: p.lost(err)}
			}
			return
		}
	}()
}

func (p *peer) header() (kind int, n int64, err error) {
	var head [headerBytes]byte
	if _, err := io.ReadFull(p.in, head[:]); err != nil {
		return 0, 0, p.lost(err)
	}
	x := binary.LittleEndian.Uint64(head[:])
	return int(x >> lengthBits), int64(x & (1<<lengthBits - 1)), nil
}

func (p *peer) lost(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) {
		err = errors.New("it has ended the connection")
	}
	return &cluster.LostError{Rank: p.rank, Err: err}
}

// aborted reads why a rank has ended the run.
func (p *peer) aborted(n int64) error {
	b := make([]byte, min(n, 2*headerBytes+mostReason))
	if _, err := io.ReadFull(p.in, b); err != nil || len(b) < 2*headerBytes {
		return p.lost(io.ErrUnexpectedEOF)
	}
	return &cluster.AbortError{Rank: int(binary.LittleEndian.Uint64(b)),
		Code: int(binary.LittleEndian.Uint64(b[headerBytes:])), Why: string(b[2*headerBytes:])}
}

// Note [Meetings]. A rank that comes to a meeting while others exchange data has failed, or they have not done the
// same. Its words are of a kind of their own, so that a rank which waits for data of it sees them: that one leaves its
// call, reads from then on whatever comes from any rank until their words are there, and drops data, so that nobody who
// still sends it something waits for ever. It waits until what it had begun to send has gone, since that is the
// caller's memory. Then it comes to the meeting, by which the others hear of it. So all come, or have come before. A
// rank that fails between the halves of an exchange does the same.

// begin posts what goes out to each rank. nil is nothing, and an empty part is an empty message.
func (m *mesh) begin() error {
	if err := m.ended(); err != nil {
		return err
	}
	if m.meeting != nil {
		return m.meeting
	}
	n := len(m.peers)
	for k := 1; k < n; k++ { // beginning with the next, so that not all begin with the same
		if p := m.peers[(m.rank+k)%n]; m.out[p.rank] != nil {
			if err := p.post(data, m.out[p.rank]); err != nil {
				return m.fail(m.reason(p, err))
			}
		}
	}
	m.begun = true
	return nil
}

// finish receives what comes from each rank, and waits until what was posted has gone.
func (m *mesh) finish() error {
	if err := m.ended(); err != nil {
		return err
	}
	if !m.begun { // this rank has been to a meeting since
		return &cluster.MeetingError{Rank: m.rank}
	}
	n := len(m.peers)
	for k := 1; k < n && m.meeting == nil; k++ {
		if p := m.peers[(m.rank+n-k)%n]; m.in[p.rank] != nil {
			if err := p.receive(m.in[p.rank]); err != nil && !errors.As(err, &m.meeting) {
				return m.fail(err)
			}
		}
	}
	if m.meeting != nil {
		m.await()
	}
	if err := m.flushed(); err != nil {
		return err
	}
	if m.meeting != nil {
		return m.meeting
	}
	return nil
}

// await begins to read the words of all ranks.
func (m *mesh) await() {
	for _, p := range m.peers {
		if p != nil {
			p.await()
		}
	}
}

// flushed waits until all that was posted has gone.
func (m *mesh) flushed() error {
	m.begun = false
	n := len(m.peers)
	for k := 1; k < n; k++ {
		if p := m.peers[(m.rank+k)%n]; m.out[p.rank] != nil {
			if err := p.flushed(); err != nil {
				return m.fail(m.reason(p, err))
			}
		}
	}
	return nil
}

// do makes one call: what it sends to each rank, and what it receives.
func (m *mesh) do(out, in func(r int) []byte) error {
	m.calls.Lock()
	defer m.calls.Unlock()
	for r := range m.peers {
		m.out[r], m.in[r] = out(r), in(r)
	}
	if err := m.begin(); err != nil {
		return err
	}
	return m.finish()
}

// Begin implements cluster.Comm.
func (m *mesh) Begin(out, in [][]byte) error {
	m.calls.Lock()
	defer m.calls.Unlock()
	copy(m.out, out)
	copy(m.in, in)
	return m.begin()
}

// Finish implements cluster.Comm.
func (m *mesh) Finish() error {
	m.calls.Lock()
	defer m.calls.Unlock()
	return m.finish()
}

// ended is why the communicator has ended.
func (m *mesh) ended() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}

// Meet implements cluster.Comm.
func (m *mesh) Meet(all []uint64) error {
	m.calls.Lock()
	defer m.calls.Unlock()
	if err := m.ended(); err != nil {
		return err
	}
	each := len(all) / len(m.peers)
	var own []byte
	for _, w := range all[each*m.rank:][:each] {
		own = binary.LittleEndian.AppendUint64(own, w)
	}
	m.await()
	if m.begun {
		if err := m.flushed(); err != nil {
			return err
		}
	}
	for _, p := range m.peers {
		if p == nil {
			continue
		}
		if err := p.post(words, own); err != nil {
			return m.fail(m.heard(err))
		}
	}
	for r, p := range m.peers {
		if p == nil {
			continue
		}
		came := <-p.coming
		if came.err == nil && len(came.words) != len(own) {
			came.err = &cluster.LengthError{From: r, Sent: int64(len(came.words)), Want: int64(len(own))}
		}
		p.coming = nil
		if came.err == nil {
			if err := p.flushed(); err != nil {
				came.err = p.why(err)
			}
		}
		if came.err != nil {
			return m.fail(m.heard(came.err))
		}
		for i := range each {
			all[each*r+i] = binary.LittleEndian.Uint64(came.words[8*i:])
		}
	}
	m.meeting = nil
	return nil
}

// reason is why nothing can be sent to a rank.
func (m *mesh) reason(p *peer, lost error) error {
	if p.coming != nil { // somebody reads what comes from it
		return m.heard(lost)
	}
	return p.why(lost)
}

// heard is why a meeting has ended: what a rank has said that has ended the run, if one has, and otherwise err.
func (m *mesh) heard(err error) error {
	var ended *cluster.AbortError
	if errors.As(err, &ended) {
		return err
	}
	late := time.After(linger)
	for _, p := range m.peers {
		if p == nil || p.coming == nil {
			continue
		}
		select {
		case came := <-p.coming:
			if errors.As(came.err, &ended) {
				return came.err
			}
		case <-late:
			return err
		}
	}
	return err
}

func (m *mesh) AllGather(all []byte, counts []int) error {
	cluster.CheckCounts(m.Size(), all, counts)
	own := part(all, counts, m.rank)
	return m.do(func(int) []byte { return own }, func(r int) []byte { return part(all, counts, r) })
}

func (m *mesh) AllToAll(send []byte, to []int, recv []byte, from []int) error {
	cluster.CheckCounts(m.Size(), send, to)
	cluster.CheckCounts(m.Size(), recv, from)
	if err := cluster.ToSelf(m.rank, cluster.Part(send, to, m.rank), cluster.Part(recv, from, m.rank)); err != nil {
		return m.fail(err)
	}
	return m.do(func(r int) []byte { return part(send, to, r) }, func(r int) []byte { return part(recv, from, r) })
}

func (m *mesh) SendRecv(send []byte, to int, recv []byte, from int) error {
	if (to == m.rank) != (from == m.rank) {
		panic("BUG: a rank that sends to itself receives from itself")
	}
	if to == m.rank {
		if err := cluster.ToSelf(m.rank, send, recv); err != nil {
			return m.fail(err)
		}
		return nil
	}
	only := func(which int, b []byte) func(int) []byte {
		return func(r int) []byte {
			if r == which {
				return payload(b)
			}
			return nil
		}
	}
	return m.do(only(to, send), only(from, recv))
}

func (m *mesh) Barrier() error {
	nothing := func(int) []byte { return empty }
	return m.do(nothing, nothing)
}

var empty = []byte{}

// payload is b, not nil.
func payload(b []byte) []byte {
	if b == nil {
		return empty
	}
	return b
}

// part is a part as do takes it: what is empty is not sent, as both ranks know that it is.
func part(b []byte, counts []int, r int) []byte {
	if counts[r] == 0 {
		return nil
	}
	return cluster.Part(b, counts, r)
}

// fail ends the communicator and tells the others why. Of several errors the first counts.
func (m *mesh) fail(err error) error {
	reason, code, rank := err.Error(), cluster.FailedCode, m.rank
	var ended *cluster.AbortError
	if errors.As(err, &ended) {
		reason, code, rank = ended.Why, ended.Code, ended.Rank
	}
	return m.end(err, rank, code, reason)
}

func (m *mesh) Abort(code int, why string) {
	_ = m.end(&cluster.AbortError{Rank: m.rank, Code: code, Why: why}, m.rank, code, why)
}

func (m *mesh) end(err error, rank, code int, reason string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return m.err
	}
	m.err = err
	head := binary.LittleEndian.AppendUint64(nil, uint64(rank))
	head = binary.LittleEndian.AppendUint64(head, uint64(code))
	body := append(head, reason[:min(len(reason), mostReason)]...)
	note := binary.LittleEndian.AppendUint64(nil, abort<<lengthBits|uint64(len(body)))
	m.hangUp(append(note, body...))
	return err
}

// hangUp sends a last message, if any, to every rank that takes it, and closes the connections.
func (m *mesh) hangUp(note []byte) {
	var all sync.WaitGroup
	for _, p := range m.peers {
		if p != nil {
			all.Go(func() { p.hangUp(note) })
		}
	}
	all.Wait()
}

func (p *peer) hangUp(note []byte) {
	defer p.conn.Close()
	now := time.Now()
	_ = p.conn.SetReadDeadline(now) // a call that waits ends
	_ = p.conn.SetWriteDeadline(now.Add(patience))
	p.mu.Lock()
	p.shut = true
	p.mu.Unlock()
	close(p.quit)
	<-p.gone
	if p.err != nil || note == nil {
		return
	}
	if _, err := p.conn.Write(note); err != nil {
		return
	}
	if half, ok := p.conn.(interface{ CloseWrite() error }); !ok || half.CloseWrite() != nil {
		return
	}
	_ = p.conn.SetReadDeadline(time.Now().Add(linger))
	_, _ = io.Copy(io.Discard, p.conn) // until the other end has closed as well
}

// Close comes back when every rank has come to it, so that no rank which still works takes another for lost.
func (m *mesh) Close() error {
	if err := m.Barrier(); err != nil {
		if errors.Is(err, errClosed) {
			return nil
		}
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err == nil {
		m.err = errClosed
		m.hangUp(nil)
	}
	return nil
}

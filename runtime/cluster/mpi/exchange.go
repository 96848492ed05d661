package mpi

import "healc/runtime/cluster"

// exchange is one that has begun.
type exchange struct {
	begun    bool
	requests []request
	kept     [][]byte // what messages that were dropped may still read
}

// request is a message that is on its way. C writes the handle, which is a number or a pointer, the status and how long
// the message was.
type request struct {
	handle uint64
	status [64]byte
	got    int32
	from   int // who sends it; Nobody: this rank
	bytes  []byte
}

// drop forgets an exchange that has not ended. Nothing is received any more; what is sent may still be on its way.
func (m *mpi) drop() error {
	l, e := m.lib, &m.exchange
	if !e.begun {
		return nil
	}
	for i := range e.requests {
		q := &e.requests[i]
		if q.from == cluster.Nobody {
			e.kept = append(e.kept, q.bytes)
			continue
		}
		m.calls.next(l.cancel)[0] = ptr(&q.handle)
		m.wait(q)
	}
	err := l.check(m.calls.run())
	e.begun, e.requests = false, nil
	return err
}

// Begin implements cluster.Comm. Whether data moves before Finish is up to the library: short messages do.
func (m *mpi) Begin(out, in [][]byte) error {
	return m.do(func() error {
		m.begin(func(r int) []byte { return out[r] }, func(r int) []byte { return in[r] })
		return m.lib.check(m.calls.run())
	})
}

// Finish implements cluster.Comm.
func (m *mpi) Finish() error {
	begun := true
	err := m.do(func() error {
		if begun = m.exchange.begun; begun {
			return m.end()
		}
		return nil
	})
	if err == nil && !begun { // this rank has been to a meeting since
		return &cluster.MeetingError{Rank: m.rank}
	}
	return err
}

// begin writes the calls that begin an exchange. nil is no message.
func (m *mpi) begin(out, in func(r int) []byte) {
	e := &m.exchange
	all := 0
	for r := range m.size {
		all += m.pieces(out(r)) + m.pieces(in(r))
	}
	if e.begun = true; cap(e.requests) < all { // they stay where they are, since C knows it
		e.requests = make([]request, 0, all)
	}
	e.requests = e.requests[:0]
	for k := 1; k < m.size; k++ {
		from := (m.rank + m.size - k) % m.size
		m.post(m.lib.irecv, from, from, in(from))
	}
	for k := 1; k < m.size; k++ {
		to := (m.rank + k) % m.size
		m.post(m.lib.isend, to, cluster.Nobody, out(to))
	}
}

// pieces is as how many messages b goes.
func (m *mpi) pieces(b []byte) int {
	if b == nil {
		return 0
	}
	return max(1, (len(b)+m.most-1)/m.most)
}

// post writes the calls by which b goes to or comes from a rank.
func (m *mpi) post(f uintptr, rank, from int, b []byte) {
	l, e := m.lib, &m.exchange
	for range m.pieces(b) {
		piece := b[:min(len(b), m.most)]
		b = b[len(piece):]
		e.requests = append(e.requests, request{from: from, bytes: piece})
		c := m.calls.next(f)
		c[0], c[1], c[2], c[3] = data0(piece), uintptr(len(piece)), l.bytes, uintptr(rank)
		c[4], c[5], c[6] = m.tag(), l.world, ptr(&e.requests[len(e.requests)-1].handle)
	}
}

// wait writes the call that waits for a message.
func (m *mpi) wait(q *request) {
	c := m.calls.next(m.lib.wait)
	c[0], c[1] = ptr(&q.handle), ptr(&q.status[0])
}

// end waits for what was begun, and looks how long messages were. Calls that were written before are made, too.
func (m *mpi) end() error {
	l, e := m.lib, &m.exchange
	for i := range e.requests {
		q := &e.requests[i]
		m.wait(q)
		if q.from != cluster.Nobody {
			c := m.calls.next(l.getCount)
			c[0], c[1], c[2] = ptr(&q.status[0]), l.bytes, ptr(&q.got)
		}
	}
	if err := l.check(m.calls.run()); err != nil {
		return err // the communicator has ended, and keeps what was begun
	}
	e.begun = false
	for i := range e.requests {
		q := &e.requests[i]
		if q.from != cluster.Nobody && int(q.got) != len(q.bytes) {
			return &cluster.LengthError{From: q.from, Sent: int64(q.got), Want: int64(len(q.bytes))}
		}
		q.bytes = nil
	}
	return nil
}

package device

// Transfer copies between memory of the host that is not pinned and the device. It goes through two pieces of pinned
// memory, one of which is filled while the other is on its way. It belongs to one stream.
type Transfer struct {
	memory HostMemory
	stream Stream
	pieces [2]piece
}

// HostMemory is what gives pinned memory of the host, such as a Device.
type HostMemory interface {
	AllocHost(bytes int64) ([]byte, error)
	FreeHost(b []byte) error
}

type piece struct {
	mem  []byte
	busy Event // until it is reached, mem is in use; nil when it is free
}

// pieceBytes is the size of a piece: large enough that starting a copy costs little beside it.
const pieceBytes = 4 << 20

// NewTransfer returns a transfer for a stream, with pieces of this memory.
func NewTransfer(memory HostMemory, stream Stream) *Transfer {
	return &Transfer{memory: memory, stream: stream}
}

// next returns a piece that is free, of at least n bytes.
func (t *Transfer) next(i int, n int) (*piece, error) {
	p := &t.pieces[i%2]
	if err := p.wait(); err != nil {
		return nil, err
	}
	if len(p.mem) < n {
		size := 64 << 10
		for size < n {
			size *= 2
		}
		old := p.mem
		mem, err := t.memory.AllocHost(int64(size))
		if err != nil {
			return nil, err
		}
		p.mem = mem
		if old != nil {
			if err := t.memory.FreeHost(old); err != nil {
				return nil, err
			}
		}
	}
	return p, nil
}

// wait returns when the copy that uses the piece is done. Where the wait is ended the piece stays in use.
func (p *piece) wait() error {
	if p.busy == nil {
		return nil
	}
	if err := p.busy.Wait(); err != nil {
		return err
	}
	e := p.busy
	p.busy = nil
	return e.Close()
}

// Upload copies src to the device. src may change as soon as it returns, while the last pieces are on their way.
func (t *Transfer) Upload(dst Ptr, src []byte) error {
	for i := 0; len(src) > 0; i++ {
		n := min(len(src), pieceBytes)
		p, err := t.next(i, n)
		if err != nil {
			return err
		}
		copy(p.mem, src[:n])
		if err := t.stream.Upload(dst, p.mem[:n]); err != nil {
			return err
		}
		if p.busy, err = t.stream.Record(); err != nil {
			return err
		}
		dst, src = dst+Ptr(n), src[n:]
	}
	return nil
}

// Download copies from the device; the bytes are in dst when it returns.
func (t *Transfer) Download(dst []byte, src Ptr) error {
	var waiting []byte // where the piece goes that is on its way
	var coming *piece
	for i := 0; len(dst) > 0 || coming != nil; i++ {
		var p *piece
		var to []byte
		if len(dst) > 0 {
			n := min(len(dst), pieceBytes)
			var err error
			if p, err = t.next(i, n); err != nil {
				return err
			}
			if err := t.stream.Download(p.mem[:n], src); err != nil {
				return err
			}
			if p.busy, err = t.stream.Record(); err != nil {
				return err
			}
			to, dst, src = dst[:n], dst[n:], src+Ptr(n)
		}
		if coming != nil {
			if err := coming.wait(); err != nil {
				return err
			}
			copy(waiting, coming.mem)
		}
		coming, waiting = p, to
	}
	return nil
}

// Close frees the pinned memory.
func (t *Transfer) Close() error {
	var first error
	for i := range t.pieces {
		p := &t.pieces[i]
		err := p.wait()
		if err == nil && p.mem != nil {
			err = t.memory.FreeHost(p.mem)
		}
		p.mem = nil
		if first == nil {
			first = err
		}
	}
	return first
}

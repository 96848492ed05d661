// Package mailbox carries messages between a test and a machine that an emulator runs, in a file that is the machine's
// disk.
package mailbox

import (
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"time"
	"unsafe"
)

// Note [Mailbox]
//
// An emulator of a whole PC has no pipe into it that is as quick as its disk and as easy as a file: Bochs writes what
// the machine writes straight into the file, and reads it from there. So a file has two ways, one in each direction.
// Each is a sector that says which message is there and how long it is, one that says which message has been taken, and
// the message itself. Both sides look again and again. The machine goes by its page cache (O_DIRECT).

const (
	sector = 512
	page   = 4096
	room   = 32 << 20 // of one message
	// Size is that of the file: a whole number of cylinders of 16 heads and 63 sectors.
	Size = 140 * 16 * 63 * sector
)

// Box is one side.
type Box struct {
	read, write func(b []byte, at int64) (int, error)
	wait        time.Duration // between two looks
	ended       <-chan error  // has why nothing comes any more, on the outside

	in, out         int64 // where the two ways begin
	received, given uint64
	rest            []byte // of a message that is being read
}

// Outside is the side of the test, which has the file.
// From ended comes why the machine has.
func Outside(f *os.File, ended <-chan error) *Box {
	return &Box{read: f.ReadAt, write: f.WriteAt, wait: 200 * time.Microsecond, ended: ended, in: page + room, out: 0}
}

// Inside is the side of the machine, which has a disk.
func Inside(disk *os.File) *Box {
	return &Box{read: disk.ReadAt, write: disk.WriteAt, wait: time.Millisecond, in: 0, out: page + room}
}

// aligned is memory that a disk can be read into directly.
func aligned(n int) []byte {
	b := make([]byte, n+2*page)
	skip := page - int(uintptr(unsafe.Pointer(&b[0]))%page)
	return b[skip : skip+(n+sector-1)/sector*sector]
}

func (b *Box) words(at int64) (number, size uint64, err error) {
	buf := aligned(sector)
	if _, err := b.read(buf, at); err != nil {
		return 0, 0, err
	}
	return binary.LittleEndian.Uint64(buf), binary.LittleEndian.Uint64(buf[8:]), nil
}

func (b *Box) setWords(at int64, number, size uint64) error {
	buf := aligned(sector)
	binary.LittleEndian.PutUint64(buf, number)
	binary.LittleEndian.PutUint64(buf[8:], size)
	_, err := b.write(buf, at)
	return err
}

// Send gives a message, once the one before it has been taken.
func (b *Box) Send(message []byte) error {
	if len(message) > room {
		return fmt.Errorf("a message of %d bytes is longer than %d", len(message), room)
	}
	for {
		taken, _, err := b.words(b.out + sector)
		if err != nil {
			return err
		}
		if taken == b.given {
			break
		}
		if err := b.pause(); err != nil {
			return err
		}
	}
	buf := aligned(len(message))
	copy(buf, message)
	if _, err := b.write(buf, b.out+page); err != nil {
		return err
	}
	b.given++
	return b.setWords(b.out, b.given, uint64(len(message)))
}

// Receive waits for the next message.
func (b *Box) Receive() ([]byte, error) {
	for {
		number, size, err := b.words(b.in)
		if err != nil {
			return nil, err
		}
		if number == b.received+1 && size <= room {
			buf := aligned(int(size))
			if _, err := b.read(buf, b.in+page); err != nil {
				return nil, err
			}
			b.received++
			return buf[:size], b.setWords(b.in+sector, b.received, 0)
		}
		if err := b.pause(); err != nil {
			return nil, err
		}
	}
}

func (b *Box) pause() error {
	time.Sleep(b.wait)
	select {
	case err := <-b.ended:
		return fmt.Errorf("the machine has ended: %w", err)
	default:
		return nil
	}
}

// Write sends p in messages.
func (b *Box) Write(p []byte) (int, error) {
	for at := 0; at < len(p); at += room {
		if err := b.Send(p[at:min(at+room, len(p))]); err != nil {
			return at, err
		}
	}
	return len(p), nil
}

// Read has what messages say, one after the other. An empty one is the end.
func (b *Box) Read(p []byte) (int, error) {
	if len(b.rest) == 0 {
		message, err := b.Receive()
		if err != nil {
			return 0, err
		}
		if len(message) == 0 {
			return 0, io.EOF
		}
		b.rest = message
	}
	n := copy(p, b.rest)
	b.rest = b.rest[n:]
	return n, nil
}

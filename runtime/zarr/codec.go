package zarr

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"sync"

	"github.com/klauspost/compress/zstd"

	"healc/lang/types"
)

// mostChunk is how many bytes a chunk may have that is read in one piece.
const mostChunk = 1 << 31

// chain is what makes the bytes of a chunk of its elements.
type chain struct {
	dtype  types.DType
	order  []int // of the axes in the file; nil as in the array
	shard  *shard
	big    bool     // the greater bytes come first; where shard is nil
	packed []string // the codecs of bytes, in the order of writing
}

// shard has the chunks of a chain in one piece, with an index of where they are.
type shard struct {
	chunk []int64
	inner *chain
	index *chain
	first bool // the index is at the beginning
}

// blob is a chunk as it is stored.
type blob struct {
	from io.ReaderAt
	size int64
}

// all reads a blob that must have no more bytes than most.
func (b blob) all(most int64) ([]byte, error) {
	if b.size > most {
		return nil, fmt.Errorf("%d bytes are more than the %d that a chunk can take", b.size, most)
	}
	data := make([]byte, b.size)
	if n, err := b.from.ReadAt(data, 0); n < len(data) {
		return nil, fmt.Errorf("cannot read it: %w", err)
	}
	return data, nil
}

// read puts the elements of a stored chunk in their place.
func (c *chain) read(b blob, to block) error {
	to = to.permuted(c.order)
	n := count(to.shape, mostChunk/to.elem)
	if c.shard != nil {
		if len(c.packed) > 0 {
			data, err := b.all(mostChunk)
			if err == nil {
				data, err = unpacked(data, c.packed, mostChunk)
			}
			if err != nil {
				return err
			}
			b = blob{bytes.NewReader(data), int64(len(data))}
		}
		return c.shard.read(b, to)
	}
	n *= to.elem
	data, err := b.all(loose(n))
	if err == nil {
		data, err = unpacked(data, c.packed, n)
	}
	if err != nil {
		return err
	}
	if int64(len(data)) != n {
		return fmt.Errorf("a chunk of %s has %d bytes, not %d", types.Of(c.dtype, to.shape...), len(data), n)
	}
	c.fix(data, to.elem)
	to.runs(func(array, chunk []byte) { copy(array, chunk) }, data)
	return nil
}

// fix has elements as they lie in memory, of which the lesser byte is first.
func (c *chain) fix(data []byte, elem int64) {
	if c.dtype == types.Bool {
		for i, x := range data {
			data[i] = min(x, 1)
		}
	}
	if c.big != hostIsBigEndian {
		for ; int64(len(data)) >= elem; data = data[elem:] {
			slices.Reverse(data[:elem])
		}
	}
}

var hostIsBigEndian = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// loose is a size that packing n bytes exceeds nowhere.
func loose(n int64) int64 { return n + n/8 + 1<<16 }

// nowhere is the offset and the length of a chunk in a shard that is not there, and of which all elements are the fill
// value.
const nowhere = ^uint64(0)

func (s *shard) read(b blob, to block) error {
	counts := grid(to.shape, s.chunk)
	chunks := count(counts, 1<<32)
	size := chunks * 16
	for _, codec := range s.index.packed {
		if codec == "crc32c" {
			size += 4
		}
	}
	if chunks < 0 || size > b.size {
		return fmt.Errorf("a shard of %d bytes is shorter than its index", b.size)
	}
	at := b.size - size
	if s.first {
		at = 0
	}
	index, err := blob{io.NewSectionReader(b.from, at, size), size}.all(size)
	if err == nil {
		index, err = unpacked(index, s.index.packed, size)
	}
	if err != nil {
		return fmt.Errorf("the index of the shard: %w", err)
	}
	var order binary.ByteOrder = binary.LittleEndian
	if s.index.big {
		order = binary.BigEndian
	}
	k := 0
	return odometer(counts, func(chunk []int64) error {
		offset, length := order.Uint64(index[16*k:]), order.Uint64(index[16*k+8:])
		k++
		part := to.part(chunk, s.chunk)
		if offset == nowhere && length == nowhere || slices.Contains(part.valid, 0) {
			return nil
		}
		if offset > uint64(b.size) || length > uint64(b.size)-offset {
			return fmt.Errorf("chunk %v of the shard has bytes [%d, +%d) of %d", chunk, offset, length, b.size)
		}
		err := s.inner.read(blob{io.NewSectionReader(b.from, int64(offset), int64(length)), int64(length)}, part)
		if err != nil {
			return fmt.Errorf("chunk %v of the shard: %w", chunk, err)
		}
		return nil
	})
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// unpacked undoes codecs of bytes, of which at most n come out.
func unpacked(data []byte, codecs []string, n int64) ([]byte, error) {
	for i, codec := range slices.Backward(codecs) {
		most := n
		if i > 0 {
			most = loose(n)
		}
		var err error
		switch codec {
		case "crc32c":
			if len(data) < 4 {
				return nil, fmt.Errorf("crc32c: %d bytes have no checksum", len(data))
			}
			end := len(data) - 4
			want, got := binary.LittleEndian.Uint32(data[end:]), crc32.Checksum(data[:end], castagnoli)
			if want != got {
				return nil, fmt.Errorf("crc32c: the checksum is %08x, not the %08x that is stored", got, want)
			}
			data = data[:end]
		case "zstd":
			// A block of 4 bytes stands for 128 KiB at most.
			room := min(most, int64(len(data))<<15+1<<17)
			data, err = unzstd().DecodeAll(data, make([]byte, 0, room))
			if errors.Is(err, zstd.ErrDecoderSizeExceeded) {
				err = fmt.Errorf("there are more than %d bytes in it", most)
			}
		case "gzip":
			data, err = gunzip(data, most)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", codec, err)
		}
	}
	return data, nil
}

func gunzip(data []byte, most int64) ([]byte, error) {
	z, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	out, err := io.ReadAll(io.LimitReader(z, most+1))
	if err == nil && int64(len(out)) > most {
		err = fmt.Errorf("there are more than %d bytes in it", most)
	}
	return out, err
}

// unzstd and tozstd keep no state from one call to the next; no goroutine runs between them.
var (
	unzstd = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic("BUG: runtime/zarr: " + err.Error())
		}
		return d
	})
	tozstd = sync.OnceValue(func() *zstd.Encoder {
		// Short frames, too, say how long their content is: numcodecs, which zarr-python reads them by, asks for that.
		e, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithSingleSegment(true))
		if err != nil {
			panic("BUG: runtime/zarr: " + err.Error())
		}
		return e
	})
)

package tensorfile

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	goruntime "runtime"
	"slices"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// Image is a form of files for pictures: of u8 or u16, rows from the top, and channels where there is a third axis.
type Image string

// The forms, by which the names of files end, too.
const (
	PNG Image = "png" // grey; or 1 to 4 channels: grey, grey and alpha, RGB, RGB and alpha
	PGM Image = "pgm" // grey
)

// Images has all forms.
var Images = []Image{PNG, PGM}

// Check says why tensors of this type and shape are no picture of the form.
func (f Image) Check(dtype types.DType, shape []int64) error {
	t := types.Of(dtype, shape...)
	switch {
	case !slices.Contains(Images, f):
		return fmt.Errorf("there is no form of pictures named %q", string(f))
	case dtype != types.U8 && dtype != types.U16:
		return fmt.Errorf("a picture has elements of u8 or u16, not %s", t)
	case f == PGM && len(shape) != 2:
		return fmt.Errorf("a .pgm file has rows and columns of grey, not %s", t)
	case len(shape) != 2 && len(shape) != 3:
		return fmt.Errorf("a picture has rows, columns and 1 to 4 channels, or rows and columns alone, not %s", t)
	case len(shape) == 3 && (shape[2] < 1 || shape[2] > 4):
		return fmt.Errorf("a picture has 1 to 4 channels (grey, grey and alpha, RGB, RGB and alpha), not the %d of %s",
			shape[2], t)
	case shape[0] == 0 || shape[1] == 0:
		return fmt.Errorf("a picture has a row and a column at least, not %s", t)
	}
	return nil
}

// WriteImage writes t as a picture.
func WriteImage(w io.Writer, form Image, t *tensor.Tensor) error {
	if err := t.HostErr(); err != nil {
		return err
	}
	if err := form.Check(t.DType, t.Shape); err != nil {
		return fmt.Errorf("write .%s: %w", form, err)
	}
	dense, err := t.Contiguous()
	if err != nil {
		return err
	}
	defer dense.Close()
	defer goruntime.KeepAlive(dense)
	p := picture{data: dense.Raw(), rows: int(t.Shape[0]), columns: int(t.Shape[1]), channels: 1,
		depth: t.DType.Bytes()}
	if len(t.Shape) == 3 {
		p.channels = int(t.Shape[2])
	}
	if form == PGM {
		return p.writePGM(w)
	}
	return p.writePNG(w)
}

// WriteImageFile writes a picture to a file, which is replaced as a whole or stays as it was. ended is asked as by
// WriteFileUntil.
func WriteImageFile(path string, form Image, t *tensor.Tensor, ended func() error) error {
	return WriteFileUntil(path, ended, func(w io.Writer) error { return WriteImage(w, form, t) })
}

type picture struct {
	data          []byte
	rows, columns int
	channels      int
	depth         int    // bytes of an element
	swapped       []byte // for row
}

// row is a row in the order of bytes that files have, which is the greater first. The next one takes its place.
func (p *picture) row(i int) []byte {
	n := p.columns * p.channels * p.depth
	row := p.data[i*n : (i+1)*n]
	if p.depth == 1 || hostIsBigEndian {
		return row
	}
	p.swapped = append(p.swapped[:0], row...)
	swapBytes(p.swapped, p.depth)
	return p.swapped
}

// writePGM: Netpbm's pgm(5).
func (p *picture) writePGM(w io.Writer) error {
	if _, err := fmt.Fprintf(w, "P5\n%d %d\n%d\n", p.columns, p.rows, 1<<(8*p.depth)-1); err != nil {
		return err
	}
	for i := range p.rows {
		if _, err := w.Write(p.row(i)); err != nil {
			return err
		}
	}
	return nil
}

// writePNG: ISO/IEC 15948. Go's image/png would leave out alpha where all of it is opaque, and has no grey with alpha.
func (p *picture) writePNG(w io.Writer) error {
	if _, err := io.WriteString(w, "\x89PNG\r\n\x1a\n"); err != nil {
		return err
	}
	kinds := [...]byte{1: 0, 2: 4, 3: 2, 4: 6}
	head := binary.BigEndian.AppendUint32(nil, uint32(p.columns))
	head = binary.BigEndian.AppendUint32(head, uint32(p.rows))
	head = append(head, byte(8*p.depth), kinds[p.channels], 0, 0, 0)
	if err := pngChunk(w, "IHDR", head); err != nil {
		return err
	}
	chunks := bufio.NewWriterSize(pngData{w}, 1<<16)
	z := zlib.NewWriter(chunks)
	f := pngFilter{pixel: p.channels * p.depth}
	for i := range p.rows {
		if _, err := z.Write(f.filter(p.row(i))); err != nil {
			return err
		}
	}
	if err := z.Close(); err != nil {
		return err
	}
	if err := chunks.Flush(); err != nil {
		return err
	}
	return pngChunk(w, "IEND", nil)
}

func pngChunk(w io.Writer, kind string, data []byte) error {
	head := append(binary.BigEndian.AppendUint32(nil, uint32(len(data))), kind...)
	sum := crc32.Update(crc32.ChecksumIEEE([]byte(kind)), crc32.IEEETable, data)
	for _, part := range [][]byte{head, data, binary.BigEndian.AppendUint32(nil, sum)} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	return nil
}

// pngData writes each piece as a chunk of data.
type pngData struct{ to io.Writer }

func (d pngData) Write(p []byte) (int, error) {
	if err := pngChunk(d.to, "IDAT", p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// pngFilter makes rows of differences, which compress better.
type pngFilter struct {
	pixel int    // bytes of one
	above []byte // the row before
	tried [5][]byte
}

// filter is a row with the number of its filter before it: of the five the one whose differences are least in sum, as
// the standard advises.
func (f *pngFilter) filter(row []byte) []byte {
	if f.above == nil {
		f.above = make([]byte, len(row))
		for k := range f.tried {
			f.tried[k] = make([]byte, 1+len(row))
			f.tried[k][0] = byte(k)
		}
	}
	var sums [len(f.tried)]int
	for i, x := range row {
		var left, corner byte
		if i >= f.pixel {
			left, corner = row[i-f.pixel], f.above[i-f.pixel]
		}
		up := f.above[i]
		mean := byte((int(left) + int(up)) / 2)
		for k, guess := range [len(f.tried)]byte{0, left, up, mean, paeth(left, up, corner)} {
			d := x - guess
			f.tried[k][1+i] = d
			sums[k] += min(int(d), 256-int(d))
		}
	}
	copy(f.above, row)
	best, least := 0, math.MaxInt
	for k, sum := range sums {
		if sum < least {
			best, least = k, sum
		}
	}
	return f.tried[best]
}

// paeth is the one of three that is next to left + up - corner.
func paeth(left, up, corner byte) byte {
	a, b, c := int(left), int(up), int(corner)
	toLeft, toUp, toCorner := abs(b-c), abs(a-c), abs(a+b-2*c)
	switch {
	case toLeft <= toUp && toLeft <= toCorner:
		return left
	case toUp <= toCorner:
		return up
	}
	return corner
}

func abs(x int) int { return max(x, -x) }

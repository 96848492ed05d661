package tensorfile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"healc/lang/types"
)

// npyOf is a .npy file with these elements, as they lie in the file.
func npyOf(t *testing.T, dir, descr string, fortran bool, shape []int64, data []byte) string {
	t.Helper()
	head, err := npyPreamble(types.U8, fortran, shape)
	if err != nil {
		t.Fatal(err)
	}
	// The padding is longer than any of the names.
	old := []byte("'descr': '|u1'")
	at := bytes.Index(head, old)
	name := []byte("'descr': '" + descr + "'")
	grown := len(name) - len(old)
	end := len(head) - 1
	head = slices.Concat(head[:at], name, head[at+len(old):end-grown], []byte("\n"))
	path := filepath.Join(dir, "x.npy")
	if err := os.WriteFile(path, append(head, data...), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestReadNpyPart: a part is what is cut out of the whole, in whatever order the file has it.
func TestReadNpyPart(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 1))
	dir := t.TempDir()
	for i := range 150 {
		descr := []string{"<f4", ">f8", "|b1", "<i2", "|u1"}[i%5]
		size := int64(map[string]int{"<f4": 4, ">f8": 8, "|b1": 1, "<i2": 2, "|u1": 1}[descr])
		var shape []int64
		n := size
		for range 1 + r.IntN(4) {
			d := r.Int64N(12)
			if r.IntN(4) == 0 && n*1000 < 1<<18 {
				d = r.Int64N(3000) // runs that are read alone
			}
			shape, n = append(shape, d), n*d
		}
		if i < 5 { // several bands
			shape, n = []int64{700, 3000}, size*700*3000
		}
		data := make([]byte, n)
		for k := range data {
			data[k] = byte(r.Uint32())
		}
		fortran := r.IntN(2) == 0
		path := npyOf(t, dir, descr, fortran, shape, data)
		axis := r.IntN(len(shape)+1) - 1
		lo, hi := int64(0), int64(0)
		if axis >= 0 {
			lo = r.Int64N(shape[axis] + 1)
			hi = lo + r.Int64N(shape[axis]-lo+1)
		}
		cut := func(types.DType, []int64) (int, int64, int64, error) { return axis, lo, hi, nil }
		what := fmt.Sprintf("%s%v, Fortran %v: %d to %d of axis %d", descr, shape, fortran, lo, hi, axis)
		whole, err := ReadNpyFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want, err := PartOf(whole, cut)
		if err != nil {
			t.Fatal(err)
		}
		got, of, err := ReadNpyPart(path, cut)
		if err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		if !slices.Equal(of, shape) || got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) ||
			!slices.Equal(got.Bits(), want.Bits()) {
			t.Errorf("%s: another part, %v of %v", what, got.Shape, of)
		}
		if fortran && !got.IsColumnMajor() || !fortran && !got.IsContiguous() {
			t.Errorf("%s: the strides are %v", what, got.Strides)
		}
		whole.Close()
		want.Close()
		got.Close()
	}
}

// TestReadNpyPartOfMuch: of a file that is larger than memory a part can be read, along any axis.
func TestReadNpyPartOfMuch(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.npy")
	shape := []int64{1 << 10, 1 << 18, 1 << 10}
	head, err := NpyHeader(types.F32, shape)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.Write(head); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(int64(len(head)) + 1<<40); err != nil {
		t.Skipf("no file of so many holes: %v", err)
	}
	for axis := range 2 {
		at := []int64{513, 1 << 17}[axis] // where an element is that is not 0
		offset := int64(len(head)) + 4*at<<[]int{28, 10}[axis]
		if _, err := f.WriteAt([]byte{0, 0, 128, 63}, offset); err != nil {
			t.Fatal(err)
		}
		lo, hi := at, at+1
		if axis == 0 { // a row of it is too much, and so is one of nothing of it
			lo, hi = at, at
		}
		got, of, err := ReadNpyPart(path, func(types.DType, []int64) (int, int64, int64, error) {
			return axis, lo, hi, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(of, shape) || axis == 1 && (got.Elems() != 1<<20 || got.Bits()[0] != 0x3f800000) {
			t.Errorf("axis %d: another part, %v", axis, got.Shape)
		}
		got.Close()
	}
	if _, err := Samples(path); err != nil {
		t.Error(err)
	}
}

// TestReadNpyPartFails: what is wrong with a file is said as where all of it is read.
func TestReadNpyPartFails(t *testing.T) {
	dir := t.TempDir()
	all := func(types.DType, []int64) (int, int64, int64, error) { return 0, 0, 1, nil }
	for name, data := range map[string]int{"short": 11, "long": 13} {
		path := npyOf(t, dir, "<f4", false, []int64{3}, make([]byte, data))
		_, _, err := ReadNpyPart(path, all)
		_, want := ReadNpyFile(path)
		if err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("%s: %v, and of the whole %v", name, err, want)
		}
	}
	path := npyOf(t, dir, "<f4", false, []int64{3}, make([]byte, 12))
	no := errors.New("not this one")
	if _, _, err := ReadNpyPart(path, func(types.DType, []int64) (int, int64, int64, error) {
		return 0, 0, 0, no
	}); !errors.Is(err, no) {
		t.Error(err)
	}
	if _, _, err := ReadNpyPart(filepath.Join(dir, "none.npy"), all); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	// A file that becomes shorter while it is read.
	r := &runs{from: bytes.NewReader(make([]byte, 10)), rows: 2, extent: 8, hi: 4, inner: 1}
	if n, err := io.ReadFull(r, make([]byte, 8)); err == nil || n > 4 {
		t.Errorf("%d bytes of a file that ends, %v", n, err)
	}
}

// TestSamples: files of different lengths, and those that differ in their beginning or end, are told apart.
func TestSamples(t *testing.T) {
	dir := t.TempDir()
	seen := map[string]int{}
	for i, change := range []func(b []byte) []byte{
		func(b []byte) []byte { return b },
		func(b []byte) []byte { b[0]++; return b },
		func(b []byte) []byte { b[len(b)-1]++; return b },
		func(b []byte) []byte { return b[:len(b)-1] },
		func(b []byte) []byte { return b[:100] },
		func(b []byte) []byte { return nil },
	} {
		path := filepath.Join(dir, fmt.Sprint(i))
		if err := os.WriteFile(path, change(make([]byte, 1<<20)), 0o666); err != nil {
			t.Fatal(err)
		}
		got, err := Samples(path)
		if err != nil {
			t.Fatal(err)
		}
		if before, twice := seen[got]; twice {
			t.Errorf("files %d and %d are both %s", before, i, got)
		}
		seen[got] = i
	}
}

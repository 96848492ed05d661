package tensorfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"hash/crc32"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"healc/lang/types"
	"healc/runtime/memory"
	"healc/runtime/tensor"
	"healc/tests/claims"
)

func openNpz(t *testing.T, path string) *Npz {
	t.Helper()
	z, err := OpenNpz(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { z.Close() })
	return z
}

func TestReadNpzOfNumPy(t *testing.T) {
	noLeaks(t)
	z := openNpz(t, "testdata/npy/stored.npz")
	if !slices.Equal(z.Names(), []string{"x", "y", "z"}) {
		t.Errorf("names %v", z.Names())
	}
	wantFixture(t, must(t)(z.Read("x")), types.F32, 2, 3)
	wantTensor(t, must(t)(z.Read("y.npy")), []int64{2, 3}, 0, 1, 2, 3, 4, 5)
	wantTensor(t, must(t)(z.Read("z")), nil, 1)
	d := openNpz(t, "testdata/npy/deflated.npz")
	if x := must(t)(d.Read("x")); x.String() != "f32[100,100]" || slices.Max(x.Bits()) != 0 {
		t.Errorf("deflated: %v", x)
	}
	wantTensor(t, must(t)(d.Read("y")), []int64{6}, 0, 1, 2, 3, 4, 5)
	const want = `testdata/npy/stored.npz:w: at byte 0: the archive has no array "w"; it has "x", "y", "z"`
	if _, err := z.Read("w"); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

func TestNpzRoundTrip(t *testing.T) {
	noLeaks(t)
	a, b := iota32(t, 2, 3), must(t)(tensor.FromSlice([]bool{true, false}), nil)
	for _, compress := range []bool{false, true} {
		path := filepath.Join(t.TempDir(), "a.npz")
		if err := WriteNpzFile(path, compress, NamedTensor{"b", b}, NamedTensor{"a.npy", a}); err != nil {
			t.Fatal(err)
		}
		z := openNpz(t, path)
		if !slices.Equal(z.Names(), []string{"b", "a"}) {
			t.Errorf("names %v", z.Names())
		}
		wantTensor(t, must(t)(z.Read("a")), []int64{2, 3}, 0, 1, 2, 3, 4, 5)
		wantTensor(t, must(t)(z.Read("b")), []int64{2}, 1, 0)
	}
	var out bytes.Buffer
	for _, entries := range [][]NamedTensor{{{"a", a}, {"a.npy", a}}, {{"", a}}} {
		if err := WriteNpz(&out, false, entries...); err == nil {
			t.Errorf("wrote names %q", entries[0].Name)
		}
	}
}

// rawNpz makes an archive of one entry whose directory declares size bytes.
func rawNpz(t testing.TB, method uint16, data []byte, size uint64, name string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	f, err := w.CreateRaw(&zip.FileHeader{
		Name: name, Method: method, CRC32: crc32.ChecksumIEEE(data),
		CompressedSize64: uint64(len(data)), UncompressedSize64: size,
	})
	if err == nil {
		_, err = f.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func hostileNpz(t testing.TB) map[string][]byte {
	good := npyWith("{'descr': '<i2', 'fortran_order': False, 'shape': (1,)}", 7, 0)
	bomb := npyShape("(1000000, 1000000)")
	var twice bytes.Buffer
	w := zip.NewWriter(&twice)
	for range 2 {
		f, err := w.Create("x.npy")
		if err == nil {
			_, err = f.Write(good)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	n := uint64(len(good))
	broken := rawNpz(t, zip.Store, good, n, "x.npy")
	broken[bytes.Index(broken, []byte{'}', 7, 0})+1] = 8
	return map[string][]byte{
		"two of a name":      twice.Bytes(),
		"declares too much":  rawNpz(t, zip.Deflate, good, 1<<40, "x.npy"),
		"stored sizes":       rawNpz(t, zip.Store, good, n+1, "x.npy"),
		"npy over the entry": rawNpz(t, zip.Store, bomb, uint64(len(bomb)), "x.npy"),
		"no deflate stream":  rawNpz(t, zip.Deflate, []byte("\xff\xffabc"), 100, "x.npy"),
		"unknown method":     rawNpz(t, 99, good, n, "x.npy"),
		"checksum":           broken,
		"no npy":             rawNpz(t, zip.Store, []byte("abc"), 3, "x.npy"),
	}
}

func TestHostileNpz(t *testing.T) {
	noLeaks(t)
	for name, data := range hostileNpz(t) {
		z, err := ReadNpz(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		x, err := z.Read("x")
		var e *NpyError
		if !errors.As(err, &e) || !strings.HasPrefix(err.Error(), "npz data:x: at byte ") {
			t.Errorf("%s: %v, %v", name, x, err)
			x.Close()
		}
	}
	var e *NpyError
	if _, err := ReadNpz(strings.NewReader("no zip"), 6); !errors.As(err, &e) {
		t.Errorf("no zip: %v", err)
	}
	path := filepath.Join(t.TempDir(), "x.npz")
	if err := os.WriteFile(path, []byte("no zip"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenNpz(path); !errors.As(err, &e) || e.Path != path {
		t.Errorf("no zip: %v", err)
	}
	if _, err := OpenNpz(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func FuzzReadNpz(f *testing.F) {
	for _, data := range hostileNpz(f) {
		f.Add(data)
	}
	for _, path := range []string{"testdata/npy/stored.npz", "testdata/npy/deflated.npz"} {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
		f.Add(data[:len(data)/2])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := memory.LiveBytes()
		enough := claims.Within(t, len(data), 16<<20, 200)
		z, err := ReadNpz(bytes.NewReader(data), int64(len(data)))
		enough()
		if err != nil {
			return
		}
		for _, name := range z.Names() {
			if x, err := z.Read(name); err == nil {
				checkReadBack(t, x, len(data)*(maxDeflate+1))
				x.Close()
			}
		}
		if memory.LiveBytes() != before {
			t.Error("leak")
		}
	})
}

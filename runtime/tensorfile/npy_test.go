package tensorfile

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"

	"healc/lang/types"
	"healc/runtime/memory"
	"healc/runtime/tensor"
	"healc/tests/claims"
)

// fixtureBits is element k of the fixtures that generate.py writes, in dtype.
func fixtureBits(dtype types.DType, k int) uint64 {
	quarter := float64(k-2) / 4
	switch dtype {
	case types.Bool:
		return uint64(k % 2)
	case types.F16:
		return uint64(types.F16Bits(float32(quarter)))
	case types.F32:
		return uint64(math.Float32bits(float32(quarter)))
	case types.F64:
		return math.Float64bits(quarter)
	}
	return uint64(k-2) & (1<<dtype.Bits() - 1)
}

func wantFixture(t *testing.T, x *tensor.Tensor, dtype types.DType, shape ...int64) {
	t.Helper()
	want := make([]uint64, memory.Count(shape))
	for k := range want {
		want[k] = fixtureBits(dtype, k)
	}
	if x.DType != dtype || !slices.Equal(x.Shape, shape) || !slices.Equal(x.Bits(), want) {
		t.Errorf("got %v %x, want %s %x", x, x.Bits(), tensor.TypeName(dtype, shape), want)
	}
}

func TestReadNpyOfNumPy(t *testing.T) {
	noLeaks(t)
	read := func(name string) *tensor.Tensor {
		t.Helper()
		return must(t)(ReadNpyFile(filepath.Join("testdata/npy", name+".npy")))
	}
	for name, dtype := range npyDTypes {
		if name == "?" {
			continue
		}
		c, f := read(name+"_c"), read(name+"_f")
		wantFixture(t, c, dtype, 2, 3)
		wantFixture(t, f, dtype, 2, 3)
		if !slices.Equal(c.Strides, []int64{3, 1}) || !slices.Equal(f.Strides, []int64{1, 2}) {
			t.Errorf("%s: strides %v and %v", name, c.Strides, f.Strides)
		}
		if dtype.Bytes() > 1 {
			wantFixture(t, read(name+"_big"), dtype, 2, 3)
		}
	}
	for _, version := range []string{"f4_v1", "f4_v2", "f4_v3"} {
		wantFixture(t, read(version), types.F32, 2, 3)
	}
	wantFixture(t, read("f4_rank1"), types.F32, 6)
	wantFixture(t, read("f4_rank5"), types.F32, 1, 2, 1, 3, 1)
	wantFixture(t, read("f4_empty"), types.F32, 3, 0, 2)
	wantTensor(t, read("f4_rank0"), nil, uint64(math.Float32bits(1.5)))
}

// TestWriteNpyLikeNumPy writes back what NumPy wrote: every byte must be the same.
func TestWriteNpyLikeNumPy(t *testing.T) {
	noLeaks(t)
	files, err := filepath.Glob("testdata/npy/*.npy")
	if err != nil || len(files) < 30 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		base := filepath.Base(path)
		if strings.HasPrefix(base, "bad_") || strings.Contains(base, "_big") || base == "f4_v2.npy" ||
			base == "f4_v3.npy" {
			continue
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var got bytes.Buffer
		if err := WriteNpy(&got, must(t)(ReadNpyFile(path))); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%s: got %q, NumPy has %q", base, got.Bytes(), want)
		}
	}
}

func TestUnsupportedDTypes(t *testing.T) {
	noLeaks(t)
	for name, want := range map[string]string{
		"complex": `unsupported dtype "<c8": complex numbers`,
		"struct":  `unsupported dtype: structured arrays`,
		"object":  `unsupported dtype "|O": Python objects`,
		"bytes":   `unsupported dtype "|S2": byte strings`,
		"string":  `unsupported dtype "<U2": strings`,
		"date":    `unsupported dtype "<M8[D]": dates`,
	} {
		path := "testdata/npy/bad_" + name + ".npy"
		_, err := ReadNpyFile(path)
		if want = path + ": at byte 20: " + want; err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	x := must(t)(tensor.FromBits(types.BF16, []int64{1}, []uint64{0x3f80}))
	if err := WriteNpy(io.Discard, x); err == nil || err.Error() !=
		"write bf16[1]: unsupported dtype: .npy has no bf16; convert to f32 first" {
		t.Errorf("bf16: %v", err)
	}
	x = must(t)(tensor.FromBits(types.F8E4M3, []int64{1}, []uint64{0x38}))
	if err := WriteNpy(io.Discard, x); err == nil || err.Error() !=
		"write f8e4m3[1]: unsupported dtype: .npy has no f8e4m3; convert to f32 first" {
		t.Errorf("f8e4m3: %v", err)
	}
	x = must(t)(tensor.FromBits(types.I4, []int64{1}, []uint64{3}))
	if err := WriteNpy(io.Discard, x); err == nil || err.Error() !=
		"write i4[1]: unsupported dtype: .npy has no i4; convert to i8 first" {
		t.Errorf("i4: %v", err)
	}
}

// npyWith builds a .npy of version 1 around a header.
func npyWith(header string, data ...byte) []byte {
	b := append([]byte(npyMagic), 1, 0, byte(len(header)), byte(len(header)>>8))
	return append(append(b, header...), data...)
}

func npyShape(shape string) []byte {
	return npyWith("{'descr': '<f4', 'fortran_order': False, 'shape': " + shape + "}")
}

func hostileNpy() map[string][]byte {
	return map[string][]byte{
		"empty":               {},
		"short magic":         []byte(npyMagic[:4]),
		"other file":          []byte("PK\x03\x04 no npy at all"),
		"short other file":    []byte("hello\n"),
		"version 0":           append([]byte(npyMagic), 0, 0, 0, 0),
		"version 4":           append([]byte(npyMagic), 4, 0, 0, 0),
		"no length":           append([]byte(npyMagic), 2, 0, 1, 0),
		"huge header":         append([]byte(npyMagic), 2, 0, 0xff, 0xff, 0xff, 0xff),
		"header cut off":      npyShape("(2, 3)")[:40],
		"no dict":             npyWith("'abc'"),
		"text after":          npyWith("{'descr': '<f4', 'fortran_order': False, 'shape': ()} + 1"),
		"not closed":          npyWith("{'descr': '<f4', 'fortran_order': False, 'shape': ("),
		"no comma":            npyWith("{'descr': '<f4' 'fortran_order': False, 'shape': ()}"),
		"no colon":            npyWith("{'descr', '<f4'}"),
		"code":                npyWith("__import__('os').system('true')"),
		"twice":               npyWith("{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}"),
		"unknown key":         npyWith("{'descr': '<f4', 'fortran_order': False, 'shape': (), 'x': 1}"),
		"key is no string":    npyWith("{1: '<f4'}"),
		"missing key":         npyWith("{'descr': '<f4', 'shape': ()}"),
		"empty dict":          npyWith("{}"),
		"order is no bool":    npyWith("{'descr': '<f4', 'fortran_order': 1, 'shape': ()}"),
		"descr is no string":  npyWith("{'descr': 4, 'fortran_order': False, 'shape': ()}"),
		"descr unknown":       npyWith("{'descr': '<q4', 'fortran_order': False, 'shape': ()}"),
		"descr empty":         npyWith("{'descr': '', 'fortran_order': False, 'shape': ()}"),
		"descr has no order":  npyWith("{'descr': '|f4', 'fortran_order': False, 'shape': ()}", 0, 0, 0, 0),
		"descr has two":       npyWith("{'descr': '<<f4', 'fortran_order': False, 'shape': ()}", 0, 0, 0, 0),
		"string not closed":   npyWith("{'descr"),
		"unknown escape":      npyWith(`{'de\q': 1}`),
		"shape is an int":     npyShape("(3)"),
		"shape is a list":     npyShape("[3]"),
		"extent is negative":  npyShape("(-1,)"),
		"extent is a float":   npyShape("(3.0,)"),
		"extent is a bool":    npyShape("(True,)"),
		"extent over 64 bits": npyShape("(99999999999999999999,)"),
		"extent over 2^31":    npyShape("(2147483648,)"),
		"size over 2^63":      npyShape("(2147483647, 2147483647, 2)"),
		"size over the file":  npyShape("(1000000, 1000000)"),
		"size wraps to 0":     npyShape("(65536, 65536, 65536, 65536)"),
		"data cut off":        append(npyShape("(2,)"), 1, 2, 3, 4, 5),
		"rank":                npyShape("(" + strings.Repeat("1,", 65) + ")"),
		"nested deep":         npyShape(strings.Repeat("(", 5000)),
	}
}

func TestHostileNpy(t *testing.T) {
	noLeaks(t)
	for name, data := range hostileNpy() {
		for kind, r := range map[string]io.Reader{"sized": bytes.NewReader(data),
			"stream": iotest.OneByteReader(bytes.NewReader(data))} {
			x, err := ReadNpy(r)
			var e *NpyError
			if !errors.As(err, &e) || e.Reason == "" || e.Offset < 0 || e.Offset > int64(len(data)) {
				t.Errorf("%s, %s: %v, %v", name, kind, x, err)
				x.Close()
			}
		}
	}
	for name, want := range map[string]string{
		"other file":         `npy data: at byte 0: no .npy file: it starts with "PK\x03\x04 n", not "\x93NUMPY"`,
		"short other file":   `npy data: at byte 0: no .npy file: it starts with "hello\n", not "\x93NUMPY"`,
		"short magic":        `npy data: at byte 4: the magic bytes of .npy: unexpected EOF`,
		"version 4":          `npy data: at byte 6: unsupported .npy version 4.0; versions 1 to 3 are supported`,
		"huge header":        `npy data: at byte 8: a header of 4294967295 bytes is longer than the limit of 65536`,
		"size over the file": `npy data: at byte 79: f32[1000000,1000000] needs 4000000000000 bytes, the file has 0 left: unexpected EOF`,
		"extent is negative": `npy data: at byte 61: extent 0 of the shape is negative: -1`,
		"extent over 2^31":   `npy data: at byte 60: the shape of the array: shape [2147483648]: extent 2147483648 of axis 0 is not in [0, 2^31)`,
		"no comma":           `npy data: at byte 26: malformed header: expected ',' or '}'`,
		"nested deep":        `npy data: at byte 92: malformed header: nested deeper than 32 levels`,
		"data cut off":       `npy data: at byte 65: f32[2] needs 8 bytes, the file has 5 left: unexpected EOF`,
	} {
		if _, err := ReadNpy(bytes.NewReader(hostileNpy()[name])); err == nil || err.Error() != want {
			t.Errorf("%s: got\n%v, want\n%s", name, err, want)
		}
	}
}

func TestNpyHeaderSpellings(t *testing.T) {
	noLeaks(t)
	four := []byte{0, 0, 0x80, 0x3f}
	for _, header := range []string{
		"{'descr': '<f4', 'fortran_order': False, 'shape': (1L,)}",
		`{"shape":(1,),"fortran_order":True,"descr":"<f4"}`,
		" {\n\t'descr' : u'<f4' , 'fortran_order' : False , 'shape' : ( 1 , ) , } \r\n",
		"{b'descr': b'=f4', 'fortran_order': False, 'shape': (+1,)}",
		`{'de\x73cr': '\x3cf4', 'fortran_order': False, 'shape': (((1)),)}`,
	} {
		x, err := ReadNpy(bytes.NewReader(npyWith(header, four...)))
		if err != nil {
			t.Errorf("%q: %v", header, err)
			continue
		}
		wantTensor(t, x, []int64{1}, 0x3f800000)
		x.Close()
	}
}

func TestReadNpyStreams(t *testing.T) {
	noLeaks(t)
	var b bytes.Buffer
	x := must(t)(tensor.FromSlice([]int32{1, 2, 3}), nil)
	y := must(t)(tensor.FromSlice([]bool{true, false}, 2, 1), nil)
	for _, z := range []*tensor.Tensor{x, y} {
		if err := WriteNpy(&b, z); err != nil {
			t.Fatal(err)
		}
	}
	r := iotest.HalfReader(&b) // of a size it does not tell; the second array follows the first
	wantTensor(t, must(t)(ReadNpy(r)), []int64{3}, 1, 2, 3)
	wantTensor(t, must(t)(ReadNpy(r)), []int64{2, 1}, 1, 0)
	if _, err := ReadNpy(r); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("at the end: %v", err)
	}
	// A bool that is neither 0 nor 1 becomes 1.
	z := must(t)(ReadNpy(bytes.NewReader(npyWith("{'descr': '|b1', 'fortran_order': False, 'shape': (3,)}", 0, 2,
		255))))
	wantTensor(t, z, []int64{3}, 0, 1, 1)
	broken := errors.New("broken")
	if _, err := ReadNpy(io.MultiReader(bytes.NewReader(npyShape("(9,)")), iotest.ErrReader(broken))); !errors.Is(err,
		broken) {
		t.Errorf("a reader's own error: %v", err)
	}
	var oom *memory.OutOfMemoryError
	if _, err := ReadNpy(iotest.HalfReader(bytes.NewReader(npyShape("(1000000, 1000000)")))); !errors.As(err, &oom) {
		t.Errorf("a stream that declares terabytes: %v", err)
	}
}

// TestNpyFileIsOneArray: what follows the array in a file is an error, as is what follows one in an archive.
func TestNpyFileIsOneArray(t *testing.T) {
	noLeaks(t)
	path := filepath.Join(t.TempDir(), "x.npy")
	for extra, want := range map[string]string{
		"":     "",
		"x":    ": at byte 69: bytes after the array: f32[1] has 4, and 1 more follow",
		"1234": ": at byte 69: bytes after the array: f32[1] has 4, and 4 more follow",
	} {
		data := append(npyShape("(1,)"), "\x00\x00\x80\x3f"+extra...)
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		x, err := ReadNpyFile(path)
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != path+want) {
			t.Errorf("%d bytes more: %v", len(extra), err)
		}
		x.Close()
		archive := rawNpz(t, zip.Store, data, uint64(len(data)), "x.npy")
		z, err := ReadNpz(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		x, err = z.Read("x")
		if want == "" && err != nil || want != "" && (err == nil || err.Error() != "npz data:x"+want) {
			t.Errorf("%d bytes more in an archive: %v", len(extra), err)
		}
		x.Close()
	}
}

// TestReadNoFile: what is no file is an error at once; what a process was started with is read.
func TestReadNoFile(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{pipe: "a pipe", "/dev/zero": "a device", dir: "a folder"} {
		_, npy := ReadNpyFile(path)
		_, npz := OpenNpz(path)
		_, safetensors := OpenSafetensors(path)
		for _, err := range []error{npy, npz, safetensors} {
			if err == nil || err.Error() != path+" is "+want+", not a file" {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := w.Write(append(npyShape("(1,)"), 0, 0, 0x80, 0x3f)); err != nil {
		t.Fatal(err)
	}
	w.Close()
	one := uint64(math.Float32bits(1))
	wantTensor(t, must(t)(ReadNpyFile(fmt.Sprintf("/dev/fd/%d", r.Fd()))), []int64{1}, one)
}

func TestNpyRoundTripOfViews(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 3, 4)
	for _, v := range []*tensor.Tensor{
		x, must(t)(x.Transpose()), must(t)(x.Slice(tensor.Reversed, tensor.Range{Start: 0, Stop: 4, Step: 2})),
		must(t)(must(t)(x.Index(0, 1)).Expand(2, 4)), must(t)(x.Slice(tensor.Range{Start: 1, Stop: 1, Step: 1})),
		must(t)(x.Reshape(1, 12)),
	} {
		var b bytes.Buffer
		if err := WriteNpy(&b, v); err != nil {
			t.Fatal(err)
		}
		y := must(t)(ReadNpy(&b))
		wantTensor(t, y, v.Shape, v.Bits()...)
	}
}

func TestWriteNpyFile(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "x.npy")
	x := must(t)(tensor.FromSlice([]float32{1, 2}), nil)
	for range 2 { // new, and over the old one
		if err := WriteNpyFile(path, x); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(path, 0o600); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link.npy")
	if err := os.Symlink("x.npy", link); err != nil {
		t.Fatal(err)
	}
	y := must(t)(tensor.FromSlice([]float32{3}), nil)
	if err := WriteNpyFile(link, y); err != nil {
		t.Fatal(err)
	}
	wantTensor(t, must(t)(ReadNpyFile(path)), []int64{1}, uint64(math.Float32bits(3)))
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("permissions %v, %v", info.Mode(), err)
	}
	// A failed write leaves what was there, and nothing else.
	closed := tensor.FromSlice([]float32{3})
	closed.Close()
	if err := WriteNpyFile(path, closed); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("closed tensor: %v", err)
	}
	wantTensor(t, must(t)(ReadNpyFile(path)), []int64{1}, uint64(math.Float32bits(3)))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	// So does one that is ended in the middle.
	large := must(t)(tensor.FromSlice(make([]float32, 1<<20)), nil)
	ended, asked := errors.New("ended"), 0
	if err := WriteNpyFileUntil(path, large, func() error {
		if asked++; asked == 4 { // of five pieces: the head and 4 MiB
			return ended
		}
		return nil
	}); err != ended {
		t.Errorf("a write that is ended: %v", err)
	}
	wantTensor(t, must(t)(ReadNpyFile(path)), []int64{1}, uint64(math.Float32bits(3)))
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 2 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if err := WriteNpyFile(os.DevNull, x); err != nil {
		t.Errorf("a device: %v", err)
	}
	for _, bad := range []string{filepath.Join(dir, "no", "x.npy"), dir} {
		if err := WriteNpyFile(bad, x); err == nil {
			t.Errorf("wrote to %s", bad)
		}
	}
	if _, err := ReadNpyFile(filepath.Join(dir, "none.npy")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("missing file: %v", err)
	}
	if _, err := ReadNpyFile(dir); err == nil {
		t.Error("read a folder")
	}
}

func FuzzReadNpy(f *testing.F) {
	for _, data := range hostileNpy() {
		f.Add(data)
	}
	files, err := filepath.Glob("testdata/npy/*.npy")
	if err != nil {
		f.Fatal(err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		before := memory.LiveBytes()
		enough := claims.Within(t, len(data), 16<<20, 20)
		x, err := ReadNpy(bytes.NewReader(data))
		enough()
		if err == nil {
			checkReadBack(t, x, len(data))
			x.Close()
		} else if e := (*NpyError)(nil); !errors.As(err, &e) {
			t.Errorf("error of type %T: %v", err, err)
		}
		if memory.LiveBytes() != before {
			t.Error("leak")
		}
	})
}

// checkReadBack checks a tensor that came from size bytes: it is no larger than those, and writing it
// and reading it again gives the same.
func checkReadBack(t *testing.T, x *tensor.Tensor, size int) {
	t.Helper()
	if x.Bytes() > int64(size) {
		t.Errorf("%v from %d bytes", x, size)
	}
	var b bytes.Buffer
	if err := WriteNpy(&b, x); err != nil {
		t.Fatal(err)
	}
	y, err := ReadNpy(&b)
	if err != nil {
		t.Fatal(err)
	}
	defer y.Close()
	if fmt.Sprint(y) != fmt.Sprint(x) || !slices.Equal(y.Bits(), x.Bits()) {
		t.Errorf("%v became %v", x, y)
	}
}

// TestStridesSurvive: a file keeps the order of a tensor's axes in memory.
func TestStridesSurvive(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 3, 5)
	for _, v := range []*tensor.Tensor{x, must(t)(x.Transpose())} {
		var b bytes.Buffer
		if err := WriteNpy(&b, v); err != nil {
			t.Fatal(err)
		}
		y := must(t)(ReadNpy(&b))
		if !slices.Equal(y.Strides, v.Strides) || !slices.Equal(y.Bits(), v.Bits()) {
			t.Errorf("strides %v became %v", v.Strides, y.Strides)
		}
	}
}

// TestReadColumnMajor: an array in C order that is read in pieces into column-major order is the array that is read
// whole, whatever its byte order, from a file or from an archive, stored or deflated; one that is cut off is an error
// that says where.
func TestReadColumnMajor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	for _, c := range []struct {
		descr string
		d     types.DType
		shape []int64
	}{
		{"<f4", types.F32, []int64{3001, 1000}}, {">i8", types.I64, []int64{2000, 33, 17}},
		{"|b1", types.Bool, []int64{9_000_001, 1}}, {"|u1", types.U8, []int64{2, 5_000_000}},
		{"<f4", types.F32, []int64{5, 7}}, {"<f4", types.F32, []int64{3}}, {"<f4", types.F32, []int64{0, 3}},
	} {
		n := int64(c.d.Bytes())
		text := make([]string, len(c.shape))
		for i, e := range c.shape {
			n, text[i] = n*e, fmt.Sprint(e)
		}
		head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s,), }", c.descr,
			strings.Join(text, ","))
		head += strings.Repeat(" ", 117-len(head)) + "\n"
		data := append([]byte("\x93NUMPY\x01\x00\x76\x00"), head...)
		for i := range n {
			data = append(data, byte(i*7+i>>8*3))
		}
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		want, err := ReadNpyFile(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ReadNpyFileColumnMajor(path)
		if err != nil {
			t.Fatal(err)
		}
		if !got.IsColumnMajor() {
			t.Errorf("%s%v has strides %v", c.d, c.shape, got.Strides)
		}
		same, err := got.Clone()
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(same.Raw(), want.Raw()) {
			t.Errorf("%s%v: the elements differ", c.d, c.shape)
		}
		for _, method := range []uint16{zip.Store, zip.Deflate} {
			y := must(t)(memberColumnMajor(data, method))
			flat := must(t)(y.Clone())
			if !y.IsColumnMajor() || !bytes.Equal(flat.Raw(), want.Raw()) {
				t.Errorf("%s%v in an archive, by method %d: strides %v, or the elements differ", c.d, c.shape, method,
					y.Strides)
			}
			y.Close()
			flat.Close()
		}
		for _, x := range []*tensor.Tensor{want, got, same} {
			x.Close()
		}
		if n == 0 {
			continue
		}
		_, err = readNpy(bytes.NewReader(data[:len(data)-1]), "", unknownSize, npyWants{columns: true})
		if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("at byte %d", len(data)-1)) {
			t.Errorf("%s%v cut off: %v", c.d, c.shape, err)
		}
	}
}

// memberColumnMajor reads the bytes of a .npy file from an archive that has them.
func memberColumnMajor(data []byte, method uint16) (*tensor.Tensor, error) {
	var file bytes.Buffer
	w := zip.NewWriter(&file)
	f, err := w.CreateHeader(&zip.FileHeader{Name: "a.npy", Method: method})
	if err != nil {
		return nil, err
	}
	if _, err := f.Write(data); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	z, err := ReadNpz(bytes.NewReader(file.Bytes()), int64(file.Len()))
	if err != nil {
		return nil, err
	}
	return z.ReadColumnMajor("a")
}

// TestReadOwns: what becomes of a file after it was read does not matter to the tensor, however large it is.
func TestReadOwns(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.npy")
	x := must(t)(tensor.New(types.F32, 1<<20, 3))
	data := x.Raw()
	for i := range data {
		data[i] = byte(i * 11 >> 4)
	}
	if err := WriteNpyFile(path, x); err != nil {
		t.Fatal(err)
	}
	mapFile := func(path string) (*tensor.Tensor, error) {
		y, file, err := MapNpyFile(path)
		t.Cleanup(func() {
			if err := file.Err(); err != nil {
				t.Error(err)
			}
		})
		return y, err
	}
	for _, read := range []func(string) (*tensor.Tensor, error){ReadNpyFile, ReadNpyFileColumnMajor, mapFile} {
		y := must(t)(read(path))
		whole, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		if _, err := f.WriteAt(make([]byte, len(whole)), 0); err != nil {
			t.Fatal(err)
		}
		if err := f.Truncate(10); err != nil {
			t.Fatal(err)
		}
		z := must(t)(y.Contiguous())
		if !bytes.Equal(z.Raw(), data) {
			t.Error("the tensor changed with its file")
		}
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

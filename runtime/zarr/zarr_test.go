package zarr

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/runtime/tensor/tensortest"
	"healc/runtime/tensorfile"
)

func TestMain(m *testing.M) { tensortest.Main(m, new(int64)) }

var (
	noLeaks = tensortest.NoLeaks
	must    = tensortest.Must
)

func open(t *testing.T, path string) *Store {
	t.Helper()
	s, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// unzip lays the files of an archive into a folder.
func unzip(t *testing.T, path string) string {
	t.Helper()
	z, err := zip.OpenReader(path)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	dir := t.TempDir()
	for _, f := range z.File {
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		put(t, filepath.Join(dir, filepath.FromSlash(f.Name)), data)
	}
	return dir
}

func put(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}

// fills are the values of the arrays of read.zip that have one of their own, by their names.
var fills = map[string]uint64{"nan": 0x7fc00000, "inf": 0xfff0000000000000, "minus": 0xf9, "most": 1<<64 - 1,
	"half": 0x3e00, "yes": 1}

// TestReadZarrPython reads what zarr-python wrote; see testdata/generate.py.
func TestReadZarrPython(t *testing.T) {
	noLeaks(t)
	s := open(t, filepath.Join(unzip(t, "testdata/read.zip"), "read.zarr"))
	if len(s.Names()) != 2*12+13+2*len(fills) {
		t.Errorf("%d arrays: %q", len(s.Names()), s.Names())
	}
	for _, name := range s.Names() {
		x := must(t)(s.Read(name))
		fill, filled := fills[name[strings.LastIndexByte(name, '/')+1:]]
		for k, got := range x.Bits() {
			want := element(x.DType, k)
			if filled && k/int(x.Shape[1]) == 3 {
				want = fill
			}
			if got != want {
				t.Errorf("%s, %v: element %d is %#x, not %#x", name, x, k, got, want)
				break
			}
		}
		y := must(t)(s.ReadColumnMajor(name))
		if !y.IsColumnMajor() || !slices.Equal(x.Bits(), y.Bits()) {
			t.Errorf("%s in columns: %v", name, y)
		}
		x.Close()
		y.Close()
	}
}

// element has the bits of an element of read.zip.
func element(d types.DType, k int) uint64 {
	k %= 50
	switch {
	case d == types.Bool && k%3 == 0:
		return 1
	case d == types.Bool:
		return 0
	case d.IsUnsigned():
		return uint64(k)
	case d.IsFloat():
		return floatBits(d, float64(k-20))
	}
	return uint64(k-20) & (1<<(d.Bits()-1)<<1 - 1)
}

// random is a tensor of which most are 0, as those of whole chunks.
func random(t *testing.T, r *rand.Rand, d types.DType, shape []int64) *tensor.Tensor {
	bits := make([]uint64, count(shape, 1<<40))
	for i := range bits {
		if r.IntN(4) == 0 {
			bits[i] = r.Uint64() & (1<<(d.Bits()-1)<<1 - 1)
		}
		if d == types.Bool {
			bits[i] &= 1
		}
	}
	return must(t)(tensor.FromBits(d, shape, bits))
}

func TestRoundTrip(t *testing.T) {
	noLeaks(t)
	r := rand.New(rand.NewPCG(1, 2))
	n := 0
	for _, d := range dtypes {
		for _, c := range []struct{ shape, chunk, shard []int64 }{
			{[]int64{}, nil, nil}, {[]int64{0}, nil, nil}, {[]int64{3, 0, 2}, nil, nil}, {[]int64{7}, nil, nil},
			{[]int64{5, 300, 300}, nil, nil}, {[]int64{2, 1 << 20}, nil, nil}, {[]int64{9, 1}, nil, nil},
			{[]int64{7, 9}, []int64{2, 3}, nil}, {[]int64{7, 9}, []int64{2, 3}, []int64{4, 9}},
			{[]int64{3, 5, 4}, []int64{1, 2, 3}, []int64{2, 2, 3}}, {[]int64{3, 5}, []int64{4, 8}, []int64{8, 8}},
		} {
			if count(c.shape, 1<<40) > 10000 && d != types.F32 {
				continue // of those the shapes matter
			}
			x := random(t, r, d, c.shape)
			path := filepath.Join(t.TempDir(), "x.zarr")
			o := Options{Chunk: c.chunk, Shard: c.shard}
			if err := Write(path, o, tensorfile.NamedTensor{Tensor: x}); err != nil {
				t.Fatalf("%v: %v", x, err)
			}
			y := must(t)(open(t, path).Read(""))
			if y.String() != x.String() || !slices.Equal(x.Bits(), y.Bits()) {
				t.Errorf("%v in %v: it is %v", x, c, y)
			}
			x.Close()
			y.Close()
			n++
		}
	}
	t.Log(n, "arrays")
}

// TestFolders: what is written takes the place of what was there, as a whole; nothing is left beside it.
func TestFolders(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	path := filepath.Join(dir, "x.zarr")
	x := must(t)(must(t)(tensor.FromSlice([]int32{1, 2, 3, 4}, 2, 2), nil).Transpose())
	y := must(t)(tensor.FromSlice([]float64{0, 0}), nil)
	both := []tensorfile.NamedTensor{{Name: "a", Tensor: x}, {Name: "b.1", Tensor: y}}
	if err := Write(path, Options{}, both...); err != nil {
		t.Fatal(err)
	}
	s := open(t, path)
	if !slices.Equal(s.Names(), []string{"a", "b.1"}) {
		t.Errorf("names %q", s.Names())
	}
	a := must(t)(s.Read("a"))
	if !slices.Equal(a.Bits(), []uint64{1, 3, 2, 4}) {
		t.Errorf("a is %v", a.Bits())
	}
	if _, err := os.Stat(filepath.Join(path, "b.1", "c")); err == nil {
		t.Error("there are chunks of zeros")
	}
	if _, err := s.Read("c"); err == nil || !strings.Contains(err.Error(), `no array "c"; there is ["a" "b.1"]`) {
		t.Errorf("of another name: %v", err)
	}
	if err := Write(path, Options{}, tensorfile.NamedTensor{Tensor: y}); err != nil {
		t.Fatal(err)
	}
	if names := open(t, path).Names(); !slices.Equal(names, []string{""}) {
		t.Errorf("names %q", names)
	}
	stop := errors.New("stop")
	write := func(path string, o Options, x *tensor.Tensor, names ...string) error {
		var all []tensorfile.NamedTensor
		for _, name := range names {
			all = append(all, tensorfile.NamedTensor{Name: name, Tensor: x})
		}
		return Write(path, o, all...)
	}
	for what, err := range map[string]error{
		"stop":             write(path, Options{Ended: func() error { return stop }}, y, ""),
		"stands twice":     write(path, Options{}, y, "a", "a"),
		`the name "../a"`:  write(path, Options{}, y, "../a"),
		`the name ".."`:    write(path, Options{}, y, "..", "b"),
		"has 1 axes":       write(path, Options{Chunk: []int64{1}}, x, ""),
		"is no multiple":   write(path, Options{Chunk: []int64{2}, Shard: []int64{3}}, y, ""),
		"not in [1, 2^31)": write(path, Options{Chunk: []int64{0}}, y, ""),
		"no array and no group of Zarr version 3 to be": write(dir, Options{}, y, ""),
	} {
		if err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("%v, not %s", err, what)
		}
	}
	if names := open(t, path).Names(); !slices.Equal(names, []string{""}) {
		t.Errorf("names %q", names)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Errorf("beside it: %v, %v", entries, err)
	}
	e4 := must(t)(tensor.New(types.F8E4M3, 2))
	if err := Write(path, Options{}, tensorfile.NamedTensor{Tensor: e4}); err == nil || !strings.Contains(err.Error(),
		"unsupported dtype f8e4m3; convert to f32 first") {
		t.Errorf("f8: %v", err)
	}
}

// good is the zarr.json of an array of one shard of 3 chunks.
const good = `{"zarr_format": 3, "node_type": "array", "shape": [5], "data_type": "int32", "fill_value": 9,
	"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [6]}},
	"chunk_key_encoding": {"name": "default"},
	"codecs": [{"name": "sharding_indexed", "configuration": {"chunk_shape": [2], "index_location": "end",
		"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}],
		"index_codecs": [{"name": "bytes", "configuration": {"endian": "little"}}, "crc32c"]}}]}`

// lay puts an array of a shard into a folder.
func lay(t testing.TB, dir, meta string, chunk []byte) {
	put(t, filepath.Join(dir, metadata), []byte(meta))
	if chunk != nil {
		put(t, filepath.Join(dir, "c", "0"), chunk)
	}
}

// shardOf has the elements 1 to 5.
func shardOf(t testing.TB) []byte {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.zarr")
	x := tensor.FromSlice([]int32{1, 2, 3, 4, 5})
	defer x.Close()
	err := Write(path, Options{Chunk: []int64{2}, Shard: []int64{6}}, tensorfile.NamedTensor{Tensor: x})
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(path, "c", "0"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func pack(t testing.TB, codec string, data []byte) []byte {
	t.Helper()
	if codec == "zstd" {
		return tozstd().EncodeAll(data, nil)
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestMalformed(t *testing.T) {
	noLeaks(t)
	data := shardOf(t)
	read := func(meta string, chunk []byte) (*tensor.Tensor, error) {
		dir := t.TempDir()
		lay(t, dir, meta, chunk)
		s, err := Open(dir)
		if err != nil {
			return nil, err
		}
		return s.Read("")
	}
	for want, chunk := range map[string][]byte{"[1 2 3 4 5]": data, "[9 9 9 9 9]": nil} {
		x := must(t)(read(good, chunk))
		if got := fmt.Sprint(x.Bits()); got != want {
			t.Errorf("%s, not %s", got, want)
		}
		x.Close()
	}
	for _, c := range []struct{ old, new, want string }{
		{`"zarr_format": 3`, `"zarr_format": 2`, "version 2 of Zarr, not of 3"},
		{`"array"`, `"table"`, `the node_type is "table"`},
		{`"int32"`, `"complex64"`, `unsupported: the data_type "complex64"`},
		{`[5]`, `[-1]`, "the extent -1 of the shape"},
		{`[5]`, `[5, 5]`, "has 1 axes, and the array 2"},
		{`[5]`, `null`, "there is no shape"},
		{`[5]`, `"5"`, `"shape": json`},
		{`[6]`, `[0]`, "the extent 0 of the chunk_shape"},
		{`[6]`, `[5]`, "axis 0 of [5] is no multiple of that of [2]"},
		{`"regular"`, `"rectilinear"`, `unsupported: the chunk_grid "rectilinear"`},
		{`"default"`, `"other"`, `unsupported: the chunk_key_encoding "other"`},
		{`"default"`, `"default", "configuration": {"separator": "/../"}`, `the separator is "/../"`},
		{`"zstd"`, `"blosc"`, `unsupported: the codec "blosc"`},
		{`{"name": "zstd"}`, `{"name": "transpose"}`, `the codec "transpose" there`},
		{`{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}`, `"zstd"`, "in the wrong place"},
		{`{"name": "bytes", "configuration": {"endian": "little"}}, {"name": "zstd"}`, ``, "no codec makes bytes"},
		{`"little"`, `"middle"`, `the endian of i32 is "middle"`},
		{`"crc32c"`, `"gzip"`, "the codecs of the index"},
		{`"end"`, `"middle"`, `the index_location is "middle"`},
		{`9,`, `9.5,`, "the fill_value 9.5 is no i32"},
		{`9,`, `3000000000,`, "the fill_value 3000000000 is no i32"},
		{`9,`, `"NaN",`, `the fill_value "NaN" is no i32`},
		{`"fill_value": 9,`, ``, "there is no fill_value"},
		{`9,`, `9, "more": {},`, `there is a "more", which this version does not know`},
		{`9,`, `9, "storage_transformers": [{"name": "x"}],`, `the storage transformer "x"`},
		{`{"zarr`, `["zarr`, "cannot unmarshal"},
	} {
		meta := strings.Replace(good, c.old, c.new, 1)
		if meta[0] == '[' {
			meta = "[]"
		}
		x, err := read(meta, data)
		var malformed *Error
		if !errors.As(err, &malformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s in place of %s: %v, %v; not %s", c.new, c.old, x, err, c.want)
		}
	}
	ignored := strings.Replace(good, `9,`, `9, "more": {"must_understand": false}, "dimension_names": [null],`, 1)
	must(t)(read(ignored, data)).Close()

	index := len(data) - 4 - 3*16
	change := func(at int, x byte) []byte { d := slices.Clone(data); d[at] ^= x; return d }
	for what, c := range map[string]struct {
		chunk []byte
		want  string
	}{
		"empty":          {[]byte{}, "shorter than its index"},
		"short":          {data[:20], "shorter than its index"},
		"a checksum":     {change(len(data)-1, 1), "the index of the shard: crc32c"},
		"an index":       {change(index, 1), "the index of the shard: crc32c"},
		"a chunk":        {change(0, 1), "chunk [0] of the shard: zstd: "},
		"another length": {slices.Concat([]byte{0}, data), "chunk [0] of the shard"},
	} {
		x, err := read(good, c.chunk)
		var malformed *Error
		if !errors.As(err, &malformed) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v; not %s", what, x, err, c.want)
		}
	}
	plain := strings.NewReplacer(`"crc32c"`, `{"name":"crc32c"}`).Replace(good)
	plain = plain[:strings.Index(plain, `[{"name": "sharding`)] +
		`[{"name": "bytes", "configuration": {"endian": "big"}}]}`
	if _, err := read(plain, make([]byte, 23)); err == nil || !strings.Contains(err.Error(), "has 23 bytes, not 24") {
		t.Errorf("a chunk that is short: %v", err)
	}
	if _, err := read(plain, make([]byte, 1<<20)); err == nil ||
		!strings.Contains(err.Error(), "that a chunk can take") {
		t.Errorf("a chunk that is long: %v", err)
	}
	for _, codec := range []string{"zstd", "gzip"} {
		meta := plain[:len(plain)-2] + `, {"name": "` + codec + `"}]}`
		if _, err := read(meta, pack(t, codec, make([]byte, 1<<20))); err == nil ||
			!strings.Contains(err.Error(), codec+": there are more than 24 bytes in it") {
			t.Errorf("%s of too much: %v", codec, err)
		}
	}
	// No more memory is taken than what is there can hold.
	large := strings.NewReplacer("[6]", "[500000000]", "int32", "int8").Replace(plain[:len(plain)-2]) + `, "zstd"]}`
	if _, err := read(large, pack(t, "zstd", []byte{1})); err == nil ||
		!strings.Contains(err.Error(), "has 1 bytes, not") {
		t.Errorf("a large chunk: %v", err)
	}
	many := strings.NewReplacer("[5]", "[2000000000]", "[6]", "[1]", "int32", "int8").Replace(plain)
	if _, err := read(many, nil); err == nil || !strings.Contains(err.Error(), "more than 67108864 chunks") {
		t.Errorf("many chunks: %v", err)
	}
}

func TestNoZarr(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "file"), []byte("x"))
	put(t, filepath.Join(dir, "folder", "x"), []byte("x"))
	for name, want := range map[string]string{
		"file": "it is no folder, as an array of Zarr is", "folder": "it is no array and no group of Zarr version 3",
		"none": "no such file",
	} {
		if _, err := Open(filepath.Join(dir, name)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzRead changes the metadata and the chunks of an array.
func FuzzRead(f *testing.F) {
	f.Add([]byte(good), shardOf(f))
	var all map[string]any
	if err := json.Unmarshal([]byte(good), &all); err != nil {
		f.Fatal(err)
	}
	all["codecs"] = []any{map[string]any{"name": "transpose", "configuration": map[string]any{"order": []int{0}}},
		"bytes", "gzip", "crc32c"}
	all["data_type"] = "uint8"
	text, err := json.Marshal(all)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text, []byte{})
	f.Fuzz(func(t *testing.T, meta, chunk []byte) {
		dir := t.TempDir()
		lay(t, dir, string(meta), chunk)
		s, err := Open(dir)
		if err != nil || len(s.arrays) == 0 {
			return
		}
		a := s.arrays[""]
		if count(a.shape, 1<<20) < 0 || count(grid(a.shape, a.chunk), 1<<10) < 0 {
			return
		}
		x, err := s.Read("")
		if err != nil {
			return
		}
		defer x.Close()
		if fmt.Sprint(x.Shape) != fmt.Sprint(a.shape) {
			t.Errorf("%v of shape %v", x, a.shape)
		}
	})
}

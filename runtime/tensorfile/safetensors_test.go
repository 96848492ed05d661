package tensorfile

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"healc/lang/types"
	"healc/runtime/memory"
	"healc/runtime/tensor"
	"healc/tests/claims"
)

// oneOfEach has a tensor of every element type that files have, of several ranks, some of them views, one empty.
func oneOfEach(t *testing.T) []NamedTensor {
	t.Helper()
	var out []NamedTensor
	shapes := [][]int64{{2, 3}, {}, {5}, {0, 4}, {2, 1, 3}}
	for i, d := range []types.DType{types.Bool, types.I8, types.U8, types.I16, types.U16, types.F16, types.BF16,
		types.I32, types.U32, types.F32, types.I64, types.U64, types.F64, types.F8E4M3, types.F8E5M2, types.F4E2M1,
		types.E8M0} {
		shape := shapes[i%len(shapes)]
		bits := make([]uint64, memory.Count(shape))
		for k := range bits {
			bits[k] = uint64(0x1234567887654321) * uint64(k+1)
			switch d {
			case types.Bool:
				bits[k] &= 1
			case types.F4E2M1:
				bits[k] &= 15
			}
		}
		x := must(t)(tensor.FromBits(d, shape, bits))
		if len(shape) == 2 {
			x = must(t)(x.Transpose())
		}
		out = append(out, NamedTensor{d.String() + " <&\"\u00e9", x})
	}
	return out
}

func TestSafetensorsRoundTrip(t *testing.T) {
	noLeaks(t)
	tensors := oneOfEach(t)
	path := filepath.Join(t.TempDir(), "a.safetensors")
	meta := map[string]string{"format": "pt", "": "\n"}
	for range 2 {
		if err := WriteSafetensorsFile(path, meta, tensors...); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenSafetensors(path)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if len(s.Metadata()) != 2 || s.Metadata()["format"] != "pt" || s.Metadata()[""] != "\n" {
		t.Errorf("metadata %q", s.Metadata())
	}
	if len(s.Names()) != len(tensors) {
		t.Errorf("names %q", s.Names())
	}
	for _, want := range tensors {
		got := must(t)(s.Read(want.Name))
		if got.String() != want.Tensor.String() || !slices.Equal(got.Bits(), want.Tensor.Bits()) {
			t.Errorf("%s: read %v, wrote %v", want.Name, got, want.Tensor)
		}
	}
	for _, x := range s.tensors {
		if (s.begin+x.begin)%int64(x.dtype.Bytes()) != 0 {
			t.Errorf("%s begins at byte %d", x.name, s.begin+x.begin)
		}
	}
	const missing = `: tensor "w": the file has no such tensor; it has "`
	if _, err := s.Read("w"); err == nil || !strings.HasPrefix(err.Error(), path+missing) {
		t.Errorf("got %v", err)
	}
	x := tensors[0].Tensor
	for _, names := range [][]string{{""}, {"__metadata__"}, {"a", "a"}, {"\xff"}} {
		var list []NamedTensor
		for _, n := range names {
			list = append(list, NamedTensor{n, x})
		}
		if err := WriteSafetensors(io.Discard, nil, list...); err == nil {
			t.Errorf("wrote names %q", names)
		}
	}
}

// reader of the format that shares nothing with this package: struct, json and NumPy.
const pythonSafetensors = `
import sys, json, struct, numpy as np
kinds = {"BOOL": "?", "I8": "i1", "U8": "u1", "I16": "<i2", "U16": "<u2", "F16": "<f2", "I32": "<i4", "U32": "<u4",
         "F32": "<f4", "I64": "<i8", "U64": "<u8", "F64": "<f8", "BF16": "<u2",
         "F8_E4M3": "u1", "F8_E5M2": "u1", "F8_E8M0": "u1", "F4": "u1"}
data = open(sys.argv[1], "rb").read()
n, = struct.unpack("<Q", data[:8])
head = json.loads(data[8:8 + n])
out = {}
for name, x in head.items():
    begin, end = x["data_offsets"]
    elements = np.frombuffer(data[8 + n + begin:8 + n + end], kinds[x["dtype"]])
    if x["dtype"] == "F4":
        elements = np.stack([elements % 16, elements // 16], axis=1)
    out[x["dtype"]] = elements.reshape(x["shape"])
np.savez(sys.argv[2], **out)
`

// TestSafetensorsInPython reads what was written with another reader, which gives it back as an .npz.
func TestSafetensorsInPython(t *testing.T) {
	const python = "/usr/bin/python3"
	if exec.Command(python, "-c", "import numpy").Run() != nil {
		t.Skip("no " + python + " with NumPy; apt-get install python3-numpy")
	}
	noLeaks(t)
	tensors := oneOfEach(t)
	from, to := filepath.Join(t.TempDir(), "a.safetensors"), filepath.Join(t.TempDir(), "a.npz")
	if err := WriteSafetensorsFile(from, nil, tensors...); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(python, "-c", pythonSafetensors, from, to).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	z := openNpz(t, to)
	for _, want := range tensors {
		dtype := ""
		for name, d := range safetensorsDTypes {
			if d == want.Tensor.DType {
				dtype = name
			}
		}
		got := must(t)(z.Read(dtype))
		if !slices.Equal(got.Shape, want.Tensor.Shape) || !slices.Equal(got.Bits(), want.Tensor.Bits()) {
			t.Errorf("%s: Python reads %v, and %v was written", want.Name, got, want.Tensor)
		}
	}
}

// safetensorsOf is a file with this header and so many bytes of elements.
func safetensorsOf(header string, size int) []byte {
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), make([]byte, size)...)
}

const goodSafetensors = `{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I8","shape":[],"data_offsets":[8,9]}}  `

// hostileSafetensors are wrong files, with what the error says.
func hostileSafetensors() map[string][]byte {
	entry := func(fields string) []byte { return safetensorsOf(`{"a":{`+fields+`}}`, 8) }
	return map[string][]byte{
		"the length of the header: unexpected EOF": []byte("abc"),
		"longer than the limit": append(bytes.Repeat([]byte{0xff}, 8),
			"{}"...),
		"the header has 1000 bytes, the file has 2 left": append(binary.LittleEndian.AppendUint64(nil,
			1000), "{}"...),
		"does not start with `{`":               safetensorsOf(` {}`, 0),
		"the header does not start":             safetensorsOf(``, 0),
		"the header is not UTF-8":               safetensorsOf("{\"\xff\":1}", 0),
		"wrong JSON":                            safetensorsOf(`{"a":`, 0),
		"wrong JSON: unexpected EOF":            safetensorsOf(`{`, 0),
		`"[]" stands after the header's object`: safetensorsOf(`{} []`, 0),
		`1 stands where "{" has to`:             safetensorsOf(`{"a":1}`, 0),
		`tensor "a": the name stands twice`: safetensorsOf(
			`{"a":{"dtype":"I8","shape":[],"data_offsets":[0,1]},"a":{"dtype":"I8","shape":[],"data_offsets":[1,2]}}`,
			2),
		`"n" in __metadata__ is no string`: safetensorsOf(`{"__metadata__":{"n":1}}`, 0),
		`"n" stands twice in __metadata__`: safetensorsOf(
			`{"__metadata__":{"n":"","n":""}}`, 0),
		`unsupported dtype "F6_E2M3"`: entry(
			`"dtype":"F6_E2M3","shape":[8],"data_offsets":[0,8]`),
		`two elements of f4e2m1 are a byte, and there are 15`: entry(
			`"dtype":"F4","shape":[3,5],"data_offsets":[0,8]`),
		"f4e2m1[8] has 4 bytes, and data_offsets [0, 8] do not": entry(
			`"dtype":"F4","shape":[8],"data_offsets":[0,8]`),
		`unsupported dtype "1"`: entry(
			`"dtype":1,"shape":[8],"data_offsets":[0,8]`),
		`-1 in the shape is no whole number`: entry(
			`"dtype":"I8","shape":[-1],"data_offsets":[0,8]`),
		`1e3 in the shape is no whole number`: entry(
			`"dtype":"I8","shape":[1e3],"data_offsets":[0,8]`),
		`[ in the shape is no whole number`: entry(
			`"dtype":"I8","shape":[[8]],"data_offsets":[0,8]`),
		`99999999999999999999 in data_offsets`: entry(
			`"dtype":"I8","shape":[8],"data_offsets":[0,99999999999999999999]`),
		"the shape: ": entry(
			`"dtype":"F64","shape":[4294967296,4294967296],"data_offsets":[0,8]`),
		"a shape of more than 64 axes": entry(`"dtype":"I8","shape":[` +
			strings.Repeat("1,", 64) + `1],"data_offsets":[0,1]`),
		"f32[2] has 8 bytes, and data_offsets [0, 7] do not": entry(
			`"dtype":"F32","shape":[2],"data_offsets":[0,7]`),
		"f32[2] has 8 bytes, and data_offsets [8, 0] do not": entry(
			`"dtype":"F32","shape":[2],"data_offsets":[8,0]`),
		"data_offsets has more than a begin and an end": entry(
			`"dtype":"F32","shape":[2],"data_offsets":[0,8,8]`),
		"data_offsets has no begin and end": entry(
			`"dtype":"F32","shape":[2],"data_offsets":[8]`),
		`"shape" stands twice`: entry(
			`"shape":[],"shape":[],"dtype":"F64","data_offsets":[0,8]`),
		`the field "dtype" is missing`: entry(`"shape":[2],"data_offsets":[0,8]`),
		`unknown field "strides"`:      entry(`"strides":[2]`),
		"it ends at byte 8000000000, the file has 8": entry(
			`"dtype":"F64","shape":[1000000000],"data_offsets":[0,8000000000]`),
		"the bytes from 0 to 4 before it belong to no tensor": entry(
			`"dtype":"F32","shape":[1],"data_offsets":[4,8]`),
		"4 bytes after the last tensor belong to none": entry(
			`"dtype":"F32","shape":[1],"data_offsets":[0,4]`),
		`tensor "b": it starts at byte 0, where another tensor ends at 1`: safetensorsOf(
			`{"a":{"dtype":"I8","shape":[],"data_offsets":[0,1]},"b":{"dtype":"I8","shape":[],"data_offsets":[0,1]}}`,
			1),
	}
}

func TestHostileSafetensors(t *testing.T) {
	noLeaks(t)
	for want, data := range hostileSafetensors() {
		s, err := ReadSafetensors(bytes.NewReader(data), int64(len(data)))
		var e *SafetensorsError
		if s != nil || !errors.As(err, &e) || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	good := safetensorsOf(goodSafetensors, 9)
	s, err := ReadSafetensors(bytes.NewReader(good), int64(len(good)))
	if err != nil || !slices.Equal(s.Names(), []string{"a", "b"}) {
		t.Fatal(err)
	}
	// A file that became shorter after it was opened.
	s.data = bytes.NewReader(good[:len(good)-2])
	if _, err := s.Read("b"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("got %v", err)
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	if err := os.WriteFile(path, good[:20], 0o666); err != nil {
		t.Fatal(err)
	}
	var e *SafetensorsError
	if _, err := OpenSafetensors(path); !errors.As(err, &e) || e.Path != path {
		t.Errorf("cut: %v", err)
	}
	if _, err := OpenSafetensors(path + "x"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

// FuzzReadSafetensors: no input takes more memory than it has bytes, and what is read and written again is the same.
// TestClaims: what a header claims takes no memory, in any of the formats.
func TestClaims(t *testing.T) {
	noLeaks(t)
	wide := []byte(`{"x": {"dtype": "F32", "shape": [1000000, 1000000], "data_offsets": [0, 4000000000000]}}`)
	long := binary.LittleEndian.AppendUint64(nil, maxSafetensorsHeader)
	bomb := npyShape("(1000000, 1000000)")
	readers := map[string]func() error{
		"safetensors, the header": func() error {
			_, err := ReadSafetensors(bytes.NewReader(long), int64(len(long)))
			return err
		},
		"safetensors, a tensor": func() error {
			b := append(binary.LittleEndian.AppendUint64(nil, uint64(len(wide))), wide...)
			_, err := ReadSafetensors(bytes.NewReader(b), int64(len(b)))
			return err
		},
		"npy": func() error {
			_, err := ReadNpy(bytes.NewReader(bomb))
			return err
		},
		"npy, the header": func() error {
			_, err := ReadNpy(bytes.NewReader(append([]byte(npyMagic), 2, 0, 0xff, 0xff, 0xff, 0xff)))
			return err
		},
		"npz": func() error {
			b := rawNpz(t, zip.Deflate, bomb, 4_000_000_000_000, "x.npy")
			z, err := ReadNpz(bytes.NewReader(b), int64(len(b)))
			if err == nil {
				_, err = z.Read("x")
			}
			return err
		},
	}
	for name, read := range readers {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if read() == nil {
			t.Errorf("%s: no error", name)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 1<<21 {
			t.Errorf("%s: %d bytes were allocated", name, n)
		}
	}
}

func FuzzReadSafetensors(f *testing.F) {
	for _, data := range hostileSafetensors() {
		f.Add(data)
	}
	f.Add(safetensorsOf(goodSafetensors, 9))
	f.Add(safetensorsOf(`{"q":{"dtype":"F4","shape":[3,4],"data_offsets":[0,6]}}`, 6))
	f.Add(safetensorsOf(`{"__metadata__":{"k":"v"},"e":{"dtype":"BOOL","shape":[0,3],"data_offsets":[0,0]}}`, 0))
	f.Fuzz(func(t *testing.T, data []byte) {
		before := memory.LiveBytes()
		enough := claims.Within(t, len(data), 16<<20, 200)
		s, err := ReadSafetensors(bytes.NewReader(data), int64(len(data)))
		enough()
		if err != nil {
			return
		}
		var all []NamedTensor
		total := int64(0)
		for _, name := range s.Names() {
			x, err := s.Read(name)
			if err != nil {
				t.Fatal(err)
			}
			size, _ := safetensorsBytes(x.DType, x.Bytes())
			total += size
			all = append(all, NamedTensor{name, x})
		}
		if total > int64(len(data)) {
			t.Errorf("%d bytes of elements in %d", total, len(data))
		}
		var out bytes.Buffer
		if err := WriteSafetensors(&out, s.Metadata(), all...); err != nil {
			if !slices.Contains(s.Names(), "") { // the empty name is read, but not written
				t.Fatal(err)
			}
		} else if again, err := ReadSafetensors(bytes.NewReader(out.Bytes()), int64(out.Len())); err != nil {
			t.Fatal(err)
		} else {
			for _, want := range all {
				got, err := again.Read(want.Name)
				if err != nil || got.String() != want.Tensor.String() || !slices.Equal(got.Bits(), want.Tensor.Bits()) {
					t.Fatalf("%q: %v, %v", want.Name, got, err)
				}
				got.Close()
			}
		}
		for _, x := range all {
			x.Tensor.Close()
		}
		if memory.LiveBytes() != before {
			t.Error("leak")
		}
	})
}

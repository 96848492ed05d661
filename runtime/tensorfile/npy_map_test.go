package tensorfile

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"healc/lang/types"
	"healc/runtime/mapped"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// canHold reports whether files of a folder can be held.
func canHold(t *testing.T, dir string) bool {
	t.Helper()
	path := filepath.Join(dir, "probe")
	if err := os.WriteFile(path, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	h, err := mapped.Hold(f)
	if err != nil {
		f.Close()
		return false
	}
	h.Close()
	return true
}

type reorder = func(*tensor.Tensor) (*tensor.Tensor, error)

// TestMapNpyFile: a mapped array is the one that is read, takes no memory, cannot be written, and is unmapped with the
// last tensor on it.
func TestMapNpyFile(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	hold := canHold(t, dir)
	path := filepath.Join(dir, "x.npy")
	for _, order := range []reorder{(*tensor.Tensor).View, (*tensor.Tensor).Transpose} {
		if err := WriteNpyFile(path, must(t)(order(iota32(t, 700, 600)))); err != nil {
			t.Fatal(err)
		}
		before, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := must(t)(ReadNpyFile(path))
		live := memory.LiveBytes()
		x, file, err := MapNpyFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if (file != nil) != hold || hold && memory.LiveBytes() != live {
			t.Errorf("mapped: %t, %d bytes taken", file != nil, memory.LiveBytes()-live)
		}
		wantTensor(t, x, want.Shape, want.Bits()...)
		row := must(t)(x.Index(0, 5))
		for i, d := range x.Strides {
			if d != want.Strides[i] {
				t.Errorf("the strides are %v, not %v", x.Strides, want.Strides)
			}
		}
		if err := want.CopyTo(x); (err != nil) != hold {
			t.Errorf("the tensor is written: %v", err)
		}
		if after, err := os.ReadFile(path); err != nil || !bytes.Equal(before, after) {
			t.Errorf("the file changed with the tensor: %v", err)
		}
		x.Close()
		if hold && !isMapped(t, path) {
			t.Error("it was unmapped before the last tensor on it was closed")
		}
		_ = row.Bits()
		row.Close()
		if isMapped(t, path) {
			t.Error("the file is still mapped")
		}
		if err := file.Err(); err != nil {
			t.Error(err)
		}
	}
}

// isMapped reports whether a file is mapped into this process, where the system tells.
func isMapped(t *testing.T, path string) bool {
	t.Helper()
	maps, err := os.ReadFile("/proc/self/maps")
	return err == nil && strings.Contains(string(maps), path)
}

// TestMapOrRead: what does not lie in its file as a tensor has it is read, and gives the tensor or the error that
// ReadNpyFile gives.
func TestMapOrRead(t *testing.T) {
	noLeaks(t)
	dir := t.TempDir()
	const n = minMapped
	header := func(descr, shape string, length int) string {
		text := "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }"
		text += strings.Repeat(" ", length-11-len(text)) + "\n"
		return "\x93NUMPY\x01\x00" + string([]byte{byte(len(text)), byte(len(text) >> 8)}) + text
	}
	ones := strings.Repeat("\x01", n)
	for name, c := range map[string]struct {
		text   string
		mapped bool
	}{
		"of a size":               {header("<f4", "(262144,)", 128) + ones, true},
		"of bytes":                {header("|u1", "(1048576,)", 192) + ones, true},
		"one element too small":   {header("<f4", "(262143,)", 128) + ones[4:], false},
		"of another byte order":   {header(">f4", "(262144,)", 128) + ones, false},
		"of bools":                {header("|b1", "(1048576,)", 128) + strings.Repeat("\x02", n), false},
		"not aligned":             {header("<f4", "(262144,)", 80) + ones, false},
		"with more behind it":     {header("<f4", "(262144,)", 128) + ones + "more", false},
		"with less than it needs": {header("<f4", "(262145,)", 128) + ones, false},
		"too large to be":         {header("<f4", "(2147483647, 2147483647, 2147483647)", 128) + ones, false},
		"no file of this kind":    {ones, false},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "_")+".npy")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		want, wantErr := ReadNpyFile(path)
		got, file, err := MapNpyFile(path)
		if (file != nil) != (c.mapped && canHold(t, dir)) {
			t.Errorf("%s: mapped: %t", name, file != nil)
		}
		switch {
		case (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error():
			t.Errorf("%s: %v, read: %v", name, err, wantErr)
		case err == nil && (got.DType != want.DType || !bytes.Equal(got.Raw(), want.Raw())):
			t.Errorf("%s: %s is not what is read", name, got)
		case err == nil && got.DType == types.Bool && got.Raw()[5] != 1:
			t.Errorf("%s: a bool is %d", name, got.Raw()[5])
		}
		got.Close()
		want.Close()
	}
	if _, _, err := MapNpyFile(filepath.Join(dir, "none")); !os.IsNotExist(err) {
		t.Errorf("a file that is not there: %v", err)
	}
}

package tensor_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"os"
	"strings"
	"testing"

	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

func formatted(t *testing.T, x *tensor.Tensor) string {
	t.Helper()
	var b strings.Builder
	if err := tensor.Format(&b, x); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestFormatLikeNumPy compares with what NumPy itself printed; see testdata/generate.py.
func TestFormatLikeNumPy(t *testing.T) {
	noLeaks(t)
	cases := strings.Split("\n"+string(decompressed(t, "testdata/print.txt.gz")), "\n== ")[1:]
	data := decompressed(t, "testdata/print.safetensors.gz")
	arrays, err := tensorfile.ReadSafetensors(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != len(arrays.Names()) || len(cases) < 500 {
		t.Fatalf("%d texts for %d arrays", len(cases), len(arrays.Names()))
	}
	failed := 0
	for _, c := range cases {
		name, want, _ := strings.Cut(c, "\n")
		want = strings.TrimSuffix(want, "\n")
		x := must(t)(arrays.Read(name))
		if got := formatted(t, x); got != want {
			t.Errorf("case %s, %v: got\n%s\nwant\n%s", name, x, got, want)
			if failed++; failed > 10 {
				t.FailNow()
			}
		}
	}
}

func decompressed(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestFormatViews(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 3, 4)
	if got := formatted(t, must(t)(must(t)(x.Transpose()).Slice(tensor.Range{0, 4, 3}, tensor.Reversed))); got !=
		"[[ 8  4  0]\n [11  7  3]]" {
		t.Errorf("got\n%s", got)
	}
	big := must(t)(must(t)(tensor.Scalar(true), nil).Expand(1<<30, 1<<30))
	if got, want := formatted(t, big), "[[ true  true  true ...  true  true  true]"; !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s", got)
	}
	x.Close()
	if err := tensor.Format(&strings.Builder{}, x); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("a closed tensor: %v", err)
	}
}

func TestFormatBF16(t *testing.T) {
	noLeaks(t)
	bits := func(values ...float32) []uint64 {
		var out []uint64
		for _, v := range values {
			out = append(out, uint64(types.BF16Bits(v)))
		}
		return out
	}
	x := must(t)(tensor.FromBits(types.BF16, []int64{4}, bits(1, 0.1, -3.14159, 100)))
	if got, want := formatted(t, x), "[  1.     0.1   -3.14 100.  ]"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	y := must(t)(tensor.FromBits(types.BF16, nil, bits(3e38)))
	if got, want := formatted(t, y), "3e+38"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestFormatStored: what is only stored prints as the f32 of the same value.
func TestFormatStored(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct {
		dtype types.DType
		bits  []uint64
		want  string
	}{
		{types.F8E4M3, []uint64{0x38, 0x7e, 0xb0, 0x7f}, "[  1.  448.   -0.5   nan]"},
		{types.F8E5M2, []uint64{0x3c, 0x7c, 0xfc}, "[  1.  inf -inf]"},
		{types.E8M0, []uint64{127, 128, 126}, "[1.  2.  0.5]"},
		{types.E8M0, []uint64{0}, "[5.877472e-39]"},
		{types.F4E2M1, []uint64{2, 15, 7, 8, 0xf1}, "[ 1.  -6.   6.  -0.   0.5]"},
		{types.I4, []uint64{0, 7, 0xf8, 0x0f}, "[ 0  7 -8 -1]"},
	} {
		x := must(t)(tensor.FromBits(c.dtype, []int64{int64(len(c.bits))}, c.bits))
		if got := formatted(t, x); got != c.want {
			t.Errorf("%v: got %s, want %s", c.dtype, got, c.want)
		}
	}
	x := must(t)(tensor.FromBits(types.F8E4M3, nil, []uint64{0x7e}))
	if got := formatted(t, x); got != "448.0" {
		t.Errorf("got %s", got)
	}
	if s, err := tensor.Slice[uint8](x); err != nil || s[0] != 0x7e {
		t.Errorf("its bits are %v, %v", s, err)
	}
	x = must(t)(tensor.FromBits(types.I4, nil, []uint64{0xfd}))
	if s, err := tensor.Slice[int8](x); err != nil || s[0] != -3 || formatted(t, x) != "-3" {
		t.Errorf("%s is %v, %v", formatted(t, x), s, err)
	}
}

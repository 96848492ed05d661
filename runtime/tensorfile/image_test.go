package tensorfile

import (
	"bytes"
	"errors"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// picturesOf makes tensors of a shape on which different filters are best.
func picturesOf(t *testing.T, dtype types.DType, shape ...int64) map[string]*tensor.Tensor {
	t.Helper()
	n := int64(1)
	for _, d := range shape {
		n *= d
	}
	r := rand.New(rand.NewPCG(uint64(n), uint64(dtype)))
	out := map[string]*tensor.Tensor{}
	most := uint64(1)<<dtype.Bits() - 1
	for name, f := range map[string]func(i int64) uint64{
		"noise":  func(int64) uint64 { return r.Uint64() & most },
		"ramp":   func(i int64) uint64 { return uint64(i*7) & most },
		"slopes": func(i int64) uint64 { return uint64(i/shape[1]*5+i%shape[1]*3) & most },
		"white":  func(int64) uint64 { return most },
	} {
		bits := make([]uint64, n)
		for i := range bits {
			bits[i] = f(int64(i))
		}
		out[name] = must(t)(tensor.FromBits(dtype, shape, bits))
	}
	return out
}

// wantPicture compares a picture that Go has read with a tensor.
func wantPicture(t *testing.T, got image.Image, x *tensor.Tensor) {
	t.Helper()
	channels := 1
	if len(x.Shape) == 3 {
		channels = int(x.Shape[2])
	}
	if size := got.Bounds().Size(); size.Y != int(x.Shape[0]) || size.X != int(x.Shape[1]) {
		t.Fatalf("a picture of %v, not of %v", size, x)
	}
	bits, at := x.Bits(), 0
	for row := range int(x.Shape[0]) {
		for column := range int(x.Shape[1]) {
			want := bits[at : at+channels]
			at += channels
			if x.DType == types.U8 {
				want = slices.Clone(want)
				for i := range want {
					want[i] *= 257
				}
			}
			c := color.NRGBA64Model.Convert(got.At(column, row)).(color.NRGBA64)
			if n, ok := got.(*image.NRGBA64); ok {
				c = n.NRGBA64At(column, row) // no colours are lost where alpha is 0
			} else if n, ok := got.(*image.NRGBA); ok {
				d := n.NRGBAAt(column, row)
				wide := func(x uint8) uint16 { return uint16(x) * 257 }
				c = color.NRGBA64{R: wide(d.R), G: wide(d.G), B: wide(d.B), A: wide(d.A)}
			}
			all := []uint64{uint64(c.R), uint64(c.G), uint64(c.B), uint64(c.A)}
			switch channels {
			case 1:
				all = []uint64{all[0]}
			case 2:
				all = []uint64{all[0], all[3]}
			case 3:
				all = all[:3]
			}
			if !slices.Equal(all, want) {
				t.Fatalf("%v: pixel (%d, %d) is %v, not %v", x, row, column, all, want)
			}
		}
	}
}

// TestPNG reads with Go's image/png what was written.
func TestPNG(t *testing.T) {
	noLeaks(t)
	kinds := map[int64]byte{0: 0, 1: 0, 2: 4, 3: 2, 4: 6}
	for _, dtype := range []types.DType{types.U8, types.U16} {
		for channels, kind := range kinds {
			for _, size := range [][2]int64{{1, 1}, {1, 9}, {7, 1}, {16, 21}} {
				shape := size[:]
				if channels > 0 {
					shape = []int64{size[0], size[1], channels}
				}
				for name, x := range picturesOf(t, dtype, shape...) {
					var b bytes.Buffer
					if err := WriteImage(&b, PNG, x); err != nil {
						t.Fatal(err)
					}
					if head := b.Bytes()[24:26]; head[0] != byte(dtype.Bits()) || head[1] != kind {
						t.Errorf("%s of %v: %d bits of kind %d", name, x, head[0], head[1])
					}
					got, err := png.Decode(&b)
					if err != nil || b.Len() > 0 {
						t.Fatalf("%s of %v: %v, %d bytes left", name, x, err, b.Len())
					}
					wantPicture(t, got, x)
					x.Close()
				}
			}
		}
	}
}

// TestPNGOfManyChunks: a picture whose data needs several chunks, from a view whose rows lie in other places.
func TestPNGOfManyChunks(t *testing.T) {
	noLeaks(t)
	x := picturesOf(t, types.U16, 300, 200)["noise"]
	y := must(t)(x.Transpose())
	var b bytes.Buffer
	if err := WriteImage(&b, PNG, y); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b.Bytes(), []byte("IDAT")); n < 2 {
		t.Errorf("%d chunks", n)
	}
	got, err := png.Decode(&b)
	if err != nil {
		t.Fatal(err)
	}
	wantPicture(t, got, y)
}

// TestPNGFilters: neighbouring rows and pixels that are alike take less room than they have bytes.
func TestPNGFilters(t *testing.T) {
	noLeaks(t)
	x := picturesOf(t, types.U16, 64, 64, 3)["slopes"]
	var b bytes.Buffer
	if err := WriteImage(&b, PNG, x); err != nil {
		t.Fatal(err)
	}
	if b.Len() > 64*64*6/8 {
		t.Errorf("%d bytes", b.Len())
	}
}

func TestPGM(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct {
		x    *tensor.Tensor
		want string
	}{
		{must(t)(tensor.FromBits(types.U8, []int64{2, 3}, []uint64{0, 1, 2, 253, 254, 255})),
			"P5\n3 2\n255\n\x00\x01\x02\xfd\xfe\xff"},
		{must(t)(tensor.FromBits(types.U16, []int64{1, 2}, []uint64{0x0102, 0xfffe})),
			"P5\n2 1\n65535\n\x01\x02\xff\xfe"},
	} {
		path := filepath.Join(t.TempDir(), "x.pgm")
		if err := WriteImageFile(path, PGM, c.x, nil); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != c.want {
			t.Errorf("%v: %q, %v", c.x, got, err)
		}
	}
}

func TestNoPicture(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct {
		form  Image
		dtype types.DType
		shape []int64
		want  string
	}{
		{PNG, types.F32, []int64{2, 2}, "write .png: a picture has elements of u8 or u16, not f32[2, 2]"},
		{PNG, types.U8, []int64{2}, "rows, columns and 1 to 4 channels, or rows and columns alone, not u8[2]"},
		{PNG, types.U8, []int64{1, 2, 3, 4}, "or rows and columns alone, not u8[1, 2, 3, 4]"},
		{PNG, types.U16, []int64{2, 2, 5}, "not the 5 of u16[2, 2, 5]"},
		{PNG, types.U8, []int64{2, 2, 0}, "not the 0 of u8[2, 2, 0]"},
		{PNG, types.U8, []int64{0, 2}, "a row and a column at least, not u8[0, 2]"},
		{PGM, types.U8, []int64{2, 2, 1}, "write .pgm: a .pgm file has rows and columns of grey, not u8[2, 2, 1]"},
		{"gif", types.U8, []int64{2, 2}, `no form of pictures named "gif"`},
	} {
		x := must(t)(tensor.New(c.dtype, c.shape...))
		path := filepath.Join(t.TempDir(), "x")
		if err := WriteImageFile(path, c.form, x, nil); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, not %s", x, err, c.want)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%v: there is a file", x)
		}
	}
	stop := errors.New("stop")
	x := must(t)(tensor.New(types.U8, 2, 2))
	path := filepath.Join(t.TempDir(), "x.png")
	if err := WriteImageFile(path, PNG, x, func() error { return stop }); !errors.Is(err, stop) {
		t.Errorf("stopped: %v", err)
	}
	x.Close()
	if err := WriteImage(&bytes.Buffer{}, PNG, x); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("a closed tensor: %v", err)
	}
}

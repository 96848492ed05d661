package arrow

import (
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/ebitengine/purego"

	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/runtime/tensor/tensortest"
)

func TestMain(m *testing.M) { tensortest.Main(m, new(int64)) }

var (
	noLeaks = tensortest.NoLeaks
	must    = tensortest.Must
)

// nothingKept fails where something exported was not released.
func nothingKept(t *testing.T) {
	t.Helper()
	noLeaks(t)
	t.Cleanup(func() {
		if len(kept.nodes) != 0 {
			t.Errorf("%d structs were not released", len(kept.nodes))
		}
	})
}

func TestLayout(t *testing.T) {
	if s, a := unsafe.Sizeof(Schema{}), unsafe.Sizeof(Array{}); s != 72 || a != 80 {
		t.Errorf("the structs have %d and %d bytes, not the 72 and 80 of C", s, a)
	}
}

// TestExportImport: what is exported comes back, on the same memory.
func TestExportImport(t *testing.T) {
	nothingKept(t)
	for _, d := range formats {
		for _, shape := range [][]int64{{5}, {0}, {3, 4}, {2, 0, 3}, {2, 3, 4, 2}} {
			n := int64(1)
			for _, k := range shape {
				n *= k
			}
			bits := make([]uint64, n)
			for i := range bits {
				bits[i] = uint64(i*37+1) & (1<<min(d.Bits()-1, 60) - 1)
				if d == types.Bool {
					bits[i] = uint64(i) % 3 & 1
				}
			}
			x := must(t)(tensor.FromBits(d, shape, bits))
			var s Schema
			var a Array
			if err := Export(x, &s, &a); err != nil {
				t.Fatal(err)
			}
			at := x.Ptr()
			x.Close()
			y := must(t)(Import(&s, &a))
			if y.String() != tensor.TypeName(d, shape) || !slices.Equal(y.Bits(), bits) {
				t.Errorf("%v of %v: %v", y, shape, y.Bits())
			}
			if d != types.Bool && n > 0 && (y.Ptr() != at || y.WriteErr() == nil) {
				t.Errorf("%v: it was copied, or can be written", y)
			}
			if s.Release != 0 || a.Release != 0 {
				t.Error("the structs have contents still")
			}
			y.Close()
		}
	}
}

// TestExportFields: what another library sees.
func TestExportFields(t *testing.T) {
	nothingKept(t)
	x := must(t)(must(t)(tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 3, 2), nil).Transpose())
	var s Schema
	var a Array
	if err := Export(x, &s, &a); err != nil {
		t.Fatal(err)
	}
	if f, _ := s.format(); f != "+w:3" || s.NChildren != 1 || *s.Name != 0 || a.Length != 2 || a.NBuffers != 1 ||
		a.NChildren != 1 || a.NullCount != 0 || *a.Buffers != nil {
		t.Errorf("%+v %+v", s, a)
	}
	// A child may be moved away; what it came from is released without it.
	moved, movedSchema := **a.Children, **s.Children
	(*a.Children).Release, (*s.Children).Release = 0, 0
	a.Drop()
	s.Drop()
	if f, _ := movedSchema.format(); f != "f" || moved.Length != 6 || moved.NBuffers != 2 {
		t.Errorf("%s %+v", f, moved)
	}
	y := must(t)(Import(&movedSchema, &moved))
	if z := must(t)(y.Clone()); !slices.Equal(z.Bits(), []uint64{0x3f800000, 0x40400000, 0x40a00000, 0x40000000,
		0x40800000, 0x40c00000}) {
		t.Errorf("%v", z.Bits())
	}
}

func TestNotExported(t *testing.T) {
	nothingKept(t)
	closed := must(t)(tensor.New(types.I8, 1))
	closed.Close()
	for want, x := range map[string]*tensor.Tensor{
		"unsupported dtype bf16; convert to f32 first": must(t)(tensor.New(types.BF16, 2)),
		"a scalar; give it an axis":                    must(t)(tensor.New(types.F32)),
		"closed":                                       closed,
	} {
		if err := Export(x, &Schema{}, &Array{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, not %s", err, want)
		}
	}
}

// released counts the calls of the release functions of made.
var released struct{ schemas, arrays int }

var (
	dropSchema = purego.NewCallback(func(s *Schema) uintptr { released.schemas++; s.Release = 0; return 0 })
	dropArray  = purego.NewCallback(func(a *Array) uintptr { released.arrays++; a.Release = 0; return 0 })
)

// made is an array as another library makes it. valid and data may be nil.
func made(format string, length, nulls, offset int64, valid, data []byte) (*Schema, *Array) {
	text := append([]byte(format), 0)
	buffers := make([]unsafe.Pointer, 2)
	for i, b := range [][]byte{valid, data} {
		if b != nil {
			buffers[i] = unsafe.Pointer(&b[0])
		}
	}
	return &Schema{Format: &text[0], Name: &text[len(format)], Release: dropSchema},
		&Array{Length: length, NullCount: nulls, Offset: offset, NBuffers: 2, Buffers: &buffers[0], Release: dropArray}
}

// lists are lists of size of an array, which they own.
func lists(format string, length, offset int64, s *Schema, a *Array) (*Schema, *Array) {
	outer, lists := made(format, length, 0, offset, nil, nil)
	s.Release, a.Release = 0, 0 // counted with what owns them
	outer.NChildren, outer.Children = 1, &s
	lists.NBuffers, lists.NChildren, lists.Children = 1, 1, &a
	return outer, lists
}

// imports imports and returns the elements; both structs are released once then.
func imports(t *testing.T, s *Schema, a *Array) (shape []int64, bits []uint64, err error) {
	t.Helper()
	released.schemas, released.arrays = 0, 0
	x, err := Import(s, a)
	if err == nil {
		shape, bits = x.Shape, x.Bits()
		x.Close()
	}
	if released.schemas != 1 || released.arrays != 1 || s.Release != 0 || a.Release != 0 {
		t.Errorf("%d schemas and %d arrays were released", released.schemas, released.arrays)
	}
	return shape, bits, err
}

func TestImport(t *testing.T) {
	nothingKept(t)
	type source = func() (*Schema, *Array)
	of := func(format string, length, nulls, offset int64, valid, data []byte) source {
		return func() (*Schema, *Array) { return made(format, length, nulls, offset, valid, data) }
	}
	counted := make([]byte, 64)
	for i := range counted {
		counted[i] = byte(i)
	}
	for name, c := range map[string]struct {
		s     source
		shape []int64
		bits  []uint64
	}{
		"with an offset":    {of("C", 3, 0, 5, nil, counted), []int64{3}, []uint64{5, 6, 7}},
		"wide":              {of("S", 2, 0, 1, nil, counted), []int64{2}, []uint64{0x0302, 0x0504}},
		"an uncounted mask": {of("C", 3, -1, 5, []byte{0xe0}, counted), []int64{3}, []uint64{5, 6, 7}},
		"nothing":           {of("g", 0, 0, 0, nil, nil), []int64{0}, []uint64{}},
		"bools": {of("b", 9, 0, 3, nil, []byte{0b10101000, 0b00001001}), []int64{9},
			[]uint64{1, 0, 1, 0, 1, 1, 0, 0, 1}},
		"lists": {func() (*Schema, *Array) {
			s, a := made("C", 20, 0, 2, nil, counted)
			return lists("+w:3", 2, 1, s, a)
		}, []int64{2, 3}, []uint64{5, 6, 7, 8, 9, 10}},
		"lists of lists": {func() (*Schema, *Array) {
			s, a := made("C", 40, 0, 1, nil, counted)
			s, a = lists("+w:2", 10, 2, s, a)
			return lists("+w:3", 2, 1, s, a)
		}, []int64{2, 3, 2}, []uint64{11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22}},
	} {
		s, a := c.s()
		shape, bits, err := imports(t, s, a)
		if err != nil || !slices.Equal(shape, c.shape) || !slices.Equal(bits, c.bits) {
			t.Errorf("%s: %v %v, %v; not %v %v", name, shape, bits, err, c.shape, c.bits)
		}
	}
}

func TestMalformed(t *testing.T) {
	nothingKept(t)
	eight := make([]byte, 16)
	change := func(f func(s *Schema, a *Array)) func() (*Schema, *Array) {
		return func() (*Schema, *Array) {
			s, a := made("C", 8, 0, 0, nil, eight)
			f(s, a)
			return s, a
		}
	}
	of := func(format string, length, childLength int64) func() (*Schema, *Array) {
		return func() (*Schema, *Array) {
			s, a := made("C", childLength, 0, 0, nil, eight)
			return lists(format, length, 0, s, a)
		}
	}
	for want, make := range map[string]func() (*Schema, *Array){
		`unsupported: an array of format "u"`:  func() (*Schema, *Array) { return made("u", 1, 0, 0, nil, eight) },
		`unsupported: an array of format "+l"`: of("+l", 1, 8),
		"a format of more than 64 bytes": func() (*Schema, *Array) {
			return made(strings.Repeat("x", 65), 1, 0, 0, nil, eight)
		},
		"has no format":             change(func(s *Schema, _ *Array) { s.Format = nil }),
		"has no elements [0, +-1)":  change(func(_ *Schema, a *Array) { a.Length = -1 }),
		"elements from -1 on":       change(func(_ *Schema, a *Array) { a.Offset = -1 }),
		"not in [0, 2^31)":          change(func(_ *Schema, a *Array) { a.Length = 1 << 40 }),
		"has 3 buffers, not 2":      change(func(_ *Schema, a *Array) { a.NBuffers = 3 }),
		"of u8 has no buffers":      change(func(_ *Schema, a *Array) { a.Buffers = nil }),
		"has no elements in memory": func() (*Schema, *Array) { return made("C", 8, 0, 0, nil, nil) },
		`"C" has no buffers`:        change(func(_ *Schema, a *Array) { a.NullCount, a.NBuffers = 1, 0 }),
		"element 1 of an array":     func() (*Schema, *Array) { return made("C", 3, 1, 1, []byte{0b1011}, eight) },
		"at no multiple of":         func() (*Schema, *Array) { return made("i", 1, 0, 0, nil, eight[1:]) },
		`of format "C" with 8 elem`: of("+w:3", 3, 8),
		`lists of format "+w:-1"`:   of("+w:-1", 3, 8),
		`lists of format "+w:x"`:    of("+w:x", 3, 8),
		"has no single child":       change(func(s *Schema, _ *Array) { s.Format = &[]byte("+w:2\x00")[0] }),
		"elements are too long":     of("+w:2147483647", 1<<40, 8),
	} {
		s, a := make()
		if shape, bits, err := imports(t, s, a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v %v, %v; not %s", shape, bits, err, want)
		}
	}
	s, a := made("C", 8, 0, 0, nil, eight)
	a.Release = 0
	if _, err := Import(s, a); err == nil || !strings.Contains(err.Error(), "has been released") {
		t.Errorf("released: %v", err)
	}
}

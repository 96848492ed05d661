package tensor_test

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"healc/lang/types"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

func TestFromSliceAndSlice(t *testing.T) {
	noLeaks(t)
	x := must(t)(tensor.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3), nil)
	if x.String() != "f32[2,3]" || !slices.Equal(x.Strides, []int64{3, 1}) || x.Bytes() != 24 {
		t.Errorf("%v has strides %v, %d bytes", x, x.Strides, x.Bytes())
	}
	if uintptr(x.Ptr())%memory.Alignment != 0 {
		t.Errorf("memory at %p", x.Ptr())
	}
	s, err := tensor.Slice[float32](x)
	if err != nil || !slices.Equal(s, []float32{1, 2, 3, 4, 5, 6}) {
		t.Errorf("Slice: %v, %v", s, err)
	}
	s[4] = 50 // shared memory
	if b, err := x.At(1, 1); err != nil || b != uint64(math.Float32bits(50)) {
		t.Errorf("At: %x, %v", b, err)
	}
	if _, err := tensor.Slice[float64](x); err == nil ||
		err.Error() != "Slice: a tensor of f32 has no slice of float64" {
		t.Errorf("wrong type: %v", err)
	}
	type celsius float32
	if s, err := tensor.Slice[celsius](x); err != nil || s[0] != 1 {
		t.Errorf("named type: %v, %v", s, err)
	}
	xt := must(t)(x.Transpose())
	if _, err := tensor.Slice[float32](xt); err == nil || !strings.Contains(err.Error(),
		"f32[3,2] with strides [1, 3] is not contiguous") {
		t.Errorf("strided: %v", err)
	}
}

func TestElementTypes(t *testing.T) {
	noLeaks(t)
	check := func(x *tensor.Tensor, want types.DType, bits uint64) {
		t.Helper()
		defer x.Close()
		if x.DType != want || x.Rank() != 0 {
			t.Errorf("got %v, want %v", x, want)
		}
		if b, err := x.At(); err != nil || b != bits {
			t.Errorf("%v: %x, %v", want, b, err)
		}
	}
	check(tensor.Scalar(true), types.Bool, 1)
	check(tensor.Scalar(int8(-1)), types.I8, 0xff)
	check(tensor.Scalar(int16(-2)), types.I16, 0xfffe)
	check(tensor.Scalar(int32(-3)), types.I32, 0xfffffffd)
	check(tensor.Scalar(int64(-4)), types.I64, 0xfffffffffffffffc)
	check(tensor.Scalar(-5), types.I64, 0xfffffffffffffffb)
	check(tensor.Scalar(uint8(255)), types.U8, 255)
	check(tensor.Scalar(uint16(256)), types.U16, 256)
	check(tensor.Scalar(uint32(257)), types.U32, 257)
	check(tensor.Scalar(uint64(258)), types.U64, 258)
	check(tensor.Scalar(uint(259)), types.U64, 259)
	check(tensor.Scalar(float32(1)), types.F32, 0x3f800000)
	check(tensor.Scalar(1.0), types.F64, 0x3ff0000000000000)
}

func TestFromSliceErrors(t *testing.T) {
	noLeaks(t)
	x := tensor.FromSlice([]float32{1, 2, 3}, 2, 2)
	const want = "FromSlice: 3 elements do not fill shape [2, 2] of 4"
	if err := x.Err(); err == nil || err.Error() != want {
		t.Fatalf("got %v, want %s", err, want)
	}
	if _, err := x.Reshape(3); err == nil || err.Error() != want {
		t.Errorf("the error does not stick: %v", err)
	}
	if x.Ptr() != nil || x.Bits() != nil {
		t.Error("a failed tensor has memory")
	}
	x.Close()
	for _, bad := range []*tensor.Tensor{tensor.FromSlice([]int32{1}, -1, -1), tensor.Wrap([]int32{1, 2}, 3),
		tensor.FromSlice([]int8{}, 1<<31, 0)} {
		if bad.Err() == nil {
			t.Errorf("%v is usable", bad)
		}
	}
}

func TestNewErrors(t *testing.T) {
	noLeaks(t)
	for _, c := range []struct {
		dtype types.DType
		shape []int64
		want  string
	}{
		{types.F32, []int64{2, -1}, "shape [2, -1]: extent -1 of axis 1 is not in [0, 2^31)"},
		{types.F32, []int64{1 << 31}, "shape [2147483648]: extent 2147483648 of axis 0 is not in [0, 2^31)"},
		{types.String, nil, "string is no element type of a tensor"},
		{types.Invalid, nil, "invalid is no element type of a tensor"},
		{types.DType(99), nil, "dtype(99) is no element type of a tensor"},
		{types.F64, []int64{1 << 30, 1 << 30, 1}, "out of memory: a tensor of 2^63 bytes or more"},
		{types.I8, []int64{1 << 30, 1 << 30, 1 << 30, 1 << 30}, "out of memory: a tensor of 2^63 bytes or more"},
	} {
		if x, err := tensor.New(c.dtype, c.shape...); err == nil || err.Error() != c.want {
			t.Errorf("New(%d, %v) = %v, %v; want %s", c.dtype, c.shape, x, err, c.want)
		}
	}
	if x, err := tensor.New(types.F64, 1<<30, 1<<30, 0, 1<<30); err != nil || x.Elems() != 0 {
		t.Errorf("an empty tensor of huge other extents: %v", err)
	} else {
		x.Close()
	}
}

func TestCloseAndViews(t *testing.T) {
	noLeaks(t)
	x := tensor.FromSlice([]int32{1, 2, 3, 4}, 2, 2)
	v, err := x.Transpose()
	if err != nil {
		t.Fatal(err)
	}
	x.Close()
	x.Close()
	if _, err := x.View(); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("a view of a closed tensor: %v", err)
	}
	if err := x.CopyTo(v); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("CopyTo from a closed tensor: %v", err)
	}
	if err := v.CopyTo(x); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("CopyTo into a closed tensor: %v", err)
	}
	if err := x.SetBits(1, 0, 0); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("SetBits of a closed tensor: %v", err)
	}
	wantTensor(t, v, []int64{2, 2}, 1, 3, 2, 4) // the view keeps the memory
	v.Close()
	var none *tensor.Tensor
	none.Close()
	if none.Err() == nil || (&tensor.Tensor{}).Err() == nil {
		t.Error("a tensor without memory is usable")
	}
}

func TestRankZeroAndEmpty(t *testing.T) {
	noLeaks(t)
	x := must(t)(tensor.Scalar(int32(7)), nil)
	wantTensor(t, must(t)(x.Reshape(1, 1)), []int64{1, 1}, 7)
	wantTensor(t, must(t)(x.Expand(2, 2)), []int64{2, 2}, 7, 7, 7, 7)
	wantTensor(t, must(t)(x.Flatten(0, -1)), []int64{1}, 7)
	wantTensor(t, must(t)(x.Clone()), nil, 7)
	wantTensor(t, must(t)(x.Transpose()), nil, 7)
	e := must(t)(tensor.FromSlice([]int32{}, 3, 0), nil)
	if e.Ptr() == nil {
		t.Error("an empty tensor has no address")
	}
	wantTensor(t, must(t)(e.Reshape(0, 5)), []int64{0, 5})
	wantTensor(t, must(t)(e.Transpose()), []int64{0, 3})
	wantTensor(t, must(t)(e.Clone()), []int64{3, 0})
	// nothing counts up to 2^60
	wantTensor(t, must(t)(tensor.New(types.I32, 1<<30, 1<<30, 0)), []int64{1 << 30, 1 << 30, 0})
}

func TestViews(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 2, 3)
	wantTensor(t, must(t)(x.Transpose()), []int64{3, 2}, 0, 3, 1, 4, 2, 5)
	wantTensor(t, must(t)(x.Unsqueeze(-1)), []int64{2, 3, 1}, 0, 1, 2, 3, 4, 5)
	u := must(t)(x.Unsqueeze(1))
	wantTensor(t, u, []int64{2, 1, 3}, 0, 1, 2, 3, 4, 5)
	wantTensor(t, must(t)(u.Expand(2, 2, 3)), []int64{2, 2, 3}, 0, 1, 2, 0, 1, 2, 3, 4, 5, 3, 4, 5)
	wantTensor(t, must(t)(u.Squeeze()), []int64{2, 3}, 0, 1, 2, 3, 4, 5)
	wantTensor(t, must(t)(u.Squeeze(-2)), []int64{2, 3}, 0, 1, 2, 3, 4, 5)
	wantTensor(t, must(t)(x.Index(0, -1)), []int64{3}, 3, 4, 5)
	wantTensor(t, must(t)(x.Index(-1, 1)), []int64{2}, 1, 4)
	y := iota32(t, 2, 3, 4)
	if p := must(t)(y.Permute(2, 0, -2)); !slices.Equal(p.Strides, []int64{1, 12, 4}) {
		t.Errorf("permute: strides %v", p.Strides)
	}
	if p := must(t)(y.MoveAxis(0, -1)); !slices.Equal(p.Shape, []int64{3, 4, 2}) ||
		!slices.Equal(p.Strides, []int64{4, 1, 12}) {
		t.Errorf("moveaxis: %v, strides %v", p, p.Strides)
	}
	if p := must(t)(y.MoveAxis(2, 0)); !slices.Equal(p.Shape, []int64{4, 2, 3}) {
		t.Errorf("moveaxis: %v", p)
	}
	h := must(t)(must(t)(tensor.FromSlice([]uint16{0x3c00}), nil).Bitcast(types.F16))
	if s, err := tensor.Slice[uint16](h); h.DType != types.F16 || err != nil || s[0] != 0x3c00 {
		t.Errorf("bitcast: %v, %v", h, err)
	}
}

func TestSliceRanges(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 4, 5)
	for _, c := range []struct {
		ranges []tensor.Range
		shape  []int64
		want   []uint64
	}{
		{[]tensor.Range{{1, 3, 0}, {0, 2, 1}}, []int64{2, 2}, []uint64{5, 6, 10, 11}},
		{[]tensor.Range{{0, 1, 1}, {0, 5, 2}}, []int64{1, 3}, []uint64{0, 2, 4}},
		{[]tensor.Range{{0, 1, 1}, tensor.Reversed}, []int64{1, 5}, []uint64{4, 3, 2, 1, 0}},
		{[]tensor.Range{{3, 0, -2}, {4, 2, -1}}, []int64{2, 2}, []uint64{19, 18, 9, 8}},
		{[]tensor.Range{{3, -1, -3}, {0, 1, 1}}, []int64{2, 1}, []uint64{15, 0}},
		{[]tensor.Range{{2, 2, 1}}, []int64{0, 5}, nil},
		{[]tensor.Range{{2, 2, -1}}, []int64{0, 5}, nil},
		{[]tensor.Range{{4, 4, 1}}, []int64{0, 5}, nil},
		{[]tensor.Range{{0, tensor.End, math.MaxInt64}, {tensor.End, tensor.End, math.MinInt64}}, []int64{1, 1},
			[]uint64{4}},
		{[]tensor.Range{tensor.All, {4, tensor.End, 1}}, []int64{4, 1}, []uint64{4, 9, 14, 19}},
	} {
		s := must(t)(x.Slice(c.ranges...))
		if !slices.Equal(s.Shape, c.shape) || !slices.Equal(s.Bits(), c.want) {
			t.Errorf("%v: got %v %v, want %v %v", c.ranges, s.Shape, s.Bits(), c.shape, c.want)
		}
	}
	wantTensor(t, must(t)(must(t)(tensor.FromSlice([]int32{}), nil).Slice(tensor.Reversed)), []int64{0})
	wantTensor(t, must(t)(must(t)(tensor.FromSlice([]int32{}), nil).Slice(tensor.All)), []int64{0})
	// A reversed view of a reversed view is the original.
	r := must(t)(must(t)(x.Slice(tensor.Reversed, tensor.Reversed)).Slice(tensor.Reversed, tensor.Reversed))
	if r.Offset != 0 || !r.IsContiguous() {
		t.Errorf("reversed twice: offset %d, strides %v", r.Offset, r.Strides)
	}
}

func TestViewErrors(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 2, 3)
	check := func(y *tensor.Tensor, err error) func(want string) {
		return func(want string) {
			t.Helper()
			if err == nil || err.Error() != want {
				t.Errorf("got %v, %v; want %s", y, err, want)
				y.Close()
			}
		}
	}
	check(x.Expand(3))("expand: shape [2, 3] does not expand to [3] of a lower rank")
	check(x.Expand(4, 3))("expand: shape [2, 3] does not expand to [4, 3]: axis 0 has extent 2, not 1 or 4")
	check(x.Expand(1<<30, 1<<30, 2, 3))("expand: out of memory: a tensor of 2^63 bytes or more")
	check(x.Squeeze(0))("squeeze: axis 0 of shape [2, 3] has extent 2, not 1")
	check(x.Squeeze(2))("squeeze: axis 2 is out of range for shape [2, 3] of rank 2")
	check(x.Unsqueeze(3))("unsqueeze: axis 3 is out of range for a result of rank 3 from shape [2, 3]")
	check(x.Permute(0))("permute: 1 axes for shape [2, 3] of rank 2")
	check(x.Permute(0, -2))("permute: axis -2 is named twice in [0 -2]")
	check(x.MoveAxis(0, 2))("moveaxis: axis 2 is out of range for shape [2, 3] of rank 2")
	check(x.Index(0, 2))("index 2 is out of range for axis 0 of i32[2,3]")
	check(x.Reshape(4))("reshape: shape [2, 3] of 6 elements does not become [4]")
	check(x.Reshape(-1, 4))("reshape: shape [2, 3] of 6 elements does not become [-1, 4]")
	check(x.Reshape(-1, 0))("reshape: shape [2, 3] of 6 elements does not become [-1, 0]")
	check(x.Reshape(-1, -1))("reshape: shape [1, -1]: extent -1 of axis 1 is not in [0, 2^31)")
	check(x.Slice(tensor.All, tensor.All, tensor.All))("slice: 3 ranges for i32[2,3] of rank 2")
	check(x.Slice(tensor.All, tensor.Range{1, 4, 1}))("slice: axis 1 of i32[2,3]: range 1..4 is not within extent 3")
	check(x.Slice(tensor.Range{-1, 1, 1}))("slice: axis 0 of i32[2,3]: range -1..1 is not within extent 2")
	check(x.Slice(tensor.Range{2, 0, -1}))("slice: axis 0 of i32[2,3]: range from 2 down to 0 is not within extent 2")
	check(x.Bitcast(types.I64))("bitcast: i32[2,3] cannot be read as i64")
	if _, err := x.At(0, 3); err == nil || err.Error() != "index 3 is out of range for axis 1 of i32[2,3]" {
		t.Errorf("At: %v", err)
	}
	if _, err := x.At(0); err == nil {
		t.Error("At with too few indices")
	}
	y := must(t)(x.Slice(tensor.Range{0, 1, 1}))
	e := must(t)(y.Expand(2, 3))
	if err := x.CopyTo(e); err == nil ||
		err.Error() != "copy: axis 0 of the destination i32[2,3] is expanded, so its elements share memory" {
		t.Errorf("CopyTo: %v", err)
	}
	if err := x.CopyTo(y); err == nil || err.Error() != "copy: i32[2,3] does not fit into i32[1,3]" {
		t.Errorf("CopyTo: %v", err)
	}
}

func TestContiguous(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 2, 1, 3)
	v := must(t)(x.Contiguous())
	if v.Storage() != x.Storage() {
		t.Error("a contiguous tensor was copied")
	}
	p := must(t)(x.Permute(1, 0, 2)) // only an axis of extent 1 moved
	if !p.IsContiguous() {
		t.Errorf("strides %v of %v", p.Strides, p)
	}
	if c := must(t)(p.Contiguous()); c.Storage() != x.Storage() || !slices.Equal(c.Strides, []int64{6, 3, 1}) {
		t.Errorf("strides %v", c.Strides)
	}
	r := must(t)(x.Slice(tensor.Reversed))
	c := must(t)(r.Contiguous())
	if c.Storage() == x.Storage() || r.IsContiguous() {
		t.Error("a reversed tensor was not copied")
	}
	wantTensor(t, c, []int64{2, 1, 3}, 3, 4, 5, 0, 1, 2)
}

// TestCopyRandom copies between random views of every element size and compares element by element.
func TestCopyRandom(t *testing.T) {
	noLeaks(t)
	rng := rand.New(rand.NewPCG(1, 2))
	dtypes := []types.DType{types.U8, types.BF16, types.F32, types.I64, types.Bool}
	for n := 0; n < 400; n++ {
		dtype := dtypes[rng.IntN(len(dtypes))]
		shape := make([]int64, rng.IntN(5))
		for i := range shape {
			shape[i] = rng.Int64N(5)
			if n%10 == 0 {
				shape[i] = 1 + rng.Int64N(12)
			}
			if n%40 == 1 && len(shape) == 2 {
				shape[i] = 30 + rng.Int64N(50) // more than a tile
			}
		}
		src, dst := randomView(t, rng, dtype, shape), randomView(t, rng, dtype, shape)
		if err := src.CopyTo(dst); err != nil {
			t.Fatal(err)
		}
		c, err := src.Clone()
		if err != nil {
			t.Fatal(err)
		}
		if want := src.Bits(); !slices.Equal(dst.Bits(), want) || !slices.Equal(c.Bits(), want) {
			t.Fatalf("%v: strides %v to %v: got %v, clone %v, want %v", src, src.Strides, dst.Strides, dst.Bits(),
				c.Bits(), want)
		}
		for _, x := range []*tensor.Tensor{src, dst, c} {
			x.Close()
		}
	}
}

// randomView makes a tensor with random bits by permuting, reversing and stepping through a larger one.
func randomView(t *testing.T, rng *rand.Rand, dtype types.DType, shape []int64) *tensor.Tensor {
	t.Helper()
	perm := rng.Perm(len(shape))
	base := make([]int64, len(shape))
	ranges := make([]tensor.Range, len(shape))
	for i, p := range perm {
		step := 1 + rng.Int64N(2)
		base[p] = shape[i]*step + rng.Int64N(2)
		ranges[p] = tensor.Range{0, shape[i] * step, step}
		if rng.IntN(3) == 0 && shape[i] > 0 {
			ranges[p] = tensor.Range{(shape[i] - 1) * step, tensor.End, -step}
		}
	}
	data := make([]uint64, memory.Count(base))
	for i := range data {
		data[i] = rng.Uint64()
	}
	whole, err := tensor.FromBits(dtype, base, data)
	if err != nil {
		t.Fatal(err)
	}
	defer whole.Close()
	part, err := whole.Slice(ranges...)
	if err != nil {
		t.Fatal(err)
	}
	defer part.Close()
	out, err := part.Permute(perm...)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(out.Shape, shape) {
		t.Fatalf("BUG in the test: %v, want %v", out.Shape, shape)
	}
	return out
}

func TestCopyOverlapping(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 6)
	from, to := must(t)(x.Slice(tensor.Range{0, 5, 1})), must(t)(x.Slice(tensor.Range{1, 6, 1}))
	if err := from.CopyTo(to); err != nil {
		t.Fatal(err)
	}
	wantTensor(t, x, []int64{6}, 0, 0, 1, 2, 3, 4)
	data := []int32{1, 2, 3, 4}
	a, b := must(t)(tensor.Wrap(data), nil), must(t)(tensor.Wrap(data), nil) // two storages, one memory
	if err := must(t)(a.Slice(tensor.Reversed)).CopyTo(b); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(data, []int32{4, 3, 2, 1}) {
		t.Errorf("reversed onto itself: %v", data)
	}
}

func TestWrap(t *testing.T) {
	noLeaks(t)
	data := []float64{1, 2, 3, 4}
	x := must(t)(tensor.Wrap(data, 2, 2), nil)
	data[3] = 9
	if b, err := x.At(1, 1); err != nil || math.Float64frombits(b) != 9 {
		t.Errorf("the tensor does not share the slice: %v", err)
	}
	released := 0
	s := memory.Wrap(x.Ptr(), 32, data, func() { released++ })
	y, err := tensor.FromStorage(s, types.F64, 4)
	if err != nil {
		t.Fatal(err)
	}
	z := must(t)(y.View())
	y.Close()
	if released != 0 {
		t.Error("released while a view is open")
	}
	z.Close()
	if released != 1 {
		t.Errorf("released %d times", released)
	}
	if _, err := tensor.FromStorage(memory.Wrap(x.Ptr(), 32, data, func() {
		released++
	}), types.F64, 5); err == nil || released != 2 {
		t.Errorf("a tensor larger than its storage: %v, released %d", err, released)
	}
}

// TestRewrap: a tensor goes from slice to slice without allocating, and nowhere else.
func TestRewrap(t *testing.T) {
	noLeaks(t)
	a, b := []int64{1, 2, 3, 4}, []int64{5, 6, 7, 8}
	x := must(t)(tensor.Wrap(a, 2, 2), nil)
	if n := testing.AllocsPerRun(10, func() {
		if err := errors.Join(tensor.Rewrap(x, a), tensor.Rewrap(x, b)); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
	wantTensor(t, x, []int64{2, 2}, 5, 6, 7, 8)
	b[0] = 9
	wantTensor(t, x, []int64{2, 2}, 9, 6, 7, 8)

	y := must(t)(x.View())
	for _, c := range []struct {
		err  error
		want string
	}{
		{tensor.Rewrap(x, a), "Rewrap: the memory of i64[2,2] is not wrapped, or shared with another tensor"},
		{tensor.Rewrap(must(t)(tensor.FromSlice(a), nil), b),
			"Rewrap: the memory of i64[4] is not wrapped, or shared with another tensor"},
		{tensor.Rewrap(x, a[:3]), "Rewrap: 3 elements of type i64 for a tensor i64[2,2]"},
		{tensor.Rewrap(x, make([]uint64, 4)), "Rewrap: 4 elements of type u64 for a tensor i64[2,2]"},
	} {
		if c.err == nil || c.err.Error() != c.want {
			t.Errorf("%v, not %s", c.err, c.want)
		}
	}
	wantTensor(t, x, []int64{2, 2}, 9, 6, 7, 8)
	y.Close()
	if err := tensor.Rewrap(x, a); err != nil {
		t.Error(err)
	}
	x.Close()
	if err := tensor.Rewrap(x, a); !errors.Is(err, tensor.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestBitsCutToSize(t *testing.T) {
	noLeaks(t)
	for dtype, want := range map[types.DType]uint64{
		types.Bool: 1, types.I8: 0xff, types.U16: 0xffff, types.F16: 0xffff, types.I32: 0xffffffff,
		types.U64: math.MaxUint64,
	} {
		x := must(t)(tensor.FromBits(dtype, []int64{1}, []uint64{math.MaxUint64}))
		wantTensor(t, x, []int64{1}, want)
	}
	x := iota32(t, 2, 2)
	if err := must(t)(x.Transpose()).SetBits(math.MaxUint64, 0, 1); err != nil {
		t.Error(err)
	}
	wantTensor(t, x, []int64{2, 2}, 0, 1, 0xffffffff, 3)
	if err := x.SetBits(0, 2, 0); err == nil {
		t.Error("SetBits out of range")
	}
	if _, err := tensor.FromBits(types.I8, []int64{2}, []uint64{1}); err == nil {
		t.Error("too few bits")
	}
}

func TestColumnMajor(t *testing.T) {
	noLeaks(t)
	rows := must(t)(tensor.FromSlice([]int32{1, 2, 3, 4, 5, 6}, 2, 3), nil)
	cols, err := rows.ColumnMajor()
	if err != nil {
		t.Fatal(err)
	}
	defer cols.Close()
	if rows.IsColumnMajor() || !cols.IsColumnMajor() || cols.IsContiguous() || rows.Overlaps(cols) {
		t.Errorf("strides %d become %d", rows.Strides, cols.Strides)
	}
	if !slices.Equal(cols.Shape, rows.Shape) || !slices.Equal(cols.Bits(), rows.Bits()) {
		t.Errorf("%d of shape %d become %d of shape %d", rows.Bits(), rows.Shape, cols.Bits(), cols.Shape)
	}
	again, err := cols.ColumnMajor()
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if !again.Overlaps(cols) {
		t.Error("a column-major tensor is copied")
	}
}

func TestClear(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 2, 4)
	row := must(t)(x.Index(0, 1))
	odd := must(t)(x.Slice(tensor.Range{Start: 0, Stop: 2, Step: 1}, tensor.Range{Start: 1, Stop: 4, Step: 2}))
	if err := odd.Clear(); err != nil {
		t.Fatal(err)
	}
	wantTensor(t, must(t)(x.View()), []int64{2, 4}, 0, 0, 2, 0, 4, 0, 6, 0)
	if err := row.Clear(); err != nil {
		t.Fatal(err)
	}
	wantTensor(t, must(t)(x.View()), []int64{2, 4}, 0, 0, 2, 0, 0, 0, 0, 0)
	row.Close()
	if err := row.Clear(); err != tensor.ErrClosed {
		t.Errorf("a closed tensor: %v", err)
	}
}

package tensor_test

import (
	"slices"
	"strings"
	"testing"

	"healc/runtime/tensor"
)

// The rules that tensors obey on a device and on the host: which operations share memory, which copy, and which refuse.

// shares reports whether a write to v shows in x, at least one of its elements.
func shares(t *testing.T, x, v *tensor.Tensor) bool {
	t.Helper()
	before := x.Bits()
	if v.Elems() == 0 {
		return v.Storage() == x.Storage()
	}
	at := make([]int64, len(v.Shape))
	old := must(t)(v.Clone())
	if err := v.SetBits(77, at...); err != nil {
		t.Fatal(err)
	}
	changed := !slices.Equal(before, x.Bits())
	if err := v.SetBits(old.Bits()[0], at...); err != nil {
		t.Fatal(err)
	}
	return changed
}

func TestViewsShareMemory(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 2, 1, 6)
	for name, v := range map[string]*tensor.Tensor{
		"expand": must(t)(x.Expand(2, 5, 6)), "squeeze": must(t)(x.Squeeze(1)), "unsqueeze": must(t)(x.Unsqueeze(-1)),
		"moveaxis": must(t)(x.MoveAxis(2, 0)), "reshape": must(t)(x.Reshape(3, 4)), "flatten": must(t)(x.Flatten(1, 2)),
		"get_slice":  must(t)(x.Slice(tensor.All, tensor.All, tensor.Range{5, tensor.End, -2})),
		"index":      must(t)(x.Index(2, 3)),
		"contiguous": must(t)(x.Contiguous()),
		"view":       must(t)(x.View()), "strided": must(t)(x.Strided(1, []int64{2, 3}, []int64{6, 2})),
	} {
		if !shares(t, x, v) {
			t.Errorf("%s does not share memory", name)
		}
	}
}

// TestContiguousIsTheSame: contiguous is the same tensor when it is so already, else a copy in row-major order.
func TestContiguousIsTheSame(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 3, 4)
	if c := must(t)(x.Contiguous()); c.Ptr() != x.Ptr() || !slices.Equal(c.Strides, x.Strides) {
		t.Error("a contiguous tensor became another one")
	}
	for _, v := range []*tensor.Tensor{must(t)(x.Transpose()), must(t)(x.Slice(tensor.All, tensor.Range{0, 2, 1})),
		must(t)(x.Slice(tensor.Reversed)), must(t)(must(t)(x.Slice(tensor.Range{0, 1, 1})).Expand(3, 4))} {
		c := must(t)(v.Contiguous())
		if shares(t, x, c) || !c.IsContiguous() || !slices.Equal(c.Bits(), v.Bits()) {
			t.Errorf("contiguous of %v with strides %v: strides %v, %v", v, v.Strides, c.Strides, c.Bits())
		}
	}
}

// TestReshapeSharesOrCopies: of a contiguous tensor reshape is a view, of any other a copy, whatever the shape.
func TestReshapeSharesOrCopies(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 4, 6)
	xt := must(t)(x.Transpose())
	left := must(t)(x.Slice(tensor.All, tensor.Range{0, 4, 1}))
	row := must(t)(x.Slice(tensor.Range{0, 1, 1}))
	for _, c := range []struct {
		from  *tensor.Tensor
		shape []int64
		view  bool
	}{
		{x, []int64{24}, true}, {x, []int64{2, 2, 3, 2}, true}, {x, []int64{-1, 8}, true},
		{x, []int64{4, 1, 6, 1}, true},
		{row, []int64{3, 2}, true}, {must(t)(x.Slice(tensor.Range{1, 3, 1})), []int64{12}, true},
		{must(t)(row.Transpose()), []int64{6}, true},
		{xt, []int64{24}, false}, {xt, []int64{3, 2, 4}, false}, {left, []int64{16}, false},
		{left, []int64{2, 2, 4}, false},
		{must(t)(row.Expand(5, 6)), []int64{5, 2, 3}, false},
		{must(t)(x.Slice(tensor.Reversed, tensor.Reversed)), []int64{24}, false},
		{must(t)(x.Slice(tensor.All, tensor.Range{0, 6, 2})), []int64{12}, false}, {xt, []int64{6, 4}, false},
	} {
		y := must(t)(c.from.Reshape(c.shape...))
		if shared := shares(t, x, y); shared != c.view {
			t.Errorf("%v with strides %v to %v: shared %v", c.from, c.from.Strides, c.shape, shared)
		}
		if !slices.Equal(y.Bits(), c.from.Bits()) || !y.IsContiguous() {
			t.Errorf("%v to %v: %v", c.from, c.shape, y.Bits())
		}
	}
}

func TestFlatten(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 2, 3, 4)
	for _, c := range []struct {
		start, end int
		want       []int64
	}{{0, -1, []int64{24}}, {0, 1, []int64{6, 4}}, {-2, -1, []int64{2, 12}}, {1, 1, []int64{2, 3, 4}}} {
		y := must(t)(x.Flatten(c.start, c.end))
		if !slices.Equal(y.Shape, c.want) || !slices.Equal(y.Bits(), x.Bits()) {
			t.Errorf("flatten from %d to %d: %v", c.start, c.end, y)
		}
	}
	check := func(v *tensor.Tensor, start, end int, want string) {
		t.Helper()
		y, err := v.Flatten(start, end)
		if err == nil {
			y.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check(must(t)(x.Transpose()), 0, 1, "flatten: i32[4,3,2] with strides [1, 4, 12] is not contiguous")
	check(must(t)(x.Slice(tensor.All, tensor.All, tensor.Range{0, 2, 1})), 0, 0, "is not contiguous")
	check(x, 2, 1, "flatten: the axes from 2 to 1 of shape [2, 3, 4] are none")
	check(x, 0, 3, "flatten: axis 3 is out of range")
	check(must(t)(must(t)(tensor.Scalar(int32(1)), nil).Expand(1<<20, 0, 1<<20, 1<<20)), 2, 3,
		"flatten: shape [1048576, 0, 1099511627776]: extent")
	check(must(t)(must(t)(tensor.Scalar(int32(1)), nil).Expand(1<<16, 1<<16, 1<<16, 1<<16, 0)), 0, 3,
		"make one of more than 2^31-1 elements")
}

func TestStrided(t *testing.T) {
	noLeaks(t)
	x := iota32(t, 10)
	inner := must(t)(x.Slice(tensor.Range{2, 8, 1}))
	for _, c := range []struct {
		offset         int64
		shape, strides []int64
		ok             bool
	}{
		{2, []int64{6}, []int64{1}, true}, {7, []int64{6}, []int64{-1}, true}, {2, []int64{2, 3}, []int64{1, 2}, true},
		{4, []int64{5}, []int64{0}, true}, {2, nil, nil, true}, {2, []int64{1}, []int64{1 << 62}, true},
		{99, []int64{0, 5}, []int64{7, 7}, true},
		{1, []int64{1}, []int64{1}, false}, {8, nil, nil, false}, {2, []int64{7}, []int64{1}, false},
		{6, []int64{6}, []int64{-1}, false},
		{2, []int64{3, 3}, []int64{2, 2}, false}, {2, []int64{2}, []int64{-1 << 63}, false},
		{2, []int64{1 << 30, 1 << 30}, []int64{1 << 33, 1 << 33}, false},
		{-1 << 63, []int64{2}, []int64{1}, false}, {2, []int64{2}, nil, false}, {2, []int64{-1}, []int64{1}, false},
	} {
		v, err := inner.Strided(c.offset, c.shape, c.strides)
		if (err == nil) != c.ok {
			t.Errorf("%+v: %v", c, err)
		}
		if err != nil {
			continue
		}
		defer v.Close()
		for _, b := range v.Bits() {
			if b < 2 || b > 7 {
				t.Errorf("%+v: element %d", c, b)
			}
		}
	}
}

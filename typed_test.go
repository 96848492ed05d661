package heal_test

import (
	"math"
	"testing"

	heal "healc"
)

// TestTensorOf: elements of every Go type come and go as they are, through any view, and the slice is the memory.
func TestTensorOf(t *testing.T) {
	elements(t, []bool{true, false, true, false, true, true})
	elements(t, []int8{-1, 2, 3, math.MinInt8, 5, 6})
	elements(t, []uint16{1, 2, 3, math.MaxUint16, 5, 6})
	elements(t, []int32{-1, 2, 3, math.MinInt32, 5, 6})
	elements(t, []int{-1, 2, 3, math.MinInt64, 5, 6})
	elements(t, []uint{1, 2, 3, math.MaxUint64, 5, 6})
	elements(t, []float32{-1, 0.5, math.MaxFloat32, 4, 5, 6})
	elements(t, []float64{-1, 0.5, math.MaxFloat64, 4, 5, 6})
	if err := heal.Of([]int32{1, 2}, 3).Err(); err == nil {
		t.Error("two elements fill a shape of three")
	}
	x := heal.Of([]int32{1, 2})
	x.Close()
	if _, err := heal.As[int32](x.Tensor); err != heal.ErrTensorClosed {
		t.Errorf("a closed tensor: %v", err)
	}
}

func elements[T heal.Elem](t *testing.T, data []T) {
	t.Helper()
	x := heal.Of(data, 2, 3)
	defer x.Close()
	turned, err := x.Transpose()
	if err != nil {
		t.Fatal(err)
	}
	defer turned.Close()
	y, err := heal.As[T](turned)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		if v, err := y.At(int64(i%3), int64(i/3)); err != nil || v != data[i] {
			t.Errorf("%T: element %d is %v, %v", data, i, v, err)
		}
	}
	if err := y.Set(data[3], 0, 0); err != nil || data[0] != data[3] {
		t.Errorf("%T: %v was set: %v", data, data[0], err)
	}
	if s, err := x.Slice(); err != nil || &s[0] != &data[0] {
		t.Errorf("%T: the slice is not the memory: %v", data, err)
	}
	if _, err := y.At(3, 0); err == nil {
		t.Errorf("%T: an index out of range", data)
	}
}

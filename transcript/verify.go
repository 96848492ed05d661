package transcript

import (
	"fmt"
	"slices"
	"strings"

	"healc/lang/types"
	"healc/runtime/tensor"
)

// A MismatchError is an output that is not what the transcript recorded.
type MismatchError struct {
	Path  string
	Entry int     // the index of the device_to_host
	Index []int64 // of the first element that differs, in row-major order; nil when the types differ
	Got   string
	Want  string
}

func (e *MismatchError) Error() string {
	place := ""
	if e.Path != "" {
		place = e.Path + ": "
	}
	place += fmt.Sprintf("entry %d (device_to_host): ", e.Entry)
	if e.Index == nil {
		return place + fmt.Sprintf("the result is %s, and %s was recorded", e.Got, e.Want)
	}
	return place + fmt.Sprintf("element %s is %s, and %s was recorded", indexText(e.Index), e.Got, e.Want)
}

// Verify compares the outputs with what the transcript recorded, bit for bit, or as numbers where the types of integers
// differ. The first difference is a *MismatchError; an output without a recorded value is an error, too, since it
// cannot be verified.
func (r *Result) Verify() error {
	for _, o := range r.Outputs {
		fail := &MismatchError{Path: r.Path, Entry: o.Entry}
		if o.Expected == nil {
			return &Error{Path: r.Path, Entry: o.Entry, Op: "device_to_host",
				Msg: "no value was recorded that the result could be compared with"}
		}
		if !ofOneKind(o.Tensor, o.Expected) {
			fail.Got, fail.Want = o.Tensor.String(), o.Expected.String()
			return fail
		}
		index, err := firstDifference(o.Tensor, o.Expected)
		if err != nil {
			return err
		}
		if index != nil {
			fail.Index, fail.Got, fail.Want = index, element(o.Tensor, index), element(o.Expected, index)
			return fail
		}
	}
	return nil
}

// ofOneKind reports whether two tensors are of one shape and of types that words compares.
func ofOneKind(a, b *tensor.Tensor) bool {
	// a large u64 has the bits of a negative i64
	number := func(d types.DType) bool { return d.IsInt() && d != types.U64 }
	return slices.Equal(a.Shape, b.Shape) && (a.DType == b.DType || number(a.DType) && number(b.DType))
}

// words has the elements of a tensor so that they are equal where the elements are: bits of one type, or numbers of two
// types of integers.
func words(t *tensor.Tensor) []uint64 {
	out := t.Bits()
	if t.DType.IsSigned() {
		unused := 64 - t.DType.Bits()
		for i, w := range out {
			out[i] = uint64(int64(w<<unused) >> unused)
		}
	}
	return out
}

// firstDifference is the index of the first element in row-major order that differs between tensors of one kind, nil
// where none does. It takes a piece at a time, and one index of an axis of equal elements: a file of a few bytes can
// claim a large tensor, by strides of 0.
func firstDifference(a, b *tensor.Tensor) ([]int64, error) {
	const piece = 1 << 14
	for axis, n := range a.Shape {
		bounds := []int64{0, n / 2, n}
		if a.Strides[axis] == 0 && b.Strides[axis] == 0 {
			bounds = []int64{0, 1}
		} else if a.Elems() <= piece {
			continue
		}
		if n < 2 {
			continue
		}
		for i, start := range bounds[:len(bounds)-1] {
			index, err := differenceWithin(a, b, axis, start, bounds[i+1])
			if index != nil || err != nil {
				return index, err
			}
		}
		return nil, nil
	}
	x, y := words(a), words(b)
	for i := range x {
		if x[i] == y[i] {
			continue
		}
		index, rest := make([]int64, len(a.Shape)), int64(i)
		for k := len(index) - 1; k >= 0; k-- {
			index[k], rest = rest%a.Shape[k], rest/a.Shape[k]
		}
		return index, nil
	}
	return nil, nil
}

// differenceWithin is firstDifference of a part of an axis.
func differenceWithin(a, b *tensor.Tensor, axis int, start, stop int64) ([]int64, error) {
	ranges := slices.Repeat([]tensor.Range{tensor.All}, axis+1)
	ranges[axis] = tensor.Range{Start: start, Stop: stop}
	x, err := a.Slice(ranges...)
	if err != nil {
		return nil, err
	}
	defer x.Close()
	y, err := b.Slice(ranges...)
	if err != nil {
		return nil, err
	}
	defer y.Close()
	index, err := firstDifference(x, y)
	if index != nil {
		index[axis] += start
	}
	return index, err
}

// element prints one element.
func element(t *tensor.Tensor, index []int64) string {
	v, err := t.View()
	for range index {
		if err != nil {
			return err.Error()
		}
		row := v
		v, err = row.Index(0, index[0])
		row.Close()
		index = index[1:]
	}
	if err != nil {
		return err.Error()
	}
	defer v.Close()
	var b strings.Builder
	if err := tensor.Format(&b, v); err != nil {
		return err.Error()
	}
	return b.String()
}

// indexText prints [2, 3].
func indexText(index []int64) string { return strings.ReplaceAll(fmt.Sprint(index), " ", ", ") }

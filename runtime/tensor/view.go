package tensor

import (
	"fmt"
	"math"
	"math/bits"
	"slices"

	"healc/lang/types"
)

// The methods of this file cost no pass over the elements: each returns a new Tensor on the same memory,
// with a reference of its own. Axes may be negative, which counts from the last.

// View returns another tensor on the same memory, with the same elements. Another goroutine may close t meanwhile.
func (t *Tensor) View() (*Tensor, error) {
	if s, ok := t.Text(); ok {
		return Text(s), nil
	}
	if t == nil {
		return nil, t.Err()
	}
	if !t.Hold() {
		return nil, ErrClosed
	}
	defer t.Release()
	return t.Unchecked(0, t.Shape, t.Strides)
}

// Unchecked returns a view of other elements on the same memory: the first lies offset elements from t's first. Nobody
// checks that they lie where t's do, which Strided does. A tensor that is closed while it is held has views, too.
func (t *Tensor) Unchecked(offset int64, shape, strides []int64) (*Tensor, error) {
	if t == nil || t.storage == nil {
		return nil, t.Err()
	}
	v := t.view(len(shape))
	copy(v.Shape, shape)
	copy(v.Strides, strides)
	v.Offset += offset
	return v, nil
}

// Bitcast returns the same memory with elements of another type of the same size: f16 from u16, say. To bool
// there is none, since a bool must be 0 or 1.
func (t *Tensor) Bitcast(dtype types.DType) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	if _, err := CheckShape(dtype, nil); err != nil {
		return nil, fmt.Errorf("bitcast: %w", err)
	}
	if dtype != t.DType && dtype == types.Bool || dtype.Bytes() != t.DType.Bytes() {
		return nil, fmt.Errorf("bitcast: %v cannot be read as %v", t, dtype)
	}
	v, err := t.View()
	if err == nil {
		v.DType = dtype
	}
	return v, err
}

// Expand broadcasts t to shape: axes are aligned from the last, an axis of extent 1 is repeated with stride 0, and
// missing leading axes count as 1.
//
//	[3,1] expands to [2,3,4]
func (t *Tensor) Expand(shape ...int64) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	if _, err := CheckShape(t.DType, shape); err != nil {
		return nil, fmt.Errorf("expand: %w", err)
	}
	lead := len(shape) - len(t.Shape)
	if lead < 0 {
		return nil, fmt.Errorf("expand: shape %s does not expand to %s of a lower rank", shapeName(t.Shape),
			shapeName(shape))
	}
	for i, d := range t.Shape {
		if d != shape[lead+i] && d != 1 {
			return nil, fmt.Errorf("expand: shape %s does not expand to %s: axis %d has extent %d, not 1 or %d",
				shapeName(t.Shape), shapeName(shape), i, d, shape[lead+i])
		}
	}
	v := t.view(len(shape))
	copy(v.Shape, shape)
	for i := range shape {
		v.Strides[i] = 0
		if i >= lead && t.Shape[i-lead] != 1 {
			v.Strides[i] = t.Strides[i-lead]
		}
	}
	return v, nil
}

// Squeeze removes the given axes, each of extent 1; without arguments it removes all such axes.
func (t *Tensor) Squeeze(axes ...int) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	drop := make([]bool, len(t.Shape))
	for i, d := range t.Shape {
		drop[i] = len(axes) == 0 && d == 1
	}
	for _, a := range axes {
		axis, err := checkAxis("squeeze", a, t.Shape)
		switch {
		case err != nil:
			return nil, err
		case drop[axis]:
			return nil, fmt.Errorf("squeeze: axis %d is named twice", a)
		case t.Shape[axis] != 1:
			return nil, fmt.Errorf("squeeze: axis %d of shape %s has extent %d, not 1", a, shapeName(t.Shape),
				t.Shape[axis])
		}
		drop[axis] = true
	}
	return t.without(drop), nil
}

// without returns a view that lacks the axes to drop.
func (t *Tensor) without(drop []bool) *Tensor {
	rank := 0
	for _, d := range drop {
		if !d {
			rank++
		}
	}
	v := t.view(rank)
	at := 0
	for i, d := range drop {
		if !d {
			v.Shape[at], v.Strides[at] = t.Shape[i], t.Strides[i]
			at++
		}
	}
	return v
}

// Unsqueeze adds an axis of extent 1, which becomes axis of the result.
func (t *Tensor) Unsqueeze(axis int) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	rank := len(t.Shape) + 1
	if axis < -rank || axis >= rank {
		return nil, fmt.Errorf("unsqueeze: axis %d is out of range for a result of rank %d from shape %s", axis, rank,
			shapeName(t.Shape))
	}
	if axis < 0 {
		axis += rank
	}
	v := t.view(rank)
	copy(v.Shape, t.Shape[:axis])
	copy(v.Strides, t.Strides[:axis])
	copy(v.Shape[axis+1:], t.Shape[axis:])
	copy(v.Strides[axis+1:], t.Strides[axis:])
	v.Shape[axis], v.Strides[axis] = 1, 1
	if axis+1 < rank { // keeps a dense tensor's strides those of a dense tensor
		v.Strides[axis] = v.Shape[axis+1] * v.Strides[axis+1]
	}
	return v, nil
}

// Transpose reverses the axes.
func (t *Tensor) Transpose() (*Tensor, error) {
	v, err := t.View()
	if err != nil {
		return nil, err
	}
	slices.Reverse(v.Shape)
	slices.Reverse(v.Strides)
	return v, nil
}

// Permute reorders the axes: axis i of the result is axis axes[i] of t.
func (t *Tensor) Permute(axes ...int) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	if len(axes) != len(t.Shape) {
		return nil, fmt.Errorf("permute: %d axes for shape %s of rank %d", len(axes), shapeName(t.Shape), len(t.Shape))
	}
	from := make([]int, len(axes))
	seen := make([]bool, len(axes))
	for i, a := range axes {
		axis, err := checkAxis("permute", a, t.Shape)
		if err != nil {
			return nil, err
		}
		if seen[axis] {
			return nil, fmt.Errorf("permute: axis %d is named twice in %v", a, axes)
		}
		seen[axis], from[i] = true, axis
	}
	return t.permuted(from), nil
}

func (t *Tensor) permuted(from []int) *Tensor {
	v := t.view(len(from))
	for i, axis := range from {
		v.Shape[i], v.Strides[i] = t.Shape[axis], t.Strides[axis]
	}
	return v
}

// MoveAxis moves one axis to another position; the other axes keep their order.
func (t *Tensor) MoveAxis(from, to int) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	from, err := checkAxis("moveaxis", from, t.Shape)
	if err != nil {
		return nil, err
	}
	if to, err = checkAxis("moveaxis", to, t.Shape); err != nil {
		return nil, err
	}
	order := make([]int, 0, len(t.Shape))
	for i := range t.Shape {
		if i != from {
			order = append(order, i)
		}
	}
	return t.permuted(slices.Insert(order, to, from)), nil
}

// End, as the Start or Stop of a Range, is the far end of the axis in the direction of the step: as a Stop past the
// last element (before the first for a negative step), as a Start the last element.
const End = math.MaxInt64

// Range selects elements Start, Start+Step, ... of an axis, up to but without Stop. Step 0 means 1. Indices
// count from 0 and must lie within the axis; with a negative step a Stop of -1 or End means that element 0 is included.
type Range struct{ Start, Stop, Step int64 }

// All is the Range of a whole axis, Reversed that of a whole axis backwards.
var (
	All      = Range{Stop: End}
	Reversed = Range{Start: End, Stop: End, Step: -1}
)

// Slice returns the sub-tensor that ranges select, one per axis from the first; axes without a Range stay
// whole.
func (t *Tensor) Slice(ranges ...Range) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	if len(ranges) > len(t.Shape) {
		return nil, fmt.Errorf("slice: %d ranges for %v of rank %d", len(ranges), t, len(t.Shape))
	}
	v, err := t.View()
	if err != nil {
		return nil, err
	}
	for axis, r := range ranges {
		start, count, err := r.resolve(t.Shape[axis])
		if err != nil {
			v.Close()
			return nil, fmt.Errorf("slice: axis %d of %v: %w", axis, t, err)
		}
		if count == 0 {
			v.Shape[axis] = 0 // the offset stays: it must not leave the storage
			continue
		}
		step := max(r.Step, 1)
		if r.Step < 0 {
			step = r.Step
		}
		v.Offset += start * t.Strides[axis]
		v.Shape[axis] = count
		if count > 1 {
			v.Strides[axis] *= step
		}
	}
	if v.Elems() == 0 {
		v.Offset = t.Offset
	}
	return v, nil
}

// resolve returns the first element and the number of elements of a range on an axis of extent n.
func (r Range) resolve(n int64) (start, count int64, err error) {
	start, stop := r.Start, r.Stop
	if r.Step < 0 {
		if start == End {
			start = n - 1
		}
		if stop == End {
			stop = -1
		}
		if stop < -1 || stop > start || start >= n {
			return 0, 0, fmt.Errorf("range from %d down to %d is not within extent %d", r.Start, r.Stop, n)
		}
		if start == stop {
			return start, 0, nil
		}
		// Unsigned, because the magnitude of -2^63 is no int64.
		return start, int64(uint64(start-stop-1)/-uint64(r.Step)) + 1, nil
	}
	step := max(r.Step, 1)
	if start == End {
		start = max(n-1, 0)
	}
	if stop == End {
		stop = n
	}
	if start < 0 || start > stop || stop > n {
		return 0, 0, fmt.Errorf("range %d..%d is not within extent %d", r.Start, r.Stop, n)
	}
	if start == stop {
		return start, 0, nil
	}
	return start, (stop-start-1)/step + 1, nil
}

// Index returns the sub-tensor at position i of an axis, which is gone from the result. A negative i counts
// from the end.
func (t *Tensor) Index(axis int, i int64) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	axis, err := checkAxis("index", axis, t.Shape)
	if err != nil {
		return nil, err
	}
	n := t.Shape[axis]
	if i < -n || i >= n {
		return nil, fmt.Errorf("index %d is out of range for axis %d of %v", i, axis, t)
	}
	if i < 0 {
		i += n
	}
	drop := make([]bool, len(t.Shape))
	drop[axis] = true
	v := t.without(drop)
	if v.Elems() > 0 {
		v.Offset += i * t.Strides[axis]
	}
	return v, nil
}

// Strided returns a view with any strides: element [i0, i1, ...] lies at offset + i0*strides[0] + i1*strides[1] + ...
// elements from the start of t's storage, as in the fields of a Tensor. No element may lie before the first element of
// t in memory, or behind the last.
func (t *Tensor) Strided(offset int64, shape, strides []int64) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	if len(shape) != len(strides) {
		return nil, fmt.Errorf("strided: %d strides for shape %s of rank %d", len(strides), shapeName(shape),
			len(shape))
	}
	if _, err := CheckShape(t.DType, shape); err != nil {
		return nil, fmt.Errorf("strided: %w", err)
	}
	if slices.Contains(shape, 0) {
		offset = t.Offset // no element is there, and the address must not leave the storage
	} else if err := t.covers(offset, shape, strides); err != nil {
		return nil, fmt.Errorf("strided: shape %s, %w", shapeName(shape), err)
	}
	v := t.view(len(shape))
	v.Offset = offset
	copy(v.Shape, shape)
	copy(v.Strides, strides)
	return v, nil
}

// covers checks that no element of a view, which is not empty, lies outside of t.
func (t *Tensor) covers(offset int64, shape, strides []int64) error {
	first, last := t.Offset, t.Offset-1 // of t, none when it is empty
	if t.Elems() > 0 {
		last++
		for i, d := range t.Shape {
			if reach := (d - 1) * t.Strides[i]; reach < 0 {
				first += reach
			} else {
				last += reach
			}
		}
	}
	lo, hi := offset, offset
	ok := offset >= first && offset <= last
	for i := 0; i < len(shape) && ok; i++ {
		over, reach := bits.Mul64(uint64(max(strides[i], -strides[i])), uint64(shape[i]-1))
		if over != 0 || reach > uint64(last-first) { // also for the stride -2^63, whose magnitude is its own bits
			ok = false
		} else if strides[i] < 0 {
			lo -= int64(reach)
		} else {
			hi += int64(reach)
		}
		ok = ok && lo >= first && hi <= last
	}
	if !ok {
		return fmt.Errorf("strides %s and first element %d leave the elements from %d to %d of %v", shapeName(strides),
			offset, first, last, t)
	}
	return nil
}

package runtime

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"unsafe"
)

// Contiguous returns t's elements in row-major order without gaps: a view of t when they lie so already,
// else a copy.
func (t *Tensor) Contiguous() (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	if t.IsContiguous() {
		v, err := t.View()
		if err == nil {
			setRowMajor(v.Strides, v.Shape) // axes of extent 1 may have had any stride
		}
		return v, err
	}
	return t.Clone()
}

// ColumnMajor returns t's elements in column-major order without gaps: a view of t when they lie so already,
// else a copy.
func (t *Tensor) ColumnMajor() (*Tensor, error) {
	rev, err := t.Transpose()
	if err != nil {
		return nil, err
	}
	defer rev.Close()
	dense, err := rev.Contiguous()
	if err != nil {
		return nil, err
	}
	defer dense.Close()
	return dense.Transpose()
}

// Clone returns a row-major copy.
func (t *Tensor) Clone() (*Tensor, error) {
	if s, ok := t.Text(); ok {
		return Text(s), nil
	}
	if err := t.Err(); err != nil {
		return nil, err
	}
	out, err := New(t.DType, t.Shape...)
	if err != nil {
		return nil, err
	}
	copyElements(out, t)
	return out, nil
}

// CopyTo copies the elements into dst, of the same type and shape. The two may overlap: the result is as if t had been
// copied away first. A dst with an expanded axis is an error, since its elements share memory.
func (t *Tensor) CopyTo(dst *Tensor) error {
	if err := t.Err(); err != nil {
		return err
	}
	if err := dst.Err(); err != nil {
		return fmt.Errorf("copy: the destination: %w", err)
	}
	if t.DType != dst.DType || !slices.Equal(t.Shape, dst.Shape) {
		return fmt.Errorf("copy: %v does not fit into %v", t, dst)
	}
	for axis, s := range dst.Strides {
		if s == 0 && dst.Shape[axis] > 1 {
			return fmt.Errorf("copy: axis %d of the destination %v is expanded, so its elements share memory", axis, dst)
		}
	}
	if t.Overlaps(dst) {
		tmp, err := t.Clone()
		if err != nil {
			return err
		}
		defer tmp.Close()
		t = tmp
	}
	copyElements(dst, t)
	return nil
}

// Overlaps reports whether the address ranges of two tensors meet. (Storages may wrap the same memory.)
func (t *Tensor) Overlaps(o *Tensor) bool {
	if t.Elems() == 0 || o.Elems() == 0 {
		return false
	}
	tlo, thi := t.span()
	olo, ohi := o.span()
	return tlo < ohi && olo < thi
}

// span returns the addresses from which and below which the elements of t, which is not empty, lie.
func (t *Tensor) span() (lo, hi uintptr) {
	size := int64(t.DType.Bytes())
	lo = uintptr(t.Ptr())
	hi = lo + uintptr(size)
	for i, d := range t.Shape {
		if reach := (d - 1) * t.Strides[i] * size; reach < 0 {
			lo -= uintptr(-reach)
		} else {
			hi += uintptr(reach)
		}
	}
	return lo, hi
}

// Reshape returns the elements, in row-major order, with another shape of as many elements; one extent may be
// -1, and follows from the others. The result is a view of a contiguous tensor, and a copy of any other, so that whether
// memory is shared does not depend on the wanted shape.
func (t *Tensor) Reshape(shape ...int64) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	want, err := t.inferShape(shape)
	if err != nil {
		return nil, fmt.Errorf("reshape: %w", err)
	}
	src := t
	if !t.IsContiguous() {
		if src, err = t.Clone(); err != nil {
			return nil, err
		}
		defer src.Close()
	}
	return src.reshaped(want), nil
}

// reshaped is a view of a contiguous tensor with another shape of as many elements.
func (t *Tensor) reshaped(shape []int64) *Tensor {
	v := t.view(len(shape))
	copy(v.Shape, shape)
	setRowMajor(v.Strides, v.Shape)
	return v
}

// Flatten makes one axis of the axes from start to end, both included; 0 and -1 are all of them. It is a view. The tensor
// has to be contiguous: Reshape copies where Flatten is an error.
//
//	[2,3,4] flattened from 1 to 2 is [2,12]
func (t *Tensor) Flatten(start, end int) (*Tensor, error) {
	if err := t.Err(); err != nil {
		return nil, err
	}
	old := t.Shape
	if len(old) == 0 { // a scalar flattens to one element
		old = []int64{1}
	}
	start, err := checkAxis("flatten", start, old)
	if err != nil {
		return nil, err
	}
	if end, err = checkAxis("flatten", end, old); err != nil {
		return nil, err
	}
	if start > end {
		return nil, fmt.Errorf("flatten: the axes from %d to %d of shape %s are none", start, end, shapeName(t.Shape))
	}
	if !t.IsContiguous() {
		return nil, fmt.Errorf("flatten: %v with strides %s is not contiguous; Reshape and Contiguous copy", t, shapeName(t.Strides))
	}
	want := slices.Concat(old[:start], []int64{product(old[start : end+1])}, old[end+1:])
	if _, err := checkShape(t.DType, want); err != nil {
		return nil, fmt.Errorf("flatten: %w", err)
	}
	return t.reshaped(want), nil
}

// inferShape replaces the -1 of a wanted shape and checks the number of elements.
func (t *Tensor) inferShape(shape []int64) ([]int64, error) {
	want := slices.Clone(shape)
	free := slices.Index(want, -1)
	if free >= 0 {
		want[free] = 1
	}
	if _, err := checkShape(t.DType, want); err != nil {
		return nil, err
	}
	have, n := t.Elems(), product(want)
	if free >= 0 && n > 0 && have%n == 0 {
		want[free] = have / n
		n = have
	}
	if n != have || free >= 0 && product(shape) == 0 {
		return nil, fmt.Errorf("shape %s of %d elements does not become %s", shapeName(t.Shape), have, shapeName(shape))
	}
	_, err := checkShape(t.DType, want)
	return want, err
}

// copyElements copies between tensors of one type and shape that do not overlap.
func copyElements(dst, src *Tensor) {
	if src.Elems() == 0 {
		return
	}
	c := newCopy(dst, src)
	switch src.DType.Bytes() {
	case 1:
		copyLoop[uint8](c, dst.Ptr(), src.Ptr())
	case 2:
		copyLoop[uint16](c, dst.Ptr(), src.Ptr())
	case 4:
		copyLoop[uint32](c, dst.Ptr(), src.Ptr())
	default:
		copyLoop[uint64](c, dst.Ptr(), src.Ptr())
	}
	goruntime.KeepAlive(dst)
	goruntime.KeepAlive(src)
}

// copyAxis is one loop of a copy: its trip count and the strides of both sides in elements.
type copyAxis struct{ n, dst, src int64 }

// newCopy returns the loops of a copy, outermost first: sorted so that the destination is written in
// memory order, neighbours merged where both sides allow, axes of extent 1 dropped.
func newCopy(dst, src *Tensor) []copyAxis {
	var axes []copyAxis
	for i, n := range src.Shape {
		if n != 1 {
			axes = append(axes, copyAxis{n, dst.Strides[i], src.Strides[i]})
		}
	}
	slices.SortStableFunc(axes, func(a, b copyAxis) int {
		x, y := max(a.dst, -a.dst), max(b.dst, -b.dst)
		switch {
		case x > y:
			return -1
		case x < y:
			return 1
		}
		return 0
	})
	merged := axes[:0]
	for _, a := range axes {
		if k := len(merged) - 1; k >= 0 && merged[k].dst == a.n*a.dst && merged[k].src == a.n*a.src {
			merged[k] = copyAxis{merged[k].n * a.n, a.dst, a.src}
			continue
		}
		merged = append(merged, a)
	}
	return merged
}

// copyTile is the side of the squares in which a transposing copy walks, so that the lines it reads stay
// in the first-level cache until all of their elements are used.
const copyTile = 32

func copyLoop[T any](axes []copyAxis, dst, src unsafe.Pointer) {
	size := int64(unsafe.Sizeof(*new(T)))
	switch {
	case len(axes) == 0:
		*(*T)(dst) = *(*T)(src)
		return
	case len(axes) == 1:
		copyRow[T](axes[0], dst, src)
		return
	case len(axes) == 2:
		a, b := axes[0], axes[1]
		if max(a.src, -a.src) >= max(b.src, -b.src) {
			break // both sides run the same way
		}
		for i := int64(0); i < a.n; i += copyTile {
			for j := int64(0); j < b.n; j += copyTile {
				row := copyAxis{min(copyTile, b.n-j), b.dst, b.src}
				for k := i; k < min(i+copyTile, a.n); k++ {
					copyRow[T](row, unsafe.Add(dst, (k*a.dst+j*b.dst)*size), unsafe.Add(src, (k*a.src+j*b.src)*size))
				}
			}
		}
		return
	}
	a := axes[0]
	for i := int64(0); i < a.n; i++ {
		copyLoop[T](axes[1:], unsafe.Add(dst, i*a.dst*size), unsafe.Add(src, i*a.src*size))
	}
}

func copyRow[T any](a copyAxis, dst, src unsafe.Pointer) {
	if a.dst == 1 && a.src == 1 {
		copy(unsafe.Slice((*T)(dst), a.n), unsafe.Slice((*T)(src), a.n))
		return
	}
	size := int64(unsafe.Sizeof(*new(T)))
	for range a.n {
		*(*T)(dst) = *(*T)(src)
		dst, src = unsafe.Add(dst, a.dst*size), unsafe.Add(src, a.src*size)
	}
}

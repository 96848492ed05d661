package tensor

import (
	"context"
	"fmt"
	goruntime "runtime"
	"slices"

	"healc/lang/types"
	"healc/runtime/memory"
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
			memory.SetRowMajor(v.Strides, v.Shape) // axes of extent 1 may have had any stride
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
	if t.storage.Device() != nil {
		return t.cloneOn(t.Place())
	}
	out, err := New(t.DType, t.Shape...)
	if err != nil {
		return nil, err
	}
	memory.Copy(out.Array(), t.Array())
	goruntime.KeepAlive(t)
	return out, nil
}

// CopyTo copies the elements into dst, of the same type and shape. The two may overlap: the result is as if t had been
// copied away first. A dst with an expanded axis is an error, since its elements share memory.
func (t *Tensor) CopyTo(dst *Tensor) error { return t.CopyUntil(context.Background(), dst) }

// CopyUntil is CopyTo that a context may end where both are on one device.
func (t *Tensor) CopyUntil(ctx context.Context, dst *Tensor) error {
	if err := t.Err(); err != nil {
		return err
	}
	if err := dst.WriteErr(); err != nil {
		return fmt.Errorf("copy: the destination: %w", err)
	}
	if t.DType != dst.DType || !slices.Equal(t.Shape, dst.Shape) {
		return fmt.Errorf("copy: %v does not fit into %v", t, dst)
	}
	for axis, s := range dst.Strides {
		if s == 0 && dst.Shape[axis] > 1 {
			return fmt.Errorf("copy: axis %d of the destination %v is expanded, so its elements share memory", axis,
				dst)
		}
	}
	if t.HostErr() != nil || dst.HostErr() != nil || t.Unified() && dst.Unified() {
		return copyAcross(ctx, dst, t)
	}
	err := memory.Move(dst.Array(), t.Array())
	goruntime.KeepAlive(dst)
	goruntime.KeepAlive(t)
	return err
}

// Apart reports that two tensors lie in pieces of the allocator that are not the same, and so cannot overlap. Others
// may share no memory, too.
func (t *Tensor) Apart(o *Tensor) bool {
	return t.storage != o.storage && t.storage.IsOwn() && o.storage.IsOwn()
}

// Overlaps reports whether the address ranges of two tensors meet. (Storages may wrap the same memory.)
func (t *Tensor) Overlaps(o *Tensor) bool {
	if t.Device() != nil && t.Device() == o.Device() {
		return t.DeviceArray().Overlaps(o.DeviceArray())
	}
	return t.Device() == o.Device() && t.Array().Overlaps(o.Array())
}

// Reshape returns the elements, in row-major order, with another shape of as many elements; one extent may be -1, and
// follows from the others. The result is a view of a contiguous tensor, and a copy of any other, so that whether memory
// is shared does not depend on the wanted shape.
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
	memory.SetRowMajor(v.Strides, v.Shape)
	return v
}

// Flatten makes one axis of the axes from start to end, both included; 0 and -1 are all of them. It is a view. The
// tensor has to be contiguous: Reshape copies where Flatten is an error.
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
		return nil, fmt.Errorf("flatten: %v with strides %s is not contiguous; Reshape and Contiguous copy", t,
			shapeName(t.Strides))
	}
	// a tensor without elements may have axes that make more than 64 bits count
	n, err := CheckShape(types.I8, old[start:end+1])
	if err != nil {
		return nil, fmt.Errorf("flatten: the axes from %d to %d of shape %s make one of more than 2^31-1 elements",
			start, end, shapeName(t.Shape))
	}
	want := slices.Concat(old[:start], []int64{n}, old[end+1:])
	if _, err := CheckShape(t.DType, want); err != nil {
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
	if _, err := CheckShape(t.DType, want); err != nil {
		return nil, err
	}
	have, n := t.Elems(), memory.Count(want)
	if free >= 0 && n > 0 && have%n == 0 {
		want[free] = have / n
		n = have
	}
	if n != have || free >= 0 && memory.Count(shape) == 0 {
		return nil, fmt.Errorf("shape %s of %d elements does not become %s", shapeName(t.Shape), have, shapeName(shape))
	}
	_, err := CheckShape(t.DType, want)
	return want, err
}

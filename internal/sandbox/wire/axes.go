package wire

import (
	"fmt"
	"slices"

	"healc/runtime/memory"
)

// axis is how a tensor goes along one of its axes, without the distance.
type axis struct {
	order uint16 // how many axes are slower
	flags uint8
}

const (
	flagZero     = 1 << iota // all elements are one place
	flagNegative             // from high to low addresses
	flagGap                  // there is room between the elements of this axis, beyond those of the faster axes
	flagsAll     = 1<<iota - 1
)

// axesOf describes strides.
func axesOf(shape, strides []int64) []axis {
	out := make([]axis, len(shape))
	by := make([]int, 0, len(shape)) // the axes that count, the slowest first
	for i := range shape {
		out[i].order = uint16(i)
		by = append(by, i)
	}
	if memory.Count(shape) == 0 {
		return out
	}
	// An axis of one element has no distance: it stays where it is among its neighbours.
	far := make([]int64, len(shape))
	for i := len(shape) - 1; i >= 0; i-- {
		switch {
		case shape[i] > 1 && strides[i] != 0:
			far[i] = max(strides[i], -strides[i])
		case i+1 < len(shape):
			far[i] = far[i+1]
		}
	}
	slices.SortStableFunc(by, func(a, b int) int { return compare(far[b], far[a]) })
	dense := int64(1)
	for k := len(by) - 1; k >= 0; k-- {
		i := by[k]
		out[i].order = uint16(k)
		if shape[i] <= 1 {
			continue
		}
		switch s := strides[i]; {
		case s == 0:
			out[i].flags = flagZero
			continue
		case s < 0:
			out[i].flags |= flagNegative
		}
		if far[i] != dense {
			out[i].flags |= flagGap
			dense = far[i]
		}
		dense *= shape[i]
	}
	return out
}

func compare(a, b int64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// sent is the shape of the elements that are sent.
func sent(shape []int64, axes []axis) []int64 {
	out := slices.Clone(shape)
	for i := range out {
		if axes[i].flags&flagZero != 0 {
			out[i] = min(out[i], 1)
		}
	}
	return out
}

// plain reports that the axes are those of a row-major tensor.
func plain(axes []axis) bool {
	for i, a := range axes {
		if int(a.order) != i || a.flags != 0 {
			return false
		}
	}
	return true
}

// place makes strides for the axes: where the first element is, and how many elements there is room for.
func place(shape []int64, axes []axis) (strides []int64, offset, room int64, err error) {
	by := make([]int, len(axes))
	for i := range by {
		by[i] = -1
	}
	for i, a := range axes {
		if int(a.order) >= len(by) || by[a.order] >= 0 || a.flags&^flagsAll != 0 {
			return nil, 0, 0, fmt.Errorf("the axes of a tensor are in no order")
		}
		by[a.order] = i
	}
	strides, room = make([]int64, len(axes)), 1
	for k := len(by) - 1; k >= 0; k-- {
		i := by[k]
		a := axes[i]
		if a.flags&flagZero != 0 {
			continue
		}
		if a.flags&flagGap != 0 {
			room++
		}
		strides[i] = room
		n := max(shape[i], 1)
		if room > maxRoom/n {
			return nil, 0, 0, fmt.Errorf("the strides of a tensor reach further than memory")
		}
		if a.flags&flagNegative != 0 {
			strides[i] = -room
			offset += room * (n - 1)
		}
		room *= n
	}
	return strides, offset, room, nil
}

// maxRoom is the most elements that a tensor has room for.
const maxRoom = 1 << 48

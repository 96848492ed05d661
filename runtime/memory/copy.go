package memory

import (
	"slices"
	"unsafe"
)

// Move copies src to dst, of the same size and shape, as if src had been copied away first.
func Move(dst, src Array) error {
	if !dst.Overlaps(src) {
		Copy(dst, src)
		return nil
	}
	var room [fewCopyAxes]int64
	dense := append(room[:0], src.Shape...)
	SetRowMajor(dense, src.Shape)
	aside, s, err := src.Aside(dense)
	if err != nil {
		return err
	}
	Copy(dst, aside)
	s.Release()
	return nil
}

// fewCopyAxes is the rank up to which copying allocates nothing.
const fewCopyAxes = 8

// Copy copies src to dst, of the same size and shape, which do not overlap. It allocates nothing for up to
// fewCopyAxes axes.
func Copy(dst, src Array) {
	if Count(src.Shape) == 0 {
		return
	}
	var room [fewCopyAxes]copyAxis
	axes := copyLoops(room[:0], dst, src)
	switch src.Size {
	case 1:
		copyLoop[uint8](axes, dst.Ptr, src.Ptr)
	case 2:
		copyLoop[uint16](axes, dst.Ptr, src.Ptr)
	case 4:
		copyLoop[uint32](axes, dst.Ptr, src.Ptr)
	default:
		copyLoop[uint64](axes, dst.Ptr, src.Ptr)
	}
}

// copyAxis is one loop of a copy: its trip count and the strides of both sides in elements.
type copyAxis struct{ n, dst, src int64 }

// copyLoops appends the loops of a copy, outermost first: sorted so that the destination is written in
// memory order, neighbours merged where both sides allow, axes of extent 1 dropped.
func copyLoops(axes []copyAxis, dst, src Array) []copyAxis {
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
	// Offsets are counted and not pointers: behind the last element, one could point into other memory, or none.
	size := int64(unsafe.Sizeof(*new(T)))
	var to, from int64
	for range a.n {
		*(*T)(unsafe.Add(dst, to)) = *(*T)(unsafe.Add(src, from))
		to, from = to+a.dst*size, from+a.src*size
	}
}

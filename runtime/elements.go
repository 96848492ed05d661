package runtime

import (
	"slices"
	"unsafe"
)

// elements are where the elements of a tensor lie: element [i0, i1, ...] at ptr + (i0*strides[0] + i1*strides[1] + ...)
// * size. Nothing keeps the memory reachable.
type elements struct {
	ptr     unsafe.Pointer
	size    int64 // bytes of an element
	shape   []int64
	strides []int64 // in elements
}

func (t *Tensor) elements() elements {
	return elements{t.Ptr(), int64(t.DType.Bytes()), t.Shape, t.Strides}
}

// overlaps reports whether the address ranges of the two meet.
func (e elements) overlaps(o elements) bool {
	if product(e.shape) == 0 || product(o.shape) == 0 {
		return false
	}
	elo, ehi := e.span()
	olo, ohi := o.span()
	return elo < ohi && olo < ehi
}

// span returns the addresses from which and below which the elements lie, of which there are some.
func (e elements) span() (lo, hi uintptr) {
	lo = uintptr(e.ptr)
	hi = lo + uintptr(e.size)
	for i, d := range e.shape {
		if reach := (d - 1) * e.strides[i] * e.size; reach < 0 {
			lo -= uintptr(-reach)
		} else {
			hi += uintptr(reach)
		}
	}
	return lo, hi
}

// rowMajor reports whether the elements lie in row-major order without gaps.
func (e elements) rowMajor() bool {
	want := int64(1)
	for i := len(e.shape) - 1; i >= 0; i-- {
		if e.shape[i] != 1 && e.strides[i] != want {
			return product(e.shape) == 0
		}
		want *= e.shape[i]
	}
	return true
}

// moveElements copies src to dst, of the same size and shape, as if src had been copied away first.
func moveElements(dst, src elements) error {
	if !dst.overlaps(src) {
		copyElements(dst, src)
		return nil
	}
	var room [fewCopyAxes]int64
	dense := append(room[:0], src.shape...)
	setRowMajor(dense, src.shape)
	aside, memory, err := src.aside(dense)
	if err != nil {
		return err
	}
	copyElements(dst, aside)
	memory.Release()
	return nil
}

// aside copies the elements to memory of their own; dense are the row-major strides of the shape.
func (e elements) aside(dense []int64) (elements, *Storage, error) {
	s, err := NewStorage(max(product(e.shape)*e.size, 1))
	if err != nil {
		return elements{}, nil, err
	}
	c := elements{s.Ptr(), e.size, e.shape, dense}
	copyElements(c, e)
	return c, s, nil
}

// fewCopyAxes is the rank up to which copying allocates nothing.
const fewCopyAxes = 8

// copyElements copies src to dst, of the same size and shape, which do not overlap. It allocates nothing for up to
// fewCopyAxes axes.
func copyElements(dst, src elements) {
	if product(src.shape) == 0 {
		return
	}
	var room [fewCopyAxes]copyAxis
	axes := copyLoops(room[:0], dst, src)
	switch src.size {
	case 1:
		copyLoop[uint8](axes, dst.ptr, src.ptr)
	case 2:
		copyLoop[uint16](axes, dst.ptr, src.ptr)
	case 4:
		copyLoop[uint32](axes, dst.ptr, src.ptr)
	default:
		copyLoop[uint64](axes, dst.ptr, src.ptr)
	}
}

// copyAxis is one loop of a copy: its trip count and the strides of both sides in elements.
type copyAxis struct{ n, dst, src int64 }

// copyLoops appends the loops of a copy, outermost first: sorted so that the destination is written in
// memory order, neighbours merged where both sides allow, axes of extent 1 dropped.
func copyLoops(axes []copyAxis, dst, src elements) []copyAxis {
	for i, n := range src.shape {
		if n != 1 {
			axes = append(axes, copyAxis{n, dst.strides[i], src.strides[i]})
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

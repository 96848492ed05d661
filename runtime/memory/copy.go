package memory

import (
	goruntime "runtime"
	"slices"
	"sync"
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

// Copy copies src to dst, of the same size and shape, which do not overlap; large ones on several threads. Of less than
// parallelBytes it allocates nothing for up to fewCopyAxes axes.
func Copy(dst, src Array) {
	if Count(src.Shape) == 0 {
		return
	}
	var room [fewCopyAxes]copyAxis
	axes := copyLoops(room[:0], dst, src)
	if Count(src.Shape) >= parallelBytes/src.Size {
		copyParts(axes, src.Size, dst.Ptr, src.Ptr, goruntime.GOMAXPROCS(0))
		return
	}
	copySized(axes, src.Size, dst.Ptr, src.Ptr)
}

// parallelBytes is the size from which a copy goes on several threads: the caches of a core do not hold it, and it
// takes much longer than to begin on another thread.
const parallelBytes = 8 << 20

// copyParts copies the parts of the longest axis side by side, as many as threads. Each is as many whole tiles.
func copyParts(axes []copyAxis, size int64, dst, src unsafe.Pointer, threads int) {
	long := 0
	for k, a := range axes {
		if a.n > axes[long].n {
			long = k
		}
	}
	step := int64(1)
	if len(axes) > 0 {
		step = (axes[long].n + int64(threads)*tileSide - 1) / (int64(threads) * tileSide) * tileSide
	}
	if len(axes) == 0 || step >= axes[long].n {
		copySized(axes, size, dst, src)
		return
	}
	var wg sync.WaitGroup
	for at := int64(0); at < axes[long].n; at += step {
		part := slices.Clone(axes)
		part[long].n = min(step, axes[long].n-at)
		to, from := unsafe.Add(dst, at*axes[long].dst*size), unsafe.Add(src, at*axes[long].src*size)
		wg.Go(func() { copySized(part, size, to, from) })
	}
	wg.Wait()
}

// copySized runs the loops of a copy for elements of a size.
func copySized(axes []copyAxis, size int64, dst, src unsafe.Pointer) {
	switch size {
	case 1:
		copyLoop[uint8](axes, dst, src)
	case 2:
		copyLoop[uint16](axes, dst, src)
	case 4:
		copyLoop[uint32](axes, dst, src)
	default:
		copyLoop[uint64](axes, dst, src)
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

// copyLoop runs the loops of a copy, outermost first.
func copyLoop[T any](axes []copyAxis, dst, src unsafe.Pointer) {
	switch len(axes) {
	case 0:
		*(*T)(dst) = *(*T)(src)
		return
	case 1:
		copyRow[T](axes[0], dst, src)
		return
	}
	last := len(axes) - 1
	near := last // the axis along which the source has its neighbours
	for k := range axes[:last] {
		if s := axes[k].src; s != 0 && max(s, -s) < max(axes[near].src, -axes[near].src) {
			near = k
		}
	}
	if near != last {
		var room tile
		copyPlanes[T](&room, axes[:last], axes[near], axes[last], near, dst, src)
		return
	}
	copyRows[T](axes, dst, src)
}

// copyRows is copyLoop where both sides have their neighbours along the last axis.
func copyRows[T any](axes []copyAxis, dst, src unsafe.Pointer) {
	a, size := axes[0], int64(unsafe.Sizeof(*new(T)))
	if len(axes) == 1 {
		copyRow[T](a, dst, src)
		return
	}
	for i := int64(0); i < a.n; i++ {
		copyRows[T](axes[1:], unsafe.Add(dst, i*a.dst*size), unsafe.Add(src, i*a.src*size))
	}
}

// copyPlanes runs the loops of axes, but for the one at index near, around transpositions of a plane.
func copyPlanes[T any](room *tile, axes []copyAxis, a, b copyAxis, near int, dst, src unsafe.Pointer) {
	switch {
	case len(axes) == 0:
		transpose[T](room, a, b, dst, src)
		return
	case near == 0:
		copyPlanes[T](room, axes[1:], a, b, -1, dst, src)
		return
	}
	c, size := axes[0], int64(unsafe.Sizeof(*new(T)))
	for i := int64(0); i < c.n; i++ {
		copyPlanes[T](room, axes[1:], a, b, near-1, unsafe.Add(dst, i*c.dst*size), unsafe.Add(src, i*c.src*size))
	}
}

// A transposition goes by tiles of tileSide elements a side, or as many as tileBytes has room for. Each tile is
// gathered in memory of its own: the rows of a matrix whose extents are powers of two fall into a few sets of a cache,
// where a tile of the matrix itself does not stay.
const (
	tileSide  = 64
	tileBytes = 16 << 10
	// fewInTile is the extent up to which an axis is walked whole, without tiles.
	fewInTile = 8
	// fewRun is how much of the other axis then goes at once, which stays in a cache.
	fewRun = 256
)

// tile is the memory of one, aligned for every element.
type tile [tileBytes / 8]uint64

// transpose copies a plane whose neighbours lie along a in the source and along b in the destination.
func transpose[T any](room *tile, a, b copyAxis, dst, src unsafe.Pointer) {
	size := int64(unsafe.Sizeof(*new(T)))
	if a.n <= fewInTile || b.n <= fewInTile {
		if a.n > b.n {
			a, b = b, a
		}
		for j := int64(0); j < b.n; j += fewRun {
			row := copyAxis{min(fewRun, b.n-j), b.dst, b.src}
			for i := range a.n {
				copyRow[T](row, unsafe.Add(dst, (i*a.dst+j*b.dst)*size), unsafe.Add(src, (i*a.src+j*b.src)*size))
			}
		}
		return
	}
	side := int64(tileSide)
	if size == 8 {
		side = tileSide / 2
	}
	at := unsafe.Pointer(room)
	for i := int64(0); i < a.n; i += side {
		for j := int64(0); j < b.n; j += side {
			rows, columns := min(side, a.n-i), min(side, b.n-j)
			from := unsafe.Add(src, (i*a.src+j*b.src)*size)
			gather[T](at, from, copyAxis{rows, side, a.src}, copyAxis{columns, 1, b.src})
			to := unsafe.Add(dst, (i*a.dst+j*b.dst)*size)
			for k := range rows {
				copyRow[T](copyAxis{columns, b.dst, 1}, unsafe.Add(to, k*a.dst*size), unsafe.Add(at, k*side*size))
			}
		}
	}
}

// gatherColumns are the columns of a tile that are read side by side: each row gets as many elements at once.
const gatherColumns = 8

// gather copies columns, along which the source has its neighbours, to the rows of a tile.
func gather[T any](dst, src unsafe.Pointer, rows, columns copyAxis) {
	size := int64(unsafe.Sizeof(*new(T)))
	down, to := rows.src*size, rows.dst*size
	s1 := columns.src * size
	s2, s3, s4, s5, s6, s7 := 2*s1, 3*s1, 4*s1, 5*s1, 6*s1, 7*s1
	j := int64(0)
	for ; j+gatherColumns <= columns.n; j += gatherColumns {
		at, from := j*size, j*s1
		for range rows.n {
			x := (*[gatherColumns]T)(unsafe.Add(dst, at))
			p := unsafe.Add(src, from)
			x[0], x[1] = *(*T)(p), *(*T)(unsafe.Add(p, s1))
			x[2], x[3] = *(*T)(unsafe.Add(p, s2)), *(*T)(unsafe.Add(p, s3))
			x[4], x[5] = *(*T)(unsafe.Add(p, s4)), *(*T)(unsafe.Add(p, s5))
			x[6], x[7] = *(*T)(unsafe.Add(p, s6)), *(*T)(unsafe.Add(p, s7))
			at, from = at+to, from+down
		}
	}
	for ; j < columns.n; j++ {
		copyRow[T](rows, unsafe.Add(dst, j*size), unsafe.Add(src, j*s1))
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

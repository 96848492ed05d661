package zarr

// block is where a chunk lies in an array.
type block struct {
	data    []byte // of the array
	elem    int64  // bytes of an element
	shape   []int64
	valid   []int64 // how far the array goes along each axis; what is beyond belongs to no element
	strides []int64 // of the array, in elements
	at      int64   // the first element
}

// part is the block of shape at an index within b, in units of shape.
func (b block) part(index, shape []int64) block {
	p := b
	p.shape, p.valid = shape, make([]int64, len(shape))
	for i, n := range shape {
		from := min(index[i]*n, b.valid[i])
		p.valid[i] = min(n, b.valid[i]-from)
		p.at += from * b.strides[i]
	}
	return p
}

// permuted has the axes in another order.
func (b block) permuted(order []int) block {
	if order == nil {
		return b
	}
	b.shape, b.valid, b.strides = permute(b.shape, order), permute(b.valid, order), permute(b.strides, order)
	return b
}

func permute(x []int64, order []int) []int64 {
	out := make([]int64, len(x))
	for i, from := range order {
		out[i] = x[from]
	}
	return out
}

// runs calls f with each run of bytes of the array and of the chunk, in row-major order, that hold the same elements.
func (b block) runs(f func(array, chunk []byte), chunk []byte) {
	last := len(b.shape) - 1
	if last < 0 {
		f(b.data[b.at*b.elem:][:b.elem], chunk[:b.elem])
		return
	}
	n, each := int64(1), b.valid[last] // runs of a row, and their elements
	if b.strides[last] != 1 {
		n, each = each, 1
	}
	if each == 0 {
		return
	}
	_ = odometer(b.valid[:last], func(index []int64) error {
		array, in := b.at, int64(0)
		for i, k := range index {
			array += k * b.strides[i]
			in = (in + k) * b.shape[i+1]
		}
		for i := range n {
			f(b.data[(array+i*b.strides[last])*b.elem:][:each*b.elem], chunk[(in+i)*b.elem:][:each*b.elem])
		}
		return nil
	})
}

// odometer calls f with each index below counts, in row-major order, until an error.
func odometer(counts []int64, f func(index []int64) error) error {
	for _, n := range counts {
		if n == 0 {
			return nil
		}
	}
	index := make([]int64, len(counts))
	for {
		if err := f(index); err != nil {
			return err
		}
		i := len(index) - 1
		for ; i >= 0; i-- {
			if index[i]++; index[i] < counts[i] {
				break
			}
			index[i] = 0
		}
		if i < 0 {
			return nil
		}
	}
}

// grid is how many chunks of a shape there are along each axis.
func grid(shape, chunk []int64) []int64 {
	out := make([]int64, len(shape))
	for i, n := range shape {
		out[i] = (n + chunk[i] - 1) / chunk[i]
	}
	return out
}

// count is the product of extents, or -1 where it is greater than most.
func count(shape []int64, most int64) int64 {
	n := int64(1)
	for _, d := range shape {
		if d > 0 && n > most/d {
			return -1
		}
		n *= d
	}
	return n
}

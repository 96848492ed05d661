package memory

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"unsafe"
)

// TestCopyOrders copies between memory orders, in every element size and up to six axes, with extents around the sides
// of tiles, negative and zero strides, and compares with one element after the other.
func TestCopyOrders(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 21))
	extents := []int64{1, 2, 3, 8, 9, 31, 63, 64, 65, 133}
	for range 300 {
		size := int64(1) << rng.IntN(4)
		shape, n := []int64{}, int64(1)
		for range rng.IntN(7) {
			if e := extents[rng.IntN(len(extents))]; n*e <= 1<<17 {
				shape, n = append(shape, e), n*e
			}
		}
		dst, src := randomOrder(rng, size, shape, false), randomOrder(rng, size, shape, true)
		Copy(dst.Array, src.Array)
		index := make([]int64, len(shape))
		for range n {
			if got, want := dst.at(index), src.at(index); got != want {
				t.Fatalf("%d bytes, shape %v, strides %v from %v: at %v is %x, not %x", size, shape, dst.Strides,
					src.Strides, index, got, want)
			}
			for k := len(shape) - 1; k >= 0; k-- {
				if index[k]++; index[k] < shape[k] {
					break
				}
				index[k] = 0
			}
		}
		for i, b := range dst.bytes {
			if !dst.used[int64(i)/size] && b != 0 {
				t.Fatalf("shape %v, strides %v from %v: byte %d between the elements was written", shape, dst.Strides,
					src.Strides, i)
			}
		}
	}
}

// ordered is an array and the memory in which it lies.
type ordered struct {
	Array
	bytes []byte
	used  []bool // which places have an element
	words []uint64
}

func (o *ordered) at(index []int64) uint64 {
	p := o.Ptr
	for k, i := range index {
		p = unsafe.Add(p, i*o.Strides[k]*o.Size)
	}
	return LoadBits(p, int(o.Size))
}

// randomOrder gives a shape memory with its axes in any order and gaps between them; one that is read has random bytes,
// and some of its axes have one place for all elements.
func randomOrder(rng *rand.Rand, size int64, shape []int64, read bool) *ordered {
	strides := make([]int64, len(shape))
	next, low := int64(1+rng.IntN(2)), int64(0)
	for _, k := range rng.Perm(len(shape)) {
		strides[k] = next
		next = next*shape[k] + int64(rng.IntN(2))
		switch {
		case read && rng.IntN(8) == 0:
			strides[k] = 0
		case rng.IntN(5) == 0:
			low += (shape[k] - 1) * strides[k]
			strides[k] = -strides[k]
		}
	}
	o := &ordered{words: make([]uint64, (next*size+7)/8), used: make([]bool, next)}
	o.bytes = unsafe.Slice((*byte)(unsafe.Pointer(&o.words[0])), next*size)
	if read {
		for i := range o.words {
			o.words[i] = rng.Uint64()
		}
	}
	o.Array = Array{unsafe.Pointer(&o.bytes[low*size]), size, shape, strides}
	index := make([]int64, len(shape))
	for range Count(shape) {
		at := low
		for k := range index {
			at += index[k] * strides[k]
		}
		o.used[at] = true
		for k := len(shape) - 1; k >= 0; k-- {
			if index[k]++; index[k] < shape[k] {
				break
			}
			index[k] = 0
		}
	}
	return o
}

// BenchmarkCopyOrders transposes matrices, with and without another axis between.
// TestCopyParts: the parts of a copy that goes on several threads are all of it, and nothing beside it is written.
func TestCopyParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 21))
	for _, shape := range [][]int64{{}, {5}, {64, 3}, {65, 130}, {3, 70, 129}, {257, 2, 2}, {1, 1000}, {128, 128}} {
		for _, threads := range []int{1, 2, 3, 7} {
			size := int64(1) << rng.IntN(4)
			dst, src := randomOrder(rng, size, shape, false), randomOrder(rng, size, shape, true)
			axes := copyLoops(nil, dst.Array, src.Array)
			copyParts(axes, size, dst.Ptr, src.Ptr, threads)
			index := make([]int64, len(shape))
			for range Count(shape) {
				if got, want := dst.at(index), src.at(index); got != want {
					t.Fatalf("%d bytes, shape %v, strides %v from %v, %d threads: at %v is %x, not %x", size, shape,
						dst.Strides, src.Strides, threads, index, got, want)
				}
				for k := len(shape) - 1; k >= 0; k-- {
					if index[k]++; index[k] < shape[k] {
						break
					}
					index[k] = 0
				}
			}
		}
	}
}

func BenchmarkCopyOrders(b *testing.B) {
	for _, shape := range [][]int64{{2048, 2048}, {2048, 2, 2048}, {256, 256, 256}} {
		b.Run(fmt.Sprint(shape), func(b *testing.B) {
			from := make([]int64, len(shape))
			next := int64(1)
			for k, n := range shape {
				from[k], next = next, next*n
			}
			dst, src := make([]uint32, next), make([]uint32, next)
			for i := range src {
				src[i] = uint32(i) // memory of its own: what was never written is one page
			}
			to := Array{unsafe.Pointer(&dst[0]), 4, shape, RowMajor(shape)}
			b.SetBytes(8 * next)
			for b.Loop() {
				Copy(to, Array{unsafe.Pointer(&src[0]), 4, shape, from})
			}
		})
	}
}

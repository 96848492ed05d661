package llvm

import (
	"github.com/llir/llvm/ir/constant"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// lanes is the number of elements of a vector.
func lanes(v value.Value) int { return int(v.Type().(*lt.VectorType).Len) }

// mask is the vector <from(0), from(1), ...> of w i32: the numbers of the elements that a shuffle takes.
func mask(w int, from func(i int) int) value.Value {
	elems := make([]constant.Constant, w)
	for i := range elems {
		elems[i] = ci(i32, int64(from(i)))
	}
	return constant.NewVector(nil, elems...)
}

// span is the mask <at, at+1, ...> of w.
func span(at, w int) value.Value { return mask(w, func(i int) int { return at + i }) }

// pick is a vector of w elements of x and y, as if they were one, by their numbers.
func (g *gen) pick(x, y value.Value, w int, from func(i int) int) value.Value {
	return g.cur.NewShuffleVector(x, y, mask(w, from))
}

// elements is a vector of w elements of x by their numbers.
func (g *gen) elements(x value.Value, w int, from func(i int) int) value.Value {
	return g.pick(x, constant.NewUndef(x.Type()), w, from)
}

// part is the w elements of x from number at on.
func (g *gen) part(x value.Value, at, w int) value.Value {
	return g.elements(x, w, func(i int) int { return at + i })
}

// reversed is x from its last element to its first.
func (g *gen) reversed(x value.Value) value.Value {
	w := lanes(x)
	return g.elements(x, w, func(i int) int { return w - 1 - i })
}

// beside is a vector of the elements of x, then those of y, which are as many.
func (g *gen) beside(x, y value.Value) value.Value {
	return g.pick(x, y, 2*lanes(x), func(i int) int { return i })
}

// byLanes applies f, which takes vectors of n elements, to parts of vectors of w, n times a power of two.
func (g *gen) byLanes(n, w int, f func(v []value.Value) value.Value, x ...value.Value) value.Value {
	if n == w {
		return f(x)
	}
	var all func(at, size int) value.Value
	all = func(at, size int) value.Value {
		if size > n {
			return g.beside(all(at, size/2), all(at+size/2, size/2))
		}
		parts := make([]value.Value, len(x))
		for i := range x {
			parts[i] = g.part(x[i], at, n)
		}
		return f(parts)
	}
	return all(0, w)
}

// oneAtATime applies f to the elements of vectors of w, or to scalars when w is 0.
func (g *gen) oneAtATime(w int, x []value.Value, f func(x []value.Value) value.Value) value.Value {
	if w == 0 {
		return f(x)
	}
	var out value.Value
	for i := range w {
		one := make([]value.Value, len(x))
		for k, v := range x {
			one[k] = g.cur.NewExtractElement(v, ci(i32, int64(i)))
		}
		y := f(one)
		if out == nil {
			out = constant.NewUndef(vec(y.Type(), w))
		}
		out = g.cur.NewInsertElement(out, y, ci(i32, int64(i)))
	}
	return out
}

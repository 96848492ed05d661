package emit

import (
	"github.com/llir/llvm/ir/constant"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
)

// Shuffle is a vector of w elements of x and y, as if they were one, by their numbers.
func (g *Func) Shuffle(x, y value.Value, w int, from func(i int) int) value.Value {
	return g.Cur.NewShuffleVector(x, y, build.ShuffleMask(w, from))
}

// Permute is a vector of w elements of x by their numbers.
func (g *Func) Permute(x value.Value, w int, from func(i int) int) value.Value {
	return g.Shuffle(x, constant.NewUndef(x.Type()), w, from)
}

// Extract is the w elements of x from number at on.
func (g *Func) Extract(x value.Value, at, w int) value.Value {
	return g.Permute(x, w, func(i int) int { return at + i })
}

// reverse is x from its last element to its first.
func (g *Func) reverse(x value.Value) value.Value {
	w := build.VectorLen(x)
	return g.Permute(x, w, func(i int) int { return w - 1 - i })
}

// Concat is a vector of the elements of x, then those of y, which are as many.
func (g *Func) Concat(x, y value.Value) value.Value {
	return g.Shuffle(x, y, 2*build.VectorLen(x), func(i int) int { return i })
}

// byLanes applies f, which takes vectors of n elements, to parts of vectors of w, n times a power of two.
func (g *Func) byLanes(n, w int, f func(v []value.Value) value.Value, x ...value.Value) value.Value {
	if n == w {
		return f(x)
	}
	var all func(at, size int) value.Value
	all = func(at, size int) value.Value {
		if size > n {
			return g.Concat(all(at, size/2), all(at+size/2, size/2))
		}
		parts := make([]value.Value, len(x))
		for i := range x {
			parts[i] = g.Extract(x[i], at, n)
		}
		return f(parts)
	}
	return all(0, w)
}

// oneAtATime applies f to the elements of vectors of w, or to scalars when w is 0.
func (g *Func) oneAtATime(w int, x []value.Value, f func(x []value.Value) value.Value) value.Value {
	if w == 0 {
		return f(x)
	}
	var out value.Value
	for i := range w {
		one := make([]value.Value, len(x))
		for k, v := range x {
			one[k] = g.Cur.NewExtractElement(v, build.Int(build.I32, int64(i)))
		}
		y := f(one)
		if out == nil {
			out = constant.NewUndef(build.Vector(y.Type(), w))
		}
		out = g.Cur.NewInsertElement(out, y, build.Int(build.I32, int64(i)))
	}
	return out
}

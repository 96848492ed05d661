package onnx

import "healc/lang/types"

// shape is the extents of a value: polynomials in the named dimensions of the model.
type shape = types.Shape

// must is a polynomial, or the end of the node that has none: Import makes an error of it.
func must(d types.Dim, err error) types.Dim {
	if err != nil {
		panic(&NodeError{Message: err.Error()})
	}
	return d
}

func number(n int64) types.Dim     { return types.Lit(n) }
func add(a, b types.Dim) types.Dim { return must(a.Add(b)) }
func sub(a, b types.Dim) types.Dim { return must(a.Sub(b)) }
func mul(a, b types.Dim) types.Dim { return must(a.Mul(b)) }
func count(s shape) types.Dim      { return must(s.Elems()) }

// div is a / b, rounded down where both are numbers; ok says whether it is known.
func div(a, b types.Dim) (q types.Dim, ok bool) {
	m, fixed := a.Const()
	n, both := b.Const()
	if fixed && both && m >= 0 && n > 0 {
		return number(m / n), true
	}
	return a.Div(b)
}

// shapeOf is the shape of these extents.
func shapeOf(extents ...int64) shape {
	out := make(shape, len(extents))
	for i, n := range extents {
		out[i] = number(n)
	}
	return out
}

// magnitude is the absolute value of a.
func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

package ops

import (
	"sync"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// What the Eval rules share. An Eval rule is the reference meaning of an operation that is not pointwise, on whole
// arrays, and is written without looking at its Element rule.
//
// An operation fails only for an element of its result: an empty result never fails.

// extents are the values of a shape.
func extents(c ir.EvalContext, s types.Shape) []int64 {
	out := make([]int64, len(s))
	for i, d := range s {
		out[i] = c.Dim(d)
	}
	return out
}

// one wraps the only result of an operation.
func one(a *ir.Array) ([]*ir.Array, error) { return []*ir.Array{a}, nil }

// rowMajor gives the distance, in elements, of neighbours along each axis.
func rowMajor(shape []int64) []int64 {
	strides := make([]int64, len(shape))
	n := int64(1)
	for k := len(shape) - 1; k >= 0; k-- {
		strides[k] = n
		n *= shape[k]
	}
	return strides
}

// gather reads the tensor of the given shape whose element i is element offset + sum(i[k]*strides[k]) of
// x, both counted in row-major order.
func gather(x *ir.Array, shape []int64, offset int64, strides []int64) *ir.Array {
	out := ir.NewArray(x.DType, shape...)
	if len(out.Bits) == 0 {
		return out
	}
	if len(shape) == 0 {
		out.Bits[0] = x.Bits[offset]
		return out
	}
	last := len(shape) - 1
	index := make([]int64, last)
	for at := 0; at < len(out.Bits); at += int(shape[last]) {
		from := offset
		for k, i := range index {
			from += i * strides[k]
		}
		row := out.Bits[at : at+int(shape[last])]
		for i := range row {
			row[i] = x.Bits[from+int64(i)*strides[last]]
		}
		next(index, shape)
	}
	return out
}

// next moves index to its successor in row-major order, and from the last one back to the first. The
// index may be shorter than the shape: then it counts through the leading axes.
func next(index, shape []int64) {
	for k := len(index) - 1; k >= 0; k-- {
		if index[k]++; index[k] < shape[k] {
			return
		}
		index[k] = 0
	}
}

// signed is the value of an integer scalar.
func signed(a *ir.Array) int64 { return signExtend(a.DType, a.Bits[0]) }

// signExtend is the value of an integer element of 64 or fewer bits.
func signExtend(t types.DType, bits uint64) int64 {
	if !t.IsSigned() {
		return int64(bits)
	}
	shift := 64 - t.Bits()
	return int64(bits<<shift) >> shift
}

// A vector applies a scalar program to whole columns of elements.
type vector struct{ program *scalar.Program }

// vectors keeps the programs that were prepared: there is one for each operation and element type, and a
// reduction in a region would prepare it again and again.
var vectors sync.Map // of vectorKey to vector

type vectorKey struct {
	op *ir.OpDef
	t  types.DType
}

// vectorOf prepares the scalar program that build makes of operands of type t; op always gives the same.
func vectorOf(op *ir.OpDef, t types.DType, operands int, build func(e scalar.Emitter,
	x []scalar.Ref) scalar.Ref) vector {
	key := vectorKey{op, t}
	if v, ok := vectors.Load(key); ok {
		return v.(vector)
	}
	params := make([]types.DType, operands)
	for i := range params {
		params[i] = t
	}
	r, x := scalar.NewRecorder(params...)
	r.Func.Results = []scalar.Ref{build(scalar.Emitter{Sink: r}, x)}
	v := vector{scalar.Compile(&r.Func)}
	vectors.Store(key, v)
	return v
}

// apply gives the program's value for every element of the columns.
func (v vector) apply(columns ...[]uint64) ([]uint64, *scalar.CheckError) {
	out := make([]uint64, len(columns[0]))
	err := v.program.Run(columns, [][]uint64{out}, len(out))
	return out, err
}

// must is apply for a program without checks.
func (v vector) must(columns ...[]uint64) []uint64 {
	out := make([]uint64, len(columns[0]))
	v.into(out, columns...)
	return out
}

// into is must with a place for the result, which may be one of the columns.
func (v vector) into(out []uint64, columns ...[]uint64) {
	if err := v.program.Run(columns, [][]uint64{out}, len(out)); err != nil {
		panic("BUG: a program without checks failed: " + err.Error())
	}
}

// failed turns a failing check into the run-time error of op.
func failed(c ir.EvalContext, op *ir.Op, err *scalar.CheckError) error {
	details := make([]int64, len(err.Details))
	for i, d := range err.Details {
		details[i] = signExtend(err.DetailTypes[i], d)
	}
	return c.Fail(op, err.Kind, details...)
}

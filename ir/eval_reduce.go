package ir

import (
	"math"

	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Order of reductions]
//
// This file is the specification of language.md section 9. Let x[0..n) be the reduced elements that make
// one element of the result, in row-major order of the reduced axes.
//
//   - If the last axis of the operand is among them, "Lanes": x is cut into chunks of 4096. In a chunk,
//     lane j of 128 starts as x[j] and adds x[j+128], x[j+256], ... in order. Then the lanes fold in
//     halves: lane[j] += lane[j+w] for w = 64, 32, ..., 1, where lanes that got no element are skipped.
//   - Otherwise "Columns": x is cut into chunks of 256, and a chunk is added from left to right.
//   - The results of the chunks are reduced by Lanes, again and again until one is left.
//
// A lane starts with its first element and not with 0, so that the sum of -0.0 is -0.0. The sum of nothing
// is +0, the product 1. The order only matters for sums and products of floats; all other reductions
// give the same bits in any order, and take the same path here.
const (
	laneCount   = 128
	laneChunk   = 4096
	columnChunk = 256
)

// byLanes reduces x, which has at least one element.
func byLanes(add vector, x []uint64) uint64 {
	for len(x) > 1 {
		var results []uint64
		for len(x) > 0 {
			n := min(laneChunk, len(x))
			results = append(results, laneSum(add, x[:n]))
			x = x[n:]
		}
		x = results
	}
	return x[0]
}

// laneSum reduces one chunk.
func laneSum(add vector, chunk []uint64) uint64 {
	n := min(laneCount, len(chunk))
	lanes := append([]uint64{}, chunk[:n]...)
	for chunk = chunk[n:]; len(chunk) > 0; chunk = chunk[n:] {
		n = min(laneCount, len(chunk))
		add.into(lanes[:n], lanes[:n], chunk[:n])
	}
	for w := laneCount / 2; w >= 1; w /= 2 {
		if present := len(lanes) - w; present > 0 {
			add.into(lanes[:present], lanes[:present], lanes[w:])
			lanes = lanes[:w]
		}
	}
	return lanes[0]
}

// byColumns reduces rows, at least one: rows[i][r] is x[i] of result r. All results are made side by side.
func byColumns(add vector, rows [][]uint64) []uint64 {
	var chunks [][]uint64
	for len(rows) > 0 {
		n := min(columnChunk, len(rows))
		sum := rows[0]
		for _, row := range rows[1:n] {
			sum = add.must(sum, row)
		}
		chunks = append(chunks, sum)
		rows = rows[n:]
	}
	out := make([]uint64, len(chunks[0]))
	for r := range out {
		x := make([]uint64, len(chunks))
		for i := range chunks {
			x[i] = chunks[i][r]
		}
		out[r] = byLanes(add, x)
	}
	return out
}

// combine is the scalar program that joins two elements.
func (k ReduceKind) combine(e scalar.Emitter, x, y scalar.Ref) scalar.Ref {
	switch k {
	case ReduceSum:
		return e.Add(x, y)
	case ReduceProd:
		return e.Mul(x, y)
	case ReduceMax:
		return e.Max(x, y)
	case ReduceMin:
		return e.Min(x, y)
	case ReduceAnd:
		return e.And(x, y)
	case ReduceOr:
		return e.Or(x, y)
	}
	panic("BUG: elements are not combined by " + k.String())
}

// Identity gives the bits of the reduction of nothing in elements of type t, and whether there is one.
func (k ReduceKind) Identity(t types.DType) (uint64, bool) {
	switch k {
	case ReduceSum, ReduceOr:
		return 0, true
	case ReduceProd, ReduceAnd:
		return scalar.IntBits(t, 1), true
	}
	return 0, false
}

func evalReduce(kind ReduceKind) func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	return func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
		x, axes := args[0], op.Ints("axes")
		out := NewArray(x.DType, extents(c, op.Type().Shape)...)
		if len(out.Bits) == 0 {
			return one(out)
		}
		if len(x.Bits) == 0 {
			identity, ok := kind.Identity(x.DType)
			if !ok {
				return nil, c.Fail(op, scalar.CheckEmpty)
			}
			for i := range out.Bits {
				out.Bits[i] = identity
			}
			return one(out)
		}
		add := vectorOf(op.Def, x.DType, 2, func(e scalar.Emitter, x []scalar.Ref) scalar.Ref {
			return kind.combine(e, x[0], x[1])
		})
		if len(axes) > 0 && hasAxis(axes, len(x.Shape)-1) {
			for r, row := range reducedInner(x, axes, len(out.Bits)) {
				out.Bits[r] = byLanes(add, row)
			}
			return one(out)
		}
		copy(out.Bits, byColumns(add, reducedOuter(x, axes, len(out.Bits))))
		return one(out)
	}
}

// reducedInner gives, for each of the results in row-major order, its reduced elements in row-major order.
func reducedInner(x *Array, axes []int64, results int) [][]uint64 {
	all := kept(x, axes)
	order := append(all, axes...)
	return split(reorder(x, order), results)
}

// reducedOuter gives, for each position of the reduced axes in row-major order, the elements of all results
// in row-major order.
func reducedOuter(x *Array, axes []int64, results int) [][]uint64 {
	order := append(append([]int64{}, axes...), kept(x, axes)...)
	return split(reorder(x, order), len(x.Bits)/results)
}

// kept lists the axes of x that are not in axes.
func kept(x *Array, axes []int64) []int64 {
	var out []int64
	for k := range x.Shape {
		if !hasAxis(axes, k) {
			out = append(out, int64(k))
		}
	}
	return out
}

// reorder gives the elements of x in row-major order of its axes as they are listed.
func reorder(x *Array, order []int64) []uint64 {
	inPlace := true
	from := rowMajor(x.Shape)
	shape, strides := make([]int64, len(order)), make([]int64, len(order))
	for k, a := range order {
		shape[k], strides[k] = x.Shape[a], from[a]
		inPlace = inPlace && a == int64(k)
	}
	if inPlace {
		return x.Bits
	}
	return gather(x, shape, 0, strides).Bits
}

// split cuts x into n rows of equal length.
func split(x []uint64, n int) [][]uint64 {
	rows := make([][]uint64, n)
	for i := range rows {
		rows[i] = x[i*len(x)/n : (i+1)*len(x)/n]
	}
	return rows
}

// evalLeftFold is x0 - x1 - x2 ... and its like, strictly from the left.
func evalLeftFold(f func(e scalar.Emitter, x, y scalar.Ref) scalar.Ref) func(c EvalContext, op *Op,
	args []*Array) ([]*Array, error) {
	return func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
		x := args[0]
		out := NewArray(x.DType, extents(c, op.Type().Shape)...)
		if len(out.Bits) == 0 {
			return one(out)
		}
		if len(x.Bits) == 0 {
			return nil, c.Fail(op, scalar.CheckEmpty)
		}
		step := vectorOf(op.Def, x.DType, 2, func(e scalar.Emitter, x []scalar.Ref) scalar.Ref {
			return f(e, x[0], x[1])
		})
		rows := reducedOuter(x, op.Ints("axes"), len(out.Bits))
		acc := rows[0]
		for _, row := range rows[1:] {
			var err *scalar.CheckError
			if acc, err = step.apply(acc, row); err != nil {
				return nil, failed(c, op, err)
			}
		}
		copy(out.Bits, acc)
		return one(out)
	}
}

func evalPosition(kind ReduceKind) func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
	return func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
		x := args[0]
		out := NewArray(types.I32, extents(c, op.Type().Shape)...)
		if len(out.Bits) == 0 {
			return one(out)
		}
		if len(x.Bits) == 0 {
			return nil, c.Fail(op, scalar.CheckEmpty)
		}
		for r, row := range reducedInner(x, op.ReducedAxes(), len(out.Bits)) {
			out.Bits[r] = scalar.IntBits(types.I32, firstExtreme(x.DType, row, kind == ReduceArgMax))
		}
		return one(out)
	}
}

// firstExtreme is the position of the first NaN or, if there is none, of the first maximum or minimum.
func firstExtreme(t types.DType, x []uint64, largest bool) int64 {
	best := 0
	for i, v := range x {
		switch {
		case isNaN(t, x[best]):
			return int64(best)
		case isNaN(t, v), largest && less(t, x[best], v), !largest && less(t, v, x[best]):
			best = i
		}
	}
	return int64(best)
}

func isNaN(t types.DType, x uint64) bool { return t.IsFloat() && math.IsNaN(floatValue(t, x)) }

func less(t types.DType, x, y uint64) bool {
	switch {
	case t.IsFloat():
		return floatValue(t, x) < floatValue(t, y)
	case t.IsSigned():
		return signExtend(t, x) < signExtend(t, y)
	}
	return x < y
}

// floatValue is the value of a float element; every one is a float64.
func floatValue(t types.DType, x uint64) float64 {
	switch t {
	case types.F16:
		return float64(types.F16Value(uint16(x)))
	case types.BF16:
		return float64(types.BF16Value(uint16(x)))
	case types.F32:
		return float64(math.Float32frombits(uint32(x)))
	}
	return math.Float64frombits(x)
}

package ops

import (
	"healc/ir"
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
	LaneChunk   = 4096
	ColumnChunk = 256
)

// byLanes reduces x, which has at least one element.
func byLanes(add vector, x []uint64) uint64 {
	for len(x) > 1 {
		var results []uint64
		for len(x) > 0 {
			n := min(LaneChunk, len(x))
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
		n := min(ColumnChunk, len(rows))
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

// reducedInner gives, for each of the results in row-major order, its reduced elements in row-major order.
func reducedInner(x *ir.Array, axes []int64, results int) [][]uint64 {
	all := kept(x, axes)
	order := append(all, axes...)
	return split(reorder(x, order), results)
}

// reducedOuter gives, for each position of the reduced axes in row-major order, the elements of all results
// in row-major order.
func reducedOuter(x *ir.Array, axes []int64, results int) [][]uint64 {
	order := append(append([]int64{}, axes...), kept(x, axes)...)
	return split(reorder(x, order), len(x.Bits)/results)
}

// kept lists the axes of x that are not in axes.
func kept(x *ir.Array, axes []int64) []int64 {
	var out []int64
	for k := range x.Shape {
		if !hasAxis(axes, k) {
			out = append(out, int64(k))
		}
	}
	return out
}

// reorder gives the elements of x in row-major order of its axes as they are listed.
func reorder(x *ir.Array, order []int64) []uint64 {
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

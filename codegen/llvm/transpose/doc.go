// Package transpose writes what goes across the order of memory: kernels with a transposed operand by tiles,
// sequential loops along rows by squares that are transposed in registers, interleaved stores to a short last axis, and
// reductions and loops along rows whose operands are brought in order first.
package transpose

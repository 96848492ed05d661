// Package matmul writes kernels that are matrix products in tiles, as their schedules say: packing, panels, a tile in
// registers, products of a matrix and a vector, widening products of narrow integers. Every element stays one chain
// over k, whatever the tiles. See Note [Matrix products].
package matmul

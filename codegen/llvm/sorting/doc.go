// Package sorting writes kernel.Sort for processors that put the chosen elements of a vector together: quicksort, by
// vectors, down to parts that networks sort in registers.
package sorting

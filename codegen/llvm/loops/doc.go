// Package loops writes parallel and sequential loops, in vectors along an axis, with tails, non-temporal stores and
// prefetching, and branches.
//
// Conditions that are the same for all iterations are taken before the loops (unswitching). Ranges are cut where
// conditions on the position change (index-set splitting). Rows that share operands go side by side (unroll and jam).
// Loops over elements of which a part changes in place go over that part (windows).
// A short last axis is made one with the axis before it (collapsing). Rare arms are put off to a check behind some
// vectors (speculation). Reductions and forms of whole kernels are written by packages that import this one.
package loops

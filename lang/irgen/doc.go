// Package irgen writes a checked program down as tensor IR. It decides nothing and reports no user
// errors: names, types, broadcasts and literals were settled by lang/check, so whatever does not fit the
// op table here is a bug of the checker and panics.
//
// In: *tree.Program. Out: *ir.Module, one function for each function of the source, in source order.
package irgen

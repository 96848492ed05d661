// Package infer types declarations, statements and expressions. What is in it calls each other: an expression has
// blocks, calls and patterns in it, a call of a function with type parameters types the head of an instance, an extent
// may be the value of a constant. What does not belong to that circle is typed by packages above, which Language names:
// the functions of the language, expressions with signs of their own, assignments, and functions of functions.
//
// expr.go dispatches on expressions. heads.go types heads of functions, typeexpr.go and dims.go type and shape
// expressions, consts.go constants; literals.go has the rules for literals without a suffix, control.go, match.go and
// returns.go are blocks and choices, calls.go binds arguments and shape parameters, generics.go and tupleparams.go make
// instances of functions with type parameters.
package infer

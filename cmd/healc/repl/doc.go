// Package repl is an interactive session: a list of inputs, each a declaration, statements or an
// expression. It knows nothing of terminals; package cli reads the lines and prints the errors.
//
// Note [Session]. Every input is compiled as a program of its own: the declarations so far, and one
// function whose parameters are the variables of the session and whose body is the input.
//
//	heal> let x = [1.0, 2.0]       @io fn __input() -> f32[2] = { let x = [1.0, 2.0]; (x) }
//	heal> x * 2.0                  @io fn __input(x: f32[2]) -> f32[2] = { let __value = x * 2.0; (__value) }
//
// So a variable is computed once, effects happen once, and the language needs no second meaning for
// sessions. The types of the results come from a first check, in which the function returns nothing.
package repl

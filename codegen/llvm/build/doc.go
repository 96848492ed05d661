// Package build has the types, constants and shuffle masks of LLVM IR that all of code generation shares, over llir:
// how an element type stands in registers and in memory, vectors of it, names of intrinsics; and it prints modules. It
// knows no kernel.
package build

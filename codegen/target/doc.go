// Package target describes the processors that code is made for: the registers, the instructions and the caches that
// decide how a kernel is written. A Machine never changes a result.
//
// In: a codegen.Target, the names of a processor. Out: a Machine. Features and cache sizes are asked of this machine
// where the target is this machine, and of a table of processors otherwise. LLVM is not asked, so that text can be
// generated while its library is opened.
package target

// Package passes rewrites modules of the tensor IR: the Pass type, the manager that runs a list of passes
// with verification, timing, printing and remarks, the pipelines, and the small passes, one file each.
// The large ones are packages of their own (passes/fusion, passes/bufferize), which pipelines.go wraps.
//
// In and out: *ir.Module, changed in place. A pass changes how a program computes, never what: the
// interpreter gives the same bits, output and run-time errors before and after.
package passes

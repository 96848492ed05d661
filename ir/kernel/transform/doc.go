// Package transform has the passes over kernel IR: each rewrites one kernel, and neither the tensor operations that it
// came from nor the plan that launches it are seen.
//
// In and out: *kernel.Kernel, changed in place. A pass changes how a kernel computes, never what: its outputs have the
// same bits, which the tests of this package check with ir/kernel/keval. Parameters keep their names, and those that
// are buffers their order, so that callers find the buffer of each again; only deadparams takes some away, and only
// local ones are added.
//
// The table Passes says which passes there are, in which order they run, and why. passes/bufferize runs the stage Build
// for every kernel that it has lowered, and Planned when the plan of the program is complete.
//
// A back end calls some functions itself, at points of code generation: HoistInvariants, TakeArm, Specialise,
// MergeBodies, StageOperands and StageRows. They leave their operand as it is, and return a module, a body or
// reductions; tests make whole kernels of these.
//
// To add a pass:
//
//  1. Write it in a file of its own as a function `func X(k *kernel.Kernel)`, with the kernel before and after in its
//     comment. kernel.Visitor and kernel.Each walk bodies; DeadCode and Renumber tidy up what was rewritten.
//  2. Give it a row in Passes, at the place where it has to run, with the reason. A pass that only one back end wants
//     gets a Stage of its own, which the back end runs.
//  3. Add testdata/NAME_*.txtar: a kernel that it changes, with sizes just large enough, and one with the nearest case
//     that it leaves alone. The tests demand one of each for every row of the table, and run both with keval.
package transform

// Package machine is the machine that translated PTX runs on: a device with memory, and blocks, warps and lanes that
// execute operations. Every state space, barriers, and warps that diverge behave as the PTX ISA says, and what it
// leaves undefined is reported as a Fault instead of done: races, divergent barriers, uninitialised reads, accesses out
// of bounds.
//
// Package ptxsim translates a module into operations (Op), each with a Step that computes for the lanes of a warp at
// once. A Step sees the registers of the frame that runs as Warp.Values and Warp.Pred, and reaches memory by
// Warp.Access, which checks. Where lanes go is for the machine alone: a branch says its target, and where its ways meet
// (Note [Divergence]).
//
// Source of all semantics: NVIDIA, PTX ISA, versions 6.0 to 8.4.
package machine

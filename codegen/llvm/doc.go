// Package llvm translates kernel IR into LLVM IR (built with llir) and, through libllvm, into machine
// code for the CPU.
//
// Vector code is written here as LLVM vector types, not left to LLVM's vectorizer, so that the order of
// section 9 and the width are ours. One walk over a kernel body serves both forms: a scalar is either
// uniform (one value) or wide (a vector with one value for each iteration of the vectorised axis), and
// an instruction is wide as soon as one operand is. See Note [Which axis is vectorised] in plan.go.
//
// In: *kernel.Module. Out: LLVM IR text, assembly, or an ELF object with one C function a kernel
// (runtime/abi). The package never sees a tensor operation.
package llvm

// Package llvm translates kernel IR into LLVM IR (built with llir) and, through libllvm, into machine code for the CPU.
// It is the face of the packages below it: kernelforms.go has the table of the forms in which kernels are written.
//
// Vector code is written as LLVM vector types, not left to LLVM's vectorizer, so that the order that the language fixes
// and the width are ours. See Note [Which axis is vectorised] in ir/kernel/analysis.
//
// In: *kernel.Module. Out: LLVM IR text, assembly, or an ELF object with one C function a kernel (runtime/abi). The
// package never sees a tensor operation.
package llvm

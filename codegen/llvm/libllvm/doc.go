// Package libllvm is the only binding to libLLVM. It takes LLVM IR as text and gives back machine
// code (an ELF object), assembly or optimised IR, so no other package knows an LLVM type.
//
// The library is opened at run time with dlopen, through purego and without cgo; only the stable C
// API is used. Open finds versions 15 to 22, 19 first, or what HEAL_LIBLLVM names; when there is none
// the error is a *MissingError that says which package to install.
//
// Every Compile call has an LLVM context of its own, so calls may run at the same time. LLVM reports
// some failures by a fatal error that would end the process; they come back as a *CompileError too
// (see Note [Fatal errors] in diagnose.go). It imports nothing of the project.
package libllvm

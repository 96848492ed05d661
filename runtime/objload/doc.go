// Package objload maps a relocatable ELF object, as LLVM writes it, into executable memory and calls its
// functions. Machine code from the cache or from an ahead-of-time package so runs in a process that
// never opens libLLVM.
//
// In comes an ELF64 object for this machine (x86-64 or AArch64) as bytes, out an Image with the addresses
// of its symbols. The work has three steps, each in a file: parse.go checks the object and copies out what is
// needed, layout.go and reloc_*.go give every section a place and apply the relocations, image.go maps the
// result. Objects are not trusted to be well formed: whatever the bytes are, Load returns an error or an
// image, and writes nowhere but into its own memory. It does trust the machine code inside, as one trusts a
// program.
//
// A kernel that runs can be stopped from outside, at no cost to its code (Note [Stopping]).
//
// It never links several objects, registers no unwind tables (Options.Inspect keeps what others want for that),
// and runs no constructors. Thread-local variables, common symbols and IFUNCs are refused.
package objload

// Package explore is `healc explore`: a page that shows what became of each line of a program, in every form up to
// machine code.
//
// data.go has what the page shows, as data: each line of each form with the places of the source that it comes from.
// build.go makes it from a program, and listing.go the code of kernels by lines. page.go writes it as one file,
// server.go serves it on this machine, and reads the program again when it changes. The page itself, in page/, is plain
// HTML, CSS and JavaScript.
//
// Note [Places of lines]. A line has the numbers of spans, and a span that came into its function by a call has the
// number of that call's. In code, what belongs to no operation, such as the control of a loop, has no span: then the
// page shows it with its kernel. An operation may have no code of its own, where it only says which element another one
// reads, or where LLVM has found its value otherwise: then the page shows it with the kernels that it went into.
package explore

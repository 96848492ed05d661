// Package heal compiles programs written in Heal, a language for computing with tensors, and runs them from Go.
//
// A source is compiled into a Module, whose functions are called with tensors:
//
//	m, err := heal.Compile("fn double[N](x: f32[N]) -> f32[N] = x * 2.0", heal.Options{})
//	f, err := m.Func("double")
//	y, err := f.Call(ctx, heal.FromSlice([]float32{1, 2, 3}))
//	v, err := heal.Slice[float32](y) // 2, 4, 6, without a copy
//
// Compile parses and types the source. Machine code is made when a function is called with a shape for the first time,
// and is kept for the next calls with that shape, as far as Options.MaxShapes and MaxCode let it; a function that is
// called with many shapes has code for any shape, too, and compiles for those alone with which it is called often.
// Options.Cache keeps code for the next process. The code is made by libLLVM, which is loaded when it is needed.
// Without it the backend Interp runs the same programs, slowly.
//
// # Results
//
// Results have the same bits on every backend, on every processor and for any number of threads. The manual of the
// language, docs/language.md, says which bits these are.
//
// # Memory
//
// Every tensor that this package returns belongs to the caller, who ends it with Close. Arguments stay the caller's.
// Module.Close frees the machine code and the threads of a module; its functions cannot be called afterwards. Tensors
// outlive the module that computed them. Both can be closed while calls run, as where a server takes a new program: a
// module waits for its calls, and a tensor's memory stays until the calls that have it end. What a later call gets is
// ErrClosed or ErrTensorClosed, by errors.Is.
//
// # Goroutines
//
// A Module and its functions may be used by several goroutines at once. A call uses the threads of its module.
//
// # Programs of strangers
//
// Options.Sandbox compiles and runs a module in a process that has given up what a program does not need.
// Options.MaxSteps, Options.MaxMemory and the context of a call bound what it takes, with a sandbox and without one.
//
// # Schedules that were measured
//
// Options.Tuned is a file that `healc tune f.heal` wrote: which schedules suit the kernels of a program on a processor.
// No result depends on it.
//
// # Packages beside this one
//
// Package runtime/tensor has everything about tensors: views, conversions, printing. Package runtime/tensorfile reads
// and writes files of them, runtime/zarr folders of Zarr. Package runtime/arrow passes them to other libraries of the
// process, by the C Data Interface of Arrow. runtime/memory has what they lie in. Package nn trains programs. Package
// transcript reads execution transcripts. lang/diag and lang/types have the messages of the compiler and the types of
// the language. How the compiler works inside is described in ARCHITECTURE.md.
package heal

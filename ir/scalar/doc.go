// Package scalar has the fixed, small set of scalar instructions that everything is made of. A
// pointwise operation, a transcendental function's expansion, the body of a kernel: each is a list of
// these instructions. The interpreter runs them (Compile and Program.Run over columns, Eval for one element),
// the back ends translate them one by one, and because every instruction has exactly one result bit for bit,
// so has every program.
//
// Emitter and Recorder build a Func; package elementary expands the functions of language.md section 6 and package
// modular computes modulo a number, both with an Emitter.
// Func.String and ParseFunc are its text form, Verify checks it.
//
// A new operation never needs a new instruction here. It imports only lang/types.
package scalar

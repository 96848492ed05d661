// Package scalar has the fixed, small set of scalar instructions that everything is made of. A
// pointwise operation, a transcendental function's expansion, the body of a kernel: each is a list of
// these instructions. The interpreter runs them (Eval), the back ends translate them one by one, and
// because every instruction has exactly one result bit for bit, so has every program.
//
// A new operation never needs a new instruction here. It imports only lang/types.
package scalar

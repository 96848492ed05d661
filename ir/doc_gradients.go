// # Gradients
//
// grad(f) and its like become the operations vjp and jvp, whose region is f. They are defined by simpler operations,
// as mean is (Expand), so that only the pass expand and the interpreter meet them. A gradient is fused, planned and
// compiled like anything else.
//
// The rule of an operation (VJP) takes the cotangent of its result and writes the operations that make the cotangents
// of its operands, with a Tape. A rule of an operation with a region writes a vjp of that region, which is expanded
// in turn. Forward mode is reverse mode transposed: it has no rules of its own.
//
//   - A loop keeps the parts of its states that its derivative reads. Where nobody knows how many steps there will
//     be, it keeps some of them and computes the others again (Note [Sparse states]).
//   - The derivative of a scan is a scan.
//   - Only what depends on what is differentiated gets a cotangent.
//   - What checkpoint computes again stands behind the operation barrier, so that cse does not merge it with the
//     first time. The pass barriers removes it afterwards.
//   - Whether a derivative can be taken is tried when the program is checked (CheckGradients).
package ir

// Package ir is the tensor IR: purely functional SSA over tensors with symbolic shapes, what an entry of the table of
// operations is (OpDef), a builder, a text form with its parser, and a verifier. The entries are in ir/ops.
//
// In: the checker's typed program, by way of lang/irgen. Out: modules that passes rewrite and that
// ir/interp evaluates. The package never reads source text and never decides what is fused.
package ir

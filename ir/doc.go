// Package ir is the tensor IR: purely functional SSA over tensors with symbolic shapes, one table of
// operations (OpDef), a builder, a text form with its parser, and a verifier.
//
// In: the checker's typed program, by way of lang/irgen. Out: modules that passes rewrite and that
// ir/interp evaluates. The package never reads source text and never decides what is fused.
package ir

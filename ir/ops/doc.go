// Package ops is the table of operations: one file a family, and in it, next to each other, the entry of an
// operation (ir.OpDef), its type rule, its reference meaning (Eval), its lowering (Element, Rows) and its derivative
// (VJP). Importing the package fills the table that ir.Lookup and ir.Ops read.
//
// In: nothing but what the rules are asked. Out: operations for the checker, the builder, passes and the interpreter.
// Adding an operation changes no other package of the pipeline: CONTRIBUTING.md has the recipe.
package ops

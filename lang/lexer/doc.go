// Package lexer cuts a source file into tokens and comments.
//
// Tokens is the whole of it: one pass, linear in the file, that reports malformed input as diagnostics
// and goes on. Definition offers the same tokens to participle. The package knows no grammar, with one
// exception: it tells the `@` of an attribute from the operator (see the Attr kind).
package lexer

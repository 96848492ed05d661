// Package ntt writes number theoretic transforms of a row: all stages, several at a time in registers, with residues
// that are reduced late. It computes with words of 64 or 52 bits, halves of words, or doubles, as the modulus and the
// processor allow. docs/modular-theory.md has the bounds.
package ntt

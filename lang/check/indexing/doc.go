// Package indexing types indices, slices and positions (Note [Indexing]), and assignments to variables and to their
// parts.
package indexing

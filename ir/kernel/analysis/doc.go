// Package analysis answers the questions about kernel IR that transformations and code generators ask: whether a body
// can run for several iterations of an axis at once (Analysis), which values differ between them, how many statements
// and instructions a block has, what it reads, stores and checks. It changes nothing.
package analysis

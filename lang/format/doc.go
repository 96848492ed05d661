// Package format prints a source file in the one formatting: four blanks of indentation, lines of at
// most 100 columns where the tokens allow it, the author's blank lines (at most one in a row) and all
// comments kept.
//
// It walks the syntax tree and the tokens of the file together: the tree says how things are laid out,
// the tokens say where the comments are (weave.go). The walk gives a flat list of pieces of text, groups
// and places where a line may break, which is then set in lines (layout.go): a group stands on one line
// if it fits there, else all of its breaks are taken. This is the scheme of Oppen, "Prettyprinting" (1980),
// with sizes computed beforehand since the whole list is there.
//
// Formatting never changes the tree, and formatting twice changes nothing.
package format

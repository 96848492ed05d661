// Package lsp is the language server, by version 3.18 of the protocol: what an editor asks about the files that are
// open in it. Package cli starts it.
//
// Note [Snapshots]. A document is a text that never changes, and what was found in it, which is found when it is first
// asked for. A change of the text makes a new document, and new ones of the files that import it. Messages are read in
// order: a request keeps the documents that there were when it came, and is answered while later messages are read.
package lsp

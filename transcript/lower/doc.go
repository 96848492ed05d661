// Package lower turns execution transcripts into tensor IR.
//
// In: a transcript.Transcript. Out: a Program, one function of IR for each segment (or for each operation), with the
// tensors that go in and come out of each. A transcript writes into tensors that views share; IR has values. So a
// tensor on the device is a storage, whose contents are a value that every write replaces, and a view of it, a chain of
// slices, permutations and reshapes (see view). What nothing needs is not in the functions: a name that is freed
// before anything reads it costs nothing.
//
// Everything that shapes and kinds of arguments can decide is checked here, before anything is compiled: the errors
// are of type *transcript.Error.
package lower

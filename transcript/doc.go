// Package transcript reads execution transcripts: recorded sequences of tensor operations, as the compilers of
// schemes for computing on encrypted data write them for the devices below. docs/transcripts.md describes the format.
//
// In: a JSON file. Out: a Transcript, whose operations have typed arguments and whose tensors are decoded. Nothing is
// known here of what an operation does, or which arguments it takes: transcript/lower turns a Transcript into tensor
// IR, and internal/replay runs it, for the root package.
//
// The input is not trusted. Every length that it claims is compared with the bytes that are there before memory is
// taken, and the pickle inside a torch tensor is read by a machine that knows tensors alone.
package transcript

// Package transcripts holds the tests of execution transcripts: random ones against a plain evaluator with memory,
// strides and big integers, every form of every operation, and malformed files.
package transcripts

//go:build !linux

package cudatest

// thread is one for all where a thread has no number that Go finds: all of them have the same current context.
func thread() int { return 0 }

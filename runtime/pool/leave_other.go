//go:build !linux

package pool

func processor() int32 { return -1 }

// leave does nothing where nobody says which processor runs a thread.
func leave(int32, int) {}

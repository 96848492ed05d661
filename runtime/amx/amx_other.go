//go:build !linux || !amd64

package amx

// Permitted reports that the processor has tiles and that this process may use them.
func Permitted() bool { return false }

//go:build !linux

package memory

// adviseHuge does nothing where the kernel takes no such advice.
func adviseHuge([]byte) {}

//go:build unix && !linux

package runtime

// adviseHuge does nothing where the kernel takes no such advice.
func adviseHuge([]byte) {}

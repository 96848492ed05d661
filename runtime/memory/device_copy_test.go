package memory

import (
	"testing"

	"healc/runtime/device/ptxas"
)

// TestCopyAssembler: NVIDIA's assembler takes the kernel that copies.
func TestCopyAssembler(t *testing.T) {
	texts := map[string]string{}
	for _, elem := range []int64{1, 2, 4, 8} {
		texts[copyEntry(elem)] = copyPTX(elem)
	}
	ptxas.Take(t, texts)
}

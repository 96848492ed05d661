package runtime

import (
	"testing"

	"healc/runtime/device/ptxas"
)

// TestAssembler: NVIDIA's assembler takes the kernels that end loops.
func TestAssembler(t *testing.T) {
	ptxas.Take(t, map[string]string{"judge": judgePTX, "repeat": repeatPTX})
}

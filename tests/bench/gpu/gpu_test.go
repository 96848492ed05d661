package main

import (
	"os"
	"strings"
	"testing"

	heal "healc"
	"healc/codegen/llvm/libllvm"
)

// TestRows: every row runs, at small sizes on the simulator, so that a machine with a device finds nothing broken.
func TestRows(t *testing.T) {
	if _, err := libllvm.Open(); err != nil || testing.Short() {
		t.Skip("not with -short or without libLLVM")
	}
	var out strings.Builder
	if err := bench(&out, heal.PTXSim, 1<<16, "no-python"); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"x * 2.0 + 1.0", "softmax", "layer norm", "x @ y, f32",
		"x @ y, i8", "ntt", "with graphs"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("there is no row of %s in\n%s", want, out.String())
		}
	}
}

// TestWithoutDevice: no device is no failure, and is said.
func TestWithoutDevice(t *testing.T) {
	if _, _, err := heal.Devices(heal.GPU); err == nil {
		t.Skip("there is a device")
	}
	if err := bench(os.Stdout, heal.GPU, 1, ""); err == nil {
		t.Error("it ran without a device")
	}
}

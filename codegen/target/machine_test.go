package target

import (
	"testing"

	"healc/codegen"
)

// TestArchitecture: a target without a triple is of this machine's architecture, whatever processor it names, and a
// triple may have either name of an architecture.
func TestArchitecture(t *testing.T) {
	for _, c := range []struct{ triple, here, want string }{
		{"", "amd64", "amd64"}, {"", "arm64", "arm64"},
		{"aarch64-linux-gnu", "amd64", "arm64"}, {"arm64-apple-darwin", "amd64", "arm64"},
		{"x86_64-linux-gnu", "arm64", "amd64"}, {"amd64-linux-gnu", "arm64", "amd64"},
		{"nvptx64-nvidia-cuda", "amd64", "nvptx64"},
	} {
		if got := architecture(c.triple, c.here); got != c.want {
			t.Errorf("%q on %s is %s, not %s", c.triple, c.here, got, c.want)
		}
	}
	for _, triple := range []string{"aarch64-linux-gnu", "arm64-linux-gnu"} {
		m := MachineOf(codegen.Target{Triple: triple, CPU: "generic"})
		if m.VectorBits != 128 || m.Registers != 32 || m.Profile.Name != "aarch64" {
			t.Errorf("%s: %d bits, %d registers, profile %s", triple, m.VectorBits, m.Registers, m.Profile.Name)
		}
	}
	if m := MachineOf(codegen.Target{Triple: "amd64-linux-gnu", CPU: "x86-64-v4"}); m.VectorBits != 512 {
		t.Errorf("%d bits", m.VectorBits)
	}
}

package llvm

import (
	"testing"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/runtime/amx"
)

// What the processor says of itself has to be what LLVM says of it: code is shaped for the one and compiled for the
// other.
func TestHostMachine(t *testing.T) {
	lib, err := libllvm.Open()
	if err != nil {
		t.Skip(err)
	}
	cpu, features := lib.HostCPU()
	got, want := target.MachineOf(codegen.Target{}), target.MachineOf(codegen.Target{CPU: cpu, Features: features})
	want.L1, want.L2 = got.L1, got.L2 // of another machine they are guessed
	want.By = got.By                  // how the profile was found differs
	if profile.Host().File != "" {    // a measured one is this machine's alone
		want.Profile = got.Profile
	}
	want.ByteTiles, want.HalfTiles = want.ByteTiles && amx.Permitted(), want.HalfTiles && amx.Permitted()
	if got != want {
		t.Errorf("the processor says %+v, LLVM %+v", got, want)
	}
	if codegenHostIsNotX86 {
		return
	}
	for _, off := range []string{"avx512f", "avx512bw", "avx512ifma", "avx512vnni", "avxvnni", "amx-int8", "amx-bf16",
		"avx2", "fma"} {
		got, want := target.MachineOf(codegen.Target{Features: "-" + off}),
			target.MachineOf(codegen.Target{CPU: cpu, Features: features + ",-" + off})
		want.L1, want.L2, want.By = got.L1, got.L2, got.By
		if profile.Host().File != "" {
			want.Profile = got.Profile
		}
		want.ByteTiles, want.HalfTiles = want.ByteTiles && amx.Permitted(), want.HalfTiles && amx.Permitted()
		if got != want {
			t.Errorf("without %s the processor says %+v, LLVM %+v", off, got, want)
		}
	}
}

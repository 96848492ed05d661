package library

import (
	"bytes"
	"debug/elf"
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/llvm"
	"healc/codegen/llvm/aot"
	"healc/codegen/llvm/libllvm"
	"healc/internal/engine"
	"healc/lang/diag"
)

// TestAArch64 makes the objects of a library for another architecture: one level, with NEON instructions.
func TestAArch64(t *testing.T) {
	lib, err := libllvm.Open()
	if err != nil {
		t.Fatal(err)
	}
	const triple = "aarch64-unknown-linux-gnu"
	if !lib.HasTarget(triple) {
		t.Skip("libLLVM has no target AArch64")
	}
	m, err := engine.CompileFile(diag.NewFile("t.heal", parallelSource), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Library("t", []string{"wave", "total"}, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l.Target = codegen.Target{Triple: triple, CPU: "generic"}
	objects, err := aot.Objects(l)
	if err != nil {
		t.Fatal(err)
	}
	if want := 2*2 + 1; len(objects) != want {
		t.Errorf("%d objects, want %d", len(objects), want)
	}
	for i, o := range objects {
		f, err := elf.NewFile(bytes.NewReader(o))
		if err != nil {
			t.Fatal(err)
		}
		if f.Machine != elf.EM_AARCH64 {
			t.Errorf("object %d is for %v", i, f.Machine)
		}
	}
	text, err := llvm.Compile(l.Entries[0].Packed, l.Target, libllvm.Assembly)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(text), "\tfmla\tv"); n < 4 {
		t.Errorf("%d NEON multiply-adds in\n%s", n, text)
	}
}

package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"healc/cmd/healc/driver"
	"healc/codegen/llvm/aot"
	"healc/codegen/llvm/aot/names"
	"healc/internal/engine"
	"healc/lang/diag"
)

// TestPeersFit: every function of rows.heal that glue.c calls is in the library of rows.heal, and the other way round.
func TestPeersFit(t *testing.T) {
	text, err := os.ReadFile("peers/rows.heal")
	if err != nil {
		t.Fatal(err)
	}
	m, err := engine.CompileFile(diag.NewFile("rows.heal", string(text)), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	entries, err := driver.Entries(m.Program(), "")
	if err != nil {
		t.Fatal(err)
	}
	l, err := m.Library("rows", entries, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	header := aot.Header(l)
	glue, err := os.ReadFile("peers/glue.c")
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{}
	for _, name := range regexp.MustCompile(`\brows_\w+`).FindAllString(string(glue), -1) {
		called[name] = true
		if !strings.Contains(header, "int32_t "+name+"(") {
			t.Errorf("glue.c calls %s, which rows.heal does not have", name)
		}
	}
	for _, e := range l.Entries {
		if name := names.C("rows", e.Name); !called[name] {
			t.Errorf("%s is in rows.heal, and glue.c does not call it", name)
		}
	}
}

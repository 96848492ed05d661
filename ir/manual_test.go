package ir_test

import (
	"bytes"
	"flag"
	"os"
	"strings"
	"testing"

	"healc/ir"
	"healc/ir/ops"
)

var update = flag.Bool("update", false, "rewrite golden files")

// TestManual compares OPS.md with the table.
func TestManual(t *testing.T) {
	var b bytes.Buffer
	if err := ir.WriteManual(&b); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile("OPS.md", b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("OPS.md")
	if err != nil || !bytes.Equal(want, b.Bytes()) {
		t.Errorf("OPS.md is not what the table says (%v); run go test ./ir -run Manual -update", err)
	}
}

// TestTable checks what every entry has to have.
func TestTable(t *testing.T) {
	spellings := map[string]string{}
	for _, d := range ir.Ops() {
		if d.Example == "" && d.Class != ir.Fused {
			t.Errorf("%s has no example", d.Name)
		}
		if !strings.HasSuffix(d.Summary, ".") {
			t.Errorf("the summary of %s is no sentence: %q", d.Name, d.Summary)
		}
		if d.Surface != "" {
			if other := spellings[d.Surface]; other != "" {
				t.Errorf("%s and %s are both written %s", d.Name, other, d.Surface)
			}
			spellings[d.Surface] = d.Name
		}
		pulled := d.Class != ir.Host && d.Class != ir.Fused || d == ops.Call
		if pulled && d.Scalar == nil && d.Element == nil && d.Expand == nil {
			t.Errorf("%s cannot stand in a kernel", d.Name)
		}
		for i, c := range d.Constraints {
			if c.Name != "C"+string(rune('1'+i)) {
				t.Errorf("constraint %d of %s is called %s", i+1, d.Name, c.Name)
			}
		}
		if d.Traits.Has(ir.View) && d.Class != ir.Reindex {
			t.Errorf("%s is a view and no Reindex", d.Name)
		}
	}
}

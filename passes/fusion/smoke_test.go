package fusion_test

import (
	"bytes"
	"os"
	"testing"

	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/passes/bufferize"
	"healc/passes/fusion"
)

func TestSmoke(t *testing.T) {
	text, err := os.ReadFile(os.Getenv("SMOKE"))
	if err != nil {
		t.Skip()
	}
	m, errs := ir.Parse(diag.NewFile("smoke.ir", string(text)))
	if m == nil {
		t.Fatal(errs)
	}
	if err := fusion.Fuse(m, t.Logf); err != nil {
		t.Fatal(err)
	}
	t.Log(m)
	for _, f := range m.Funcs {
		k, err := bufferize.Lower(m, f.Name, bufferize.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		kernel.Print(&b, k)
		t.Log(b.String())
		if err := kernel.Verify(k); err != nil {
			t.Fatal(err)
		}
	}
}

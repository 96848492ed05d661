package tests

import (
	"testing"

	"healc/ir"
	"healc/ir/interp"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/irgen"
	"healc/lang/parser"
)

// TestExamples runs the example of every operation: it holds, for every element.
func TestExamples(t *testing.T) {
	for _, x := range ir.Examples() {
		t.Run(x.Op.Name, func(t *testing.T) {
			file, list := parser.Parse(diag.NewFile(x.Op.Name+".heal", x.Program()))
			if list.HasErrors() {
				t.Fatalf("%s\n%s", x.Program(), list.Error())
			}
			program, list := check.Check(file)
			if list.HasErrors() {
				t.Fatalf("%s\n%s", x.Program(), list.Error())
			}
			m := irgen.Generate(program)
			if err := ir.Verify(m); err != nil {
				t.Fatalf("%s\n%v", x.Program(), err)
			}
			got, err := interp.Run(m, "example", nil, &interp.MemSystem{})
			if err != nil {
				t.Fatalf("%s\n%v", x.Program(), err)
			}
			if got[0].Bits[0] != 1 {
				t.Errorf("does not hold: %s", x.Expr)
			}
		})
	}
}

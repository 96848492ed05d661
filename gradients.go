package heal

import (
	"healc/ir"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/irgen"
)

// checkGradients tries the derivatives of a program: whether one can be taken shows in the operations.
func checkGradients(p *check.Program) error {
	if !p.Gradients {
		return nil
	}
	list := &diag.List{}
	for _, e := range ir.CheckGradients(irgen.Generate(p)) {
		d := &diag.Diagnostic{Code: diag.CodeIntegerPath, Message: e.Message, Primary: diag.Label{Span: e.Span}}
		if e.Unsupported {
			d.Code, d.Message = diag.CodeUnsupported, e.Message+" is not supported yet"
		} else {
			d.Primary.Text = "here it becomes an integer"
			d.Related = []diag.Label{{Span: e.Back, Text: "here it is a float again"}}
			d.Help = "`stop_gradient(x)` says that a value is meant as a constant; `floor`, `round` and `trunc` stay with floats"
		}
		list.Add(d)
	}
	list.Sort()
	return list.Err()
}

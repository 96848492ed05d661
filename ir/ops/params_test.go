package ops_test

import (
	"testing"

	"healc/ir"
	_ "healc/ir/ops"
)

// attrKinds are the attributes that arguments of a kind can become.
var attrKinds = map[ir.ParamKind][]ir.AttrKind{
	ir.ParamAxis:    {ir.AttrInt},
	ir.ParamAnyAxis: {ir.AttrInt},
	ir.ParamAxes:    {ir.AttrInts},
	ir.ParamInt:     {ir.AttrInt},
	ir.ParamFlag:    {ir.AttrFlag},
	ir.ParamShape:   {ir.AttrDims},
	ir.ParamString:  {ir.AttrStr},
}

// composed are the operations whose calls are made of more operations: some of their arguments are those of others.
var composed = map[string]bool{"modmul_axis_sum": true}

// TestParams: an argument that is no operand becomes an attribute of the operation, of a fitting kind, and there are as
// many operands as the operation has. Optional arguments are the last ones.
func TestParams(t *testing.T) {
	for _, d := range ir.Ops() {
		operands, variadic, optional := 0, false, false
		for _, p := range d.Params {
			if optional && !p.Optional {
				t.Errorf("%s: argument %s stands behind one that may be left out", d.Name, p.Name)
			}
			optional = optional || p.Optional
			switch p.Kind {
			case ir.ParamOperand, ir.ParamScalar:
				operands++
				continue
			case ir.ParamOperands, ir.ParamValue, ir.ParamFunction, ir.ParamRest:
				variadic = true
				continue
			}
			name := p.Attr
			if name == "" {
				name = p.Name
			}
			if !composed[d.Name] && !hasAttr(d, name, attrKinds[p.Kind]) {
				t.Errorf("%s: argument %s becomes no attribute that the entry has", d.Name, p.Name)
			}
		}
		if d.Params != nil && !variadic && !composed[d.Name] && d.Arity != operands {
			t.Errorf("%s: %d arguments are operands, and it has %d", d.Name, operands, d.Arity)
		}
	}
}

func hasAttr(d *ir.OpDef, name string, kinds []ir.AttrKind) bool {
	for _, a := range d.Attrs {
		for _, k := range kinds {
			if a.Name == name && a.Kind == k {
				return true
			}
		}
	}
	return false
}

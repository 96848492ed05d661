package ast_test

import (
	"testing"

	"healc/lang/ast"
	"healc/lang/diag"
)

func name(s string, at int) *ast.Name {
	return &ast.Name{At: ast.At{Loc: diag.Span{Start: at, End: at + len(s)}}, Name: s}
}

func TestDump(t *testing.T) {
	x := &ast.Let{
		Pattern: &ast.NamePattern{Name: "y"},
		Value:   &ast.Lit{Kind: ast.FloatLit, Raw: "1.0_f64", Value: "1.0", Suffix: "f64"},
		Body: &ast.Call{Fun: name("f", 0), Args: []ast.Arg{
			{Name: &ast.Ident{Name: "axis"}, Value: name("y", 3)}, {Value: &ast.Range{Inclusive: true}},
		}},
	}
	want := `Let
  Pattern: NamePattern Name="y"
  Value: Lit Kind=Float Raw="1.0_f64" Value="1.0" Suffix="f64"
  Body: Call
    Fun: Name Name="f"
    Args: Arg Name=axis
      Value: Name Name="y"
    Args: Arg
      Value: Range Inclusive
`
	if got := ast.Dump(x); got != want {
		t.Errorf("got:\n%swant:\n%s", got, want)
	}
}

func TestEqual(t *testing.T) {
	sum := func(op string, x, y ast.Expr) ast.Expr { return &ast.Binary{Op: op, X: x, Y: y} }
	base := sum("+", name("a", 0), name("b", 4))
	for _, c := range []struct {
		other ast.Node
		want  bool
	}{
		{sum("+", name("a", 7), name("b", 9)), true},
		{sum("-", name("a", 0), name("b", 4)), false},
		{sum("+", name("a", 0), name("c", 4)), false},
		{sum("+", name("a", 0), nil), false},
		{sum("+", name("a", 0), &ast.Paren{X: name("b", 4)}), false},
		{name("a", 0), false},
	} {
		if got := ast.Equal(base, c.other); got != c.want {
			t.Errorf("Equal is %t for\n%s", got, ast.Dump(c.other))
		}
		if same := ast.Dump(base) == ast.Dump(c.other); same != c.want {
			t.Errorf("Dump agrees: %t for\n%s", same, ast.Dump(c.other))
		}
	}
	if !ast.Equal(&ast.Tuple{}, &ast.Tuple{Elems: []ast.Expr{}}) {
		t.Error("empty lists differ")
	}
	if ast.Equal(&ast.Tuple{}, &ast.Tuple{Elems: []ast.Expr{base}}) {
		t.Error("lists of different lengths are equal")
	}
}

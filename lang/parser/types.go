package parser

import (
	"healc/lang/ast"
	"healc/lang/diag"
)

// typeExpr parses a type. The words after the brackets, `in LAYOUT`, `on PLACE` and `sharded(AXIS)`, belong to it
// only where suffix is set: the type of a cast has none, so that `let y = x as f32 in y` reads as it looks.
func (p *parser) typeExpr(suffix bool) ast.TypeExpr {
	defer p.nest()()
	start := p.start()
	if p.at("(") {
		t := &ast.TupleType{Elems: []ast.TypeExpr{}}
		p.items(")", func() { t.Elems = append(t.Elems, p.typeExpr(true)) })
		t.At = p.from(start)
		if len(t.Elems) == 1 {
			p.oneElement(t.Loc)
		}
		return t
	}
	if p.at("&") {
		p.unexpected("a type").Help = "`&mut` stands only before the type of a parameter"
	}
	t := &ast.TensorType{Elem: p.ident("a type")}
	if p.at("[") {
		t.Square, t.Dims = true, []ast.Expr{}
		p.items("]", func() { t.Dims = append(t.Dims, p.expr()) })
	}
	if suffix && p.at("in") {
		p.next()
		layout := p.ident("a layout: `row_major`, `col_major` or `strided`")
		t.Layout = &layout
	}
	if suffix && p.at("on") {
		p.next()
		place := p.ident("a place: `host`, `device` or `unified`")
		t.Place = &place
	}
	if suffix && p.at("sharded") {
		t.Sharded = p.sharded()
	}
	t.At = p.from(start)
	return t
}

// sharded parses `sharded(AXIS)`, which ends a type.
func (p *parser) sharded() *ast.Sharded {
	start := p.start()
	p.next()
	open := p.tok()
	p.expect("(")
	s := &ast.Sharded{Axis: p.expr()}
	p.closing(open, ")", "`)`")
	s.At = p.from(start)
	switch word := p.tok().text; word {
	case "sharded":
		p.fail(diag.CodeUnexpected, p.here(), "a type says `sharded` once").Help =
			"a tensor is cut along one axis, and is whole along the others"
	case "in", "on":
		p.fail(diag.CodeUnexpected, p.here(), "`%s` stands before `sharded`", word).Help =
			"the words of a type are `in LAYOUT`, `on PLACE` and `sharded(AXIS)`, in this order"
	}
	return s
}

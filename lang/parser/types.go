package parser

import "healc/lang/ast"

// typeExpr parses a type. The words after the brackets, `in LAYOUT` and `on PLACE`, belong to it only
// where suffix is set: the type of a cast has none, so that `let y = x as f32 in y` reads as it looks.
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
	t.At = p.from(start)
	return t
}

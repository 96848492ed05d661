package sources

import (
	"fmt"

	"healc/lang/types"
)

// body is a block with statements and a value of a type.
func (g *gen) body(t types.Type, statements int) *Node {
	n := len(g.vars)
	text, kids := "{\n"+g.start, []any{}
	g.start = ""
	for range statements {
		s := g.statement()
		if s != nil {
			text += "$"
			kids = append(kids, s)
		}
	}
	value := g.value(t)
	g.vars = g.vars[:n:n]
	return ex(t, text+"    $\n}", append(kids, value)...)
}

// value is what a function of type t returns.
func (g *gen) value(t types.Type) *Node {
	if x, ok := t.(types.Tensor); ok {
		return g.arrange(x, g.expr(bare(x), 4))
	}
	return g.expr(t, 4)
}

// statement is a declaration or changes a variable; nil where there is none to change.
func (g *gen) statement() *Node {
	g.fuel += 4
	if g.chance(2) {
		return g.declare()
	}
	var list []variable
	for _, v := range g.vars {
		if v.mut {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return g.declare()
	}
	v := list[g.r.IntN(len(list))]
	if g.chance(5) { // in an arm
		if s := g.assign(v); s != nil {
			g.used["if statement"]++
			if g.chance(2) {
				if other := g.assign(v); other != nil {
					return node(stmt, nil, "    if $ {\n    $    } else {\n    $    };\n", g.cond(2), s, other)
				}
			}
			return node(stmt, nil, "    if $ {\n    $    };\n", g.cond(2), s)
		}
	}
	return g.assign(v)
}

func (g *gen) declare() *Node {
	t := g.someType()
	if v, ok := t.(types.Tensor); ok && g.chance(2) {
		x := g.expr(t, 3)
		name := g.name()
		g.vars = append(g.vars, variable{name: name, typ: v, mut: true})
		return node(stmt, nil, "    let mut "+name+" = $;\n", x)
	}
	if v, ok := t.(types.Tensor); ok {
		if s := g.shard(v); s.Sharding != types.Replicated {
			return g.declareSharded(s)
		}
	}
	x := g.expr(t, 3)
	p, vars := g.pattern(t)
	g.vars = append(g.vars, vars...)
	return node(stmt, nil, "    let "+p+" = $;\n", x)
}

// assign changes a variable or a part of it.
func (g *gen) assign(v variable) *Node {
	t := v.typ.(types.Tensor)
	op := "="
	if t.Elem.IsNumber() {
		op = []string{"=", "=", "+=", "-=", "*="}[g.r.IntN(5)]
	}
	if t.IsScalar() || g.chance(4) {
		return node(stmt, nil, "    "+v.name+" "+op+" $;\n", g.expr(t, 3))
	}
	for _, n := range t.Shape {
		if g.size(n) < 1 {
			return nil
		}
	}
	index, kids := "", []any{}
	part := types.Shape{}
	for i, n := range t.Shape {
		if i > 0 {
			index += ", "
		}
		switch g.r.IntN(5) {
		case 0:
			index += ".."
			part = append(part, n)
		case 1:
			index += fmt.Sprintf("%d..$", 1)
			kids = append(kids, n)
			part = append(part, add(n, -1))
		case 2:
			index += "$..=0 by -1"
			kids = append(kids, add(n, -1))
			part = append(part, n)
		case 3:
			if half, ok := n.Div(types.Lit(2)); ok {
				index += ".. by 2"
				part = append(part, half)
				break
			}
			fallthrough
		default:
			index += "$"
			kids = append(kids, g.positions(n, nil, 1))
		}
	}
	g.used["update "+op]++
	u := types.Tensor{Elem: t.Elem, Shape: part}
	if g.chance(3) {
		u.Shape = nil
	}
	if op != "=" && len(u.Shape) > 0 && g.chance(2) {
		op = "." + op
		for i := range u.Shape {
			if g.chance(2) {
				u.Shape = replace(u.Shape, i, types.Lit(1))
			}
		}
	}
	return node(stmt, nil, "    "+v.name+"["+index+"] "+op+" $;\n", append(kids, g.expr(u, 2))...)
}

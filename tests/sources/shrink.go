package sources

import (
	"maps"
	"slices"
	"strings"

	"healc/lang/types"
)

// Shrink makes a program smaller while fails says that it still fails: it leaves out functions, statements and
// parameters, puts what is inside of an expression or a constant in its place, and makes extents smaller. A program
// that the checker refuses must not count as failing. At most so many programs are tried.
func Shrink(p *Program, fails func(*Program) bool, tries int) *Program {
	try := func(q *Program) bool {
		if tries--; tries < 0 || !fails(q) {
			return false
		}
		p = q
		return true
	}
	steps := []func(*Program, func(*Program) bool) bool{fewerFunctions, smallerNodes, fewerParams, smallerExtents}
	for changed := true; changed && tries > 0; {
		changed = false
		for _, step := range steps {
			for tries > 0 && step(p, try) {
				changed = true
			}
		}
	}
	return p
}

func (p *Program) clone() *Program {
	q := *p
	q.Fns, q.Params, q.Dims = slices.Clone(p.Fns), slices.Clone(p.Params), slices.Clone(p.Dims)
	q.Imports, q.Bind = slices.Clone(p.Imports), maps.Clone(p.Bind)
	return &q
}

func fewerFunctions(p *Program, try func(*Program) bool) bool {
	for i := range p.Fns {
		q := p.clone()
		q.Fns = slices.Delete(q.Fns, i, i+1)
		if try(q) {
			return true
		}
	}
	for i, m := range p.Imports {
		if !strings.Contains(p.Text(), m+".") {
			q := p.clone()
			q.Imports = slices.Delete(q.Imports, i, i+1)
			return try(q)
		}
	}
	return false
}

func fewerParams(p *Program, try func(*Program) bool) bool {
	for i := range p.Params {
		q := p.clone()
		q.Params = slices.Delete(q.Params, i, i+1)
		if try(q) {
			return true
		}
	}
	for i := range p.Dims { // a number in place of a shape parameter
		q := p.clone()
		q.Dims = slices.Delete(q.Dims, i, i+1)
		if try(q) {
			return true
		}
	}
	return false
}

func smallerExtents(p *Program, try func(*Program) bool) bool {
	for _, name := range slices.Sorted(maps.Keys(p.Bind)) {
		n := p.Bind[name]
		for _, m := range []int64{1, 2, n / 2, n - 1} {
			if m < 1 || m >= n || !strings.Contains(p.names(), " "+name+" ") {
				continue
			}
			q := p.clone()
			q.Bind[name] = m
			if try(q) {
				return true
			}
		}
	}
	return false
}

// names are the names of extents in the program, with blanks around each.
func (p *Program) names() string {
	out := " "
	add := func(ds ...types.Dim) {
		for _, d := range ds {
			for _, name := range d.Params() {
				out += name + " "
			}
		}
	}
	for _, q := range p.Params {
		add(q.Type.Shape...)
	}
	for _, n := range append(slices.Clone(p.Fns), p.Body) {
		for _, m := range append(n.inside(), n) {
			for _, k := range append(slices.Clone(m.kids), any(m.Type)) {
				switch k := k.(type) {
				case types.Dim:
					add(k)
				case types.Type:
					for _, t := range types.Flatten(k) {
						add(t.Shape...)
					}
				}
			}
		}
	}
	return out
}

// smallerNodes tries one step on each node, from the outside in.
func smallerNodes(p *Program, try func(*Program) bool) bool {
	for i := range p.Fns {
		done := p.Fns[i].smaller(func(n *Node) bool {
			q := p.clone()
			q.Fns[i] = n
			return try(q)
		})
		if done {
			return true
		}
	}
	body := func(n *Node) bool {
		q := p.clone()
		q.Body = n
		return try(q)
	}
	last, ok := p.Body.kids[len(p.Body.kids)-1].(*Node)
	if t, isTuple := p.Body.Type.(types.Tuple); ok && isTuple && len(last.kids) == len(t.Elems) {
		for _, k := range last.kids { // one part of the result alone
			part, ok := k.(*Node)
			if !ok || part.Type == nil {
				continue
			}
			n := p.Body.with(len(p.Body.kids)-1, part)
			n.Type = part.Type
			if body(n) {
				return true
			}
		}
	}
	return p.Body.smaller(body)
}

// with is n with another kid.
func (n *Node) with(i int, kid *Node) *Node {
	m := *n
	m.kids = slices.Clone(n.kids)
	m.kids[i] = kid
	return &m
}

// without is n without a kid.
func (n *Node) without(i int) *Node {
	m := *n
	m.kids = slices.Delete(slices.Clone(n.kids), i, i+1)
	m.parts = slices.Clone(n.parts)
	m.parts[i] += m.parts[i+1]
	m.parts = slices.Delete(m.parts, i+1, i+2)
	return &m
}

// inside are the nodes below n.
func (n *Node) inside() []*Node {
	var out []*Node
	for _, k := range n.kids {
		if k, ok := k.(*Node); ok {
			out = append(append(out, k), k.inside()...)
		}
	}
	return out
}

// smaller tries n with one of its nodes replaced or left out, and reports that try took one.
func (n *Node) smaller(try func(*Node) bool) bool {
	if n.kind == expr {
		if c := plain(n.Type); len(n.inside()) > len(c.inside()) && try(c) {
			return true
		}
		for _, m := range n.inside() {
			if m.kind == expr && types.Equal(m.Type, n.Type) && try(m) {
				return true
			}
		}
	}
	for i, k := range n.kids {
		k, ok := k.(*Node)
		if !ok {
			continue
		}
		if k.kind == stmt && try(n.without(i)) {
			return true
		}
		if k.smaller(func(m *Node) bool { return try(n.with(i, m)) }) {
			return true
		}
	}
	return false
}

// plain is a constant.
func plain(u types.Type) *Node {
	t, ok := u.(types.Tensor)
	if !ok {
		text, kids := "(", []any{}
		for i, e := range u.(types.Tuple).Elems {
			if i > 0 {
				text += ", "
			}
			text += "$"
			kids = append(kids, plain(e))
		}
		return ex(u, text+")", kids...)
	}
	one := literal{t.Elem, "1"}
	switch {
	case t.Elem == types.Bool:
		one.text = "true"
	case t.Elem.IsFloat():
		one.text = "1.0"
	}
	if t.IsScalar() {
		return ex(t, "$", one)
	}
	text, kids := "full[$", []any{elem(t.Elem)}
	for _, d := range t.Shape {
		text += ", $"
		kids = append(kids, d)
	}
	return ex(t, text+"]($)", append(kids, one)...)
}

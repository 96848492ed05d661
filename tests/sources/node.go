package sources

import (
	"fmt"
	"strings"

	"healc/lang/types"
)

// kind says what a node is.
type kind int

const (
	expr kind = iota // has a value of Type
	stmt             // a statement in a block: may be left out
	fn               // a declaration: may be left out
)

// Node is a piece of a program: texts, and what stands between them. A kid is a *Node, a types.Dim, a types.Type or an
// elem.
type Node struct {
	kind  kind
	Type  types.Type
	parts []string
	kids  []any
	elem  types.DType // of a generic function: the element type that is its type parameter
}

// elem is an element type by name.
type elem types.DType

// literal is a scalar constant.
type literal struct {
	elem types.DType
	text string
}

// node is a template whose `$` are its kids.
func node(k kind, t types.Type, template string, kids ...any) *Node {
	parts := strings.Split(template, "$")
	if len(parts) != len(kids)+1 {
		panic("BUG: " + template)
	}
	return &Node{kind: k, Type: t, parts: parts, kids: kids}
}

func ex(t types.Type, template string, kids ...any) *Node { return node(expr, t, template, kids...) }

// writer renders nodes.
type writer struct {
	strings.Builder

	lits    map[string]types.Dim // names of extents that are written as numbers
	generic types.DType          // what is written T
}

func (w *writer) node(n *Node) {
	if n.kind == fn {
		w.generic = n.elem
	}
	for i, p := range n.parts {
		w.WriteString(p)
		if i < len(n.kids) {
			w.kid(n.kids[i])
		}
	}
}

func (w *writer) kid(k any) {
	switch k := k.(type) {
	case *Node:
		w.node(k)
	case types.Dim:
		w.WriteString(w.dim(k))
	case types.Type:
		w.WriteString(w.typ(k))
	case elem:
		w.WriteString(w.elem(types.DType(k)))
	case literal:
		w.literal(k)
	case string:
		w.WriteString(k)
	case int:
		fmt.Fprint(w, k)
	default:
		panic(fmt.Sprintf("BUG: %T in a program", k))
	}
}

func (w *writer) dim(d types.Dim) string {
	if s, err := d.Subst(w.lits); err == nil {
		d = s
	}
	return d.String()
}

func (w *writer) elem(e types.DType) string {
	if e == w.generic {
		return "T"
	}
	return e.String()
}

func (w *writer) typ(t types.Type) string {
	switch t := t.(type) {
	case types.Tuple:
		var list []string
		for _, e := range t.Elems {
			list = append(list, w.typ(e))
		}
		return "(" + strings.Join(list, ", ") + ")"
	case types.Tensor:
		if t.IsScalar() {
			return w.elem(t.Elem)
		}
		var list []string
		for _, d := range t.Shape {
			list = append(list, w.dim(d))
		}
		s := w.elem(t.Elem) + "[" + strings.Join(list, ", ") + "]"
		if axis := t.Sharding.Axis(); axis >= 0 {
			s += fmt.Sprintf(" sharded(%d)", axis)
		}
		return s
	}
	panic("BUG: a type of no kind")
}

func (w *writer) literal(l literal) {
	switch {
	case l.elem == types.Bool:
		w.WriteString(l.text)
	case l.elem.IsStored() && strings.HasPrefix(l.text, "-"): // a minus binds less than `as`
		fmt.Fprintf(w, "((%s) as %s)", l.text, l.elem)
	case l.elem == w.generic || l.elem == types.F16 || l.elem == types.BF16 || l.elem.IsStored():
		fmt.Fprintf(w, "(%s as %s)", l.text, w.elem(l.elem))
	case strings.HasPrefix(l.text, "-"):
		fmt.Fprintf(w, "(%s_%s)", l.text, l.elem)
	default:
		fmt.Fprintf(w, "%s_%s", l.text, l.elem)
	}
}

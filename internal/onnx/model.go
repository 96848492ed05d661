package onnx

import (
	"cmp"
	"fmt"
	"math"

	"healc/lang/types"
)

// Model is an ONNX file, as far as programs depend on it.
type Model struct {
	Producer string
	Opsets   map[string]int64 // the version of each operator set, "" being ONNX's own
	Graph    Graph
	dir      string // where files with the elements of tensors lie; "" if none may be read
}

// Graph is a list of nodes, each of which reads values that others before it have made.
type Graph struct {
	Name         string
	Nodes        []Node
	Initializers []*Tensor // the values that are in the file
	Inputs       []Info    // may be initializers, too, which are their values then
	Outputs      []Info
}

// Node is a call of an operator.
type Node struct {
	Name, Op, Domain string
	Inputs           []string // "" is an optional one that is not there
	Outputs          []string
	Attrs            map[string]*Attr
}

// Attr is the value of an attribute, of the form that Kind says.
type Attr struct {
	Kind    int64
	Int     int64
	Float   float64
	Text    string
	Tensor  *Tensor
	Ints    []int64
	Floats  []float64
	Strings []string
}

// The kinds of attributes.
const (
	kindFloat   = 1
	kindInt     = 2
	kindText    = 3
	kindTensor  = 4
	kindFloats  = 6
	kindInts    = 7
	kindStrings = 8
)

// Info is what the file says of an input or output.
type Info struct {
	Name   string
	Elem   int64 // an ONNX element type; 0 where it is no tensor
	Shaped bool  // whether the file says the shape
	Shape  []Extent
}

// Extent is an extent of a shape in the file: a number, a named dimension, or neither.
type Extent struct {
	Value int64 // -1 if it is no number
	Name  string
}

// Decode reads a model. Elements that lie in files of their own are an error.
func Decode(data []byte) (*Model, error) {
	m := &Model{Opsets: map[string]int64{}}
	hasGraph := false
	err := fields(data, func(x field) error {
		switch x.number {
		case 2:
			return x.text(&m.Producer)
		case 7:
			b, err := x.message()
			hasGraph = true
			if err != nil {
				return err
			}
			return m.Graph.decode(b)
		case 8:
			b, err := x.message()
			if err != nil {
				return err
			}
			return m.opset(b)
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("this is no ONNX model: %w", err)
	case !hasGraph || len(m.Opsets) == 0:
		return nil, fmt.Errorf("this is no ONNX model: it has no graph, or does not say its operator sets")
	}
	return m, nil
}

// opset reads a version of an operator set.
func (m *Model) opset(data []byte) error {
	var domain string
	version := int64(1)
	err := fields(data, func(x field) error {
		switch x.number {
		case 1:
			return x.text(&domain)
		case 2:
			return x.integer(&version)
		}
		return nil
	})
	if domain == "ai.onnx" {
		domain = ""
	}
	m.Opsets[domain] = version
	return err
}

func (g *Graph) decode(data []byte) error {
	return fields(data, func(x field) error {
		if x.number == 2 {
			return x.text(&g.Name)
		}
		if x.kind != block {
			return nil
		}
		switch x.number {
		case 1:
			n := Node{Attrs: map[string]*Attr{}}
			if err := n.decode(x.bytes); err != nil {
				return err
			}
			g.Nodes = append(g.Nodes, n)
		case 5:
			t, err := decodeTensor(x.bytes)
			if err != nil {
				return err
			}
			g.Initializers = append(g.Initializers, t)
		case 11, 12:
			v, err := decodeInfo(x.bytes)
			if err != nil {
				return err
			}
			if x.number == 11 {
				g.Inputs = append(g.Inputs, v)
			} else {
				g.Outputs = append(g.Outputs, v)
			}
		case 15:
			return fmt.Errorf("unsupported: a sparse initializer")
		}
		return nil
	})
}

func (n *Node) decode(data []byte) error {
	return fields(data, func(x field) error {
		switch x.number {
		case 1:
			return x.texts(&n.Inputs)
		case 2:
			return x.texts(&n.Outputs)
		case 3:
			return x.text(&n.Name)
		case 4:
			return x.text(&n.Op)
		case 5:
			b, err := x.message()
			if err != nil {
				return err
			}
			name, a, err := decodeAttr(b)
			n.Attrs[name] = a
			return err
		case 7:
			if err := x.text(&n.Domain); err != nil {
				return err
			}
			if n.Domain == "ai.onnx" {
				n.Domain = ""
			}
		}
		return nil
	})
}

func decodeAttr(data []byte) (name string, a *Attr, err error) {
	a = &Attr{}
	err = fields(data, func(x field) (err error) {
		switch x.number {
		case 1:
			return x.text(&name)
		case 2:
			if x.kind != fixed32 {
				return x.wrongKind()
			}
			a.Float = float64(math.Float32frombits(uint32(x.value)))
		case 3:
			return x.integer(&a.Int)
		case 4:
			return x.text(&a.Text)
		case 5:
			var b []byte
			if b, err = x.message(); err == nil {
				a.Tensor, err = decodeTensor(b)
			}
			return err
		case 7:
			return x.floats(&a.Floats)
		case 8:
			return x.integers(&a.Ints)
		case 9:
			return x.texts(&a.Strings)
		case 20:
			return x.integer(&a.Kind)
		}
		return nil
	})
	return name, a, err
}

func decodeInfo(data []byte) (v Info, err error) {
	err = fields(data, func(x field) error {
		switch {
		case x.number == 1:
			return x.text(&v.Name)
		case x.number == 2 && x.kind == block:
			return fields(x.bytes, func(x field) error {
				if x.number == 1 && x.kind == block {
					return v.tensorType(x.bytes)
				}
				return nil
			})
		}
		return nil
	})
	return v, err
}

// tensorType reads the element type and the shape of a tensor.
func (v *Info) tensorType(data []byte) error {
	return fields(data, func(x field) error {
		switch {
		case x.number == 1:
			return x.integer(&v.Elem)
		case x.number == 2 && x.kind == block:
			v.Shaped = true
			return fields(x.bytes, func(x field) error {
				if x.number != 1 || x.kind != block {
					return nil
				}
				e := Extent{Value: -1}
				err := fields(x.bytes, func(x field) error {
					switch x.number {
					case 1:
						return x.integer(&e.Value)
					case 2:
						return x.text(&e.Name)
					}
					return nil
				})
				v.Shape = append(v.Shape, e)
				return err
			})
		}
		return nil
	})
}

// InputType is the type of an input, as far as the file says it.
func (m *Model) InputType(name string) (types.Tensor, error) {
	for _, in := range m.Graph.Inputs {
		if in.Name == name {
			return in.tensor()
		}
	}
	return types.Tensor{}, fmt.Errorf("the model has no input %s", name)
}

// tensor is the type of an input, with "?" for extents of which the file says nothing.
func (v *Info) tensor() (types.Tensor, error) {
	elem, err := elemType(v.Elem)
	t := types.Tensor{Elem: elem}
	for _, e := range v.Shape {
		if e.Value >= 0 {
			t.Shape = append(t.Shape, types.Lit(e.Value))
		} else {
			t.Shape = append(t.Shape, types.Param(cmp.Or(e.Name, "?")))
		}
	}
	return t, err
}

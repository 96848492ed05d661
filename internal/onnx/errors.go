package onnx

import (
	"fmt"
	"slices"
	"strings"
)

// UnknownError says which operators of a model have no entry in the table.
type UnknownError struct{ Operators []Unknown }

// Unknown is an operator without an entry.
type Unknown struct {
	Name  string   // with its domain, if that is not ONNX's
	Nodes []string // that call it, in order
}

func (e *UnknownError) Error() string {
	names := make([]string, len(e.Operators))
	for i, o := range e.Operators {
		names[i] = o.Name
	}
	return "unsupported operators: " + strings.Join(names, ", ")
}

// Notes are a line for each operator: how many nodes call it, and which.
func (e *UnknownError) Notes() []string {
	var out []string
	for _, o := range e.Operators {
		nodes := o.Nodes
		more := ""
		if len(nodes) > 4 {
			nodes, more = nodes[:4], ", ..."
		}
		times := "1 node"
		if len(o.Nodes) > 1 {
			times = fmt.Sprintf("%d nodes", len(o.Nodes))
		}
		out = append(out, fmt.Sprintf("%s: %s: %s%s", o.Name, times, strings.Join(nodes, ", "), more))
	}
	return out
}

// OptionError says that the options do not fit the model.
type OptionError struct{ message, Help string }

func (e *OptionError) Error() string { return e.message }

// NodeError says what of a node cannot be written in Heal.
type NodeError struct {
	Op, Node string
	Message  string
	Input    string // the input of the model whose value has to be known; "" for another error
}

func (e *NodeError) Error() string { return fmt.Sprintf("%s of node %s: %s", e.Op, e.Node, e.Message) }

// unknownOperators looks for operators without an entry, before any node is looked at for itself.
func (t *translator) unknownOperators(nodes []*Node) error {
	e := &UnknownError{}
	for _, n := range nodes {
		if n.Domain == "" && table[n.Op] != nil {
			continue
		}
		name := n.Op
		if n.Domain != "" {
			name = n.Domain + "." + n.Op
		}
		i := slices.IndexFunc(e.Operators, func(o Unknown) bool { return o.Name == name })
		if i < 0 {
			i = len(e.Operators)
			e.Operators = append(e.Operators, Unknown{Name: name})
		}
		e.Operators[i].Nodes = append(e.Operators[i].Nodes, n.label())
	}
	if len(e.Operators) == 0 {
		return nil
	}
	slices.SortStableFunc(e.Operators, func(a, b Unknown) int { return strings.Compare(a.Name, b.Name) })
	return e
}

// label is the name of a node, or what it makes, where it has none.
func (n *Node) label() string {
	if n.Name != "" {
		return n.Name
	}
	if len(n.Outputs) > 0 {
		return "for " + n.Outputs[0]
	}
	return "without outputs"
}

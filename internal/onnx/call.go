package onnx

import (
	"fmt"
	"slices"
	"strings"

	"healc/lang/types"
)

// call is a node while its operator's entry writes it.
type call struct {
	t    *translator
	node *Node
	in   []*value
	read map[string]bool // the attributes that were asked for
}

// fail ends the writing of the node.
func (c *call) fail(format string, args ...any) {
	panic(&NodeError{Message: fmt.Sprintf(format, args...)})
}

// undecided is fail where numbers for dimensions of the model would help.
func (c *call) undecided(format string, args ...any) {
	c.fail(format+": give the dimensions numbers with --dim", args...)
}

// has reports whether there is an input i.
func (c *call) has(i int) bool { return i < len(c.in) && c.in[i] != nil }

// arg is input i, which has to be there.
func (c *call) arg(i int) *value {
	if !c.has(i) {
		c.fail("its input %d is missing", i)
	}
	return c.in[i]
}

// args are all inputs.
func (c *call) args() []*value {
	for i := range c.in {
		c.arg(i)
	}
	c.arg(0)
	return c.in
}

// text is how input i is written.
func (c *call) text(i int) string { return c.t.operand(c.arg(i)) }

// attr is an attribute of the form kind, nil if there is none.
func (c *call) attr(name string, kind int64) *Attr {
	c.read[name] = true
	a := c.node.Attrs[name]
	if a != nil && a.Kind != kind && a.Kind != 0 {
		c.fail("its attribute %s has another type than it should", name)
	}
	return a
}

func (c *call) int(name string, other int64) int64 {
	if a := c.attr(name, kindInt); a != nil {
		return a.Int
	}
	return other
}

func (c *call) flag(name string, other int64) bool { return c.int(name, other) != 0 }

func (c *call) float(name string, other float64) float64 {
	if a := c.attr(name, kindFloat); a != nil {
		return a.Float
	}
	return other
}

func (c *call) string(name, other string) string {
	if a := c.attr(name, kindText); a != nil {
		return a.Text
	}
	return other
}

// ints is an attribute that is a list of numbers; ok says whether it is there.
func (c *call) ints(name string) (list []int64, ok bool) {
	if a := c.attr(name, kindInts); a != nil {
		return a.Ints, true
	}
	return nil, false
}

// numbers are the elements of input i, which have to be known, and to depend on no dimension.
func (c *call) numbers(i int) []int64 {
	out, ok := c.arg(i).integers()
	if !ok {
		c.dims(i)
		c.fail("its input %d depends on dimensions of the model: give them numbers with --dim", i)
	}
	return out
}

// dims are the elements of input i, which have to be known.
func (c *call) dims(i int) []types.Dim {
	v := c.arg(i)
	if v.known == nil || v.known.floats != nil {
		e := &NodeError{Message: fmt.Sprintf("unsupported: its input %d, `%s`, is not known before the program runs", i,
			v.name)}
		if v.input {
			e.Input = v.name
			e.Message += "; --fix " + v.name + "=VALUE says it"
		}
		panic(e)
	}
	return v.known.ints
}

// list is a list of numbers that is attribute name in old versions of an operator and input i in new ones.
func (c *call) list(name string, i int) (list []int64, ok bool) {
	if list, ok = c.ints(name); ok {
		return list, true
	}
	if c.has(i) {
		return c.numbers(i), true
	}
	return nil, false
}

// axis is an axis of a shape of so many axes, from the start.
func (c *call) axis(axis int64, rank int) int {
	if axis < 0 {
		axis += int64(rank)
	}
	if axis < 0 || axis >= int64(rank) {
		c.fail("there is no axis %d of %d axes", axis, rank)
	}
	return int(axis)
}

// axes are axis numbers, sorted, each once.
func (c *call) axes(list []int64, rank int) []int {
	out := make([]int, len(list))
	for i, a := range list {
		out[i] = c.axis(a, rank)
	}
	slices.Sort(out)
	if len(slices.Compact(slices.Clone(out))) != len(out) {
		c.fail("an axis stands twice in %v", list)
	}
	return out
}

// extent is a number where a dimension would not do.
func (c *call) extent(d types.Dim, what string) int64 {
	n, ok := d.Const()
	if !ok {
		c.undecided("%s is %v", what, d)
	}
	return n
}

// outputs is how many outputs the node has.
func (c *call) outputs() int {
	return len(slices.DeleteFunc(slices.Clone(c.node.Outputs), func(s string) bool { return s == "" }))
}

// output reports whether the node makes output i.
func (c *call) output(i int) bool { return i < len(c.node.Outputs) && c.node.Outputs[i] != "" }

// set makes v the value of output i.
func (c *call) set(i int, v *value) {
	if c.output(i) {
		c.t.values[c.node.Outputs[i]] = v
	}
}

// result writes output i.
func (c *call) result(i int, elem types.DType, s shape, format string, args ...any) {
	if !c.output(i) {
		return
	}
	c.check(s)
	name := c.node.Outputs[i]
	v := &value{elem: elem, shape: s, name: name, text: c.t.names.identifier(name, strings.ToLower(c.node.Op))}
	c.t.body = append(c.t.body, statement{v.text, fmt.Sprintf(format, args...)})
	c.set(i, v)
}

// maxAxes is how many axes a tensor of Heal has.
const maxAxes = 64

// check refuses shapes that no tensor has.
func (c *call) check(s shape) {
	if len(s) > maxAxes {
		c.fail("a result has %d axes, and %d are possible", len(s), maxAxes)
	}
	for _, d := range s {
		if n, ok := d.Const(); ok && (n < 0 || n >= 1<<31) {
			c.fail("a result has the shape %v", s)
		}
	}
	count(s)
}

// let names a value that is none of the graph.
func (c *call) let(name string, elem types.DType, s shape, format string, args ...any) *value {
	c.check(s)
	v := &value{elem: elem, shape: s, name: name, text: c.t.names.fresh(name)}
	c.t.body = append(c.t.body, statement{v.text, fmt.Sprintf(format, args...)})
	return v
}

// same makes output 0 an input, or what is written as one.
func (c *call) same(v *value) { c.set(0, v) }

// knownResult makes the elements of output 0 known.
func (c *call) knownResult(elem types.DType, s shape, k *known) {
	c.check(s)
	c.set(0, &value{elem: elem, shape: s, name: c.node.Outputs[0], known: k})
}

// helper is the name of a function beside that of the model, whose text, with its name as %s, is this one.
func (c *call) helper(name, text string) string {
	for _, h := range c.t.helpers {
		if h.text == strings.Replace(text, "%s", h.name, 1) {
			return h.name
		}
	}
	name = c.t.names.fresh(name)
	c.t.helpers = append(c.t.helpers, helper{name, strings.Replace(text, "%s", name, 1)})
	return name
}

// broadcast is the shape of operands that go together element by element.
func (c *call) broadcast(of ...*value) shape {
	out := shape{}
	for _, v := range of {
		out = c.together(out, v.shape)
	}
	return out
}

func (c *call) together(a, b shape) shape {
	if len(a) < len(b) {
		a, b = b, a
	}
	out := slices.Clone(a)
	for i, d := range b {
		at := len(a) - len(b) + i
		switch e := a[at]; {
		case e.Equal(d), d.IsConst(1):
		case e.IsConst(1):
			out[at] = d
		default:
			_, first := e.Const()
			_, second := d.Const()
			if first && second {
				c.fail("the shapes %v and %v do not broadcast", a, b)
			}
			c.undecided("the extents %v and %v are the same or 1 when the program runs", e,
				d)
		}
	}
	return out
}

// single is input v as one number, if it is known to be one, and the other operands have the shape of the result.
func (c *call) single(v *value, s shape, others ...*value) (string, bool) {
	if v.known == nil || v.known.len() != 1 || v.known.clamped || len(v.shape) == 0 {
		return "", false
	}
	for _, o := range others {
		if o != v && o.shape.Equal(s) {
			return v.known.element(v.elem, 0), true
		}
	}
	return "", false
}

// elementwise is how operands of an element-wise function are written, and the shape of its result.
func (c *call) elementwise(of ...*value) ([]string, shape) {
	s := c.broadcast(of...)
	out := make([]string, len(of))
	for i, v := range of {
		text, ok := c.single(v, s, of...)
		if !ok {
			text = c.t.operand(v)
		}
		out[i] = text
	}
	return out, s
}

// operator writes a op b, with the dot where that broadcasts.
func (c *call) operator(op string, a, b *value) (string, shape) {
	texts, s := c.elementwise(a, b)
	_, oneA := c.single(a, s, b)
	_, oneB := c.single(b, s, a)
	if !(a.shape.Equal(b.shape) || oneA || oneB || len(a.shape) == 0 || len(b.shape) == 0) || op == "&&" || op == "||" {
		op = "." + op
	}
	return texts[0] + " " + op + " " + texts[1], s
}

// colons is ".., " for each axis before one, as an index has it.
func colons(axis int) string { return strings.Repeat(".., ", axis) }

// axesText is axes as a reduction has them.
func axesText(axes []int) string {
	text := make([]string, len(axes))
	for i, a := range axes {
		text[i] = fmt.Sprint(a)
	}
	if len(text) == 1 {
		return text[0]
	}
	return "(" + strings.Join(text, ", ") + ")"
}

// letters are n names of shape parameters for a helper.
func letters(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf("D%d", i)
	}
	return out
}

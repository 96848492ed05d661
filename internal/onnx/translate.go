package onnx

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"healc/lang/diag"
	"healc/lang/format"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// The versions of ONNX's operator set that are imported. An entry of the table says from which on it is true, so that
// older models work where all of their nodes mean what they mean today.
const (
	MinOpset = 1
	MaxOpset = 21
)

// Options say what a program is written for.
type Options struct {
	Entry            string // the name of the function; "" for "model"
	Source           string // the names of the files, of the model and others, for the comment at the head
	Program, Weights string
	Dims             map[string]int64          // numbers for named dimensions, and for axes without a name: "input.0"
	Fixed            map[string]*tensor.Tensor // inputs that always have this value
}

// Program is a model in Heal.
type Program struct {
	Source  string
	Entry   string
	Inputs  []string                 // the parameters that the model's inputs became, in their order
	Weights []tensorfile.NamedTensor // by the names of the parameters that take them
	Names   map[string]string        // what the model calls a weight whose name is another
}

// statement is a `let`.
type statement struct{ name, expr string }

// parameter is one of the function.
type parameter struct {
	name string
	typ  string
}

// helper is a function beside that of the model.
type helper struct{ name, text string }

type translator struct {
	model   *Model
	options Options
	opset   int64
	names   names
	dims    []string          // the shape parameters
	dimOf   map[string]string // the shape parameter for a dimension's name
	values  map[string]*value
	inputs  []parameter
	weights []parameter
	program *Program
	body    []statement
	helpers []helper
}

// Import writes a model in Heal.
func Import(m *Model, options Options) (*Program, error) {
	t := &translator{model: m, options: options, names: names{map[string]bool{}}, dimOf: map[string]string{},
		values: map[string]*value{}, program: &Program{Entry: options.Entry, Names: map[string]string{}}}
	if t.program.Entry == "" {
		t.program.Entry = "model"
	}
	t.names.used[t.program.Entry] = true
	if err := t.run(); err != nil {
		return nil, err
	}
	return t.program, nil
}

func (t *translator) run() error {
	t.opset = t.model.Opsets[""]
	if t.opset < MinOpset || t.opset > MaxOpset {
		return fmt.Errorf("unsupported: the model is made for version %d of ONNX's operators; %d to %d are imported",
			t.opset, MinOpset, MaxOpset)
	}
	nodes := t.needed()
	if err := t.unknownOperators(nodes); err != nil {
		return err
	}
	if err := t.optionsFit(); err != nil {
		return err
	}
	if err := t.given(); err != nil {
		return err
	}
	for _, n := range nodes {
		if err := t.node(n); err != nil {
			return err
		}
	}
	return t.write()
}

// needed are the nodes that an output depends on.
func (t *translator) needed() []*Node {
	wanted := map[string]bool{}
	for _, o := range t.model.Graph.Outputs {
		wanted[o.Name] = true
	}
	var out []*Node
	for i := len(t.model.Graph.Nodes) - 1; i >= 0; i-- {
		n := &t.model.Graph.Nodes[i]
		if !slices.ContainsFunc(n.Outputs, func(name string) bool { return name != "" && wanted[name] }) {
			continue
		}
		for _, name := range n.Inputs {
			wanted[name] = true
		}
		out = append(out, n)
	}
	slices.Reverse(out)
	return out
}

// given makes the values that are there before the first node: tensors of the file, and inputs.
func (t *translator) given() error {
	for _, x := range t.model.Graph.Initializers {
		t.values[x.Name] = &value{elem: x.Elem, shape: shapeOf(x.Shape...), name: x.Name, known: x.look(), file: x}
	}
	// dimensions have names of their own before values get theirs
	for _, in := range t.model.Graph.Inputs {
		for _, e := range in.Shape {
			if e.Value < 0 && e.Name != "" {
				t.dimension(e.Name)
			}
		}
	}
	for _, in := range t.model.Graph.Inputs {
		if t.values[in.Name] != nil {
			continue // an initializer: its value, which callers could replace
		}
		v, err := t.inputValue(in)
		if err != nil {
			return fmt.Errorf("input %s: %w", in.Name, err)
		}
		t.values[in.Name] = v
	}
	return nil
}

// optionsFit refuses numbers for dimensions, and values for inputs, that the model has not.
func (t *translator) optionsFit() error {
	var dims, inputs []string
	for _, in := range t.model.Graph.Inputs {
		inputs = append(inputs, in.Name)
		for axis, e := range in.Shape {
			if e.Value < 0 {
				key := fmt.Sprintf("%s.%d", in.Name, axis)
				dims = append(dims, cmp.Or(e.Name, key), key)
			}
		}
	}
	for name := range t.options.Dims {
		if !slices.Contains(dims, name) {
			slices.Sort(dims)
			return &OptionError{"the model has no dimension " + name, "it has " +
				cmp.Or(strings.Join(slices.Compact(dims), ", "), "none")}
		}
	}
	for name := range t.options.Fixed {
		if !slices.Contains(inputs, name) {
			return &OptionError{"the model has no input " + name, "it has " + strings.Join(inputs, ", ")}
		}
	}
	return nil
}

// dimension is a named dimension of the model: a shape parameter, or the number that the options have for it.
func (t *translator) dimension(name string) types.Dim {
	if n, ok := t.options.Dims[name]; ok {
		return number(n)
	}
	p, ok := t.dimOf[name]
	if !ok {
		p = t.names.identifier(name, "D")
		t.dimOf[name] = p
		t.dims = append(t.dims, p)
	}
	return types.Param(p)
}

// inputValue is an input: a parameter, or the value that the options have for it.
func (t *translator) inputValue(in Info) (*value, error) {
	if x := t.options.Fixed[in.Name]; x != nil {
		if err := in.takes(x); err != nil {
			return nil, err
		}
		file := &Tensor{Name: in.Name, Elem: x.DType, Shape: x.Shape}
		for _, bits := range x.Bits() {
			file.data = append(file.data, narrowed([]int64{int64(bits)}, x.DType.Bytes())...)
		}
		return &value{elem: x.DType, shape: shapeOf(x.Shape...), name: in.Name, known: file.look(), file: file}, nil
	}
	if in.Elem == 0 {
		return nil, fmt.Errorf("unsupported: it is no tensor")
	}
	elem, err := elemType(in.Elem)
	if err != nil {
		return nil, err
	}
	if !in.Shaped {
		return nil, fmt.Errorf("unsupported: the model does not say how many axes it has")
	}
	if len(in.Shape) > maxAxes {
		return nil, fmt.Errorf("it has %d axes, and %d are possible", len(in.Shape), maxAxes)
	}
	v := &value{elem: elem, name: in.Name, input: true}
	for axis, e := range in.Shape {
		key := fmt.Sprintf("%s.%d", in.Name, axis)
		n, given := t.options.Dims[key]
		switch {
		case given && e.Value < 0:
			v.shape = append(v.shape, number(n))
		case e.Value >= 0 && e.Value < 1<<31:
			v.shape = append(v.shape, number(e.Value))
		case e.Value >= 0:
			return nil, fmt.Errorf("its extent %d is beyond 2^31 - 1", e.Value)
		case e.Name != "":
			v.shape = append(v.shape, t.dimension(e.Name))
		default:
			v.shape = append(v.shape, t.dimension(key))
		}
	}
	v.text = t.names.identifier(in.Name, "input")
	t.inputs = append(t.inputs, parameter{v.text, typeText(v.elem, v.shape)})
	t.program.Inputs = append(t.program.Inputs, v.text)
	return v, nil
}

// takes says why an input does not take a value.
func (v *Info) takes(x *tensor.Tensor) error {
	want, err := v.tensor()
	if err != nil {
		return err
	}
	fits := x.DType == want.Elem && (!v.Shaped || len(x.Shape) == len(want.Shape))
	for i, d := range want.Shape {
		n, fixed := d.Const()
		fits = fits && (!fixed || x.Shape[i] == n)
	}
	if !fits {
		return &OptionError{message: fmt.Sprintf("its value is %v, and the model asks for %v",
			types.Of(x.DType, x.Shape...), want)}
	}
	return nil
}

// typeText is a tensor type in Heal.
func typeText(elem types.DType, s shape) string {
	if len(s) == 0 {
		return elem.String()
	}
	return elem.String() + s.String()
}

// maxLiteral is how many elements a literal has; what has more, and all matrices of floats, are parameters.
const maxLiteral = 16

// operand is how a value is written where it is read.
func (t *translator) operand(v *value) string {
	switch {
	case v.text != "":
	case v.known != nil && v.known.len() == 0:
		v.text = t.names.identifier(v.name, "value")
		t.body = append(t.body, statement{v.text, fmt.Sprintf("zeros[%v, %s]()", v.elem,
			strings.Trim(v.shape.String(), "[]"))})
	case v.file == nil && v.known.clamped:
		panic(&NodeError{Message: fmt.Sprintf("unsupported: `%s` is beyond 62 bits", v.name)})
	case v.file == nil, v.known != nil && !v.known.clamped && v.small():
		// A literal stands wherever it is read, if it is one number.
		text := literal(v.elem, v.shape, v.known)
		if len(v.shape) == 0 {
			return text
		}
		v.text = t.names.identifier(v.name, "value")
		t.body = append(t.body, statement{v.text, text})
	default:
		v.text = t.names.identifier(v.name, "weight")
		t.weights = append(t.weights, parameter{v.text, typeText(v.elem, v.shape)})
		x, err := v.file.Tensor(t.model.dir)
		if err != nil {
			panic(failure{err})
		}
		t.program.Weights = append(t.program.Weights, tensorfile.NamedTensor{Name: v.text, Tensor: x})
		if v.text != v.name {
			t.program.Names[v.text] = v.name
		}
	}
	return v.text
}

// small reports whether the elements of a tensor of the file are a literal in the program.
func (v *value) small() bool {
	n := v.known.len()
	return n == 1 || n <= maxLiteral && !v.elem.IsFloat()
}

// failure is an error that a call of operand panics with.
type failure struct{ error }

// node writes a node.
func (t *translator) node(n *Node) (err error) {
	op := table[n.Op]
	fail := func(message string) *NodeError { return &NodeError{Op: n.Op, Node: n.label(), Message: message} }
	c := &call{t: t, node: n, read: map[string]bool{}}
	defer func() {
		switch p := recover().(type) {
		case nil:
		case *NodeError:
			p.Op, p.Node = n.Op, n.label()
			err = p
		case failure:
			err = p.error
		default:
			panic(p)
		}
	}()
	if t.opset < op.since {
		return fail(fmt.Sprintf("unsupported: its form before version %d of the operators; the model has version %d",
			op.since, t.opset))
	}
	for _, name := range n.Inputs {
		var v *value
		if name != "" {
			if v = t.values[name]; v == nil {
				return fail(fmt.Sprintf("it reads `%s`, which no node before it makes", name))
			}
		}
		c.in = append(c.in, v)
	}
	if c.outputs() == 0 {
		return fail("it has no output")
	}
	op.write(c)
	for name := range n.Attrs {
		if !c.read[name] && !slices.Contains(strings.Fields(op.ignored), name) {
			return fail(fmt.Sprintf("unsupported: the attribute %s", name))
		}
	}
	for i, name := range n.Outputs {
		if name != "" && t.values[name] == nil && t.wanted(name) {
			return fail(fmt.Sprintf("unsupported: output %d, `%s`", i, name))
		}
	}
	return nil
}

// wanted reports whether a node or the caller reads a value.
func (t *translator) wanted(name string) bool {
	return slices.ContainsFunc(t.model.Graph.Outputs, func(o Info) bool { return o.Name == name }) ||
		slices.ContainsFunc(t.model.Graph.Nodes, func(n Node) bool { return slices.Contains(n.Inputs, name) })
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z_0-9]*`)

// write puts the program together: what nothing reads is left out.
func (t *translator) write() (err error) {
	defer func() {
		if p, ok := recover().(failure); ok {
			err = p.error
		}
	}()
	var results, resultTypes []string
	for _, o := range t.model.Graph.Outputs {
		v := t.values[o.Name]
		if v == nil {
			return fmt.Errorf("no node makes the output `%s`", o.Name)
		}
		results = append(results, t.operand(v))
		resultTypes = append(resultTypes, typeText(v.elem, v.shape))
	}
	if len(results) == 0 {
		return fmt.Errorf("the model has no outputs")
	}
	result, typ := results[0], resultTypes[0]
	if len(results) > 1 {
		result, typ = "("+strings.Join(results, ", ")+")", "("+strings.Join(resultTypes, ", ")+")"
	}
	lets := t.live(result)
	// the last of them is the result itself, without a name
	if n := len(lets); n > 0 && lets[n-1].name == result {
		result, lets = lets[n-1].expr, lets[:n-1]
	}
	var text strings.Builder
	t.head(&text)
	fmt.Fprintf(&text, "pub fn %s", t.program.Entry)
	if len(t.dims) > 0 {
		fmt.Fprintf(&text, "[%s]", strings.Join(t.dims, ", "))
	}
	var params []string
	for _, p := range slices.Concat(t.inputs, t.weights) {
		params = append(params, p.name+": "+p.typ)
	}
	fmt.Fprintf(&text, "(%s) -> %s = ", strings.Join(params, ", "), typ)
	if len(lets) == 0 {
		fmt.Fprintf(&text, "%s\n", result)
	} else {
		text.WriteString("{\n")
		for _, s := range lets {
			fmt.Fprintf(&text, "let %s = %s;\n", s.name, s.expr)
		}
		fmt.Fprintf(&text, "%s\n}\n", result)
	}
	for _, h := range t.helpers {
		text.WriteString("\n" + h.text + "\n")
	}
	formatted, list := format.Source(diag.NewFile(t.options.Source, text.String()))
	if err := list.Err(); err != nil {
		return fmt.Errorf("the program that was written is none, which is a bug: %w\n%s", err, text.String())
	}
	t.program.Source = formatted
	return nil
}

// live are the statements that the result depends on.
func (t *translator) live(result string) []statement {
	read := map[string]bool{}
	mark := func(text string) {
		for _, w := range word.FindAllString(text, -1) {
			read[w] = true
		}
	}
	mark(result)
	var out []statement
	for _, s := range slices.Backward(t.body) {
		if read[s.name] {
			out = append(out, s)
			mark(s.expr)
		}
	}
	slices.Reverse(out)
	for _, h := range slices.Backward(t.helpers) {
		if read[h.name] {
			mark(h.text)
		}
	}
	t.helpers = slices.DeleteFunc(t.helpers, func(h helper) bool { return !read[h.name] })
	unused := func(name string) bool { return !read[name] }
	t.weights = slices.DeleteFunc(t.weights, func(p parameter) bool { return unused(p.name) })
	t.program.Weights = slices.DeleteFunc(t.program.Weights,
		func(x tensorfile.NamedTensor) bool { return unused(x.Name) })
	return out
}

// head is the comment at the head of the file.
func (t *translator) head(text *strings.Builder) {
	if t.options.Source == "" {
		return
	}
	fmt.Fprintf(text, "# Written by `healc import %s`, of version %d of ONNX's operators", t.options.Source, t.opset)
	if t.model.Producer != "" {
		fmt.Fprintf(text, ", made by %s", strings.Join(strings.Fields(t.model.Producer), " "))
	}
	text.WriteString(".\n#\n#   healc run " + t.options.Program + " --entry " + t.program.Entry)
	for _, p := range t.inputs {
		fmt.Fprintf(text, " --in %s=@%s.npy", p.name, p.name)
	}
	if len(t.weights) > 0 {
		fmt.Fprintf(text, " --in @%s", t.options.Weights)
	}
	text.WriteString("\n\n")
}

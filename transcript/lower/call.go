package lower

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/transcript"
)

// form is one way to write the arguments of an operation. An operation has as many as there are orders of its
// arguments; which one is meant shows in the number and the kinds of the arguments.
type form struct {
	params []param
	build  func(l *lowerer, c *call)
}

// param is the name of an argument and the kinds it may be of.
type param struct {
	name  string
	kinds []transcript.ArgKind
}

// parameters reads a list such as "a p:tensor|int axis:int out". A parameter without a kind is a tensor.
func parameters(s string) []param {
	names := map[string]transcript.ArgKind{
		"tensor": transcript.DeviceTensor, "host": transcript.HostTensor, "shape": transcript.Shape,
		"int":  transcript.Int,
		"none": transcript.None, "dtype": transcript.TensorType,
	}
	var out []param
	for _, f := range strings.Fields(s) {
		name, kinds, ok := strings.Cut(f, ":")
		if !ok {
			kinds = "tensor"
		}
		p := param{name: name}
		for _, k := range strings.Split(kinds, "|") {
			kind, ok := names[k]
			if !ok {
				panic("BUG: a parameter of the kind " + k)
			}
			p.kinds = append(p.kinds, kind)
		}
		out = append(out, p)
	}
	return out
}

func of(params string, build func(l *lowerer, c *call)) form { return form{parameters(params), build} }

// fits reports whether arguments are of a form.
func (f form) fits(args []transcript.Arg) bool {
	if len(args) != len(f.params) {
		return false
	}
	for i, p := range f.params {
		if !p.takes(args[i].Kind) {
			return false
		}
	}
	return true
}

func (p param) takes(k transcript.ArgKind) bool {
	for _, kind := range p.kinds {
		if kind == k {
			return true
		}
	}
	return false
}

// String is how a message shows a form.
func (f form) String() string {
	var parts []string
	for _, p := range f.params {
		var kinds []string
		for _, k := range p.kinds {
			kinds = append(kinds, k.String())
		}
		parts = append(parts, p.name+" "+strings.Join(kinds, " or "))
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// call is an operation whose arguments have found their form.
type call struct {
	l     *lowerer
	op    *transcript.Op
	index map[string]int
}

// op lowers one operation.
func (l *lowerer) op(op *transcript.Op) {
	forms := formsOf(op.Name)
	if forms == nil {
		if near := diag.Nearest(op.Name, slices.Collect(maps.Keys(operations))); near != "" {
			fail("there is no operation %q; did you mean %q?", op.Name, near)
		}
		fail("there is no operation %q", op.Name)
	}
	for _, f := range forms {
		if !f.fits(op.Args) {
			continue
		}
		c := &call{l: l, op: op, index: map[string]int{}}
		for i, p := range f.params {
			c.index[p.name] = i
			if op.Args[i].Kind == transcript.DeviceTensor {
				l.lookup(op.Args[i].Name) // also of those that the operation does not look at
			}
		}
		f.build(l, c)
		return
	}
	var got, want []string
	for _, a := range op.Args {
		got = append(got, a.Kind.String())
	}
	for _, f := range forms {
		want = append(want, f.String())
	}
	fail("the arguments are (%s), and it takes %s", strings.Join(got, ", "), strings.Join(want, ", or "))
}

func (c *call) arg(name string) transcript.Arg { return c.op.Args[c.index[name]] }

// has reports whether the form has the parameter, and the argument is not NONE.
func (c *call) has(name string) bool {
	i, ok := c.index[name]
	return ok && c.op.Args[i].Kind != transcript.None
}

// tensor is the tensor of an argument.
func (c *call) tensor(name string) *view { return c.l.lookup(c.arg(name).Name) }

// integer is an argument that has to be an integer.
func (c *call) integer(name string) int64 {
	n := c.arg(name).Number
	if n.IsFloat {
		fail("`%s` is the float %v, not an integer", name, n.Float)
	}
	return n.Int
}

// flag is an argument that is true or false.
func (c *call) flag(name string) bool {
	n := c.integer(name)
	if n != 0 && n != 1 {
		fail("`%s` is %d, not true or false", name, n)
	}
	return n == 1
}

// axis is an argument that names an axis of a tensor of this rank, negative from the end.
func (c *call) axis(name string, rank int) int {
	n := c.integer(name)
	if n < -int64(rank) || n >= int64(rank) {
		fail("`%s` is %d, which is no axis of a tensor of rank %d", name, n, rank)
	}
	if n < 0 {
		n += int64(rank)
	}
	return int(n)
}

// shape is an argument that lists extents. One of them may be -1 where free is set.
func (c *call) shape(name string, free bool) []int64 {
	out := []int64{}
	for i, a := range c.arg(name).List {
		if a.Kind != transcript.Int || a.Number.IsFloat {
			fail("element %d of `%s` is %s, not an extent", i, name, a)
		}
		n := a.Number.Int
		if (n < 0 || n > types.MaxExtent) && !(free && n == -1) {
			fail("element %d of `%s` is %d, which is not from 0 to 2^31-1", i, name, n)
		}
		out = append(out, n)
	}
	if len(out) > maxRank {
		fail("`%s` has %d axes; the limit is %d", name, len(out), maxRank)
	}
	return out
}

// maxRank bounds the axes of a tensor, as NumPy does.
const maxRank = 64

// checkSize refuses tensors whose size in bytes is no int64. Smaller ones may be refused when memory is taken.
func checkSize(d types.DType, shape []int64) {
	n := int64(d.Bytes())
	for _, e := range shape {
		if e == 0 {
			return
		}
	}
	for _, e := range shape {
		if n > math.MaxInt64/e {
			fail("a tensor of shape %s has more elements than can be counted", list(shape))
		}
		n *= e
	}
}

// list prints a shape.
func list(shape []int64) string {
	return "[" + strings.Trim(strings.ReplaceAll(fmt.Sprint(shape), " ", ", "), "[]") + "]"
}

// bits are a number as an element of type d.
func (c *call) bits(name string, d types.DType) uint64 {
	n := c.arg(name).Number
	switch {
	case d == types.F64 || d == types.F32 || d == types.F16:
		x := n.Float
		if !n.IsFloat {
			x = float64(n.Int)
		}
		return scalar.FloatBits(d, x)
	case n.IsFloat && (n.Float != math.Trunc(n.Float) || math.Abs(n.Float) > 1<<53):
		fail("`%s` is %v, which is no %s", name, n.Float, d)
	}
	i := n.Int
	if n.IsFloat {
		i = int64(n.Float)
	}
	switch {
	case d == types.Bool && (i == 0 || i == 1):
		return uint64(i)
	case d.IsSigned() && i>>(d.Bits()-1) == i>>63:
		return uint64(i) << (64 - d.Bits()) >> (64 - d.Bits())
	case d.IsUnsigned() && i >= 0 && (d.Bits() == 64 || i>>d.Bits() == 0):
		return uint64(i)
	}
	fail("`%s` is %d, which is out of the range of %s", name, i, d)
	return 0
}

// result binds the name of the out to a tensor.
func (c *call) result(v *view) {
	switch c.op.Out.Kind {
	case transcript.DeviceTensor:
		if d := c.op.Out.DType; d != types.Invalid && d != v.st.elem {
			fail("the result is %s, and its name %s has the type %s", v.typ(), c.op.Out.Name, d)
		}
		c.l.bind(c.op.Out.Name, v)
	case transcript.None:
	default:
		fail("the out is a %s, not a DEVICE_TENSOR", c.op.Out.Kind)
	}
}

// store writes x into the argument `out`, which becomes the result. inputs name the arguments that x was made from.
func (c *call) store(x *ir.Value, inputs ...string) {
	out := c.tensor("out")
	shape := extents(x.Type)
	// An input that is the output, too, is read at places that are written before they are read for the last time
	// when it has fewer elements than the result.
	for _, name := range inputs {
		if c.arg(name).Kind != transcript.DeviceTensor {
			continue
		}
		in := c.tensor(name)
		if in.overlaps(out) && !slices.Equal(in.shape, shape) && enlarges(in.shape, shape) {
			fail("tensor %s shares memory with the output, and is of shape %s, which broadcasting enlarges to %s",
				c.arg(name).Name, list(in.shape), list(shape))
		}
	}
	if !slices.Equal(shape, out.shape) {
		fail("the result is of shape %s, and the output of %s", list(shape), list(out.shape))
	}
	if x.Type.Elem != out.st.elem {
		fail("the result is %s, and the output %s", x.Type.Elem, out.st.elem)
	}
	if !out.writable() {
		fail("the output %s of shape %s has an expanded axis, so its elements share memory", c.arg("out").Name,
			list(out.shape))
	}
	c.l.write(out, x)
	c.result(out)
}

// enlarges reports whether broadcasting makes more of a tensor.
func enlarges(from, to []int64) bool {
	if len(from) > len(to) {
		return false
	}
	for i, n := range from {
		if m := to[len(to)-len(from)+i]; n != m && n != 1 {
			return false
		}
	}
	return true
}

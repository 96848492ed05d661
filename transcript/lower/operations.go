package lower

import (
	"slices"
	"sync"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
	"healc/transcript"
)

// operations are all operations by name, each with the forms of its arguments. docs/transcripts.md says what they do.
// They are no initializer, since forms are built by functions that look operations up.
var (
	operations    map[string][]form
	addOperations sync.Once
)

// formsOf has the forms of the arguments of an operation; nil for a name that is none.
func formsOf(name string) []form {
	addOperations.Do(fillOperations)
	return operations[name]
}

func fillOperations() {
	operations = map[string][]form{
		"host_to_device": {of("a:host", hostToDevice), of("a:host dtype:none|dtype", hostToDevice)},
		"device_to_host": {of("a", deviceToHost), of("a to:none", deviceToHost)},

		"empty":         {of("shape:shape dtype:dtype", zeros)},
		"zeros":         {of("shape:shape dtype:dtype", zeros)},
		"set_const_val": {of("out v:int", setConstVal), of("a v:int out", setConstVal)},

		"_mod_tt":    {of("a b out", remainder)},
		"_mod_tc":    {of("a b:int out", remainder)},
		"_mod_ct":    {of("a:int b out", remainder)},
		"_modneg_tt": {of("a p out", modular(ops.ModNeg, "a", "p"))},
		"_modneg_tc": {of("a p:int out", modular(ops.ModNeg, "a", "p"))},

		"axis_modsum": {of("a axis:int p out", axisModSum)},
		"modmul_axis_sum": {of("a b p log2p:tensor|none mu:tensor|none perm:tensor|none out apply_perm:int",
			modMulAxisSum), of("a b p log2p:tensor|none mu:tensor|none perm:tensor|none out apply_perm:int axis:int",
			modMulAxisSum)},

		"ntt": {
			of(
				"a axis:int perm perm_pairs:tensor|none q log2q:tensor|none mu:tensor|none psi out tile:int "+
					"skip_perm:int", transform(ops.Ntt)),
			of("a perm perm_pairs:tensor|none q log2q:tensor|none mu:tensor|none psi out tile:int skip_perm:int",
				transform(ops.Ntt)),
		},
		"intt": {
			of("a perm perm_pairs:tensor|none q log2q:tensor|none mu:tensor|none psi n_inv out tile:int",
				transform(ops.Intt)),
			of("a axis:int perm perm_pairs:tensor|none q log2q:tensor|none mu:tensor|none psi n_inv out tile:int",
				transform(ops.Intt)),
		},

		"take_along_axis": {of("a idx axis:int out", takeAlongAxis)},
		"apply_g_decomp":  {of("a power:int base_bits:int out", digits)},
		"apply_g_decomp_relative_to_full_q": {of(
			"a q_list q_inv:tensor|none power:int base_bits:int level_size_bits:int|none level_inv:tensor|none out",
			digitsFull)},
		"abs":             {of("a", absolute), of("a out", absolute)},
		"pad_single_axis": {of("a pad:int axis:int out", pad)},

		"moveaxis":      {of("a src:int dst:int", moveAxis)},
		"expand":        {of("a first:int second:int", expand)},
		"contiguous":    {of("a", contiguous)},
		"get_slice":     {of("a index:shape", getSlice)},
		"new_reference": {of("a", func(_ *lowerer, c *call) { c.result(c.tensor("a")) })},
		"flatten":       {of("a start:int end:int", flatten)},
		"squeeze":       {of("a axis:int", squeeze)},
		"unsqueeze":     {of("a axis:int", unsqueeze)},
		"reshape":       {of("a shape:shape", reshaped)},
	}
	for name, params := range map[string]string{"ttt": "a b p out", "ttc": "a b p:int out", "tct": "a b:int p out",
		"tcc": "a b:int p:int out"} {
		operations["_modmul_"+name] = []form{of(params, modular(ops.ModMul, "a", "b", "p"))}
		operations["_modsum_"+name] = []form{of(params, modular(ops.ModSum, "a", "b", "p"))}
	}
}

// hostToDevice binds a host tensor under the out name, with the dtype of the out.
func hostToDevice(l *lowerer, c *call) {
	t := c.arg("a").Tensor
	if c.op.Out.Kind != transcript.DeviceTensor {
		fail("the out is a %s, not a DEVICE_TENSOR", c.op.Out.Kind)
	}
	w := &version{typ: types.Of(t.DType, t.Shape...), input: len(l.inputs)}
	l.inputs = append(l.inputs, t)
	to := c.op.Out.DType
	if to == types.Invalid {
		to = t.DType
		if c.has("dtype") {
			to = c.arg("dtype").DType
		}
	}
	if to != t.DType {
		c.result(fresh(l.version(l.cast(l.load(w), to))))
		return
	}
	st := &storage{elem: t.DType, shape: t.Shape, strides: rowMajor(t.Shape), now: w}
	v := st.whole()
	if apart(t.Shape, t.Strides) {
		st.strides, v.strides, v.offset = t.Strides, t.Strides, t.Offset
	}
	c.result(v)
}

// deviceToHost makes a tensor an output of the program.
func deviceToHost(l *lowerer, c *call) {
	v := c.tensor("a")
	o := output{Output: Output{Entry: l.at, Name: c.arg("a").Name}}
	switch c.op.Out.Kind {
	case transcript.HostTensor:
		o.Expected = c.op.Out.Tensor
	case transcript.None:
	default:
		fail("the out is a %s, not a HOST_TENSOR", c.op.Out.Kind)
	}
	switch w := v.st.now; {
	case w.fill != nil:
		o.Elem, o.Fill, o.Shape = v.st.elem, w.fill, v.shape
	case w.input >= 0 && slices.Equal(v.st.strides, l.inputs[w.input].Strides):
		o.from, o.Offset, o.Shape, o.Strides = w, v.offset, v.shape, v.strides
	case len(v.links) == 0 && slices.Equal(v.inner, v.shape):
		o.from = w
	default:
		o.from = l.version(l.read(v))
	}
	l.outputs = append(l.outputs, o)
}

// zeros also makes an `empty` tensor, whose elements are 0 so that a transcript which reads them has one meaning.
func zeros(_ *lowerer, c *call) {
	shape, d := c.shape("shape", false), c.arg("dtype").DType
	checkSize(d, shape)
	c.result(fresh(filled(d, shape, 0)))
}

func setConstVal(l *lowerer, c *call) {
	out := c.tensor("out")
	if c.has("a") {
		if a := c.tensor("a"); !slices.Equal(a.shape, out.shape) {
			fail("the operand is of shape %s, and the output of %s", list(a.shape), list(out.shape))
		}
	}
	bits := c.bits("v", out.st.elem)
	if len(out.links) == 0 && slices.Equal(out.inner, out.shape) {
		out.st.now = filled(out.st.elem, out.shape, bits)
		c.result(out)
		return
	}
	c.store(l.broadcast(l.number(out.st.elem, bits), out.shape))
}

// operand is an argument, a tensor or a number, as a value of type d. Narrower integers with a sign widen.
func (c *call) operand(name string, d types.DType) *ir.Value {
	if c.arg(name).Kind == transcript.Int {
		return c.l.number(d, c.bits(name, d))
	}
	v := c.tensor(name)
	if from := v.st.elem; from != d && !(from.IsSigned() && d.IsSigned() && from.Bits() < d.Bits()) {
		fail("`%s` is %s, and the output is %s", name, v.typ(), c.tensor("out").typ())
	}
	return c.l.cast(c.l.read(v), d)
}

// modular is an element-wise operation modulo p, its last operand.
func modular(d *ir.OpDef, operands ...string) func(l *lowerer, c *call) {
	return func(l *lowerer, c *call) {
		elem := c.tensor("out").st.elem
		var xs []*ir.Value
		shape := types.Shape{}
		for _, name := range operands {
			x := c.operand(name, elem)
			both, err := types.Broadcast(shape, x.Type.Shape)
			if err != nil {
				fail("`%s` is of shape %s, which does not broadcast with %s: %v", name, x.Type.Shape, shape, err)
			}
			xs, shape = append(xs, x), both
		}
		n, _ := shape.Ints()
		for i, x := range xs {
			xs[i] = l.broadcast(x, n)
		}
		c.store(l.emit(d, nil, xs...), operands...)
	}
}

// remainder truncates, as `%` does, and does not broadcast tensors.
func remainder(l *lowerer, c *call) {
	out := c.tensor("out")
	var xs []*ir.Value
	for _, name := range []string{"a", "b"} {
		x := c.operand(name, out.st.elem)
		if c.arg(name).Kind == transcript.DeviceTensor && !slices.Equal(extents(x.Type), out.shape) {
			fail("`%s` is of shape %s, and the output of %s", name, list(extents(x.Type)), list(out.shape))
		}
		xs = append(xs, l.broadcast(x, out.shape))
	}
	c.store(l.emit(ops.Rem, nil, xs...))
}

func absolute(l *lowerer, c *call) {
	a := c.tensor("a")
	x := l.emit(ops.Abs, nil, l.read(a))
	if c.has("out") {
		c.store(x, "a")
		return
	}
	c.result(fresh(l.version(x)))
}

package aot

import (
	"fmt"
	"slices"
	"strings"

	"healc/codegen"
	"healc/codegen/llvm/aot/names"
	"healc/lang/types"
)

// torchTypes are the element types of PyTorch.
var torchTypes = map[types.DType]string{
	types.Bool: "bool", types.I8: "int8", types.I16: "int16", types.I32: "int32", types.I64: "int64",
	types.U8: "uint8", types.U16: "uint16", types.U32: "uint32", types.U64: "uint64",
	types.F16: "float16", types.BF16: "bfloat16", types.F32: "float32", types.F64: "float64",
	types.F8E4M3: "float8_e4m3fn", types.F8E5M2: "float8_e5m2", types.E8M0: "float8_e8m0fnu",
}

// torchHead is what stands before the operators. The Python module that calls the library lies beside.
const torchHead = `from __future__ import annotations as _annotations

import torch as _torch
from torch.library import custom_op as _custom_op

import %s as _lib


def _extent(n):
    return n if n > 0 else 0


`

// Torch is a Python module with the functions of a library as operators of PyTorch, which know the shapes of their
// results without computing them, and their derivatives. module is the Python module of the library. The error is a
// *codegen.Unsupported.
func Torch(l *Library, module string) (string, error) {
	var b strings.Builder
	fmt.Fprintf(&b, "\"\"\"%s: the functions of %s as operators of PyTorch, for tensors on the CPU.\"\"\"\n\n", Mark,
		pythonText(module))
	fmt.Fprintf(&b, torchHead, module)
	var all, later []string
	var text strings.Builder
	for _, e := range l.Entries {
		op, err := newTorchOp(l, e)
		if err != nil {
			return "", err
		}
		all = append(all, fmt.Sprintf("    %q,\n", op.name))
		text.WriteString(op.define())
		later = append(later, op.differentiate())
	}
	b.WriteString("__all__ = [\n" + strings.Join(all, "") + "]\n")
	b.WriteString(text.String() + strings.Join(later, ""))
	return b.String(), nil
}

// torchOp writes one operator.
type torchOp struct {
	e       *Entry
	library string
	name    string
	params  []string // in Python
	dims    []string // lines that find the shape parameters
	results []string // expressions that make memory for the results
	schema  string
	mutated []string
}

func newTorchOp(l *Library, e *Entry) (*torchOp, error) {
	t := &torchOp{e: e, library: l.Prefix, name: names.Python(e.Name)}
	refuse := func(why string) error {
		return &codegen.Unsupported{What: fmt.Sprintf("the function `%s`", e.Name), Target: "PyTorch", Why: why}
	}
	all := slices.Clone(e.Results)
	for _, p := range e.Params {
		all = append(all, p.Type)
	}
	for _, r := range all {
		if torchTypes[r.Elem] == "" {
			return nil, refuse("it has no tensors of " + r.Elem.String())
		}
	}
	n := names.NewLocals(names.InPython)
	for _, p := range e.Params {
		t.params = append(t.params, n.Take(p.Name))
	}
	dims, known := pythonDims(e, t.params, n)
	t.dims = dims
	for _, d := range e.Dims {
		if _, ok := known[d]; !ok {
			return nil, refuse(fmt.Sprintf("no argument determines the shape parameter %s; give it a value with "+
				"--shape %s=EXTENT", d, d))
		}
	}
	for _, r := range e.Results {
		var extents strings.Builder
		for _, d := range r.Shape {
			fmt.Fprintf(&extents, "_extent(%s), ", pythonDim(d, known))
		}
		t.results = append(t.results, fmt.Sprintf("_torch.empty((%s), dtype=_torch.%s)",
			strings.TrimSuffix(extents.String(), " "), torchTypes[r.Elem]))
	}
	t.describe()
	return t, nil
}

// tensor reports that parameter i is a tensor in PyTorch. Weights of a derivative are.
func (t *torchOp) tensor(i int) bool {
	return !t.e.Params[i].byValue() || t.e.Weights > 0 && i >= t.e.first()
}

// first is the first of the weights.
func (e *Entry) first() int { return len(e.Params) - e.Weights }

// describe writes the schema.
func (t *torchOp) describe() {
	var params []string
	for i, p := range t.e.Params {
		typ := "float"
		switch d := p.Type.Elem; {
		case p.Update:
			typ = fmt.Sprintf("Tensor(a%d!)", i)
			t.mutated = append(t.mutated, fmt.Sprintf("%q", t.params[i]))
		case t.tensor(i):
			typ = "Tensor"
		case d == types.Bool:
			typ = "bool"
		case !d.IsFloat():
			typ = "SymInt"
		}
		params = append(params, typ+" "+t.params[i])
	}
	returns := "()"
	switch n := len(t.results); {
	case n == 1:
		returns = "Tensor"
	case n > 1:
		returns = "(" + strings.Repeat("Tensor, ", n-1) + "Tensor)"
	}
	t.schema = fmt.Sprintf("(%s) -> %s", strings.Join(params, ", "), returns)
}

// define writes the operator, and what it gives for tensors without elements in memory.
func (t *torchOp) define() string {
	var b strings.Builder
	head := strings.Join(t.params, ", ")
	fmt.Fprintf(&b, "\n\ndef _results_%s(%s):\n", t.name, head)
	if slices.ContainsFunc(t.e.Results, func(r types.Tensor) bool { return r.Rank() > 0 }) {
		for _, l := range t.dims {
			b.WriteString("    " + l + "\n")
		}
	}
	made := "None"
	if len(t.results) > 0 {
		made = strings.Join(t.results, ", ")
	}
	b.WriteString("    return " + made + "\n")
	var args []string
	for i, p := range t.params {
		switch {
		case t.e.Params[i].byValue() && t.tensor(i):
			p += ".item()"
		case t.tensor(i):
			p += ".detach()"
		}
		args = append(args, p)
	}
	fmt.Fprintf(&b, "\n\ndef _run_%s(%s):\n    \"\"\"%s.\"\"\"\n", t.name, head, pythonText(t.e.Signature))
	if len(t.results) > 0 {
		fmt.Fprintf(&b, "    out = _results_%s(%s)\n", t.name, head)
		args = append(args, "out=out")
	}
	fmt.Fprintf(&b, "    _lib.%s(%s)\n", t.name, strings.Join(args, ", "))
	if len(t.results) > 0 {
		b.WriteString("    return out\n")
	}
	mutated := strings.Join(t.mutated, ", ")
	if len(t.mutated) == 1 {
		mutated += ","
	}
	fmt.Fprintf(&b, "\n\n%s = _custom_op(\n    %q,\n    _run_%s,\n    mutates_args=(%s),\n    device_types=\"cpu\",\n"+
		"    schema=%q,\n)\n", t.name, t.library+"::"+t.name, t.name, mutated, t.schema)
	fmt.Fprintf(&b, "%s.register_fake(_results_%s)\n", t.name, t.name)
	return b.String()
}

// differentiate registers the derivative, or why there is none.
func (t *torchOp) differentiate() string {
	var b strings.Builder
	e := t.e
	if e.Vjp == nil {
		why := e.NoVjp
		if e.Weights > 0 {
			why = "it is a derivative"
		}
		if len(t.mutated) > 0 || len(t.results) == 0 { // of which PyTorch says so
			return ""
		}
		fmt.Fprintf(&b, "\n\ndef _back_%s(ctx, *weights):\n    raise NotImplementedError(%s)\n", t.name,
			pythonString(fmt.Sprintf("%s has no derivative: %s", e.Name, why)))
		fmt.Fprintf(&b, "\n\n%s.register_autograd(_back_%s)\n", t.name, t.name)
		return b.String()
	}
	var tensors, others []string
	for i, p := range t.params {
		if t.tensor(i) {
			tensors = append(tensors, p)
		} else {
			others = append(others, p)
		}
	}
	fmt.Fprintf(&b, "\n\ndef _keep_%s(ctx, inputs, output):\n    %s, = inputs\n", t.name, strings.Join(t.params, ", "))
	fmt.Fprintf(&b, "    ctx.save_for_backward(%s)\n", strings.Join(tensors, ", "))
	if len(others) > 0 {
		fmt.Fprintf(&b, "    ctx.others = %s,\n", strings.Join(others, ", "))
	}
	n := names.NewLocals(names.InPython)
	for _, p := range t.params {
		n.Take(p)
	}
	args := slices.Clone(t.params)
	var weights []string
	for i, r := range e.Results {
		w := n.Take(fmt.Sprintf("weight%d", i))
		weights = append(weights, w)
		if r.Elem.IsFloat() {
			args = append(args, w)
		}
	}
	given := n.Take("given")
	fmt.Fprintf(&b, "\n\ndef _back_%s(ctx, %s):\n    %s, = ctx.saved_tensors\n", t.name, strings.Join(weights, ", "),
		strings.Join(tensors, ", "))
	if len(others) > 0 {
		fmt.Fprintf(&b, "    %s, = ctx.others\n", strings.Join(others, ", "))
	}
	fmt.Fprintf(&b, "    %s = %s(%s)\n", given, names.Python(e.Vjp.Name), strings.Join(args, ", "))
	gives := make([]string, len(e.Params))
	for i := range gives {
		gives[i] = "None"
	}
	for i, k := range e.VjpBy {
		if gives[k] = given; len(e.VjpBy) > 1 {
			gives[k] = fmt.Sprintf("%s[%d]", given, i)
		}
	}
	fmt.Fprintf(&b, "    return %s\n", strings.Join(gives, ", "))
	fmt.Fprintf(&b, "\n\n%s.register_autograd(_back_%s, setup_context=_keep_%s)\n", t.name, t.name, t.name)
	return b.String()
}

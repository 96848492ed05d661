package ir

import (
	"fmt"
	"strings"

	"healc/lang/types"
)

// Verify checks everything that the stages rely on:
//
//   - functions have different names, and a function's shape parameters have different names;
//   - every value is defined once: as parameter number Index of a block or result number Index of Def;
//   - every operand and yield is defined before it is used, in the same block or in one around it; the
//     region of a Fused operation uses its own parameters and results alone;
//   - an operation has the operands, regions and attributes that the table says, each attribute with the
//     Go type of its kind and optional ones alone absent; constants have as many elements as their shape;
//   - result types are those that the table infers;
//   - literal extents are from 0 to types.MaxExtent; others name shape parameters of the function only;
//   - a function yields its result types;
//   - a call names a function of the module, binds all of its shape parameters, and its operands and
//     results have the types of that function under the binding;
//   - effects stand in functions marked io only.
//
// It collects all errors; the result is a *VerifyError that shows each under its line of the function text.
func Verify(m *Module) error {
	v := &verifier{module: m, notes: map[any][]string{}}
	bad := &VerifyError{}
	names := map[string]*Func{}
	for _, f := range m.Funcs {
		before := v.count
		if names[f.Name] != nil {
			v.note(f, "function %s is defined twice", FormatSym(f.Name))
		}
		names[f.Name] = f
		v.fn(f)
		if v.count > before {
			bad.Count += v.count - before
			bad.Text += v.render(f)
		}
	}
	if bad.Count > 0 {
		return bad
	}
	return nil
}

// VerifyError is what Verify found: a bug of the pass that ran last.
type VerifyError struct {
	Count int
	Text  string // the functions concerned, with each error under its line
}

func (e *VerifyError) Error() string {
	return fmt.Sprintf("the IR is not valid (%d errors)\n%s", e.Count, e.Text)
}

type verifier struct {
	module  *Module
	f       *Func
	notes   map[any][]string // *Func, *Op or *Block to messages
	count   int
	defined map[*Value]*Block // where each value seen so far is defined
	open    map[*Block]int    // the blocks around the current place, to their depth
	depth   int
	floor   int // blocks of a smaller depth cannot be seen: the inside of a Fused operation
}

func (v *verifier) note(at any, format string, args ...any) {
	v.notes[at] = append(v.notes[at], fmt.Sprintf(format, args...))
	v.count++
}

func (v *verifier) render(f *Func) string {
	var b strings.Builder
	_ = PrintFunc(&b, f, PrintOptions{note: func(at any) []string { return v.notes[at] }})
	return b.String()
}

func (v *verifier) fn(f *Func) {
	v.f, v.defined, v.open, v.depth, v.floor = f, map[*Value]*Block{}, map[*Block]int{}, 0, 0
	seen := map[string]bool{}
	for _, d := range f.Dims {
		if seen[d] {
			v.note(f, "shape parameter %s is there twice", d)
		}
		seen[d] = true
	}
	v.block(f.Body, f)
	for _, t := range f.Results {
		v.typ(f, t)
	}
	updated := map[int64]bool{}
	for i, k := range f.Updates {
		at := len(f.Results) - len(f.Updates) + i
		if k < 0 || k >= int64(len(f.Body.Params)) || updated[k] || at < 0 ||
			!types.Equal(f.Body.Params[k].Type, f.Results[at]) {
			v.note(f.Body, "parameter %d cannot be updated by result %d", k, at)
		}
		updated[k] = true
	}
	if got := ArgTypes(f.Body.Yields); !sameTypes(got, f.Results) {
		v.note(f.Body, "returns (%s), the function has (%s)", joinTypes(got), joinTypes(f.Results))
	}
}

// block checks b; errors of its parameters are shown at owner.
func (v *verifier) block(b *Block, owner any) {
	if _, twice := v.open[b]; twice {
		v.note(owner, "a block is inside itself")
		return
	}
	v.depth++
	v.open[b] = v.depth
	for i, p := range b.Params {
		if p.Def != nil || p.Index != i {
			v.note(owner, "parameter %d does not know its place", i)
		}
		v.define(owner, b, p)
	}
	for _, op := range b.Ops {
		v.op(b, op)
	}
	for i, y := range b.Yields {
		if !v.visible(y) {
			v.note(b, "value %d is not defined here", i)
		}
	}
	delete(v.open, b)
	v.depth--
}

func (v *verifier) define(at any, b *Block, val *Value) {
	if _, twice := v.defined[val]; twice {
		v.note(at, "a value is defined twice")
	}
	v.defined[val] = b
	v.typ(at, val.Type)
}

func (v *verifier) visible(val *Value) bool {
	b, ok := v.defined[val]
	depth, isOpen := v.open[b]
	return ok && isOpen && depth > v.floor
}

func (v *verifier) op(b *Block, op *Op) {
	if op.Def == nil || Lookup(op.Def.Name) != op.Def {
		v.note(op, "the operation is not in the table")
		return
	}
	ok := true
	for i, a := range op.Args {
		if !v.visible(a) {
			v.note(op, "operand %d is not defined here", i)
			ok = false
		}
	}
	floor := v.floor
	if op.Def.Class == Fused {
		v.floor = v.depth
	}
	for _, r := range op.Regions {
		v.block(r, op)
	}
	v.floor = floor
	for i, r := range op.Results {
		if r.Def != op || r.Index != i {
			v.note(op, "result %d does not know its place", i)
		}
		v.define(op, b, r)
	}
	if !ok {
		return
	}
	v.attrs(op)
	got := ArgTypes(op.Results)
	want, err := op.Def.Infer(ArgTypes(op.Args), op.Attrs, op.Regions)
	if err != nil {
		v.note(op, "%s", err)
	} else if !sameTypes(want, got) {
		v.note(op, "%s gives (%s), not (%s)", op.Def.Name, joinTypes(want), joinTypes(got))
	}
	if op.IsCall() {
		v.call(op)
	}
	if !v.f.IO && len(op.Regions) == 0 && v.module.HasEffect(op) {
		v.note(op, "an effect in a function that is not io")
	}
}

// call checks a call against the function it names.
func (v *verifier) call(op *Op) {
	f := v.module.Func(op.Str("callee"))
	dims := op.Dims("dims")
	switch {
	case f == nil:
		v.note(op, "there is no function %s", FormatSym(op.Str("callee")))
		return
	case len(dims) != len(f.Dims):
		v.note(op, "%s has %d shape parameters and %d are bound", FormatSym(f.Name), len(f.Dims), len(dims))
		return
	}
	bind := map[string]types.Dim{}
	for i, d := range f.Dims {
		bind[d] = dims[i]
	}
	params, err1 := SubstTypes(ArgTypes(f.Body.Params), bind)
	results, err2 := SubstTypes(f.Results, bind)
	switch {
	case err1 != nil:
		v.note(op, "%s", err1)
	case err2 != nil:
		v.note(op, "%s", err2)
	case !sameTypes(params, ArgTypes(op.Args)):
		v.note(op, "%s takes (%s), not (%s)", FormatSym(f.Name), joinTypes(params), joinTypes(ArgTypes(op.Args)))
	case !sameTypes(results, op.Types("results")):
		v.note(op, "%s returns (%s), not (%s)", FormatSym(f.Name), joinTypes(results), joinTypes(op.Types("results")))
	}
}

// attrs checks what the attributes hold.
func (v *verifier) attrs(op *Op) {
	for _, a := range op.Attrs {
		switch a := a.(type) {
		case types.Dim:
			v.dim(op, a)
		case types.Shape:
			for _, d := range a {
				v.dim(op, d)
			}
		case []types.Tensor:
			for _, t := range a {
				v.typ(op, t)
			}
		case *Array:
			if !a.wellFormed() {
				v.note(op, "a constant %s has %d elements", a.Type(), len(a.Bits))
			}
		}
	}
}

func (v *verifier) typ(at any, t types.Tensor) {
	if t.Elem == types.Invalid || t.Elem == types.String && t.Rank() > 0 {
		v.note(at, "%s is no type of a value", t)
	}
	for _, d := range t.Shape {
		v.dim(at, d)
		if n, ok := d.Const(); ok && (n < 0 || n > types.MaxExtent) {
			v.note(at, "extent %d is not from 0 to %d", n, types.MaxExtent)
		}
	}
}

// dim checks that d names shape parameters of the function only.
func (v *verifier) dim(at any, d types.Dim) {
	for _, name := range d.Params() {
		known := false
		for _, have := range v.f.Dims {
			known = known || have == name
		}
		if !known {
			v.note(at, "%s is no shape parameter of the function", name)
		}
	}
}

func sameTypes(a, b []types.Tensor) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Elem != b[i].Elem || !a[i].Shape.Equal(b[i].Shape) {
			return false
		}
	}
	return true
}

// Package gradient writes the derivatives that Go programs ask for: in and out are functions of tensor IR. What `grad`
// says in a source is the same operation, which the checker writes.
package gradient

import (
	"fmt"
	"slices"
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// Check says which derivatives of a module cannot be taken, as a *diag.List; nil for none.
func Check(m *ir.Module) error {
	list := &diag.List{}
	for _, d := range ops.CheckGradients(m) {
		list.Add(d)
	}
	list.Sort()
	return list.Err()
}

// Params are the positions of the parameters of f by the names in wrt, ascending; those of all floats for none. f is a
// function that gives one float; the error, which shows its signature, is a *diag.List.
func Params(f *ir.Func, signature string, wrt []string) ([]int64, error) {
	refuse := func(code diag.Code, help, format string, args ...any) error {
		d := &diag.Diagnostic{Code: code, Message: fmt.Sprintf(format, args...), Primary: diag.Label{Span: f.Span},
			Help: help}
		return (&diag.List{Items: []*diag.Diagnostic{d}}).Err()
	}
	switch r := f.Results; {
	case f.IO:
		return nil, refuse(diag.CodeUnsupported, "", "the derivative of `%s`, which has effects, is not supported",
			f.Name)
	case len(f.Updates) > 0:
		return nil,
			refuse(diag.CodeUnsupported, "", "the derivative of `%s`, which has a `&mut` parameter, is not supported",
				f.Name)
	case len(r) != 1 || !r[0].IsScalar() || !r[0].Elem.IsFloat():
		return nil, refuse(diag.CodeNotScalar, "sum or average what is larger",
			"a gradient needs a function that gives one float: `%s`", signature)
	}
	params := f.Params()
	var by []int64
	for i, p := range params {
		if len(wrt) == 0 && p.Type.Elem.IsFloat() {
			by = append(by, int64(i))
		}
	}
	for _, name := range wrt {
		found := false
		for i, p := range params {
			if p.Name != name && !strings.HasPrefix(p.Name, name+".") {
				continue
			}
			if !p.Type.Elem.IsFloat() {
				return nil, refuse(diag.CodeWrt, "", "parameter `%s` of `%s` is %s, and only floats have derivatives",
					p.Name, f.Name, p.Type)
			}
			if slices.Contains(by, int64(i)) {
				return nil, refuse(diag.CodeWrt, "", "parameter `%s` of `%s` is named twice", p.Name, f.Name)
			}
			by, found = append(by, int64(i)), true
		}
		if !found {
			names := make([]string, len(params))
			for i, p := range params {
				names[i] = p.Name
			}
			help := "it has " + strings.Join(names, ", ")
			if near := diag.Nearest(name, names); near != "" {
				help = fmt.Sprintf("did you mean `%s`?", near)
			}
			return nil, refuse(diag.CodeWrt, help, "`%s` has no parameter `%s`", f.Name, name)
		}
	}
	if len(by) == 0 {
		return nil, refuse(diag.CodeWrt, "", "`%s` has no float parameter", f.Name)
	}
	slices.Sort(by)
	return by, nil
}

// Derive writes the derivative of a function by the parameters at by: an operation `vjp` of a call. With add, the
// derivatives are added to `&mut` parameters behind those of the function.
func Derive(of *ir.Func, by []int64, add bool) *ir.Func {
	g := &ir.Func{Name: of.Name + ".grad", Dims: of.Dims, Body: &ir.Block{}, Span: of.Span,
		Results: slices.Clone(of.Results)}
	for _, p := range of.Params() {
		g.Body.Param(p.Name, p.Type, p.Span)
	}
	args := slices.Clone(g.Body.Params)
	b := ir.Builder{Block: g.Body, Span: of.Span}
	one := ir.NewArray(of.Results[0].Elem)
	one.Bits[0] = scalar.IntBits(one.DType, 1)
	args = append(args, b.Emit(ops.Const, ir.A{"value": one}))
	g.Body.Yields = slices.Clone(b.EmitOp(ops.Vjp, ir.A{"wrt": by}, args, []*ir.Block{call(of)}).Results)
	for i, k := range by {
		p := of.Params()[k]
		g.Results = append(g.Results, p.Type)
		if add {
			g.Updates = append(g.Updates, int64(len(g.Params())))
			sum := g.Body.Param("d_"+p.Name, p.Type, p.Span)
			g.Body.Yields[1+i] = b.Emit(ops.Add, nil, sum, g.Body.Yields[1+i])
		}
	}
	return g
}

// Pull writes the weighted sums of the derivatives of a function, `vjp(f)`, by the parameters at by: it takes the
// arguments of the function and then a weight for each result that is floats, of its type.
func Pull(of *ir.Func, by []int64) *ir.Func {
	g := &ir.Func{Name: of.Name + ".vjp", Dims: of.Dims, Body: &ir.Block{}, Span: of.Span}
	for _, p := range of.Params() {
		g.Body.Param(p.Name, p.Type, p.Span)
	}
	for i, r := range of.Results {
		name := "weight"
		if len(of.Results) > 1 {
			name = fmt.Sprintf("weight%d", i)
		}
		if r.Elem.IsFloat() {
			g.Body.Param(name, r, of.Span)
		}
	}
	b := ir.Builder{Block: g.Body, Span: of.Span}
	all := b.EmitOp(ops.Vjp, ir.A{"wrt": by}, slices.Clone(g.Body.Params), []*ir.Block{call(of)}).Results
	g.Body.Yields = slices.Clone(all[len(of.Results):])
	for _, k := range by {
		g.Results = append(g.Results, of.Params()[k].Type)
	}
	return g
}

// call is a region that calls a function with its own parameters.
func call(of *ir.Func) *ir.Block {
	region := &ir.Block{}
	var dims types.Shape
	for _, d := range of.Dims {
		dims = append(dims, types.Param(d))
	}
	for _, p := range of.Params() {
		region.Param(p.Name, p.Type, p.Span)
	}
	b := ir.Builder{Block: region, Span: of.Span}
	region.Yields = b.EmitOp(ops.Call, ir.A{"callee": of.Name, "dims": dims, "results": of.Results}, region.Params,
		nil).Results
	return region
}

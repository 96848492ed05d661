package heal

import (
	"fmt"
	"slices"
	"strings"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/irgen"
	"healc/lang/types"
)

// checkGradients tries the derivatives of a program: whether one can be taken shows in the operations.
func checkGradients(p *check.Program) error {
	if !p.Gradients {
		return nil
	}
	return gradientErrors(irgen.Generate(p))
}

// gradientErrors says which derivatives of a module cannot be taken, as a *diag.List; nil for none.
func gradientErrors(m *ir.Module) error {
	list := &diag.List{}
	for _, d := range ops.CheckGradients(m) {
		list.Add(d)
	}
	list.Sort()
	return list.Err()
}

// Gradient returns the derivative of a function that gives one float, as `value_and_grad(f, wrt = ...)` is in a
// program: it takes the arguments of the function, and gives its value and then the derivative by each parameter that
// wrt names, of the shape of that parameter, in the order of the parameters. Where wrt is empty these are all float
// parameters. A parameter that is a tuple stands for its tensors; one of them is called `p.0`, as (*ir.Func).Params
// names it. The error is a *diag.List when the function cannot be differentiated.
func (m *Module) Gradient(name string, wrt ...string) (*Func, error) {
	return m.gradient(name, wrt, false)
}

// AddGradient is Gradient for derivatives that accumulate: after the arguments of the function come `&mut` tensors, one
// for each derivative, to which the derivatives are added, and the value is the only result.
func (m *Module) AddGradient(name string, wrt ...string) (*Func, error) {
	return m.gradient(name, wrt, true)
}

func (m *Module) gradient(name string, wrt []string, add bool) (*Func, error) {
	f, err := m.Func(name)
	if err != nil {
		return nil, err
	}
	by, err := f.floatParams(wrt)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := fmt.Sprint("gradient of ", f.name, by, add) // no name of a function has spaces
	if g := m.funcs[key]; g != nil {
		return g, nil
	}
	code := f.derive(by, add)
	for m.ir.Func(code.Name) != nil {
		code.Name += "_"
	}
	// A module of its own, which shares the functions and the threads of this one: passes work on a copy.
	with := &Module{opts: m.opts, prog: m.prog, pool: m.pool,
		ir: &ir.Module{Name: m.ir.Name, Funcs: append(slices.Clip(m.ir.Funcs), code)}}
	if err := gradientErrors(&ir.Module{Name: m.ir.Name, Funcs: append([]*ir.Func{code}, m.ir.Funcs...)}); err != nil {
		return nil, err
	}
	g := &Func{m: with, name: code.Name, ir: code}
	g.memory = f.memory.ofGradient(code, by)
	m.funcs[key] = g
	return g, nil
}

// ofGradient is the memory of a derivative: each gradient is row-major, and where its parameter is.
func (m *memory) ofGradient(code *ir.Func, by []int64) *memory {
	if m == nil {
		return nil
	}
	out := &memory{params: slices.Clone(m.params), off: m.off}
	for i, t := range code.Results { // the value, then the gradients, which are results or what is updated
		if i > 0 {
			t.Place = m.params[by[i-1]].Place
		}
		if len(code.Updates) > 0 && i > 0 {
			out.params = append(out.params, t)
			continue
		}
		out.results = append(out.results, t)
		place := t.Place
		if t.IsScalar() {
			place = types.OnHost
		}
		out.stay = append(out.stay, place)
	}
	return out
}

// floatParams are the positions of the parameters of the names in wrt, ascending; of all floats for none.
func (f *Func) floatParams(wrt []string) ([]int64, error) {
	refuse := func(code diag.Code, help, format string, args ...any) error {
		d := &diag.Diagnostic{Code: code, Message: fmt.Sprintf(format, args...), Primary: diag.Label{Span: f.ir.Span},
			Help: help}
		return (&diag.List{Items: []*diag.Diagnostic{d}}).Err()
	}
	switch r := f.ir.Results; {
	case f.ir.IO:
		return nil, refuse(diag.CodeUnsupported, "", "the derivative of `%s`, which has effects, is not supported",
			f.name)
	case len(f.ir.Updates) > 0:
		return nil,
			refuse(diag.CodeUnsupported, "", "the derivative of `%s`, which has a `&mut` parameter, is not supported",
				f.name)
	case len(r) != 1 || !r[0].IsScalar() || !r[0].Elem.IsFloat():
		return nil, refuse(diag.CodeNotScalar, "sum or average what is larger",
			"a gradient needs a function that gives one float: `%s`", f.Signature())
	}
	params := f.ir.Params()
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
					p.Name, f.name, p.Type)
			}
			if slices.Contains(by, int64(i)) {
				return nil, refuse(diag.CodeWrt, "", "parameter `%s` of `%s` is named twice", p.Name, f.name)
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
			return nil, refuse(diag.CodeWrt, help, "`%s` has no parameter `%s`", f.name, name)
		}
	}
	if len(by) == 0 {
		return nil, refuse(diag.CodeWrt, "", "`%s` has no float parameter", f.name)
	}
	slices.Sort(by)
	return by, nil
}

// derive writes the derivative of f by the parameters at by: an operation `vjp` of a call.
func (f *Func) derive(by []int64, add bool) *ir.Func {
	of := f.ir
	g := &ir.Func{Name: of.Name + ".grad", Dims: of.Dims, Body: &ir.Block{}, Span: of.Span,
		Results: slices.Clone(of.Results)}
	region := &ir.Block{}
	var dims types.Shape
	for _, d := range of.Dims {
		dims = append(dims, types.Param(d))
	}
	for _, p := range of.Params() {
		g.Body.Param(p.Name, p.Type, p.Span)
		region.Param(p.Name, p.Type, p.Span)
	}
	args := slices.Clone(g.Body.Params)
	inner := ir.Builder{Block: region, Span: of.Span}
	region.Yields = inner.EmitOp(ops.Call, ir.A{"callee": of.Name, "dims": dims, "results": of.Results}, region.Params,
		nil).Results
	b := ir.Builder{Block: g.Body, Span: of.Span}
	one := ir.NewArray(of.Results[0].Elem)
	one.Bits[0] = scalar.IntBits(one.DType, 1)
	args = append(args, b.Emit(ops.Const, ir.A{"value": one}))
	g.Body.Yields = slices.Clone(b.EmitOp(ops.Vjp, ir.A{"wrt": by}, args, []*ir.Block{region}).Results)
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

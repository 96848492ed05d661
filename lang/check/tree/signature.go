package tree

import (
	"slices"
	"strings"

	"healc/lang/diag"
	"healc/lang/types"
)

// SignatureText is the head of a function as it is declared.
func SignatureText(f *Func) string {
	var b strings.Builder
	b.WriteString("fn " + WithDims(f))
	b.WriteString("(")
	for i, p := range f.Params {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(p.Name + ": ")
		if slices.Contains(f.Muts, i) {
			b.WriteString("&mut ")
		}
		b.WriteString(p.T.String())
	}
	b.WriteString(")")
	if !types.Equal(f.Result, types.Unit) {
		b.WriteString(" -> " + f.Result.String())
	}
	return b.String()
}

// WithDims is a function's name with its type arguments and shape parameters in brackets, without those that tuples
// bring.
func WithDims(f *Func) string { return WithExtents(f, nil) }

// WithExtents is WithDims with the extents that are known in the place of their parameters.
func WithExtents(f *Func, known map[string]types.Dim) string {
	name, types, instance := strings.Cut(strings.TrimSuffix(f.DisplayName(), "]"), "[")
	var dims []string
	for _, d := range f.Dims {
		if !strings.Contains(d, ".") {
			if e, ok := known[d]; ok {
				d = e.String()
			}
			dims = append(dims, d)
		}
	}
	if instance {
		dims = append([]string{types}, dims...)
	}
	if len(dims) == 0 {
		return name
	}
	return name + "[" + strings.Join(dims, ", ") + "]"
}

// Main returns the function that `healc run` runs when no entry is named, or the diagnostic that says why
// there is none. It takes nothing and returns an integer, bool or unit.
func (p *Program) Main() (*Func, *diag.Diagnostic) {
	d := &diag.Diagnostic{Code: diag.CodeMain}
	f := p.Func("main")
	if f == nil {
		d.Message = "there is no function `main`"
		if p.Source != nil {
			d.Message += " in " + p.Source.Name
		}
		d.Help = "add `@io fn main() -> i32 = ...`, or run another function with `--entry NAME`"
		return nil, d
	}
	d.Primary = diag.Label{Span: f.Loc, Text: SignatureText(f)}
	if len(f.Params) > 0 || len(f.Dims) > 0 {
		d.Message = "`main` takes no parameters"
		d.Help = "run a function with parameters as `--entry main --in NAME=VALUE`"
		return nil, d
	}
	t, ok := f.Result.(types.Tensor)
	if types.Equal(f.Result, types.Unit) || ok && t.IsScalar() && (t.Elem.IsInt() || t.Elem == types.Bool) {
		return f, nil
	}
	d.Message = "`main` returns an integer, bool or unit, not " + f.Result.String()
	d.Help = "its value is the exit code; run a function for its value with `--entry main`"
	return nil, d
}

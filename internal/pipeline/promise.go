package pipeline

import (
	"fmt"
	"slices"
	"strings"

	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/passes"
	"healc/passes/bufferize"
)

// `@kernel` promises that a function becomes exactly one kernel. What fusion does depends on the extents, so
// the promise is checked where these are known: for a function without shape parameters when the source
// is compiled, for any other when it is compiled for the shapes of a call. On the interpreter there are no
// kernels, but the promise is checked all the same, so that a program does not pass there and fail elsewhere.

// CheckPromises checks the functions without shape parameters that are marked @kernel. The error is a *diag.List.
func (s *Source) CheckPromises() error {
	list := &diag.List{}
	for _, f := range s.Program.Funcs {
		if f.Kernel && len(f.Dims) == 0 {
			d, err := s.kernelPromise(f.Name, nil)
			if err != nil {
				return err
			}
			if d != nil && d.Severity == diag.Warning {
				s.Program.Warnings = append(s.Program.Warnings, d)
			} else if d != nil {
				list.Add(d)
			}
		}
	}
	list.Sort()
	return list.Err()
}

// CheckPromise is CheckPromises for one function and its shapes.
func (s *Source) CheckPromise(entry string, bind map[string]int64) error {
	if s.Program == nil {
		return nil
	}
	f := s.Program.Func(entry)
	if f == nil || !f.Kernel || len(f.Dims) == 0 {
		return nil
	}
	d, err := s.kernelPromise(entry, bind)
	if err != nil || d == nil || d.Severity == diag.Warning {
		return nil // what is wrong with the shapes, the call itself reports
	}
	return (&diag.List{Items: []*diag.Diagnostic{d}}).Err()
}

// kernelPromise says why a function does not become exactly one kernel; nil when it does.
func (s *Source) kernelPromise(entry string, bind map[string]int64) (*diag.Diagnostic, error) {
	var remarks strings.Builder
	quiet := New(s, Options{}) // without the dumps and remarks that the user asked for
	quiet.opts.Debug.Passes = &passes.Options{Remarks: []string{"fuse"}, Out: &remarks}
	fused, err := quiet.Fused(entry, bind)
	if err != nil {
		return nil, err
	}
	km, err := bufferize.Lower(fused, entry, bufferize.Options{})
	if err != nil {
		return nil, err
	}
	if steps := km.Plan.Funcs[0].Steps; len(km.Kernels) == 1 && len(steps) == 1 && steps[0].Launch != nil {
		return nil, nil
	}
	f := s.Program.Func(entry)
	if len(km.Kernels) == 0 && ofScalars(f) {
		return &diag.Diagnostic{Code: diag.CodeNoKernel, Severity: diag.Warning,
			Message: fmt.Sprintf("`%s` is a function of scalars, which becomes no kernel of its own", f.Decl.Name.Name),
			Primary: diag.Label{Span: f.Loc},
			Help:    "leave out `@kernel`: it is computed inside the kernel of its caller"}, nil
	}
	d := &diag.Diagnostic{
		Code:    diag.CodeKernel,
		Message: fmt.Sprintf("`%s` is marked `@kernel`, but %s", f.Decl.Name.Name, outcome(km)),
		Primary: diag.Label{Span: f.Loc},
		Help: "leave out `@kernel`, or compute what is kept in a function of its own; `healc explain` shows the " +
			"kernels",
	}
	if len(km.Kernels) > 1 {
		n := 0
		for _, op := range fused.Func(entry).Body.Ops {
			if op.Def.Class == ir.Fused {
				n++
				d.Related = append(d.Related, diag.Label{Span: op.Span, Text: fmt.Sprintf("kernel %d", n)})
			}
		}
	}
	for line := range strings.Lines(remarks.String()) {
		if _, why, ok := strings.Cut(line, "kept "); ok {
			_, why, _ = strings.Cut(why, ": ")
			if why = "a value is kept in memory: " + strings.TrimSpace(why); len(d.Notes) == 0 ||
				d.Notes[len(d.Notes)-1] != why {
				d.Notes = append(d.Notes, why)
			}
		}
	}
	return d, nil
}

// ofScalars reports a function whose parameters and results are scalars.
func ofScalars(f *tree.Func) bool {
	all := types.Flatten(f.Result)
	for _, p := range f.Params {
		all = append(all, types.Flatten(p.T)...)
	}
	return !slices.ContainsFunc(all, func(t types.Tensor) bool { return !t.IsScalar() })
}

// outcome is what a function became, for a message.
func outcome(km *kernel.Module) string {
	switch n := len(km.Kernels); {
	case n == 0 && len(km.Plan.Funcs[0].Steps) == 0:
		return "it computes nothing: what it returns is a view of its operands"
	case n == 0:
		return "it becomes no kernel"
	case n == 1:
		return "it becomes one kernel and other steps beside it, such as input, output or copies"
	default:
		return fmt.Sprintf("it becomes %d kernels", n)
	}
}

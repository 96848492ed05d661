package pipeline

import (
	"fmt"

	"healc/codegen"
	"healc/codegen/llvm/aot"
	"healc/internal/gradient"
	"healc/ir"
)

// AddDerivatives gives a library an entry with the derivative of each function that has one, by its tensors of floats.
func (m *Module) AddDerivatives(l *aot.Library, bind func(entry string) map[string]int64) error {
	for _, e := range l.Entries[:len(l.Entries):len(l.Entries)] {
		f, _, err := m.Find(e.Name)
		if err != nil {
			return err
		}
		if e.NoVjp = noDerivative(e, f); e.NoVjp != "" {
			continue
		}
		e.VjpBy = byTensors(e)
		code := gradient.Pull(f, e.VjpBy)
		name := code.Name
		for m.IR().Func(code.Name) != nil {
			code.Name += "_"
		}
		with := m.With(code)
		if err := gradient.Check(with.IR()); err != nil {
			e.NoVjp = err.Error()
			continue
		}
		if other := l.Meets(name); other != "" {
			return &codegen.Unsupported{What: fmt.Sprintf("the function `%s`", e.Name), Target: "PyTorch",
				Why: fmt.Sprintf("its derivative would be called as `%s` is there", other)}
		}
		e.Vjp = &aot.Entry{Name: name, Signature: "vjp(" + e.Signature + ")"}
		if err := with.complete(e.Vjp, code, bind(e.Name)); err != nil {
			return err
		}
		e.Vjp.Weights = len(e.Vjp.Params) - len(e.Params)
		l.Entries = append(l.Entries, e.Vjp)
	}
	return nil
}

// noDerivative says why a function has none, "" where it may have one.
func noDerivative(e *aot.Entry, f *ir.Func) string {
	floats := 0
	for _, r := range e.Results {
		if r.Elem.IsFloat() {
			floats++
		}
	}
	switch {
	case len(f.Updates) > 0:
		return "it changes its arguments"
	case floats == 0:
		return "it gives no floats"
	case len(byTensors(e)) == 0:
		return "it takes no tensor of floats"
	}
	return ""
}

// byTensors are the parameters with axes that are floats.
func byTensors(e *aot.Entry) []int64 {
	var by []int64
	for i, p := range e.Params {
		if p.Type.Elem.IsFloat() && p.Type.Rank() > 0 {
			by = append(by, int64(i))
		}
	}
	return by
}

package engine

import (
	"fmt"

	"healc/internal/gradient"
	"healc/ir"
)

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
	by, err := gradient.Params(f.ir, f.Signature(), wrt)
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	key := fmt.Sprint("gradient of ", f.ir.Name, by, add) // no name of a function has spaces
	if g := m.funcs[key]; g != nil {
		return g, nil
	}
	code := gradient.Derive(f.ir, by, add)
	for m.IR().Func(code.Name) != nil {
		code.Name += "_"
	}
	all := &ir.Module{Name: m.IR().Name, Funcs: append([]*ir.Func{code}, m.IR().Funcs...)}
	if err := gradient.Check(all); err != nil {
		return nil, err
	}
	// A module of its own, which shares the functions and the threads of this one: passes work on a copy.
	with := &Module{Module: m.Module.With(code), opts: m.opts, pool: m.pool, uses: m.uses,
		funcs: map[string]*Func{}}
	g := &Func{m: with, ir: code, memory: f.memory.OfGradient(code, by)}
	m.funcs[key] = g
	return g, nil
}

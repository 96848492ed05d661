package heal

// Gradient returns the derivative of a function that gives one float, as `value_and_grad(f, wrt = ...)` is in a
// program: it takes the arguments of the function, and gives its value and then the derivative by each parameter that
// wrt names, of the shape of that parameter, in the order of the parameters. Where wrt is empty these are all float
// parameters. A parameter that is a tuple stands for its tensors; one of them is called `p.0`, as Func.Params names it.
// Of several ranks each gets the whole derivative by a parameter that is sharded. The error is a *Diagnostics when the
// function cannot be differentiated.
func (m *Module) Gradient(name string, wrt ...string) (*Func, error) {
	if m.far != nil {
		return m.farFace(m.far.Gradient(name, wrt, false))
	}
	return m.face(m.in.Gradient(name, wrt...))
}

// AddGradient is Gradient for derivatives that accumulate: after the arguments of the function come `&mut` tensors, one
// for each derivative, to which the derivatives are added, and the value is the only result.
func (m *Module) AddGradient(name string, wrt ...string) (*Func, error) {
	if m.far != nil {
		return m.farFace(m.far.Gradient(name, wrt, true))
	}
	return m.face(m.in.AddGradient(name, wrt...))
}

package ir

// MayFail reports whether op can stop the program: its entry has the trait, and neither its types nor
// constant operands rule the failure out. Regions count as what is in them.
func (o *Op) MayFail() bool {
	for _, r := range o.Regions {
		for _, inner := range r.Ops {
			if inner.MayFail() {
				return true
			}
		}
	}
	return o.Def.Traits.Has(MayFail) && (o.Def.Fails == nil || o.Def.Fails(o))
}

// HasEffect reports whether op does input or output: by its traits, by the function it calls, or by an
// operation in its regions.
func (m *Module) HasEffect(op *Op) bool {
	if op.IsCall() {
		f := m.Func(op.Str("callee"))
		return f == nil || f.IO
	}
	if op.Def.Traits.Has(Effect) {
		return true
	}
	for _, r := range op.Regions {
		for _, inner := range r.Ops {
			if m.HasEffect(inner) {
				return true
			}
		}
	}
	return false
}

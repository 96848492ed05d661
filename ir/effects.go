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
	return o.mayFail()
}

// mayFail is MayFail without what is in the regions.
func (o *Op) mayFail() bool {
	return o.Def.Traits.Has(MayFail) && (o.Def.Fails == nil || o.Def.Fails(o))
}

// Failing knows of operations whether they may fail. Each is gone through once, however deep it is in others, and has
// to stay as it is meanwhile.
type Failing map[*Op]bool

// May is op.MayFail().
func (f Failing) May(op *Op) bool {
	if len(op.Regions) == 0 {
		return op.MayFail()
	}
	may, known := f[op]
	if !known {
		for _, r := range op.Regions {
			for _, inner := range r.Ops {
				may = may || f.May(inner)
			}
		}
		may = may || op.mayFail()
		f[op] = may
	}
	return may
}

// Effects knows of operations whether they have an effect, as Failing does whether they may fail.
type Effects struct {
	Module *Module
	has    map[*Op]bool
}

// NewEffects knows of no operation of m yet.
func NewEffects(m *Module) *Effects { return &Effects{m, map[*Op]bool{}} }

// Has is HasEffect(op).
func (e *Effects) Has(op *Op) bool {
	if len(op.Regions) == 0 {
		return e.Module.HasEffect(op)
	}
	has, known := e.has[op]
	if !known {
		has = op.Def.Traits.Has(Effect)
		for _, r := range op.Regions {
			for _, inner := range r.Ops {
				has = has || e.Has(inner)
			}
		}
		e.has[op] = has
	}
	return has
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

package interp

import (
	"fmt"
	"strconv"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// code is a function prepared for evaluation under one binding of its shape parameters: every extent is a
// literal, and every value has a slot.
type code struct {
	name      string
	body      *block
	slots     int
	recursive bool // it can call itself, perhaps through others
}

// block is a prepared ir.Block.
type block struct {
	params []int
	steps  []step
	yields []int
	own    []int // every slot that the block defines
	reads  []int // the slots of blocks around it that it reads, itself or in blocks within
}

// step is a prepared operation.
type step struct {
	op      *ir.Op
	args    []int
	results []int
	bytes   int64           // that its results take
	vast    *RuntimeError   // of results that no memory could hold, when it runs
	dead    []int           // slots that nothing reads after this step
	regions []*block        // parallel to op.Regions
	program *scalar.Program // of a pointwise operation
	expand  *block          // of an operation that is defined by simpler ones
}

// prepare returns the code of f with its shape parameters bound to dims.
func (m *machine) prepare(f *ir.Func, dims []int64) (*code, error) {
	m.key = append(m.key[:0], f.Name...)
	for _, n := range dims {
		m.key = strconv.AppendInt(append(m.key, ' '), n, 10)
	}
	if c := m.codes[string(m.key)]; c != nil {
		return c, nil
	}
	key := string(m.key)
	f, err := instantiate(f, dims)
	if err != nil {
		return nil, err
	}
	if f, err = m.closed(f); err != nil {
		return nil, err
	}
	p := &preparer{m: m, slot: map[*ir.Value]int{}}
	c := &code{name: f.Name, recursive: m.recursive(f.Name)}
	if c.body, err = p.block(f.Body); err != nil {
		return nil, err
	}
	c.slots = len(p.slot)
	m.codes[key] = c
	return c, nil
}

// closed puts the bodies of functions in the place of their calls where f differentiates: a derivative is that of
// everything that is called.
func (m *machine) closed(f *ir.Func) (*ir.Func, error) {
	calls := false
	inDerivatives(f.Body, func(b *ir.Block) {
		ir.Walk(b, func(op *ir.Op) { calls = calls || op.Def == ops.Call })
	})
	if !calls {
		return f, nil
	}
	f, err := ir.NewCloner().Func(f)
	if err != nil {
		return nil, &RuntimeError{Span: f.Span, Message: err.Error()}
	}
	inDerivatives(f.Body, func(b *ir.Block) {
		if e := ops.InlineRegionCalls(m.module, b); e != nil && err == nil {
			err = &RuntimeError{Span: f.Span, Message: e.Error()}
		}
		if err == nil {
			err = recheck(b, "")
		}
	})
	return f, err
}

// inDerivatives visits the functions that b differentiates, those inside of others left out.
func inDerivatives(b *ir.Block, visit func(b *ir.Block)) {
	for _, op := range b.Ops {
		for _, r := range op.Regions {
			if op.Def == ops.Vjp || op.Def == ops.Jvp {
				visit(r)
			} else {
				inDerivatives(r, visit)
			}
		}
	}
}

// instantiate replaces the shape parameters by their values and applies every type rule again: what could
// not be seen with symbolic extents, such as a slice that leaves its axis, shows here.
func instantiate(f *ir.Func, dims []int64) (*ir.Func, error) {
	if len(dims) != len(f.Dims) {
		return nil, &RuntimeError{Span: f.Span, Message: fmt.Sprintf("%s has %d shape parameters, not %d", f.Name,
			len(f.Dims), len(dims))}
	}
	if len(dims) == 0 {
		return f, nil
	}
	cloner := ir.NewCloner()
	cloner.Dims = map[string]types.Dim{}
	for i, name := range f.Dims {
		cloner.Dims[name] = types.Lit(dims[i])
	}
	where := ir.With(cloner.Dims)
	g, err := cloner.Func(f)
	if err != nil {
		return nil, &RuntimeError{Span: f.Span, Message: err.Error() + where}
	}
	for _, p := range g.Params() {
		if err := ir.CheckExtents(p.Type); err != nil {
			return nil, &RuntimeError{Span: p.Span, Message: err.Error() + where}
		}
	}
	return g, recheck(g.Body, where)
}

// recheck applies every type rule of a function again. What stands in a region stops when that runs: Note [Shapes that
// do not fit] in package ops.
func recheck(b *ir.Block, where string) error {
	text := func(err error) (string, types.Shape) { return err.Error() + where, nil }
	if bad := ops.Recheck(b, text); bad != nil {
		return &RuntimeError{Span: bad.Span, Message: bad.Err.Error() + where}
	}
	return nil
}

// recursive reports whether calls lead from the function called name back to it.
func (m *machine) recursive(name string) bool {
	seen := map[string]bool{}
	var reaches func(from string) bool
	reaches = func(from string) bool {
		f := m.module.Func(from)
		if f == nil || seen[from] {
			return false
		}
		seen[from] = true
		found := false
		ir.Walk(f.Body, func(op *ir.Op) {
			if op.Def == ops.Call && !found {
				callee := op.Str("callee")
				found = callee == name || reaches(callee)
			}
		})
		return found
	}
	return reaches(name)
}

type preparer struct {
	m    *machine
	slot map[*ir.Value]int

	// by slot, for findDead
	home []*block // which defines it
	read []*block // the last one that was seen to read it, of those around which it is defined
	last []int    // the last step of its home that reads it, or none
}

func (p *preparer) define(b *block, v *ir.Value) int {
	s := len(p.slot)
	p.slot[v] = s
	p.home, p.read, p.last = append(p.home, b), append(p.read, nil), append(p.last, none)
	b.own = append(b.own, s)
	return s
}

// none is no step.
const none = -1

func (p *preparer) use(vs []*ir.Value, at diag.Span) ([]int, error) {
	slots := make([]int, len(vs))
	for i, v := range vs {
		s, ok := p.slot[v]
		if !ok {
			return nil,
				&RuntimeError{Span: at,
					Message: "the module uses a value that is not visible here; it was not verified"}
		}
		slots[i] = s
	}
	return slots, nil
}

func (p *preparer) block(b *ir.Block) (*block, error) {
	out := &block{}
	for _, v := range b.Params {
		out.params = append(out.params, p.define(out, v))
	}
	for _, op := range b.Ops {
		s, err := p.step(out, op)
		if err != nil {
			return nil, err
		}
		out.steps = append(out.steps, s)
	}
	var err error
	if out.yields, err = p.use(b.Yields, diag.Span{}); err != nil {
		return nil, err
	}
	p.findDead(out)
	return out, nil
}

func (p *preparer) step(b *block, op *ir.Op) (step, error) {
	s := step{op: op}
	var err error
	if s.args, err = p.use(op.Args, op.Span); err != nil {
		return s, err
	}
	for _, r := range op.Regions {
		prepared, err := p.block(r)
		if err != nil {
			return s, err
		}
		s.regions = append(s.regions, prepared)
	}
	switch {
	case op.Def.Expand != nil:
		body, err := expanded(op)
		if err != nil {
			return s, err
		}
		if s.expand, err = p.block(body); err != nil {
			return s, err
		}
	case op.Def.Scalar != nil:
		s.program = pointwise(op)
	}
	for _, v := range op.Results {
		n, ok := bytes(v.Type)
		if !ok && s.vast == nil {
			s.vast = outOfMemory(op.Span, v.Type)
		}
		s.bytes += n
		s.results = append(s.results, p.define(b, v))
	}
	return s, nil
}

// expanded is what op is defined by. A derivative that cannot be taken, of a module that no checker has seen, is an
// error.
func expanded(op *ir.Op) (body *ir.Block, err error) {
	defer func() {
		e := recover()
		if failed, ok := e.(*ir.GradientError); ok {
			err = failed
		} else if e != nil {
			panic(e)
		}
	}()
	body = &ir.Block{}
	body.Yields = op.Def.Expand(&ir.Builder{Block: body, Span: op.Span}, op)
	return body, nil
}

// pointwise records the scalar program of a pointwise operation.
func pointwise(op *ir.Op) *scalar.Program {
	params := make([]types.DType, len(op.Args))
	for i, a := range op.Args {
		params[i] = a.Type.Elem
	}
	r, x := scalar.NewRecorder(params...)
	r.Func.Results = []scalar.Ref{op.Def.Scalar(scalar.Emitter{Sink: r}, op, x)}
	return scalar.Compile(&r.Func)
}

// findDead puts every slot of b on the dead list of the last step that reads it, itself or in a region. The blocks
// within have been there.
func (p *preparer) findDead(b *block) {
	for i := range b.steps {
		s := &b.steps[i]
		for _, r := range s.results {
			p.last[r] = i
		}
		p.reads(b, i, s.args)
		for _, r := range s.regions {
			p.reads(b, i, r.reads)
		}
		if s.expand != nil {
			p.reads(b, i, s.expand.reads)
		}
	}
	p.reads(b, none, b.yields)
	for _, slot := range b.own {
		if i := p.last[slot]; i != none {
			b.steps[i].dead = append(b.steps[i].dead, slot)
		}
	}
}

// reads says that step i of b reads the slots; none are its yields.
func (p *preparer) reads(b *block, i int, slots []int) {
	for _, slot := range slots {
		switch {
		case p.home[slot] == b:
			p.last[slot] = i
		case p.read[slot] != b:
			p.read[slot] = b
			b.reads = append(b.reads, slot)
		}
	}
}

package fusion

import (
	"hash/fnv"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Access relations]: how an operation reads its operands is what its Element rule of the op table does, which
// makes code for one element. Here the rule runs on the provenance of indices instead of code (abstract
// interpretation): an index is where it comes from, an instruction joins the origins of its operands, and what the rule
// pulls of an operand is a reading of it. So fusion knows a new operation without another word about it. Operations
// that carry a state are left to provenance.go, because the planner counts their steps by estimates.

// An accessRule runs one Element rule on origins.
type accessRule struct {
	t      *tracer
	op     *ir.Op
	v      *visit // the point that the rule has come to
	known  func(*ir.Value) origin
	narrow bool // an update in place: its kernel is over what it replaces
	refs   []tracked
}

// A tracked scalar of the rule has its origin.
type tracked struct {
	origin
	t types.DType
}

// element reports how op, whose element at v is wanted, reads its operands.
func (t *tracer) element(op *ir.Op, result int, v *visit, known func(*ir.Value) origin) {
	p := &accessRule{t: t, op: op, v: v, known: known}
	p.narrow = v.root == op && t.inPlace != nil && t.inPlace(op)
	at := make([]scalar.Ref, len(v.at))
	for k, q := range v.at {
		at[k] = p.add(tracked{origin: q, t: types.I64})
	}
	op.Def.Element(p, op, result, at)
}

func (p *accessRule) add(x tracked) scalar.Ref {
	p.refs = append(p.refs, x)
	return scalar.Ref(len(p.refs) - 1)
}

func (p *accessRule) origins(at []scalar.Ref) []origin {
	out := make([]origin, len(at))
	for k, r := range at {
		out[k] = p.refs[r].origin
	}
	return out
}

// E implements ir.Pull.
func (p *accessRule) E() scalar.Emitter { return scalar.Emitter{Sink: p} }

// TypeOf implements scalar.Sink.
func (p *accessRule) TypeOf(r scalar.Ref) types.DType { return p.refs[r].t }

// Emit implements scalar.Sink: a result is known where its operands are.
func (p *accessRule) Emit(in scalar.Instr) scalar.Ref {
	if in.Op == scalar.Const {
		return p.add(tracked{literal(in.Imm), in.Type})
	}
	if bits, ok := p.folded(in); ok {
		return p.add(tracked{literal(bits), in.Type})
	}
	if r, ok := p.same(in); ok {
		x := p.refs[r]
		x.t = in.Type
		return p.add(x)
	}
	out := origin{axis: -1}.through(uint64(in.Op), uint64(in.Type), in.Imm)
	for _, a := range in.Args {
		if a != scalar.None {
			out = out.after(p.refs[a].origin)
		}
	}
	return p.add(tracked{origin: out, t: in.Type})
}

// folded is the number that an instruction on numbers gives, and whether it is one: a position that is known decides
// which arm of an update, a concat or a pad its element comes from.
func (p *accessRule) folded(in scalar.Instr) (bits uint64, ok bool) {
	konst := func(r scalar.Ref) bool { return r != scalar.None && p.refs[r].konst }
	integer := func(r scalar.Ref) bool {
		return r == scalar.None || konst(r) && (p.refs[r].t.IsInt() || p.refs[r].t == types.Bool)
	}
	x, y := in.Args[0], in.Args[1]
	switch in.Op {
	case scalar.And, scalar.Or: // one operand may decide
		decides := uint64(0)
		if in.Op == scalar.Or {
			decides = 1
		}
		for _, r := range in.Args[:2] {
			if in.Type == types.Bool && konst(r) && p.refs[r].bits == decides {
				return decides, true
			}
		}
	case scalar.Div, scalar.Rem:
		if konst(y) && p.refs[y].bits == 0 {
			return 0, false
		}
	case scalar.Cast, scalar.Add, scalar.Sub, scalar.Mul, scalar.Eq, scalar.Lt, scalar.Le, scalar.Select:
	default:
		return 0, false
	}
	if !integer(x) || !integer(y) || !integer(in.Args[2]) || !(in.Type.IsInt() || in.Type == types.Bool) {
		return 0, false
	}
	var args []uint64
	for _, r := range in.Args {
		if r != scalar.None {
			args = append(args, p.refs[r].bits)
		}
	}
	return scalar.EvalInstr(in.Op, in.Type, p.refs[x].t, args...), true
}

// same finds the operand that an instruction on indices gives unchanged.
func (p *accessRule) same(in scalar.Instr) (scalar.Ref, bool) {
	is := func(r scalar.Ref, n int64) bool { x := p.refs[r]; return x.konst && x.bits == scalar.IntBits(x.t, n) }
	x, y := in.Args[0], in.Args[1]
	switch in.Op {
	case scalar.Cast:
		return x, in.Type.IsInt() && p.refs[x].t.IsInt() && !p.refs[x].konst
	case scalar.Add:
		if is(x, 0) {
			return y, true
		}
		return x, is(y, 0)
	case scalar.Sub:
		return x, is(y, 0)
	case scalar.Mul, scalar.Div:
		return x, is(y, 1)
	}
	return scalar.None, false
}

// after is what is known where both p and q are, and computed from both.
func (p origin) after(q origin) origin {
	p = p.through(q.tag, uint64(q.level), uint64(q.axis))
	p.level = max(p.level, q.level)
	return p
}

// Arg implements ir.Pull: a reading of operand i.
func (p *accessRule) Arg(op *ir.Op, i int, at []scalar.Ref) scalar.Ref {
	x := op.Args[i]
	v := p.v.with(p.origins(at))
	p.t.read(x, v)
	value := p.known(x)
	if len(at) > 0 {
		value.axis = -1
	}
	for _, q := range v.at {
		value = value.after(q)
	}
	return p.add(tracked{origin: value, t: x.Type.Elem})
}

// Region implements ir.Pull.
func (p *accessRule) Region(op *ir.Op, r, yield int, args []scalar.Ref, at []scalar.Ref) scalar.Ref {
	body := op.Regions[r]
	v := p.v.with(p.origins(at))
	p.t.region(body, yield, v, p.origins(args), p.known)
	return p.add(tracked{origin: p.computed(v), t: body.Yields[yield].Type.Elem})
}

// Extent implements ir.Pull.
func (p *accessRule) Extent(d types.Dim) scalar.Ref {
	if n, ok := d.Const(); ok {
		return p.E().Int(types.I64, n)
	}
	return p.add(tracked{origin: origin{axis: -1}.through(hash(d.String())), t: types.I64})
}

// Choose implements scalar.Chooser.
func (p *accessRule) Choose(_ *scalar.Choice, cond scalar.Ref, t types.DType, then, els func() scalar.Ref) scalar.Ref {
	return p.If(cond, t, then, els)
}

// If implements ir.Pull: either arm is evaluated for some of the indices, one alone where the condition is known.
func (p *accessRule) If(cond scalar.Ref, t types.DType, then, els func() scalar.Ref) scalar.Ref {
	v := p.v
	switch c := p.refs[cond]; {
	case c.konst && c.bits != 0 && !p.narrow:
		return then()
	case c.konst && c.bits == 0 && !p.narrow:
		return els()
	}
	if p.narrow {
		p.v = v.overReplaced(p.op)
	} else {
		p.v = p.t.inArm(v, p.refs[cond].level)
	}
	a := p.refs[then()]
	p.v = p.t.inArm(v, p.refs[cond].level)
	b := p.refs[els()]
	p.v = v
	return p.add(tracked{origin: origin{axis: -1}.after(a.origin).after(b.origin), t: t})
}

// Reduce implements ir.Pull. All loops of a reduction have one body, so they count as one.
func (p *accessRule) Reduce(_ *ir.Op, _ ir.ReduceKind, t types.DType, _ bool, extents []types.Dim,
	body func(at []scalar.Ref) scalar.Ref) scalar.Ref {
	p.loop(extents, func(at []scalar.Ref) { body(at) })
	return p.add(tracked{origin: p.computed(p.v), t: t})
}

// Loop implements ir.Pull.
func (p *accessRule) Loop(extents []types.Dim, _ int64, init []scalar.Ref,
	body func(at, state []scalar.Ref) []scalar.Ref) []scalar.Ref {
	p.loop(extents, func(at []scalar.Ref) { body(at, p.states(init)) })
	return p.results(init)
}

// Iterate implements ir.Pull.
func (p *accessRule) Iterate(_ scalar.Ref, init []scalar.Ref, body func(i scalar.Ref, state []scalar.Ref) ([]scalar.Ref,
	scalar.Ref)) []scalar.Ref {
	p.around(assumedSteps, func(i origin) { body(p.add(tracked{origin: i, t: types.I64}), p.states(init)) })
	return p.results(init)
}

// Call implements ir.Pull.
func (p *accessRule) Call(op *ir.Op, callee string, args []scalar.Ref, result int) scalar.Ref {
	out := origin{axis: -1}.through(hash(callee), uint64(result))
	for _, q := range p.origins(args) {
		out = out.after(q)
	}
	return p.add(tracked{origin: out, t: op.Results[result].Type.Elem})
}

func (p *accessRule) loop(extents []types.Dim, body func(at []scalar.Ref)) {
	n := 1.0
	for _, d := range extents {
		n *= sizeOf(d)
	}
	p.around(n, func(i origin) {
		at := make([]scalar.Ref, len(extents))
		for k := range at {
			at[k] = p.add(tracked{origin: i, t: types.I64})
		}
		body(at)
	})
}

// around puts a loop around what body does.
func (p *accessRule) around(extent float64, body func(origin)) {
	v := p.v
	in, i := p.t.loop(v, extent)
	p.v = in
	body(i)
	p.v = v
}

// states are scalars that differ in every step of the loop that p is in.
func (p *accessRule) states(init []scalar.Ref) []scalar.Ref {
	out := make([]scalar.Ref, len(init))
	for k, r := range init {
		out[k] = p.add(tracked{origin: origin{level: len(p.v.nest), axis: -1}.through(uint64(p.v.id), uint64(k)),
			t: p.refs[r].t})
	}
	return out
}

// results are what a loop leaves.
func (p *accessRule) results(init []scalar.Ref) []scalar.Ref {
	out := make([]scalar.Ref, len(init))
	for k, r := range init {
		out[k] = p.add(tracked{origin: p.computed(p.v).through(uint64(k)), t: p.refs[r].t})
	}
	return out
}

// computed is a scalar that is made of more than its operands' origins say: it is like no other.
func (p *accessRule) computed(v *visit) origin {
	p.t.nests++
	out := origin{level: max(p.v.level(), v.level(), v.keep), axis: -1}
	return out.through(p.t.id(p.op), uint64(p.t.nests))
}

// overReplaced is v in the kernel of update that is over what it replaces.
func (v *visit) overReplaced(update *ir.Op) *visit {
	w := *v
	w.nest = make([]float64, len(v.nest))
	for k, d := range update.Dims("shape") {
		w.nest[k] = sizeOf(d)
	}
	return &w
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

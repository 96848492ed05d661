package interp

import (
	"testing"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
)

// puller is an ir.Pull that evaluates at once: every Ref is a value. It takes the Element and Scalar rules
// literally, so that they can be compared with Eval.
type puller struct {
	t     testing.TB
	bits  []uint64
	types []types.DType
	given map[*ir.Value]*ir.Array  // values that are known as a whole
	bound map[*ir.Value]scalar.Ref // parameters of regions
	dims  map[string]int64         // values of shape parameters
	args  [3]uint64                // of the instruction that is evaluated
}

// pullFailure is what a failing check panics with.
type pullFailure struct {
	kind    scalar.CheckKind
	details []int64
}

func (p *puller) Emit(in scalar.Instr) scalar.Ref {
	args := p.args[:0]
	src := types.Invalid
	for _, a := range in.Args {
		if a != scalar.None {
			args = append(args, p.bits[a])
			src = p.types[a]
		}
	}
	switch in.Op {
	case scalar.Const:
		return p.constant(in.Type, in.Imm)
	case scalar.Check:
		if args[0] == 0 {
			f := pullFailure{kind: scalar.CheckKind(in.Imm)}
			for _, d := range args[1:] {
				f.details = append(f.details, int64(d))
			}
			panic(f)
		}
		return scalar.None
	}
	return p.constant(in.Type, scalar.EvalInstr(in.Op, in.Type, src, args...))
}

func (p *puller) constant(t types.DType, bits uint64) scalar.Ref {
	p.bits = append(p.bits, bits)
	p.types = append(p.types, t)
	return scalar.Ref(len(p.bits) - 1)
}

func (p *puller) TypeOf(r scalar.Ref) types.DType { return p.types[r] }

func (p *puller) E() scalar.Emitter { return scalar.Emitter{Sink: p} }

func (p *puller) Arg(op *ir.Op, i int, at []scalar.Ref) scalar.Ref { return p.value(op.Args[i], at) }

func (p *puller) value(v *ir.Value, at []scalar.Ref) scalar.Ref {
	if r, ok := p.bound[v]; ok {
		return r
	}
	if len(at) != v.Type.Rank() {
		p.t.Fatalf("%d indices for %s", len(at), v.Type)
	}
	a := p.given[v]
	if v.Def != nil && v.Def.Def == ops.Const { // bufferize reads a constant tensor as data
		a = v.Def.Array("value")
	}
	if a != nil {
		flat := int64(0)
		for k, r := range at {
			i := int64(p.bits[r])
			if p.types[r] != types.I64 || i < 0 || i >= a.Shape[k] {
				p.t.Fatalf("index %d of type %s is not in axis %d of %s", i, p.types[r], k, a.Type())
			}
			flat = flat*a.Shape[k] + i
		}
		return p.constant(a.DType, a.Bits[flat])
	}
	op := v.Def
	switch {
	case op.Def.Expand != nil:
		body := &ir.Block{}
		values := op.Def.Expand(&ir.Builder{Block: body}, op)
		return p.value(values[v.Index], at)
	case op.Def.Scalar != nil:
		x := make([]scalar.Ref, len(op.Args))
		for i := range x {
			x[i] = p.Arg(op, i, at)
		}
		return op.Def.Scalar(p.E(), op, x)
	}
	return op.Def.Element(p, op, v.Index, at)
}

func (p *puller) Region(op *ir.Op, r, yield int, args []scalar.Ref, at []scalar.Ref) scalar.Ref {
	b := op.Regions[r]
	for i, v := range b.Params {
		p.bound[v] = args[i]
	}
	return p.value(b.Yields[yield], at)
}

func (p *puller) Extent(d types.Dim) scalar.Ref {
	return p.constant(types.I64, uint64(p.extent(d)))
}

func (p *puller) extent(d types.Dim) int64 {
	n, err := d.Eval(p.dims)
	if err != nil {
		p.t.Fatal(err)
	}
	return n
}

func (p *puller) Choose(_ *scalar.Choice, cond scalar.Ref, t types.DType, then, els func() scalar.Ref) scalar.Ref {
	return p.If(cond, t, then, els)
}

func (p *puller) If(cond scalar.Ref, t types.DType, then, els func() scalar.Ref) scalar.Ref {
	r := scalar.None
	if p.bits[cond] != 0 {
		r = then()
	} else {
		r = els()
	}
	if p.types[r] != t {
		p.t.Fatalf("an arm gives %s and not %s", p.types[r], t)
	}
	return r
}

// space visits the index space in row-major order.
func (p *puller) space(extents []types.Dim, visit func(at []scalar.Ref)) {
	n := int64(1)
	size := make([]int64, len(extents))
	for k, d := range extents {
		size[k] = p.extent(d)
		n *= size[k]
	}
	at := make([]scalar.Ref, len(size))
	for i := range n {
		rest := i
		for k := len(size) - 1; k >= 0; k-- {
			at[k] = p.constant(types.I64, uint64(rest%size[k]))
			rest /= size[k]
		}
		visit(at)
	}
}

func (p *puller) Reduce(_ *ir.Op, kind ir.ReduceKind, t types.DType, lastAxis bool, extents []types.Dim,
	body func(at []scalar.Ref) scalar.Ref) scalar.Ref {
	var x []uint64
	p.space(extents, func(at []scalar.Ref) {
		r := body(at)
		if p.types[r] != t {
			p.t.Fatalf("a reduction of %s gets %s", t, p.types[r])
		}
		x = append(x, p.bits[r])
	})
	if kind == ir.ReduceArgMax || kind == ir.ReduceArgMin {
		return p.constant(types.I64, uint64(naivePosition(t, x, kind == ir.ReduceArgMax)))
	}
	if len(x) == 0 {
		identity, ok := kind.Identity(t)
		if !ok {
			p.t.Fatalf("%s of nothing was not caught by a check", kind)
		}
		return p.constant(t, identity)
	}
	op := map[ir.ReduceKind]scalar.Op{
		ir.ReduceSum: scalar.Add, ir.ReduceProd: scalar.Mul, ir.ReduceMax: scalar.Max,
		ir.ReduceMin: scalar.Min, ir.ReduceAnd: scalar.And, ir.ReduceOr: scalar.Or,
	}[kind]
	return p.constant(t, naiveReduce(x, lastAxis, func(a, b uint64) uint64 { return scalar.EvalInstr(op, t, t, a, b) }))
}

// naivePosition finds the first element that no other one beats, where NaN beats every number.
func naivePosition(t types.DType, x []uint64, largest bool) int {
	less := func(a, b uint64) bool { return scalar.EvalInstr(scalar.Lt, types.Bool, t, a, b) != 0 }
	nan := func(a uint64) bool { return scalar.EvalInstr(scalar.Ne, types.Bool, t, a, a) != 0 }
	for i, v := range x {
		beaten := false
		for _, w := range x {
			switch {
			case nan(v):
			case nan(w):
				beaten = true
			case largest:
				beaten = beaten || less(v, w)
			default:
				beaten = beaten || less(w, v)
			}
		}
		if !beaten {
			return i
		}
	}
	return -1
}

func (p *puller) Loop(extents []types.Dim, begin int64, init []scalar.Ref,
	body func(at, state []scalar.Ref) []scalar.Ref) []scalar.Ref {
	state, i := init, int64(0)
	p.space(extents, func(at []scalar.Ref) {
		if i >= begin {
			state = body(at, state)
		}
		i++
	})
	return state
}

func (p *puller) Iterate(n scalar.Ref, init []scalar.Ref, body func(i scalar.Ref, state []scalar.Ref) ([]scalar.Ref,
	scalar.Ref)) []scalar.Ref {
	state := init
	for i := int64(0); i < signExtended(p.types[n], p.bits[n]); i++ {
		next, stop := body(p.constant(types.I64, uint64(i)), state)
		state = next
		if stop != scalar.None && p.bits[stop] != 0 {
			break
		}
	}
	return state
}

func signExtended(t types.DType, bits uint64) int64 {
	shift := 64 - t.Bits()
	return int64(bits<<shift) >> shift
}

func (p *puller) Call(op *ir.Op, callee string, args []scalar.Ref, result int) scalar.Ref {
	p.t.Fatalf("calls are not pulled here: %s", callee)
	return scalar.None
}

package lower

import (
	"fmt"
	"slices"

	"healc/codegen/target/profile"
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

func extentOf(d types.Dim, div int64) abi.Extent {
	if div <= 1 {
		return abi.Extent{Dim: d}
	}
	return abi.Extent{Dim: d, Div: div}
}

// closeAt ends a compound statement that reads refs and whose blocks are the closed scopes: it goes to the
// outermost scope at depth least or below where all that it reads is visible (Note [Placement]).
func (b *body) closeAt(least int, refs []kernel.Ref, closed ...*scope) *scope {
	limit := closed[0].depth
	var needs depthSet
	needs.addAll(b.depths(refs...), limit)
	checks, guarded := false, false
	for _, s := range closed {
		needs.addAll(s.needs, limit)
		checks, guarded = checks || s.checks, guarded || s.guarded
	}
	d := max(least, needs.below(limit), b.armDepth())
	if guarded {
		d = max(d, b.guardDepth())
	}
	if checks {
		d = max(d, b.sureDepth())
	}
	t := b.stack[d]
	t.checks, t.guarded = t.checks || checks, t.guarded || guarded
	if b.checkDepth >= limit {
		b.checkDepth = d
	}
	t.needs.addAll(needs, d)
	return t
}

// If implements ir.Pull.
func (b *body) If(cond kernel.Ref, t types.DType, then, els func() kernel.Ref) kernel.Ref {
	return b.Choose(nil, cond, t, then, els)
}

// Choose implements scalar.Chooser.
func (b *body) Choose(c *scalar.Choice, cond kernel.Ref, t types.DType, then, els func() kernel.Ref) kernel.Ref {
	one := func(f func() kernel.Ref) func() []kernel.Ref {
		return func() []kernel.Ref { return []kernel.Ref{f()} }
	}
	return b.ifMany(c, cond, []types.DType{t}, one(then), one(els))[0]
}

// ifScalars writes an `if` whose results are all scalars as one statement, and gives one of them.
func (b *body) ifScalars(op *ir.Op, result int) kernel.Ref {
	f := b.frame
	ids := b.ifOnce(op)
	for i, r := range op.Results {
		if i != result {
			b.remember(fmt.Sprintf("%p %d", r, f.id), ids[i])
		}
	}
	return ids[result]
}

// ifOnce writes an `if` whose results, perhaps none, are all scalars.
func (b *body) ifOnce(op *ir.Op) []kernel.Ref {
	cond := b.pull(op.Args[0], nil)
	f := b.frame
	if _, known := b.constBits(cond); !known {
		b.beforeArms(op)
	}
	arm := func(r int) func() []kernel.Ref {
		return func() []kernel.Ref {
			saved := b.frame
			b.frame = b.enter(f, op.Regions[r], nil)
			defer func() { b.frame = saved }()
			b.force(op.Regions[r])
			var vals []kernel.Ref
			for _, y := range op.Regions[r].Yields {
				vals = append(vals, b.pull(y, nil))
			}
			return vals
		}
	}
	var ts []types.DType
	for _, r := range op.Results {
		ts = append(ts, r.Type.Elem)
	}
	return b.ifMany(nil, cond, ts, arm(0), arm(1))
}

// Note [Before both arms]: what both arms of a branch compute in any case is computed before it where it has a branch
// in it: of n branches, each on what the one before gives, there would else be 2^n copies.

// beforeArms computes what Note [Before both arms] says.
func (b *body) beforeArms(op *ir.Op) {
	for _, v := range b.inBoth(op) {
		b.pull(v, nil)
	}
}

// inBoth are the scalars that both arms of a branch surely read.
func (b *body) inBoth(op *ir.Op) []*ir.Value {
	els := map[*ir.Value]bool{}
	for _, v := range b.surely(op.Regions[1]) {
		els[v] = true
	}
	return slices.DeleteFunc(slices.Clone(b.surely(op.Regions[0])), func(v *ir.Value) bool { return !els[v] })
}

// surely are the scalars from outside of an arm, computed with a branch, that it reads in any case.
func (b *body) surely(arm *ir.Block) []*ir.Value {
	if out, known := b.sure[arm]; known {
		return out
	}
	mine := map[*ir.Op]bool{}
	for _, op := range arm.Ops {
		mine[op] = true
	}
	out := []*ir.Value{}
	seen := map[*ir.Value]bool{}
	work := slices.Clone(arm.Yields)
	for n := 0; n < len(work); n++ {
		v := work[n]
		if seen[v] || v.Def == nil || !v.Type.IsScalar() {
			continue
		}
		seen[v] = true
		switch {
		case !mine[v.Def]:
			if b.branches(v) {
				out = append(out, v)
			}
		case v.Def.Def.Class == ir.Pointwise:
			work = append(work, v.Def.Args...)
		case v.Def.Def == ops.If:
			work = append(append(work, v.Def.Args...), b.inBoth(v.Def)...)
		}
	}
	if b.sure == nil {
		b.sure = map[*ir.Block][]*ir.Value{}
	}
	b.sure[arm] = out
	return out
}

// branches reports that v is computed with a branch, by scalars alone.
func (b *body) branches(v *ir.Value) bool {
	if v.Def == nil || !v.Type.IsScalar() {
		return false
	}
	if is, known := b.branchy[v]; known {
		return is
	}
	is := v.Def.Def == ops.If
	if v.Def.Def.Class == ir.Pointwise {
		for _, a := range v.Def.Args {
			is = is || b.branches(a)
		}
	}
	if b.branchy == nil {
		b.branchy = map[*ir.Value]bool{}
	}
	b.branchy[v] = is
	return is
}

// ifMany computes both arms of an `if` that is short, because a branch prevents vectors. choice is its name, if any.
func (b *body) ifMany(choice *scalar.Choice, cond kernel.Ref, ts []types.DType,
	then, els func() []kernel.Ref) []kernel.Ref {
	if c, ok := b.constBits(cond); ok {
		if c == 1 {
			return then()
		}
		return els()
	}
	saved := b.checkDepth
	b.open(armScope, true)
	thenVals := then()
	t := b.close()
	deep := b.checkDepth
	b.checkDepth = saved
	b.open(armScope, true)
	elseVals := els()
	f := b.close()
	b.checkDepth = max(deep, b.checkDepth)
	n := len(t.block.Stmts) + len(f.block.Stmts)
	if speculative(t.block) && speculative(f.block) && n <= profile.Base().Plan.BothArms {
		return b.selectArms(cond, t, f, thenVals, elseVals)
	}
	s := b.closeAt(0, append(append([]kernel.Ref{cond}, thenVals...), elseVals...), t, f)
	st := &kernel.If{Cond: cond, Then: t.block, Else: f.block, ThenVals: slices.Clone(thenVals),
		ElseVals: slices.Clone(elseVals)}
	if choice != nil {
		st.Choices = []*scalar.Choice{choice}
	}
	for _, t := range ts {
		st.IDs = append(st.IDs, b.define(t, s))
	}
	b.add(s, st)
	return slices.Clone(st.IDs)
}

// speculative reports that a block has only instructions that may run whether they are needed or not.
func speculative(block *kernel.Block) bool {
	for _, st := range block.Stmts {
		if let, ok := st.(*kernel.Let); !ok || let.In.Op == scalar.Check {
			return false
		}
	}
	return true
}

// selectArms moves the instructions of both arms to where they are wanted, and chooses between the values.
func (b *body) selectArms(cond kernel.Ref, t, f *scope, thenVals, elseVals []kernel.Ref) []kernel.Ref {
	moved := map[kernel.Ref]kernel.Ref{}
	now := func(r kernel.Ref) kernel.Ref {
		if m, ok := moved[r]; ok {
			return m
		}
		return r
	}
	for _, arm := range []*scope{t, f} {
		for _, st := range arm.block.Stmts {
			let := st.(*kernel.Let)
			in := let.In
			for i, a := range in.Args {
				if a != scalar.None {
					in.Args[i] = now(a)
				}
			}
			moved[let.ID] = b.Emit(in)
		}
	}
	out := make([]kernel.Ref, len(thenVals))
	for i := range out {
		out[i] = b.E().Select(cond, now(thenVals[i]), now(elseVals[i]))
	}
	return out
}

// Reduce implements ir.Pull.
func (b *body) Reduce(op *ir.Op, kind ir.ReduceKind, t types.DType, lastAxis bool, extents []types.Dim,
	f func(at []kernel.Ref) kernel.Ref) kernel.Ref {
	order := kernel.Any
	if t.IsFloat() && (kind == ir.ReduceSum || kind == ir.ReduceProd) {
		order = kernel.Columns
		if lastAxis {
			order = kernel.Lanes
		}
	}
	if s := b.split[op]; s != nil {
		return b.splitPart(s, kind, t, order, extents, f)
	}
	return b.reduce(kind, t, order, extents, 1, scalar.None, f)
}

// reduce writes a reduction over extents. div, when it is above 1, says that the only extent counts
// chunks of div elements; chunk, when it is not None, restricts the reduction to one of them.
func (b *body) reduce(kind ir.ReduceKind, t types.DType, order kernel.Order, extents []types.Dim, div int64,
	chunk kernel.Ref, f func(at []kernel.Ref) kernel.Ref) kernel.Ref {
	e := b.E()
	position := kind == ir.ReduceArgMax || kind == ir.ReduceArgMin
	at := make([]kernel.Ref, len(extents))
	empty := false
	var loops []int
	for k, d := range extents {
		n, ok := d.Const()
		switch {
		case ok && n == 1 && div <= 1:
			at[k] = e.Int(types.I64, 0)
			continue
		case ok && n == 0:
			empty = true
		}
		loops = append(loops, k)
	}
	if empty {
		id, ok := kind.Identity(t)
		if !ok {
			panic("BUG: " + kind.String() + " of nothing")
		}
		return e.Bits(t, id)
	}
	if len(loops) == 0 {
		v := f(at)
		if position {
			return e.Int(types.I64, 0)
		}
		return v
	}
	var scopes []*scope
	for _, k := range loops {
		at[k] = b.axis(loopScope, 0, extents[k], div)
		scopes = append(scopes, b.top())
	}
	val := f(at)
	st := &kernel.Reduce{Kind: kind, Type: t, Order: order, Val: val, Chunk: chunk}
	inner := b.flatten(scopes, &st.Axes)
	if id, ok := kind.Identity(t); ok && !t.IsFloat() && !inner.checks {
		if bits, known := b.constBits(val); known && bits == id { // however many elements there are
			return e.Bits(t, id)
		}
	}
	st.Body = inner.block
	least := 0
	if _, ok := kind.Identity(t); !ok && MaybeEmpty(extents) {
		least = b.guardDepth() // below the check that there are elements
	}
	s := b.closeAt(least, []kernel.Ref{val, chunk}, inner)
	if position {
		t = types.I64
	}
	st.ID = b.define(t, s)
	if position {
		b.refs[st.ID].rng = interval{0, unbounded.hi}
	}
	b.add(s, st)
	return st.ID
}

// flatten closes the scopes of the axes of one reduction and joins their blocks: a reduction has a single
// body. The returned scope stands for all of them, at the depth of the outermost.
func (b *body) flatten(scopes []*scope, axes *[]kernel.Axis) *scope {
	all := &scope{depth: scopes[0].depth, block: &kernel.Block{}}
	for range scopes {
		b.close()
	}
	for _, s := range scopes {
		*axes = append(*axes, s.axis)
		all.block.Stmts = append(all.block.Stmts, s.block.Stmts...)
		all.checks, all.guarded = all.checks || s.checks, all.guarded || s.guarded
		all.needs.addAll(s.needs, all.depth)
	}
	return all
}

// Loop implements ir.Pull.
func (b *body) Loop(extents []types.Dim, begin int64, init []kernel.Ref,
	f func(at, state []kernel.Ref) []kernel.Ref) []kernel.Ref {
	return b.loops(extents, begin, init, f)
}

// loops writes nested loops that carry a state in row-major order. With begin above 0 and several long
// axes there is one loop over the flattened space.
func (b *body) loops(extents []types.Dim, begin int64, init []kernel.Ref,
	f func(at, state []kernel.Ref) []kernel.Ref) []kernel.Ref {
	e := b.E()
	at := make([]kernel.Ref, len(extents))
	var long []int
	for k, d := range extents {
		n, ok := d.Const()
		switch {
		case ok && n == 1:
			at[k] = e.Int(types.I64, 0)
			continue
		case ok && n == 0:
			return init
		}
		long = append(long, k)
	}
	if len(long) == 0 {
		if begin > 0 {
			return init
		}
		return f(at, init)
	}
	if begin > 0 && len(long) > 1 {
		total := types.Lit(1)
		for _, k := range long {
			p, err := total.Mul(extents[k])
			if err != nil {
				panic("BUG: the size of a tensor overflows")
			}
			total = p
		}
		return b.loop(total, begin, init, func(i kernel.Ref, state []kernel.Ref) []kernel.Ref {
			rest := i
			for j := len(long) - 1; j > 0; j-- {
				n := b.Extent(extents[long[j]])
				at[long[j]] = b.E().Rem(rest, n)
				rest = b.E().Div(rest, n)
			}
			at[long[0]] = rest
			return f(append([]kernel.Ref{}, at...), state)
		})
	}
	var nest func(j int, state []kernel.Ref) []kernel.Ref
	nest = func(j int, state []kernel.Ref) []kernel.Ref {
		if j == len(long) {
			return f(append([]kernel.Ref{}, at...), state)
		}
		return b.loop(extents[long[j]], begin, state, func(i kernel.Ref, state []kernel.Ref) []kernel.Ref {
			at[long[j]] = i
			return nest(j+1, state)
		})
	}
	return nest(0, init)
}

// loop writes one sequential loop.
func (b *body) loop(extent types.Dim, begin int64, init []kernel.Ref,
	f func(i kernel.Ref, state []kernel.Ref) []kernel.Ref) []kernel.Ref {
	if n, ok := extent.Const(); ok && n <= begin {
		return init
	}
	i := b.axis(loopScope, begin, extent, 1)
	st := &kernel.Loop{Axis: b.top().axis, Init: slices.Clone(init)}
	for _, r := range init {
		st.Vars = append(st.Vars, b.define(b.types[r], b.top()))
	}
	st.Next = slices.Clone(f(i, slices.Clone(st.Vars)))
	in := b.close()
	st.Body = in.block
	s := b.closeAt(0, append(append([]kernel.Ref{}, init...), st.Next...), in)
	for _, r := range init {
		st.IDs = append(st.IDs, b.define(b.types[r], s))
	}
	b.add(s, st)
	return slices.Clone(st.IDs)
}

package shard

import (
	"fmt"
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/lang/types"
)

// whole is the axis of what is replicated: every rank has all of it.
const whole = -1

// placement says along which axis each value is cut. It is found from the operands to the results, by the rule of each
// operation (ir.OpDef.Sharding), and knows no number of ranks.
type placement struct {
	axis map[*ir.Value]int // of what is cut
	uses map[*ir.Value][]ir.Use
	list *diag.List
	told map[diag.Span]bool
	mute bool // nothing is reported: not all loops are settled

	states  map[*ir.Op][]int // how the states of loops are cut, as far as it is known
	changed bool             // something came to be known of a state

	captured ir.Captured        // what blocks read of the outside
	marks    map[*ir.Block]bool // whether a block, or one in it, says how something is cut

	// The program was checked: a product along what is cut is a block of one that goes by blocks.
	checked bool

	failed func(op *ir.Op) // is told of the operations that fail; for tests
}

func newPlacement() *placement {
	return &placement{axis: map[*ir.Value]int{}, list: &diag.List{}, told: map[diag.Span]bool{},
		states: map[*ir.Op][]int{}, captured: ir.Captured{}, marks: map[*ir.Block]bool{}}
}

// of is the axis along which a value is cut, or whole.
func (p *placement) of(v *ir.Value) int {
	if a, ok := p.axis[v]; ok {
		return a
	}
	return whole
}

func (p *placement) set(v *ir.Value, axis int) {
	if axis == whole {
		delete(p.axis, v)
		return
	}
	p.axis[v] = axis
}

// results gives all results of op one axis.
func (p *placement) results(op *ir.Op, axis int) {
	for _, r := range op.Results {
		p.set(r, axis)
	}
}

// cut reports whether an operand of op, or what its regions read of the outside, is cut.
func (p *placement) cut(op *ir.Op) bool {
	is := func(v *ir.Value) bool { return p.of(v) != whole }
	if slices.ContainsFunc(op.Args, is) {
		return true
	}
	for _, r := range op.Regions {
		if slices.ContainsFunc(p.captured.Of(r), is) {
			return true
		}
	}
	return false
}

// marked reports whether one of the regions of op, at any depth, says how something is cut.
func (p *placement) marked(op *ir.Op) bool {
	return slices.ContainsFunc(op.Regions, p.says)
}

// says reports whether a block, or one in it, says how something is cut. Each is looked through once.
func (p *placement) says(b *ir.Block) bool {
	says, known := p.marks[b]
	if !known {
		says = slices.ContainsFunc(b.Ops, func(op *ir.Op) bool {
			return op.Def.Sharding.Marks() || p.marked(op)
		})
		p.marks[b] = says
	}
	return says
}

// settle finds how all values of a block are cut. What a step of a loop makes says how its state is cut, and so how the
// step goes: the block is looked through until no state changes, which each does once, and then told what is wrong.
func (p *placement) settle(b *ir.Block) {
	p.mute = true
	for p.changed = true; p.changed; {
		p.changed = false
		p.block(b)
	}
	p.mute = false
	p.block(b)
}

func (p *placement) block(b *ir.Block) {
	for _, op := range b.Ops {
		p.op(op)
	}
}

// typed is the type of a value with the word for how it is cut.
func typed(t types.Tensor, axis int) string {
	if axis == whole {
		return t.String()
	}
	return fmt.Sprintf("%s sharded(%d)", t, axis)
}

// fail reports what cannot be done with operands that are cut as they are.
func (p *placement) fail(op *ir.Op, help, format string, args ...any) {
	if p.failed != nil && !p.mute {
		p.failed(op)
	}
	p.failAt(op.Span, help, format, args...)
}

func (p *placement) failAt(at diag.Span, help, format string, args ...any) {
	at = at.Place()
	if p.mute || p.told[at] {
		return
	}
	p.told[at] = true
	p.list.Add(&diag.Diagnostic{Code: diag.CodeSharded, Message: fmt.Sprintf(format, args...),
		Primary: diag.Label{Span: at}, Help: help})
}

// common is the axis along which all of these values, which have the same axes, are cut; those that are replicated
// take part in any.
func (p *placement) common(op *ir.Op, vs ...*ir.Value) int {
	axis, first := whole, (*ir.Value)(nil)
	for _, v := range vs {
		switch a := p.of(v); {
		case a == whole || a == axis:
		case axis == whole:
			axis, first = a, v
		default:
			p.fail(op, fmt.Sprintf("`reshard(x, %d)` cuts a tensor along axis %d, and `replicate(x)` gathers it", axis,
				axis),
				"%s goes over operands that are cut along different axes: %s and %s", op.Def.Quoted(),
				typed(first.Type, axis), typed(v.Type, a))
		}
	}
	return axis
}

// op finds how the results of op are cut.
func (p *placement) op(op *ir.Op) {
	if !p.cut(op) && !op.Def.Sharding.Marks() && !p.marked(op) {
		p.results(op, whole)
		return
	}
	switch op.Def.Sharding {
	case ir.ShardElements:
		p.results(op, p.common(op, op.Args...))
	case ir.ShardBroadcast:
		x := op.Args[0]
		if x.Type.Shape[p.of(x)].IsConst(1) {
			p.results(op, whole) // it is sent to all
		} else {
			p.results(op, p.of(x)+op.Type().Rank()-x.Type.Rank())
		}
	case ir.ShardReshape:
		p.results(op, p.reshape(op))
	case ir.ShardPermute:
		p.results(op, slices.Index(op.Ints("perm"), int64(p.of(op.Args[0]))))
	case ir.ShardSlice:
		p.results(op, p.of(op.Args[0]))
	case ir.ShardConcat:
		p.results(op, p.common(op, op.Args...))
	case ir.ShardRead:
		p.read(op)
	case ir.ShardReduce, ir.ShardAnyOrder, ir.ShardPositions:
		p.reduce(op)
	case ir.ShardProduct, ir.ShardBlocks:
		p.product(op)
	case ir.ShardFold, ir.ShardScan:
		p.carry(op)
	case ir.ShardRows, ir.ShardChannels, ir.ShardSort, ir.ShardSortPositions:
		p.rows(op)
	case ir.ShardRequests:
		p.requests(op)
	case ir.ShardAlong:
		p.along(op)
	case ir.ShardScatter:
		p.scatter(op)
	case ir.ShardUpdate:
		p.results(op, p.common(op, op.Args[0], op.Args[1]))
	case ir.ShardTabulate:
		p.tabulate(op)
	case ir.ShardBranch:
		p.branch(op)
	case ir.ShardLoop:
		p.loop(op)
	case ir.ShardSource, ir.ShardLoaded, ir.ShardOutput, ir.ShardWritten:
		p.results(op, whole)
	case ir.ShardState:
		for i, r := range op.Results {
			p.set(r, whole)
			if i > 0 { // the first is a number of steps
				p.set(r, p.of(op.Args[i-1]))
			}
		}
	case ir.ShardMark:
		p.mark(op)
	case ir.ShardWithout:
		p.results(op, whole)
	case ir.ShardAs:
		p.results(op, p.of(op.Args[1]))
	case ir.ShardExpanded:
		p.fail(op, "", "%s of a sharded tensor needs extents that are known when the program is compiled",
			op.Def.Quoted())
	case ir.ShardWhole, ir.ShardUnknown:
		p.fail(op, "`replicate(x)` gathers it", "%s does not take a sharded tensor", op.Def.Quoted())
	}
}

// mark is what a type or `reshard` says.
func (p *placement) mark(op *ir.Op) {
	x, axis := op.Args[0], int(op.Int("axis"))
	if have := p.of(x); op.Flag("declared") && have != whole && have != axis {
		p.fail(op, fmt.Sprintf("`reshard(x, %d)` cuts it along axis %d: every rank sends to every other", axis, axis),
			"the declared type says %s, and the value is %s", typed(x.Type, axis), typed(x.Type, have))
	}
	p.results(op, axis)
}

// read is what stands at positions of some axes, or runs of elements that begin there, for which the axes stay. Of the
// axis that is cut all ranks get it.
func (p *placement) read(op *ir.Op) {
	x, axes := op.Args[0], op.Ints("axes")
	s := p.of(x)
	switch {
	case drops(op):
		s = without(axes, s)
	case slices.Contains(axes, int64(s)):
		s = whole
	}
	p.results(op, s)
}

// drops reports that a read gives one element of each axis that it has a position on, and drops these axes.
func drops(op *ir.Op) bool { return op.Type().Rank() < op.Args[0].Type.Rank() }

// without is axis s of what is left where these axes are dropped: whole where it is one of them.
func without(axes []int64, s int) int {
	out := s
	for _, a := range axes {
		if int(a) == s {
			return whole
		}
		if int(a) < s {
			out--
		}
	}
	return out
}

// reshape is the axis of the result of a reshape that begins where the axis does that the operand is cut along. Of an
// axis of one element, such as `x[1]` reads, which the result has not, all ranks get the element.
func (p *placement) reshape(op *ir.Op) int {
	x := op.Args[0]
	s := p.of(x)
	from, to := x.Type.Shape, op.Type().Shape
	if k := beginning(from, to, s); k != whole || from[s].IsConst(1) {
		return k
	}
	p.fail(op, "`reshard(x, 0)` before it, or `replicate(x)`",
		"the reshape of %s to %s has no axis that begins where axis %d does, along which the tensor is cut",
		typed(x.Type, s),
		to, s)
	return whole
}

// beginning is the axis of one shape that begins where axis s of another one does, which has as many elements; whole
// for none.
func beginning(from, to types.Shape, s int) int {
	outer, err := from[:s].Elems()
	for k := range to {
		n, errTo := to[:k].Elems()
		if err == nil && errTo == nil && n.Equal(outer) && to[k].IsConst(1) == from[s].IsConst(1) {
			return k
		}
	}
	return whole
}

// wide reports whether one of the axes before s has more than one element.
func wide(shape types.Shape, axes []int64, s int) bool {
	return slices.ContainsFunc(axes, func(a int64) bool { return int(a) < s && !shape[a].IsConst(1) })
}

// reduce is reductions, and positions of extremes.
func (p *placement) reduce(op *ir.Op) {
	x, axes := op.Args[0], ops.ReducedAxes(op)
	s := p.of(x)
	keep := op.Flag("keep")
	if !slices.Contains(axes, int64(s)) {
		if !keep {
			s = without(axes, s)
		}
		p.results(op, s)
		return
	}
	p.results(op, whole)
	if wide(x.Type.Shape, axes, s) && !anyOrder(op) && !x.Type.Shape[s].IsConst(1) {
		p.fail(op, fmt.Sprintf("`reshard(x, %d)` cuts it where the order begins, and `replicate(x)` gathers it",
			axes[0]),
			"the order of %s goes along axis %d first, and the tensor is cut along axis %d: %s", op.Def.Quoted(),
			axes[0], s,
			typed(x.Type, s))
	}
}

// anyOrder reports that a reduction has the same bits in any order.
func anyOrder(op *ir.Op) bool {
	return op.Def.Sharding == ir.ShardAnyOrder ||
		op.Def.Sharding == ir.ShardReduce && !op.Args[0].Type.Elem.IsFloat()
}

// product is matrix products.
func (p *placement) product(op *ir.Op) {
	a, b := op.Args[0], op.Args[1]
	r := a.Type.Rank()
	i, j := p.of(a), p.of(b)
	free, k := func(axis int) bool { return axis == whole || axis >= r-2 }, func(axis, of int) bool {
		return axis == whole || axis == of
	}
	switch {
	case i == r-2 && free(j): // all of the right factor is gathered
		p.results(op, i)
	case j == r-1 && free(i):
		p.results(op, j)
	case i < r-2 && j < r-2 && (i == j || i == whole || j == whole):
		p.results(op, max(i, j))
	case k(i, r-1) && k(j, r-2):
		p.results(op, whole)
		// Else ranks share blocks, or any order does.
		if !p.checked && op.Def.Sharding != ir.ShardBlocks && a.Type.Elem.IsFloat() {
			p.fail(op, "`@[split=n]` has an order that ranks can share, and `replicate(x)` gathers a factor",
				"the product adds along the axis that a factor is cut along: %s and %s", typed(a.Type, i),
				typed(b.Type, j))
		}
	default: // one is cut along a batch
		p.results(op, whole)
		p.fail(op, fmt.Sprintf("`reshard(x, %d)` cuts the other one so, too, and `replicate(x)` gathers a factor",
			min(i, j)),
			"the factors of %s are cut along different axes: %s and %s", op.Def.Quoted(), typed(a.Type, i),
			typed(b.Type, j))
	}
}

// carry is what goes strictly in order along an axis.
func (p *placement) carry(op *ir.Op) {
	for _, r := range op.Regions {
		for _, v := range p.captured.Of(r) {
			if p.of(v) != whole {
				p.fail(op, "`replicate(x)` gathers it; an element that all steps read is read before: "+
					"`let first = x[0];`", "the function of %s reads a sharded tensor, %s, of which a rank has its "+
					"part alone", op.Def.Quoted(), typed(v.Type, p.of(v)))
				p.results(op, whole)
				return
			}
		}
	}
	xs := op.Args[ops.Starts(op):]
	x, s := xs[0], p.common(op, xs...)
	if op.Def.Sharding == ir.ShardScan {
		p.results(op, s)
		return
	}
	axes := ops.ReducedAxes(op)
	if !slices.Contains(axes, int64(s)) {
		if s != whole && !op.Flag("keep") {
			s = without(axes, s)
		}
		p.results(op, s)
		return
	}
	p.results(op, whole)
	if wide(x.Type.Shape, axes, s) {
		p.fail(op, fmt.Sprintf("`reshard(x, %d)` cuts it where the fold begins, and `replicate(x)` gathers it",
			axes[0]),
			"the fold goes along axis %d first, and the tensor is cut along axis %d: %s", axes[0], s, typed(x.Type, s))
	}
}

// rows is operations on rows along an axis.
func (p *placement) rows(op *ir.Op) {
	n := max(op.Def.Tables, 1)
	for _, v := range op.Args[n:] {
		if p.of(v) != whole {
			p.fail(op, "`replicate(x)` gathers it", "the tables of %s cannot be sharded: %s", op.Def.Quoted(),
				typed(v.Type, p.of(v)))
		}
	}
	p.results(op, p.common(op, op.Args[:n]...))
}

// requests is reads at positions that are computed.
func (p *placement) requests(op *ir.Op) {
	x, idx := op.Args[0], op.Args[1:]
	s, axes := p.of(x), op.Ints("axes")
	if s == whole || slices.Contains(axes, int64(s)) {
		p.results(op, p.common(op, idx...))
	} else { // all ranks get all positions
		p.results(op, without(axes, s)+idx[0].Type.Rank())
	}
}

// along is reads at positions along one axis. Where that is cut, the positions say how the result is, and else the
// tensor does, as which positions that are cut in another way are cut then.
func (p *placement) along(op *ir.Op) {
	x, at, axis := op.Args[0], op.Args[1], int(op.Int("axis"))
	if s := p.of(x); s != whole && (s != axis || p.of(at) == whole) {
		p.results(op, s)
	} else {
		p.results(op, p.of(at))
	}
}

// scatter adds at positions. Where the tensor is cut, what is added to it is cut alike, or sent.
func (p *placement) scatter(op *ir.Op) {
	axis := int(op.Int("axis"))
	at := p.added(op)
	switch s := p.of(op.Args[0]); {
	case s == whole && at == axis && p.cutLater(op.Results[0], axis):
		p.results(op, axis)
	case s != whole || at == axis:
		p.results(op, s)
	default:
		p.results(op, at)
	}
}

// added is the axis along which what a scatter adds is sent: that of the values, or of the positions where all ranks
// have the values.
func (p *placement) added(op *ir.Op) int {
	if s := p.of(op.Args[2]); s != whole {
		return s
	}
	return p.of(op.Args[1])
}

// cutLater reports that a value is used for nothing but to be cut along an axis, as a derivative is by what is cut.
func (p *placement) cutLater(v *ir.Value, axis int) bool {
	uses := p.uses[v]
	if len(uses) != 1 || uses[0].Op == nil {
		return false
	}
	switch op := uses[0].Op; op.Def.Sharding {
	case ir.ShardMark:
		return int(op.Int("axis")) == axis
	case ir.ShardAs:
		return p.of(op.Args[1]) == axis && op.Args[0] == v
	case ir.ShardReshape:
		axis = beginning(v.Type.Shape, op.Type().Shape, axis)
		return axis != whole && p.cutLater(op.Result(), axis)
	case ir.ShardPermute:
		return p.cutLater(op.Result(), slices.Index(op.Ints("perm"), int64(axis)))
	}
	return false
}

// inner refuses marks in functions that are evaluated for each element.
func (p *placement) inner(op *ir.Op, region *ir.Block) {
	ir.Walk(region, func(in *ir.Op) {
		if in.Def.Sharding.Marks() {
			p.fail(in, "say it of the result", "a value inside of the function of %s cannot be sharded",
				op.Def.Quoted())
		}
	})
}

// branch is a choice between two arms.
func (p *placement) branch(op *ir.Op) {
	for _, r := range op.Regions {
		p.block(r)
	}
	for i, r := range op.Results {
		p.set(r, p.joined(op, op.Regions[0].Yields[i], op.Regions[1].Yields[i]))
	}
}

// joined is the axis of what is one of two values.
func (p *placement) joined(op *ir.Op, a, b *ir.Value) int {
	i, j := p.of(a), p.of(b)
	if i != whole && j != whole && i != j {
		p.fail(op, fmt.Sprintf("`reshard(x, %d)` cuts it along axis %d", i, i),
			"%s gives values that are cut along different axes: %s and %s", op.Def.Quoted(), typed(a.Type, i),
			typed(b.Type, j))
	}
	return max(i, j)
}

// loop is a loop that carries a state. What a step cuts is cut from the start on (settle).
func (p *placement) loop(op *ir.Op) {
	region, state := op.Regions[0], op.Args[1:]
	axes := p.states[op]
	if axes == nil {
		axes = slices.Repeat([]int{whole}, len(state))
		p.states[op] = axes
	}
	known := func(values []*ir.Value) {
		for i := range state {
			if a := p.of(values[i]); axes[i] == whole && a != whole {
				axes[i], p.changed = a, true
			}
		}
	}
	known(state)
	for i, v := range region.Params[1:] {
		p.set(v, axes[i])
	}
	p.block(region)
	known(region.Yields)
	for i, v := range state {
		for _, a := range []int{p.of(v), p.of(region.Yields[i])} {
			if a != whole && a != axes[i] {
				p.fail(op, fmt.Sprintf("`reshard(x, %d)` at the end of the step", axes[i]),
					"the state begins as %s, and a step makes it %s", typed(v.Type, axes[i]), typed(v.Type, a))
			}
		}
		p.set(op.Results[i], axes[i])
	}
}

package passes

import (
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

// Ranks makes partial sorts of those of which only elements of some ranks are read (Note [Partial sorts]). Each goes to
// what reads it first, and what computes ranks before that.
//
// Requires: nothing. Establishes: no sort has elements along its axis that nothing reads, as far as views and positions
// tell: slices, and run-time positions that are the same for all rows and are computed without what is sorted.
//
//	%0: f32[N] = sort %x {axis = 0}
//	%1: i32 = min %i, %j
//	%2: f32[3] = slice %0 {shape = [3], starts = [0], steps = [1]}
//	%3: f32 = index %0, %1 {axes = [0]}
//
// becomes
//
//	%1: i32 = min %i, %j
//	%0: f32[N] = partial_sort %x, %1 {axis = 0, starts = [0], sizes = [3, 1]}
//	%2: f32[3] = slice %0 {shape = [3], starts = [0], steps = [1]}
//	%3: f32 = index %0, %1 {axes = [0]}
func Ranks(m *ir.Module, remark Remark) error {
	for _, f := range m.Funcs {
		sorts := false
		ir.Walk(f.Body, func(op *ir.Op) { sorts = sorts || isSort(op) })
		if !sorts {
			continue
		}
		r := &ranker{uses: ir.Uses(f.Body), places: map[*ir.Op]place{}, params: map[*ir.Value]*ir.Block{},
			owner: map[*ir.Block]*ir.Op{}}
		r.find(f.Body)
		ir.WalkBlocks(f.Body, func(b *ir.Block) { r.block(b, remark) })
	}
	return nil
}

// Limits of what is looked at for one sort: how many ranges of ranks, and operations that compute them.
const (
	mostRanges = 8
	mostHoists = 16
)

// place is where an operation stands: before operation number `at` of its block, or there.
type place struct {
	block *ir.Block
	at    int
}

type ranker struct {
	uses   map[*ir.Value][]ir.Use
	places map[*ir.Op]place
	params map[*ir.Value]*ir.Block // the blocks whose parameters they are
	owner  map[*ir.Block]*ir.Op    // the operation whose region it is
}

// find notes where everything is.
func (r *ranker) find(body *ir.Block) {
	ir.WalkBlocks(body, func(b *ir.Block) {
		for _, p := range b.Params {
			r.params[p] = b
		}
		for i, op := range b.Ops {
			r.places[op] = place{b, i}
			for _, region := range op.Regions {
				r.owner[region] = op
			}
		}
	})
}

func isSort(op *ir.Op) bool { return op.Def == ops.Sort || op.Def == ops.Argsort }

// block makes partial sorts in a block.
func (r *ranker) block(b *ir.Block, remark Remark) {
	before := map[int][]*ir.Op{} // what goes before an operation
	moved := map[*ir.Op]bool{}
	for _, op := range b.Ops {
		if !isSort(op) || len(r.uses[op.Result()]) == 0 {
			continue
		}
		d := &ranksRead{axis: int(op.Int("axis")), first: len(b.Ops)}
		known := r.read(b, op.Result(), d.axis, d)
		if !known || d.ranges() == 0 || d.covers(op.Type()) {
			continue
		}
		hoisted, ok := r.computed(b, d, moved)
		if !ok {
			continue
		}
		for _, h := range append(hoisted, op) {
			moved[h] = true
			r.places[h] = place{b, d.first}
			before[d.first] = append(before[d.first], h)
		}
		d.rewrite(op)
		remark("%s: only some ranks are read", op.Def.Name)
	}
	if len(moved) == 0 {
		return
	}
	var out []*ir.Op
	for i, op := range b.Ops {
		out = append(out, before[i]...)
		if !moved[op] {
			out = append(out, op)
		}
	}
	b.Ops = append(out, before[len(b.Ops)]...)
}

// ranksRead is what is read of a sort.
type ranksRead struct {
	axis          int
	starts, sizes types.Shape // ranks that are known
	at            []*ir.Value // where others begin
	runs          types.Shape // and how many there are
	first         int         // the operation of the block that reads first
}

// read adds what is read of v, a view of what is sorted along an axis. It reports whether that is known.
func (r *ranker) read(b *ir.Block, v *ir.Value, axis int, d *ranksRead) bool {
	for _, u := range r.uses[v] {
		if u.Op == nil || u.Arg != 0 {
			return false
		}
		d.first = min(d.first, r.within(b, u.Op))
		known := false
		switch u.Op.Def {
		case ops.Slice:
			known = d.slice(u.Op, axis)
		case ops.Permute:
			to := slices.Index(u.Op.Ints("perm"), int64(axis))
			known = r.read(b, u.Op.Result(), to, d)
		case ops.Index, ops.DynamicSlice:
			known = r.positions(b, u.Op, axis, d)
		}
		if !known || d.ranges() > mostRanges {
			return false
		}
	}
	return true
}

func (d *ranksRead) ranges() int { return len(d.sizes) + len(d.runs) }

// within is the number of the operation of block b that op is or has in its regions.
func (r *ranker) within(b *ir.Block, op *ir.Op) int {
	for r.places[op].block != b {
		op = r.owner[r.places[op].block]
	}
	return r.places[op].at
}

// slice adds the ranks of a slice.
func (d *ranksRead) slice(op *ir.Op, axis int) bool {
	start, step, n := op.Dims("starts")[axis], op.Ints("steps")[axis], op.Type().Shape[axis]
	if n.IsConst(0) {
		return true
	}
	far, err := n.Sub(types.Lit(1))
	if err == nil {
		far, err = far.Mul(types.Lit(step)) // from the first to the last
	}
	if err != nil {
		return false
	}
	low, size := start, far
	if step < 0 {
		if low, err = start.Add(far); err == nil {
			size, err = far.Mul(types.Lit(-1))
		}
	}
	if err == nil {
		size, err = size.Add(types.Lit(1))
	}
	if err != nil {
		return false
	}
	d.known(low, size)
	return true
}

// known adds ranks that are known.
func (d *ranksRead) known(start, size types.Dim) {
	for i, s := range d.starts {
		if s.Equal(start) && d.sizes[i].Equal(size) {
			return
		}
	}
	d.starts, d.sizes = append(d.starts, start), append(d.sizes, size)
}

// positions adds the ranks that an operation with run-time positions reads.
func (r *ranker) positions(b *ir.Block, op *ir.Op, axis int, d *ranksRead) bool {
	axes := op.Ints("axes")
	i := slices.Index(axes, int64(axis))
	if i < 0 {
		if op.Def == ops.Index {
			for _, a := range axes {
				if a < int64(axis) {
					axis--
				}
			}
		}
		return r.read(b, op.Result(), axis, d)
	}
	size := types.Lit(1)
	if op.Def == ops.DynamicSlice {
		size = op.Dims("sizes")[i]
	}
	v := op.Args[1+i]
	if n, ok := position(v); ok {
		d.known(types.Lit(n), size)
		return true
	}
	for k, w := range d.at {
		if w == v && d.runs[k].Equal(size) {
			return true
		}
	}
	d.at, d.runs = append(d.at, v), append(d.runs, size)
	return true
}

// covers reports that ranks that are known are as many as the axis of x has.
func (d *ranksRead) covers(x types.Tensor) bool {
	n := x.Shape[d.axis]
	all, literal := n.Const()
	sum := int64(0)
	for i, size := range d.sizes {
		if d.starts[i].IsConst(0) && size.Equal(n) {
			return true
		}
		k, known := size.Const()
		sum, literal = sum+k, literal && known
	}
	return literal && len(d.runs) == 0 && sum >= all
}

// computed lists the operations that compute ranks and do not stand before what reads first, in order. It reports
// whether they can stand there: those that moved stay where they are.
func (r *ranker) computed(b *ir.Block, d *ranksRead, moved map[*ir.Op]bool) ([]*ir.Op, bool) {
	var out []*ir.Op
	var need func(v *ir.Value) bool
	need = func(v *ir.Value) bool {
		home := r.params[v]
		if v.Def != nil {
			home = r.places[v.Def].block
		}
		if home != b {
			return r.encloses(home, b)
		}
		op := v.Def
		if op == nil || r.places[op].at < d.first || slices.Contains(out, op) {
			return true
		}
		if moved[op] {
			return r.places[op].at == d.first
		}
		simple := op.Def.Class == ir.Pointwise || op.Def.Class == ir.Source
		if !simple || op.MayFail() || op.Def.Traits.Has(ir.Effect) || len(out) == mostHoists {
			return false
		}
		for _, a := range op.Args {
			if !need(a) {
				return false
			}
		}
		out = append(out, op)
		return true
	}
	for _, v := range d.at {
		if !need(v) {
			return nil, false
		}
	}
	return out, true
}

// encloses reports that a block is around b.
func (r *ranker) encloses(around, b *ir.Block) bool {
	for b != nil && b != around {
		op := r.owner[b]
		if op == nil {
			return false
		}
		b = r.places[op].block
	}
	return b == around
}

// rewrite makes the partial sort of a sort.
func (d *ranksRead) rewrite(op *ir.Op) {
	def := ops.PartialSort
	if op.Def == ops.Argsort {
		def = ops.PartialArgsort
	}
	op.Def, op.Attrs = def, def.MakeAttrs(ir.A{"axis": int64(d.axis), "starts": append(types.Shape{}, d.starts...),
		"sizes": append(append(types.Shape{}, d.sizes...), d.runs...)})
	op.Args = append(slices.Clone(op.Args), d.at...)
}

package fusion

import (
	"fmt"
	"maps"
	"slices"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/lang/types"
)

// A planner decides about one block that stands outside of kernels.
type planner struct {
	effects *ir.Effects
	steps   *ir.Steps
	block   *ir.Block
	names   map[*ir.Value]string
	remark  func(format string, args ...any)

	index  map[*ir.Op]int     // position in the block
	last   map[*ir.Value]int  // the position of what reads a value last, that of the end for what the block yields
	own    map[*ir.Op]bool    // what inPlace says
	epoch  []int              // number of effects before each operation
	host   []bool             // stays outside of kernels
	mat    map[*ir.Op]bool    // results are written to memory
	joined map[*ir.Value]bool // what joins says
	keep   map[*ir.Op]bool    // constants and views that are wanted outside of kernels
	work   map[*ir.Op]float64

	visits [][]*visit                    // of each operation, by kernels that read its results
	wanted [][]int                       // which result, parallel to visits
	reads  map[*ir.Op]map[*ir.Value]bool // kernel root to what it reads from memory; true: at its own index
	within map[*ir.Op]map[*ir.Value]bool // kernel root to what it reads in long loops (Note [One after another])
	trace  tracer

	captured ir.Captured

	covered []int // the epoch in which all elements of each operation are evaluated, -1 for none

	apart   map[*ir.Op]bool    // materialised so that no code has it again (Note [Arms])
	changed map[*ir.Value]bool // parameters that the function changes
	product map[*ir.Op]*ir.Op  // kernel root to the matrix product that it is (Note [Products stand alone])
}

// mine reports that v is computed in the block, outside of regions.
func (p *planner) mine(v *ir.Value) bool {
	if v.Def == nil {
		return false
	}
	_, ok := p.index[v.Def]
	return ok
}

// isFree reports operations that cost nothing outside of kernels: constants and views.
func isFree(op *ir.Op) bool { return op.Def == ops.Const || op.Def.Traits.Has(ir.View) }

func newPlanner(effects *ir.Effects, steps *ir.Steps, block *ir.Block, names map[*ir.Value]string,
	remark func(string, ...any)) *planner {
	p := &planner{
		effects: effects, steps: steps, block: block, names: names, remark: remark,
		index: map[*ir.Op]int{}, last: map[*ir.Value]int{}, own: map[*ir.Op]bool{},
		mat: map[*ir.Op]bool{}, joined: map[*ir.Value]bool{}, keep: map[*ir.Op]bool{}, work: map[*ir.Op]float64{},
		reads: map[*ir.Op]map[*ir.Value]bool{}, within: map[*ir.Op]map[*ir.Value]bool{}, product: map[*ir.Op]*ir.Op{},
		apart: map[*ir.Op]bool{}, captured: ir.Captured{},
	}
	n := len(block.Ops)
	p.epoch, p.host = make([]int, n), make([]bool, n)
	passed := 0
	for i, op := range block.Ops {
		p.index[op], p.epoch[i] = i, passed
		for _, v := range p.usedBy(op) {
			p.last[v] = i
		}
		p.host[i] = p.staysOutside(op)
		if effects.Has(op) || op.Def == ops.Stop { // behind which there may be what cannot be
			passed++
		}
	}
	for _, v := range block.Yields {
		p.last[v] = n
	}
	return p
}

// staysOutside reports operations that are steps of the plan.
func (p *planner) staysOutside(op *ir.Op) bool {
	switch {
	case p.effects.Has(op), op.Def.Class == ir.Fused, op.Def == ops.Stop:
		return true
	case op.Def == ops.If:
		return !p.fitsKernel(op)
	case op.IsLoop():
		return !loopFits(p.steps, op)
	case op.Def.Class != ir.Host:
		return false
	case op.Def != ops.Call:
		return true // a string, which no kernel sees
	}
	return p.steps.Needs(op)
}

// maxUpdates is how many updates may follow each other where no tensor can be put into memory.
const maxUpdates = 2

// fitsKernel reports that an `if` can be evaluated for each element: its arms are scalar programs without
// long loops or, when the results are tensors, short and without failures.
func (p *planner) fitsKernel(op *ir.Op) bool {
	if len(op.Results) == 0 {
		return false
	}
	tensors := false
	for _, r := range op.Results {
		if r.Type.Elem == types.String {
			return false
		}
		tensors = tensors || !r.Type.IsScalar()
	}
	fits, updates := true, 0
	for _, r := range op.Regions {
		fits = fits && (tensors || blockWork(r) <= costs().smallWork)
		ir.Walk(r, func(in *ir.Op) {
			switch {
			case in.Def.Class == ir.Host && in.Def != ops.Call:
				fits = false
			case in.Def == ops.Update: // each one asks again for all before it: see what is in memory
				updates++
				fits = fits && updates <= maxUpdates
			case in.IsLoop():
				fits = fits && !tensors && loopFits(p.steps, in)
			case tensors:
				fits = fits && !in.MayFail() && (in.Def.Class <= ir.Source)
			case in.Def == ops.Call:
				fits = fits && !p.steps.Needs(in)
			}
			fits = fits && in.Def.Class != ir.Fused
		})
	}
	return fits && (!tensors || len(op.Results) == 1)
}

// usedBy are the values that an operation of the block reads: operands, and what its regions capture. It stays as it is
// until all kernels are written.
func (p *planner) usedBy(op *ir.Op) []*ir.Value {
	if len(op.Regions) == 0 {
		return op.Args
	}
	out := append([]*ir.Value{}, op.Args...)
	for _, r := range op.Regions {
		out = append(out, p.captured.Of(r)...)
	}
	return out
}

// plan decides which operations are materialised.
func (p *planner) plan() {
	p.require()
	p.snapshots()
	p.decide(false)
	p.decide(true)
}

// require marks what must be in memory whatever it costs: what the block yields, and what steps read.
func (p *planner) require() {
	var want []*ir.Value
	for i, op := range p.block.Ops {
		if p.host[i] {
			want = append(want, p.usedBy(op)...)
		}
	}
	want = append(want, p.block.Yields...)
	for i, op := range p.block.Ops {
		if op.Def.Class == ir.Rows && !p.host[i] {
			want = append(want, op.Results...) // a kernel of its own
			p.requireLines(op)
		}
	}
	var views []*ir.Value
	for _, v := range want {
		switch {
		case !p.mine(v) || p.host[p.index[v.Def]]:
		case isFree(v.Def):
			views = append(views, v)
		default:
			p.mat[v.Def] = true
		}
	}
	for _, v := range views {
		base := v
		for p.mine(base) && base.Def.Def.Traits.Has(ir.View) {
			base = base.Def.Args[0]
		}
		if p.mine(base) && base.Def != nil && !isFree(base.Def) && !p.mat[base.Def] && !p.host[p.index[base.Def]] {
			p.mat[v.Def] = true // the view itself is written, and its base is read through it
			continue
		}
		for p.mine(v) && isFree(v.Def) && !p.mat[v.Def] {
			p.keep[v.Def] = true
			if v.Def.Def == ops.Const {
				break
			}
			v = v.Def.Args[0]
		}
	}
}

// decide goes through the block backwards, so that the readers of a value are decided before it. The second
// time the work behind a value is known better, because what was materialised is not counted.
func (p *planner) decide(final bool) {
	n := len(p.block.Ops)
	p.visits, p.wanted = make([][]*visit, n), make([][]int, n)
	p.trace = tracer{ids: map[any]uint64{}, captured: p.captured, read: p.read, inPlace: p.inPlace,
		tiled: func(op *ir.Op, v *visit) bool { return p.product[v.root] == op }}
	clear(p.apart)
	p.covered = make([]int, n)
	for i := range p.covered {
		p.covered[i] = -1
	}
	must := maps.Clone(p.mat)
	work := p.backgroundWork()
	chosen := map[*ir.Op]bool{}
	for i := n - 1; i >= 0; i-- {
		op := p.block.Ops[i]
		if p.host[i] {
			continue
		}
		if why := p.reason(i, work); why != "" {
			p.mat[op], chosen[op] = true, true
			if final {
				p.remark("%s", Kept{p.name(op.Results[0]), op.Def.Name, op.Span, p.effects.Module.Home(), why})
			}
		}
		if p.mat[op] {
			p.startKernel(i)
		}
		if len(p.visits[i]) > 0 {
			p.follow(i)
		}
	}
	if !final {
		// The choices were made with rough estimates of work: make them again.
		p.work = p.workGiven(p.mat)
		for op := range chosen {
			if !must[op] {
				delete(p.mat, op)
			}
		}
	}
}

// reason says why operation i of the block should be materialised, "" when it should not, or is already.
func (p *planner) reason(i int, work map[*ir.Op]float64) string {
	op := p.block.Ops[i]
	switch {
	case p.mat[op]:
	case p.changesMemory(op):
		return "where nothing else needs the tensor it changes, it writes only what it replaces"
	case op.Def == ops.Scan:
		return "a scan stores each accumulator on its way"
	case op.MayFail() && p.covered[i] != p.epoch[i]:
		return "it can fail, and nothing reads all of it at once"
	case scanned(op, p.visits[i]):
		return "a scan reads one element after another, and this has work for vectors"
	case across(op, p.visits[i]):
		return "its reader takes it row by row across the order in memory, and this has work for vectors"
	case op.Def == ops.If && inArms(p.visits[i]) > maxBranches:
		p.apart[op] = true
		return "many arms of branches read it, and each would have this branch again"
	case !isFree(op) && op.Def.Class != ir.Source:
		if why := p.standsAlone(op, p.visits[i]); why != "" {
			return why
		}
		return p.worthwhile(op, p.visits[i], work[op])
	}
	return ""
}

// maxBranches is in how many arms a branch whose result is a tensor may stand (Note [Arms]).
const maxBranches = 16

// inArms counts the visits that are in an arm of a branch.
func inArms(visits []*visit) int {
	n := 0
	for _, v := range visits {
		if v.arm != 0 {
			n++
		}
	}
	return n
}

// startKernel makes operation i, which is materialised, the root of a kernel: what reads it reads memory.
func (p *planner) startKernel(i int) {
	op := p.block.Ops[i]
	for k, v := range p.visits[i] {
		p.fromMemory(op.Results[p.wanted[i][k]], v)
	}
	p.covered[i] = p.epoch[i]
	p.visits[i], p.wanted[i] = nil, nil
	p.reads[op], p.within[op] = map[*ir.Value]bool{}, map[*ir.Value]bool{}
	for k, r := range op.Results {
		p.visits[i], p.wanted[i] = append(p.visits[i], rootVisit(op, r)), append(p.wanted[i], k)
	}
}

// follow notes what operation i, which kernels compute, reads of its operands.
func (p *planner) follow(i int) {
	op := p.block.Ops[i]
	if tileLoss(op) > 0 && p.tiled(op, p.visits[i]) {
		p.product[p.visits[i][0].root] = op
	}
	for k, a := range op.Args {
		if p.covered[i] >= 0 && p.mine(a) && op.ReadsAll(k) {
			if j := p.index[a.Def]; p.covered[j] < 0 || p.covered[i] < p.covered[j] {
				p.covered[j] = p.covered[i]
			}
		}
	}
	for k, v := range p.visits[i] {
		p.trace.operands(op, p.wanted[i][k], v, p.outside)
	}
}

// outside is the origin of a scalar of the block: known before the kernel starts.
func (p *planner) outside(x *ir.Value) origin {
	return origin{axis: -1}.through(p.trace.id(x))
}

// inPlace reports that an update of few elements is sure to change its tensor where that is: a parameter that the
// function changes, or what another such update made of it, which nothing reads afterwards.
func (p *planner) inPlace(update *ir.Op) bool {
	if !replacesFew(update) {
		return false
	}
	if is, known := p.own[update]; known {
		return is
	}
	x := update.Args[0]
	is := p.last[x] == p.index[update] && (x.Def == nil && p.changed[x] ||
		x.Def != nil && p.mine(x) && x.Def.Def == ops.Update && p.inPlace(x.Def))
	p.own[update] = is
	return is
}

// replacesFew reports an update that replaces a small part of a large tensor.
func replacesFew(op *ir.Op) bool {
	if op.Def != ops.Update {
		return false
	}
	n := elems(op.Type().Shape)
	return n >= float64(costs().ManyElems) && elems(op.Dims("shape"))*8 <= n
}

// changesMemory reports such an update of a tensor that is in memory, or of one that it changes there.
func (p *planner) changesMemory(op *ir.Op) bool {
	if !replacesFew(op) {
		return false
	}
	x := op.Args[0]
	return !p.mine(x) || p.host[p.index[x.Def]] || replacesFew(x.Def)
}

// scanned reports that a scan wants op, which is more than a few instructions for each element.
func scanned(op *ir.Op, visits []*visit) bool {
	if op.Def.Class == ir.Reindex || op.Def.Class == ir.Source || op.Def.Traits.Has(ir.Cheap) ||
		op.Results[0].Type.IsScalar() {
		return false
	}
	for _, v := range visits {
		if v.root.Def == ops.Scan {
			return true
		}
	}
	return false
}

// requireLines marks operands of a transform that its vectors could not read. Where lines are columns of what is in
// memory, it reads a few elements of each piece of a line at a time, far from each other, and the caches do not hold
// all columns that share what they fetch: they are transposed first, by tiles, unless columns go together. What has a
// branch on the position, as a concat does, is computed before, where loops can be cut there.
func (p *planner) requireLines(op *ir.Op) {
	if op.Def != ops.FourierRows {
		return
	}
	last := op.Type().Rank() - 1
	for _, v := range op.Args[:2] {
		base := v
		for p.mine(base) && base.Def.Def.Traits.Has(ir.View) {
			base = base.Def.Args[0]
		}
		if p.joins(base) {
			p.mat[base.Def] = true
			continue
		}
		if !p.mine(v) || v.Def.Def != ops.Permute || op.Int("axis") != int64(last) || op.Int("rest") > 1 {
			continue
		}
		if perm := v.Def.Ints("perm"); perm[last] != int64(last) && sizeOf(v.Type.Shape[last]) >= leastColumn {
			p.mat[v.Def] = true
		}
	}
}

// joins reports that v is computed from the elements of several tensors, one or the other by the position, within the
// kernel that reads it.
func (p *planner) joins(v *ir.Value) bool {
	if yes, known := p.joined[v]; known {
		return yes
	}
	yes := false
	if p.mine(v) && !p.host[p.index[v.Def]] {
		switch v.Def.Def.Class {
		case ir.Pointwise, ir.Reindex:
			yes = v.Def.Def == ops.Concat || slices.ContainsFunc(v.Def.Args, p.joins)
		}
	}
	p.joined[v] = yes
	return yes
}

// leastColumn is the shortest line for which requireLines does that: of a shorter one, all elements are read at once.
const leastColumn = 32

// across reports that a kernel of rows (Note [Rows] in package ir) reads op, which is more than a few instructions for
// each element, along rows whose elements are a stride apart in most of the tensors that op is computed from.
func across(op *ir.Op, visits []*visit) bool {
	if op.Def.Class != ir.Pointwise || op.Def.Traits.Has(ir.Cheap) {
		return false
	}
	for _, v := range visits {
		if v.root.Def.Class != ir.Rows {
			continue
		}
		row := slices.IndexFunc(v.at, func(q origin) bool { return q.level == int(v.root.Int("axis"))+1 })
		if row < 0 {
			continue
		}
		if contiguous, strided := contiguity(op, row); strided > contiguous {
			return true
		}
	}
	return false
}

// contiguity counts the tensors that op is computed from: those that have the elements along an axis of op next to each
// other, because it is their last axis, and those where the elements are a stride apart.
func contiguity(op *ir.Op, axis int) (contiguous, strided int) {
	for _, x := range op.Args {
		k := axis
		for x.Def != nil && x.Def.Def == ops.Permute {
			k, x = int(x.Def.Ints("perm")[k]), x.Def.Args[0]
		}
		switch {
		case x.Def != nil && (x.Def.Def == ops.Broadcast || x.Def.Def.Class == ir.Source) || x.Type.IsScalar():
		case x.Def != nil && x.Def.Def.Class == ir.Pointwise:
			n, f := contiguity(x.Def, k)
			contiguous, strided = contiguous+n, strided+f
		case k == x.Type.Rank()-1:
			contiguous++
		default:
			strided++
		}
	}
	return contiguous, strided
}

// rootVisit is a value in a kernel of its own.
func rootVisit(op *ir.Op, r *ir.Value) *visit {
	v := &visit{root: op, axes: r.Type.Rank()}
	for k, d := range r.Type.Shape {
		v.nest = append(v.nest, sizeOf(d))
		v.at = append(v.at, origin{level: k + 1, axis: k})
	}
	return v
}

// read notes that a kernel reads x at some index.
func (p *planner) read(x *ir.Value, at *visit) {
	if !p.mine(x) || p.host[p.index[x.Def]] {
		p.fromMemory(x, at)
		return
	}
	i := p.index[x.Def]
	arms := 0
	for k, v := range p.visits[i] {
		if p.wanted[i][k] != x.Index || !sameVisit(v, at) {
			continue
		}
		if arms++; v.arm == at.arm || arms == maxArms {
			return
		}
	}
	p.visits[i], p.wanted[i] = append(p.visits[i], at), append(p.wanted[i], x.Index)
}

// fromMemory notes that a kernel reads x, which is materialised, or comes from outside of the block.
func (p *planner) fromMemory(x *ir.Value, at *visit) {
	reads := p.reads[at.root]
	if reads == nil {
		return
	}
	was, there := reads[x]
	reads[x] = aligned(x, at) && (was || !there)
	if at.inLongLoop() {
		p.within[at.root][x] = true
	}
}

// aligned reports that the kernel reads x at its own index, or what belongs to a row at the index of the row.
func aligned(x *ir.Value, at *visit) bool {
	own := at.root.Results[0].Type.Shape
	if n := min(len(own), x.Type.Rank()); n == 0 && x.Type.Rank() != len(own) || !x.Type.Shape[:n].Equal(own[:n]) {
		return false
	}
	for k, d := range x.Type.Shape {
		if !d.IsConst(1) && (k >= len(own) || at.at[k].axis != k) {
			return false
		}
	}
	return true
}

// worthwhile says why op should be materialised, "" when it should not (Note [Recompute or materialise]).
func (p *planner) worthwhile(op *ir.Op, visits []*visit, work float64) string {
	if len(visits) == 0 {
		return ""
	}
	size := 0.0
	for _, r := range op.Results {
		size = max(size, elems(r.Type.Shape))
	}
	total := 0.0
	kernels := map[*ir.Op]bool{}
	var arms []armed
	for _, v := range visits {
		c := v.count()
		if v.arm == 0 {
			total += c
		} else {
			arms = alsoIn(arms, v, c)
		}
		kernels[v.root] = true
		inner := elems(v.root.Results[0].Type.Shape)
		serial := c < threadsFor(op) && inner > c && (inner > costs().smallWork/8 || work > costs().smallWork)
		if loops(op) && v.level() < len(v.root.Results[0].Type.Shape) && serial {
			return "a kernel of its own can use all threads"
		}
		if op.Def.Class == ir.Reduce && work >= costs().longLoop && v.inLongLoop() {
			return "a long reduction needs it, and either can use all threads in a kernel of its own"
		}
	}
	for _, a := range arms {
		total += min(a.sum, a.most)
	}
	if total <= size*1.001 || size == 0 {
		return ""
	}
	if work <= size && readsNothing(op) {
		return "" // one operation an element: reading it back is one, too
	}
	again := (total - size) * work / size
	store := storeCost(op, len(kernels))
	if again <= store {
		return ""
	}
	who := "it is wanted at more indices than it has"
	if len(kernels) > 1 {
		who = fmt.Sprintf("%d kernels want it", len(kernels))
	}
	return fmt.Sprintf("%s; computing it again takes %s operations, storing it as long as %s", who, figure(again),
		figure(store))
}

// threadsFor is how many indices keep the threads busy with what op computes at each. A reduction that is too short to
// be cut into chunks runs at as many in a kernel of its own, too: what that gains is what reads it, and that is at most
// a half.
func threadsFor(op *ir.Op) float64 {
	least := costs().longLoop
	if op.Def.Class == ir.Reduce && elems(op.Args[0].Type.Shape) < least*max(elems(op.Results[0].Type.Shape), 1) {
		return costs().fewThreads / 4
	}
	return costs().fewThreads
}

// readsNothing reports that op is computed from what is no memory: from indices, say.
func readsNothing(op *ir.Op) bool {
	for _, a := range op.Args {
		if a.Def == nil || a.Def.Def.Class != ir.Source || a.Def.Def == ops.Const {
			return false
		}
	}
	return len(op.Args) > 0
}

// backgroundWork is the work that is known so far: all behind a value, the first time.
func (p *planner) backgroundWork() map[*ir.Op]float64 {
	if len(p.work) == 0 {
		p.work = p.workGiven(p.mat)
	}
	return p.work
}

// maxBehind bounds the operations that are looked at for the work behind one value.
const maxBehind = 100

// workGiven sums, for every operation, the work of all that would be computed with it.
func (p *planner) workGiven(mat map[*ir.Op]bool) map[*ir.Op]float64 {
	own := make([]float64, len(p.block.Ops))
	for i, op := range p.block.Ops {
		if !p.host[i] {
			own[i] = ownWork(op)
		}
	}
	out := make(map[*ir.Op]float64, len(own))
	for i, op := range p.block.Ops {
		if p.host[i] {
			continue
		}
		seen := map[*ir.Op]bool{op: true}
		queue := []*ir.Op{op}
		sum := own[i]
		for len(queue) > 0 && len(seen) < maxBehind {
			next := queue[0]
			queue = queue[1:]
			for _, a := range p.usedBy(next) {
				if !p.mine(a) || seen[a.Def] || mat[a.Def] || p.host[p.index[a.Def]] {
					continue
				}
				seen[a.Def] = true
				queue = append(queue, a.Def)
				sum += own[p.index[a.Def]]
			}
		}
		out[op] = sum
	}
	return out
}

// A mention is the name of a value in a remark, which knows where it comes from.
type mention struct {
	name string
	at   diag.Span
}

func (m mention) String() string   { return m.name }
func (m mention) Place() diag.Span { return m.at }

func (p *planner) mention(v *ir.Value) mention { return mention{p.name(v), v.Def.Span} }

func (p *planner) name(v *ir.Value) string {
	if n, ok := p.names[v]; ok {
		return n
	}
	return v.Def.Def.Name
}

// told names an operation for people, by its line.
func (p *planner) told(op *ir.Op) string {
	if !op.Span.Valid() {
		return p.name(op.Results[0])
	}
	return fmt.Sprintf("`%s` in %s", op.Def.Name, op.Span.Line(p.effects.Module.Home()))
}

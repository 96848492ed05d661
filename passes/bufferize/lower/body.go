package lower

import (
	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// A body is a kernel body, or a scalar function, under construction. It is the scalar.Sink that the op
// table writes to.
//
// Note [Placement]: scopes nest as the blocks of the body will (one for each parallel axis, loop,
// reduction and arm of an if). An instruction is put into the outermost open scope where its operands are
// visible, so that loop invariants are computed once, and equal instructions of visible scopes are shared.
// Three things hold it back. Nothing leaves the arm of an if. A check stays inside of every loop that may
// run zero times, so that it fails only when the program's meaning does. A load whose index was checked
// while the program runs stays below the innermost check, so that nothing is read out of bounds.
type body struct {
	unit   Unit // the module under construction
	plan   Plan // whose buffers are read and written; nil in a scalar function
	types  []types.DType
	source kernel.Source // of the operations whose elements the scalars are part of
	refs   []refInfo
	stack  []*scope // open scopes; stack[i].depth == i

	frame      *frame
	frames     int
	owner      map[*ir.Value]*ir.Block
	failing    ir.Failing
	op         *ir.Op    // the operation whose element is written, for the sites of checks
	home       diag.Span // of what the kernel computes: the place of what belongs to no operation, such as its axes
	checkDepth int       // the deepest scope that got a check or a call since the innermost pull began
	leaf       func(v *ir.Value, at []kernel.Ref) kernel.Ref
	split      map[*ir.Op]*splitReduce
	sure       map[*ir.Block][]*ir.Value // what arms surely read (Note [Before both arms])
	branchy    map[*ir.Value]bool        // what is computed with a branch
	// the values whose elements are being written, outermost first
	current  []pulled
	computed func(op *ir.Op, args []kernel.Ref, x kernel.Ref) // unless nil, hears of each element-wise operation

	params   []kernel.Param
	bufferOf []int       // of each parameter; -1 for memory of the kernel
	paramOf  map[int]int // buffer to parameter
	inPlace  []int       // buffers that are read, and written afterwards
}

// refInfo is what is known of a scalar.
type refInfo struct {
	at     *scope
	affine *affine    // its value modulo 2^64, nil when it is no affine combination
	exact  bool       // the combination is the value even without wrapping
	rng    interval   // of integers other than u64
	last   *types.Dim // of a loop variable: its last value
	in     scalar.Instr
	let    bool // in defines it
	risky  bool // an index whose check runs with the program
	quot   *quotient
}

// quotient says that a scalar is base / by, or base % by, rounded toward zero.
type quotient struct {
	base kernel.Ref
	by   types.Dim
	rem  bool
}

type scopeKind uint8

const (
	axisScope scopeKind = iota
	loopScope
	armScope
)

// scope is a block under construction.
type scope struct {
	depth   int
	kind    scopeKind
	runs    bool // at least once for each run of the scope around it
	block   *kernel.Block
	values  map[scalar.Instr]kernel.Ref
	loads   map[string]kernel.Ref
	memo    map[string]pulledRef
	needs   depthSet // the scopes outside that the block reads from
	checks  bool     // the block has a check or a call
	checked bool     // the block itself has a check of an index
	guarded bool     // the block has a load that such a check guards
	axis    kernel.Axis
}

func newBody(u Unit) *body {
	b := &body{unit: u, paramOf: map[int]int{}, owner: map[*ir.Value]*ir.Block{}, failing: ir.Failing{}}
	b.open(axisScope, true)
	return b
}

// top is the innermost open scope.
func (b *body) top() *scope { return b.stack[len(b.stack)-1] }

func (b *body) open(kind scopeKind, runs bool) *scope {
	s := &scope{
		depth: len(b.stack), kind: kind, runs: runs, block: &kernel.Block{},
		values: map[scalar.Instr]kernel.Ref{}, loads: map[string]kernel.Ref{}, memo: map[string]pulledRef{},
	}
	b.stack = append(b.stack, s)
	return s
}

// close ends the innermost scope and returns it; the caller wraps its block in a statement and adds that.
func (b *body) close() *scope {
	s := b.top()
	b.stack = b.stack[:len(b.stack)-1]
	return s
}

// define makes a new scalar that is visible in s.
func (b *body) define(t types.DType, s *scope) kernel.Ref {
	b.types = append(b.types, t)
	at := b.home
	if b.op != nil {
		at = b.op.Span
	}
	b.source = append(b.source, at)
	info := refInfo{at: s}
	info.rng, _ = typeRange(t)
	r := kernel.Ref(len(b.types) - 1)
	if t == types.I64 {
		info.affine, info.exact = varAffine(r), true
	}
	b.refs = append(b.refs, info)
	return r
}

// TypeOf implements scalar.Sink.
func (b *body) TypeOf(r kernel.Ref) types.DType { return b.types[r] }

// E implements ir.Pull.
func (b *body) E() scalar.Emitter { return scalar.Emitter{Sink: b} }

// armDepth is the depth of the innermost open arm of an if, 0 when there is none.
func (b *body) armDepth() int {
	for i := len(b.stack) - 1; i > 0; i-- {
		if b.stack[i].kind == armScope {
			return i
		}
	}
	return 0
}

// sureDepth is the depth of the innermost scope that may run zero times.
func (b *body) sureDepth() int {
	for i := len(b.stack) - 1; i > 0; i-- {
		if !b.stack[i].runs {
			return i
		}
	}
	return 0
}

// guardDepth is the depth of the innermost scope with a check of an index, or of there being elements.
func (b *body) guardDepth() int {
	for i := len(b.stack) - 1; i > 0; i-- {
		if b.stack[i].checked {
			return i
		}
	}
	return 0
}

// depthOf is the depth of the innermost scope among those of refs.
func (b *body) depthOf(refs ...kernel.Ref) int {
	d := 0
	for _, r := range refs {
		if r != scalar.None {
			d = max(d, b.refs[r].at.depth)
		}
	}
	return d
}

// A depthSet is a set of scopes, by depth.
type depthSet []bool

func (d *depthSet) add(depth int) {
	for len(*d) <= depth {
		*d = append(*d, false)
	}
	(*d)[depth] = true
}

// addAll adds what other has below limit.
func (d *depthSet) addAll(other depthSet, limit int) {
	for depth, in := range other {
		if in && depth < limit {
			d.add(depth)
		}
	}
}

// below is the deepest of the set below limit, 0 when there is none.
func (d depthSet) below(limit int) int {
	for depth := min(limit, len(d)) - 1; depth > 0; depth-- {
		if d[depth] {
			return depth
		}
	}
	return 0
}

func (b *body) depths(refs ...kernel.Ref) (d depthSet) {
	for _, r := range refs {
		if r != scalar.None {
			d.add(b.refs[r].at.depth)
		}
	}
	return d
}

// add appends a statement that reads refs to s.
func (b *body) add(s *scope, st kernel.Stmt, refs ...kernel.Ref) {
	s.block.Stmts = append(s.block.Stmts, st)
	s.needs.addAll(b.depths(refs...), s.depth)
}

// Emit implements scalar.Sink.
func (b *body) Emit(in scalar.Instr) kernel.Ref {
	if in.Op == scalar.Check {
		b.check(in)
		return scalar.None
	}
	if r, ok := b.simplify(in); ok {
		return r
	}
	return b.let(in)
}

// maxScalars bounds the scalars of one kernel. Updates inside of a region, where nothing is put into memory,
// can ask for the elements before them exponentially often.
const maxScalars = 1 << 18

// let adds an instruction, or finds the one that is there.
func (b *body) let(in scalar.Instr) kernel.Ref {
	if len(b.types) > maxScalars {
		at := diag.Span{}
		if b.op != nil {
			at = b.op.Span
		}
		Fail(at, "this computation is too large for one kernel: it may assign too many elements of one tensor")
	}
	d := b.depthOf(in.Args[:]...)
	if in.Op != scalar.Const {
		d = max(d, b.armDepth())
	}
	for i := d; i >= 0; i-- {
		if r, ok := b.stack[i].values[in]; ok {
			return r
		}
	}
	s := b.stack[d]
	r := b.define(in.Type, s)
	info := &b.refs[r]
	info.in, info.let, info.risky = in, true, b.anyRisky(in.Args[:]...)
	s.values[in] = r
	b.add(s, &kernel.Let{ID: r, In: in}, in.Args[:]...)
	b.infer(r, in)
	return r
}

// lookup finds what is in the map of a visible scope at depth d or further out.
func lookup[K comparable, V any](b *body, d int, of func(*scope) map[K]V, key K) (V, bool) {
	for i := d; i >= 0; i-- {
		if v, ok := of(b.stack[i])[key]; ok {
			return v, true
		}
	}
	var zero V
	return zero, false
}

// check adds a check unless it holds whatever happens.
func (b *body) check(in scalar.Instr) {
	if bits, ok := b.constBits(in.Args[0]); ok && bits == 1 {
		return
	}
	d := max(b.depthOf(in.Args[:]...), b.armDepth(), b.sureDepth())
	if scalar.CheckKind(in.Imm) == scalar.CheckIndex {
		b.markCompared(in.Args[0])
	}
	for i := d; i >= 0; i-- {
		if _, there := b.stack[i].values[in]; there {
			b.checkDepth = max(b.checkDepth, i)
			return
		}
	}
	s := b.stack[d]
	s.values[in] = scalar.None
	s.checks = true
	s.checked = s.checked || in.Imm == uint64(scalar.CheckIndex) || in.Imm == uint64(scalar.CheckEmpty)
	b.checkDepth = max(b.checkDepth, d)
	b.add(s, &kernel.Let{ID: scalar.None, In: in, Site: b.unit.Site(scalar.CheckKind(in.Imm), b.op)}, in.Args[:]...)
}

// markCompared marks the indices that the condition of a check compares. Constants are no risk by this
// check: load looks at them itself.
func (b *body) markCompared(cond kernel.Ref) {
	for _, r := range b.refs[cond].in.Args {
		if r == scalar.None || !b.refs[cond].let {
			continue
		}
		if b.types[r] == types.Bool {
			b.markCompared(r)
		} else if _, fixed := b.refs[r].affine.constant(); !fixed {
			b.markRisky(r)
		}
	}
}

// markRisky notes that the check of index r runs with the program, for r and all that is computed from it.
func (b *body) markRisky(r kernel.Ref) {
	if b.refs[r].risky {
		return
	}
	b.refs[r].risky = true
	for i := int(r) + 1; i < len(b.refs); i++ { // operands are defined first
		info := &b.refs[i]
		info.risky = info.risky || info.let && b.anyRisky(info.in.Args[:]...)
	}
}

// anyRisky reports that one of refs was computed from an index whose check runs with the program.
func (b *body) anyRisky(refs ...kernel.Ref) bool {
	for _, r := range refs {
		if r != scalar.None && b.refs[r].risky {
			return true
		}
	}
	return false
}

// constBits returns the bits of a literal.
func (b *body) constBits(r kernel.Ref) (uint64, bool) {
	if r == scalar.None {
		return 0, false
	}
	info := &b.refs[r]
	return info.in.Imm, info.let && info.in.Op == scalar.Const
}

// constInt returns the value of an integer literal.
func (b *body) constInt(r kernel.Ref) (int64, bool) {
	bits, ok := b.constBits(r)
	t := b.types[r]
	if !ok || !t.IsInt() {
		return 0, false
	}
	if t.IsSigned() {
		shift := 64 - t.Bits()
		return int64(bits<<shift) >> shift, true
	}
	return int64(bits), t != types.U64 || bits>>63 == 0
}

// Extent implements ir.Pull.
func (b *body) Extent(d types.Dim) kernel.Ref {
	if n, ok := d.Const(); ok {
		return b.E().Int(types.I64, n)
	}
	root := b.stack[0]
	key := "dim " + d.String()
	if r, ok := root.loads[key]; ok {
		return r
	}
	r := b.define(types.I64, root)
	info := &b.refs[r]
	info.affine, info.exact = constAffine(d), true
	if rng, ok := dimRange(d); ok {
		info.rng = rng
	}
	root.loads[key] = r
	b.add(root, &kernel.DimValue{ID: r, Dim: d})
	return r
}

// axis opens the scope of a loop variable that runs up to extent.
func (b *body) axis(kind scopeKind, begin int64, extent types.Dim, div int64) kernel.Ref {
	n, literal := extent.Const()
	s := b.open(kind, literal && (n > begin))
	r := b.define(types.I64, s)
	info := &b.refs[r]
	info.rng = interval{begin, types.MaxExtent - 1}
	if literal {
		if div > 1 {
			n = (n + div - 1) / div
		}
		info.rng.hi = max(n-1, begin)
		last := types.Lit(info.rng.hi)
		info.last = &last
	} else if last, err := extent.Sub(types.Lit(1)); err == nil && div <= 1 {
		info.last = &last
		if rng, ok := dimRange(last); ok {
			info.rng.hi = max(rng.hi, begin)
		} else {
			info.rng.hi = unbounded.hi
		}
	}
	s.axis = kernel.Axis{Var: r, Begin: begin, Extent: extentOf(extent, div)}
	return r
}

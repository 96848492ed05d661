package bufferize

import (
	"fmt"

	"healc/ir"
	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
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
	unit  *unit     // the module under construction
	fn    *function // whose buffers are read and written; nil in a scalar function
	types []types.DType
	refs  []refInfo
	stack []*scope // open scopes; stack[i].depth == i

	frame      *frame
	frames     int
	owner      map[*ir.Value]*ir.Block
	op         *ir.Op // the operation whose element is written, for the sites of checks
	checkDepth int    // the deepest scope that got a check or a call since the innermost pull began
	leaf       func(v *ir.Value, at []kernel.Ref) kernel.Ref
	split      map[*ir.Op]*splitReduce
	current    []pulled // the values whose elements are being written, outermost first

	params  []kernel.Param
	buffers []int       // of each parameter
	paramOf map[int]int // buffer to parameter
}

// refInfo is what is known of a scalar.
type refInfo struct {
	at    *scope
	form  *form      // its value modulo 2^64, nil when it is no affine combination
	exact bool       // the form is the value even without wrapping
	rng   interval   // of integers other than u64
	last  *types.Dim // of a loop variable: its last value
	in    scalar.Instr
	let   bool // in defines it
	risky bool // an index whose check runs with the program
	quot  *quotient
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
	depth    int
	kind     scopeKind
	runs     bool // at least once for each run of the scope around it
	block    *kernel.Block
	values   map[scalar.Instr]kernel.Ref
	loads    map[string]kernel.Ref
	memo     map[string]pulledRef
	needs    depthSet // the scopes outside that the block reads from
	checks   bool     // the block has a check or a call
	checked  bool     // the block itself has a check of an index
	axis     kernel.Axis
	hasStore bool
}

func newBody(u *unit) *body {
	b := &body{unit: u, paramOf: map[int]int{}, owner: map[*ir.Value]*ir.Block{}}
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
	info := refInfo{at: s}
	info.rng, _ = typeRange(t)
	r := kernel.Ref(len(b.types) - 1)
	if t == types.I64 {
		info.form, info.exact = varForm(r), true
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

// let adds an instruction, or finds the one that is there.
func (b *body) let(in scalar.Instr) kernel.Ref {
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
	if scalar.CheckKind(in.Imm) == scalar.CheckIndex && in.Args[1] != scalar.None {
		b.markRisky(in.Args[1])
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
	b.add(s, &kernel.Let{ID: scalar.None, In: in, Site: b.unit.site(scalar.CheckKind(in.Imm), b.op)}, in.Args[:]...)
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
	info.form, info.exact = constForm(d), true
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

// load reads one element of a view.
func (b *body) load(w abi.View, t types.DType, at []kernel.Ref) kernel.Ref {
	p := b.param(w.Buffer, false)
	risky := b.anyRisky(at...)
	for k, r := range at {
		if c, ok := b.refs[r].form.constant(); ok { // a fixed index may be one of no elements
			room, err := w.Shape[k].Sub(c)
			if err == nil {
				room, err = room.Sub(types.Lit(1))
			}
			risky = risky || err != nil || !nonNegative(room)
		}
	}
	acc := b.access(w.Offset, w.Strides, at)
	var vars []kernel.Ref
	for _, t := range acc.Terms {
		vars = append(vars, t.Var)
	}
	d := max(b.depthOf(vars...), b.armDepth())
	if risky {
		d = max(d, b.guardDepth())
	}
	key := fmt.Sprint(p, " ", accessKey(acc))
	if r, ok := lookup(b, d, func(s *scope) map[string]kernel.Ref { return s.loads }, key); ok {
		return r
	}
	s := b.stack[d]
	r := b.define(t, s)
	s.loads[key] = r
	b.add(s, &kernel.Load{ID: r, Param: p, At: acc}, vars...)
	return r
}

func accessKey(a kernel.Access) string {
	key := a.Offset.String()
	for _, t := range a.Terms {
		key += fmt.Sprintf("|%s %d", t.Coef, t.Var)
	}
	return key
}

// store writes one element of a row-major output in the innermost scope.
func (b *body) store(buffer int, strides []types.Dim, at []kernel.Ref, val kernel.Ref) {
	s := b.top()
	acc := b.access(types.Dim{}, strides, at)
	s.hasStore = true
	reads := []kernel.Ref{val}
	for _, t := range acc.Terms {
		reads = append(reads, t.Var)
	}
	b.add(s, &kernel.Store{Param: b.param(buffer, true), At: acc, Val: val}, reads...)
}

// access is off + sum(strides[k] * at[k]) over loop variables where that is possible.
func (b *body) access(off types.Dim, strides []types.Dim, at []kernel.Ref) kernel.Access {
	sum := constForm(off)
	for k, r := range at {
		f := b.refs[r].form
		if f == nil {
			f = varForm(r)
		}
		next := sum.plus(f, strides[k])
		if next == nil { // the coefficients of the form overflow: take the scalar itself
			if next = sum.plus(varForm(r), strides[k]); next == nil {
				panic("BUG: the address of an element overflows")
			}
		}
		sum = next
	}
	sum = b.recombine(sum)
	return kernel.Access{Offset: sum.off, Terms: sum.terms}
}

// param is the kernel parameter for a buffer.
func (b *body) param(buffer int, out bool) int {
	if i, ok := b.paramOf[buffer]; ok {
		if b.params[i].Out != out {
			panic("BUG: a kernel reads and writes one buffer")
		}
		return i
	}
	buf := b.fn.plan.Buffers[buffer]
	b.params = append(b.params, kernel.Param{
		Name: fmt.Sprintf("b%d", buffer), DType: buf.DType, Out: out, Shape: buf.Shape, Elems: buf.Strides,
	})
	b.buffers = append(b.buffers, buffer)
	b.paramOf[buffer] = len(b.params) - 1
	return len(b.params) - 1
}

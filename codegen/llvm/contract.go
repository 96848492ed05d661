package llvm

import (
	"reflect"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/abi"
)

// Note [Matrix products]
//
// A matrix product reaches the generator as what it means, a loop over k in two parallel axes:
//
//	over %i in 0..M, %j in 0..N
//	  %c = loop %k in 0..K carry %acc = 0 { next fma(x(%i, %k), y(%k, %j), %acc) }
//	  ... the epilogue, which stores
//
// where x and y are any element-wise programs of what they read (the prologue: a cast, a scale, a transposed
// read) and the epilogue any of the result. Such a kernel is recognised here and scheduled anew:
//
//	for each block of columns, for some rows              (what threads share out, see Note [Units of products])
//	  for each piece of k                                 (sums wait in the result between pieces; see apart)
//	    copy the block of y into panels on the stack      (stays in the second-level cache)
//	    for each tile of rows
//	      copy the rows of x to the stack                 (stays in the first-level cache)
//	      for each panel: the tile in registers
//
// Every element is still one chain over k ascending from 0, so the bits are those of the plain loop. Copies
// are made only where reading in place would be slower, see plan.
//
// contract.go recognises, contract_plan.go decides, contract_loops.go has the loops, contract_pack.go the copies,
// contract_pairs.go narrow integers, contract_tile.go the tile in registers, contract_store.go what becomes of the
// result.

// contraction is a kernel of that form.
type contraction struct {
	k       *kernel.Kernel
	batches []kernel.Axis // of a batch
	row     *kernel.Axis  // nil: the product of a vector with a matrix
	col     kernel.Axis
	chains  *kernel.Loop
	before  []kernel.Stmt // of the loop, and after it
	after   []kernel.Stmt
	fma     *kernel.Let // the last step; for integers mul and add
	x, y    operand     // y differs between columns, x between rows
	swap    bool        // y is the first factor
	acc     types.DType
	deps    map[kernel.Ref]dep

	rowChecks bool // before has checks that differ between rows

	// Rows, columns, length of the chains. Where these follow from shape parameters (free) they are guesses, and
	// the code reads the values when it runs.
	free     bool
	m, n, kk int64
	contractPlan
}

// operand is a factor.
type operand struct {
	val   kernel.Ref
	stmts []kernel.Stmt // what computes it in the loop
	load  *kernel.Load  // when that is all
	// the read that decides in which order it is best read: load, or the first that moves with both axes
	main *kernel.Load
}

// dep tells what a scalar depends on.
type dep uint8

const (
	onRow dep = 1 << iota
	onCol
	onK
)

// contractionOf recognises a matrix product; it returns nil for any other kernel.
func contractionOf(k *kernel.Kernel) *contraction {
	n := len(k.Axes)
	if n == 0 {
		return nil
	}
	for _, p := range k.Params {
		if p.Work {
			return nil
		}
	}
	c := &contraction{k: k, deps: map[kernel.Ref]dep{}}
	extent := func(a kernel.Axis) (int64, bool) {
		e, ok := a.Extent.Dim.Const()
		if !ok {
			c.free, e = true, nominalExtent
		}
		return e, a.Begin == 0 && a.Extent.Div <= 1 && e > 0
	}
	for _, a := range k.Axes {
		if _, ok := extent(a); !ok {
			return nil
		}
	}
	c.col = k.Axes[n-1]
	c.deps[c.col.Var] = onCol
	c.n, _ = extent(c.col)
	c.m = 1
	for i, st := range k.Body.Stmts {
		if l, ok := st.(*kernel.Loop); ok {
			if c.chains != nil || l.Parallel || len(l.Init) != 1 {
				return nil
			}
			c.chains, c.before, c.after = l, k.Body.Stmts[:i], k.Body.Stmts[i+1:]
		}
	}
	if c.chains == nil || !plainStmts(c.chains.Body.Stmts) {
		return nil
	}
	var ok bool
	if c.kk, ok = extent(c.chains.Axis); !ok {
		return nil
	}
	c.acc = k.Types[c.chains.IDs[0]]
	if !c.startsAtZero() || !c.lastStep() {
		return nil
	}
	if sh, ok := canVectorise(k.Types, c.col.Var, k.Body); !ok || sh.long {
		return nil
	}
	// The rows are the axis before the columns, unless both operands know that one: then it is of a batch.
	first, second := c.fma.In.Args[0], c.fma.In.Args[1]
	c.deps[c.chains.Axis.Var] = onK
	for _, rows := range []int{1, 0} {
		if n <= rows {
			continue
		}
		c.row, c.m, c.batches = nil, 1, k.Axes[:n-1-rows]
		if rows == 1 {
			c.row = &k.Axes[n-2]
			c.m, _ = extent(*c.row)
			c.deps[c.row.Var] = onRow
		} else if n > 1 {
			delete(c.deps, k.Axes[n-2].Var)
		}
		c.depend(c.before)
		c.depend(c.chains.Body.Stmts)
		if !c.plainBefore() {
			continue
		}
		a, b := c.deps[first], c.deps[second]
		switch {
		case a&onCol == 0 && b&onRow == 0:
		case b&onCol == 0 && a&onRow == 0:
			first, second, c.swap = second, first, true
		default:
			continue
		}
		c.x, c.y = c.operand(first), c.operand(second)
		return c
	}
	return nil
}

// Computed is an operand of a matrix product that is computed while it is packed: once for each index of all axes of
// the kernel but Other, and of Along.
type Computed struct {
	Stmts []kernel.Stmt
	Other *kernel.Axis // nil when the operand differs along all axes
	Along kernel.Axis
}

// ComputedOperands returns the operands of a matrix product that are not read as they are; none for any other kernel.
func ComputedOperands(k *kernel.Kernel) []Computed {
	c := contractionOf(k)
	if c == nil {
		return nil
	}
	var out []Computed
	if c.x.load == nil {
		out = append(out, Computed{c.x.stmts, &c.col, c.chains.Axis})
	}
	if c.y.load == nil {
		out = append(out, Computed{c.y.stmts, c.row, c.chains.Axis})
	}
	return out
}

// plainStmts reports that statements compute scalars and nothing else.
func plainStmts(stmts []kernel.Stmt) bool {
	for _, st := range stmts {
		switch st := st.(type) {
		case *kernel.Load, *kernel.DimValue:
		case *kernel.Let:
			if st.In.Op == scalar.Check {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// plainBefore reports that what stands before the chains computes scalars. It may have checks of what is the same for
// all elements, such as the index of a matrix in a batch, or for all elements of a row, such as its position in a
// table. What such a check guards is in the copies, which are made row by row, or in the epilogue.
func (c *contraction) plainBefore() bool {
	c.rowChecks = false
	for i, st := range c.before {
		if let, ok := st.(*kernel.Let); ok && let.In.Op == scalar.Check {
			d := c.depOf(st)
			if d&^onRow != 0 {
				return false
			}
			c.rowChecks = c.rowChecks || d != 0
		} else if !plainStmts(c.before[i : i+1]) {
			return false
		}
	}
	return true
}

// startsAtZero reports that the chains start at the constant 0.
func (c *contraction) startsAtZero() bool {
	for _, st := range c.before {
		if l, ok := st.(*kernel.Let); ok && l.ID == c.chains.Init[0] {
			return l.In.Op == scalar.Const && l.In.Imm == 0
		}
	}
	return false
}

// lastStep finds the multiplication and addition that end the body of the loop.
func (c *contraction) lastStep() bool {
	stmts := c.chains.Body.Stmts
	next, acc := c.chains.Next[0], c.chains.Vars[0]
	uses := map[kernel.Ref]int{}
	defs := map[kernel.Ref]*kernel.Let{}
	for _, st := range stmts {
		switch st := st.(type) {
		case *kernel.Let:
			defs[st.ID] = st
			for _, a := range st.In.Args {
				uses[a]++
			}
		case *kernel.Load:
			for _, t := range st.At.Terms {
				uses[t.Var]++
			}
		}
	}
	last := defs[next]
	if last == nil || uses[acc] != 1 || uses[next] != 0 {
		return false
	}
	switch in := last.In; {
	case in.Op == scalar.Fma && in.Args[2] == acc:
		c.fma = last
		return true
	case in.Op == scalar.Add && in.Type.IsInt():
		product := in.Args[0]
		if product == acc {
			product = in.Args[1]
		}
		mul := defs[product]
		if mul == nil || mul.In.Op != scalar.Mul || uses[product] != 1 {
			return false
		}
		c.fma = mul
		return true
	}
	return false
}

// depend computes what scalars depend on.
func (c *contraction) depend(stmts []kernel.Stmt) {
	for _, st := range stmts {
		switch st := st.(type) {
		case *kernel.Let:
			if st.In.Op != scalar.Check {
				c.deps[st.ID] = c.depOf(st)
			}
		case *kernel.Load:
			c.deps[st.ID] = c.depOf(st)
		}
	}
}

// depOf is what a statement depends on.
func (c *contraction) depOf(st kernel.Stmt) (d dep) {
	switch st := st.(type) {
	case *kernel.Let:
		for _, a := range st.In.Args {
			if a != scalar.None {
				d |= c.deps[a]
			}
		}
	case *kernel.Load:
		for _, t := range st.At.Terms {
			d |= c.deps[t.Var]
		}
	}
	return d
}

// operand gathers what computes val in the loop.
func (c *contraction) operand(val kernel.Ref) operand {
	o := operand{val: val}
	need := map[kernel.Ref]bool{val: true}
	stmts := c.chains.Body.Stmts
	for i := len(stmts) - 1; i >= 0; i-- {
		switch st := stmts[i].(type) {
		case *kernel.Let:
			if !need[st.ID] {
				continue
			}
			for _, a := range st.In.Args {
				need[a] = true
			}
		case *kernel.Load:
			if !need[st.ID] {
				continue
			}
			for _, t := range st.At.Terms {
				need[t.Var] = true
			}
		default:
			continue
		}
		o.stmts = append([]kernel.Stmt{stmts[i]}, o.stmts...)
		if l, ok := stmts[i].(*kernel.Load); ok {
			if d := c.deps[l.ID]; o.main == nil || d&onK != 0 && d != onK {
				o.main = l
			}
		}
	}
	if len(o.stmts) == 1 {
		o.load, _ = o.stmts[0].(*kernel.Load)
	}
	return o
}

// coef is the distance in memory between neighbours along v, when it is known.
func (c *contraction) coef(at kernel.Access, v kernel.Ref) (int64, bool) {
	sum := int64(0)
	for _, t := range at.Terms {
		if t.Var != v {
			continue
		}
		n, ok := t.Coef.Const()
		if !ok {
			return 0, false
		}
		sum += n
	}
	return sum, true
}

// strides are the distances, along k and along the axis v, which is rows or columns, of an operand or of what it is
// computed from.
func (c *contraction) strides(o operand, v kernel.Ref) (along, across int64, ok bool) {
	if o.main == nil {
		return 0, 0, false
	}
	for _, t := range o.main.At.Terms {
		if c.deps[t.Var] != 0 && t.Var != v && t.Var != c.chains.Axis.Var {
			return 0, 0, false // an index that is computed
		}
	}
	along, ok1 := c.coef(o.main.At, c.chains.Axis.Var)
	across, ok2 := c.coef(o.main.At, v)
	return along, across, ok1 && ok2
}

// schedule tells the plan into how many tasks kernels are cut and at which multiples the others are best cut.
func (m *program) schedule() {
	plan := m.km.Plan
	if plan == nil || m.machine.Narrow {
		return
	}
	launched := map[string]bool{}
	visitLaunches(plan, func(l *abi.Launch) { launched[l.Kernel] = true })
	width := map[string]int64{} // of the kernels of this module: others may be in another one
	for _, k := range m.km.Kernels {
		width[k.Name] = 0
		if c := contractionOf(k); c != nil && launched[k.Name] {
			c.planned = c.plan(m.machine)
			if c.planned || !c.free {
				m.contractions[k.Name] = c
				width[k.Name] = c.chunk
				continue
			}
		}
		if t := turnedOf(m.module, k); t != nil {
			if t.across == 0 {
				width[k.Name] = t.part
			}
			continue
		}
		if len(k.Axes) == 1 {
			g := &gen{module: m.module, types: k.Types, params: k.Params, features: map[reflect.Type]any{}}
			_, body := invariant(k)
			width[k.Name] = int64(g.vectorWidth(k.Axes[0].Var, body))
			if c := g.columnStrip(k.Axes[0].Var, body); c != nil {
				width[k.Name] = int64(c.w)
			}
		}
	}
	visitLaunches(plan, func(l *abi.Launch) {
		if c := m.contractions[l.Kernel]; c != nil && !c.free {
			l.Tasks, l.Work, l.Bytes, l.Align = c.units(), c.unitWork(), 0, 1
			return
		}
		if w, here := width[l.Kernel]; here {
			l.Align = w
		}
	})
}

// visitLaunches calls f for every launch of a plan.
func visitLaunches(plan *abi.Program, f func(l *abi.Launch)) {
	var visit func(steps []abi.Step)
	visit = func(steps []abi.Step) {
		for _, s := range steps {
			if s.Launch != nil {
				f(s.Launch)
			}
			if s.If != nil {
				visit(s.If.Then)
				visit(s.If.Else)
			}
			if s.Loop != nil {
				visit(s.Loop.Body)
			}
		}
	}
	for _, f := range plan.Funcs {
		visit(f.Steps)
	}
}

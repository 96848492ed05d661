package matmul

import (
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Matrix products]
//
// A matrix product reaches the generator as its definition, a loop over k in two parallel axes:
//
//	over %i in 0..M, %j in 0..N
//	  %c = loop %k in 0..K carry %acc = 0 { next fma(x(%i, %k), y(%k, %j), %acc) }
//	  ... the epilogue, which stores
//
// where x and y are any element-wise programs of their operands (the prologue: a cast, a scale, a transposed
// read) and the epilogue any of the result. Such a kernel is recognised here and scheduled anew:
//
//	for each block of columns, for some rows              (threads share these out, see Note [Units of products])
//	  for each piece of k                                 (sums wait in the result between pieces; see apart)
//	    copy the block of y into panels on the stack      (stays in the second-level cache)
//	    for each tile of rows
//	      copy the rows of x to the stack                 (stays in the first-level cache)
//	      for each panel: the tile in registers
//
// Every element is still one chain over k ascending from 0, so the bits are those of the plain loop. Copies are made
// only where reading in place would be slower, see Plan.
//
// match.go recognises, plan.go decides, loops.go has the loops, pack.go the copies, widening.go narrow integers,
// interleave.go the order of products, tile.go the tile in registers, store.go the epilogue, prefetch.go what is asked
// for ahead, gemv.go a matrix times a vector.

// Contraction is a kernel of that form.
type Contraction struct {
	k       *kernel.Kernel
	Batches []kernel.Axis // of a batch
	Row     *kernel.Axis  // nil: the product of a vector with a matrix
	Col     kernel.Axis
	Chains  *kernel.Loop
	Before  []kernel.Stmt // of the loop, and after it
	After   []kernel.Stmt
	Fma     *kernel.Let // the last step; for integers mul and add
	X, Y    Operand     // y differs between columns, x between rows
	Swap    bool        // y is the first factor
	acc     types.DType
	deps    map[kernel.Ref]dep

	rowChecks bool // Before has checks that differ between rows

	// Rows, columns, length of the chains. Where these follow from shape parameters (Free) they are guesses, and
	// the code reads the values when it runs.
	Free     bool
	m, n, Kk int64
	Schedule
}

// Operand is a factor.
type Operand struct {
	Val   kernel.Ref
	Stmts []kernel.Stmt // these compute it in the loop
	load  *kernel.Load  // when that is all
	// the read that decides in which order it is best read: load, or the first that moves with both axes
	Main *kernel.Load
}

// dep tells on which axes a scalar depends.
type dep uint8

const (
	onRow dep = 1 << iota
	onCol
	onK
)

// ContractionOf recognises a matrix product; it returns nil for any other kernel.
func ContractionOf(k *kernel.Kernel) *Contraction {
	n := len(k.Axes)
	if n == 0 {
		return nil
	}
	for _, p := range k.Params {
		if p.Work {
			return nil
		}
	}
	c := &Contraction{k: k, deps: map[kernel.Ref]dep{}}
	extent := func(a kernel.Axis) (int64, bool) {
		e, ok := a.Extent.Dim.Const()
		if !ok {
			c.Free, e = true, nominalExtent
		}
		return e, a.Begin == 0 && a.Extent.Div <= 1 && e > 0
	}
	for _, a := range k.Axes {
		if _, ok := extent(a); !ok {
			return nil
		}
	}
	c.Col = k.Axes[n-1]
	c.deps[c.Col.Var] = onCol
	c.n, _ = extent(c.Col)
	c.m = 1
	for i, st := range k.Body.Stmts {
		if l, ok := st.(*kernel.Loop); ok {
			if c.Chains != nil || l.Parallel || len(l.Init) != 1 {
				return nil
			}
			c.Chains, c.Before, c.After = l, k.Body.Stmts[:i], k.Body.Stmts[i+1:]
		}
	}
	if c.Chains == nil || !analysis.PlainStmts(c.Chains.Body.Stmts) {
		return nil
	}
	var ok bool
	if c.Kk, ok = extent(c.Chains.Axis); !ok {
		return nil
	}
	c.acc = k.Types[c.Chains.IDs[0]]
	if !c.startsAtZero() || !c.lastStep() {
		return nil
	}
	if sh, ok := analysis.CanVectorise(k.Types, c.Col.Var, k.Body); !ok || sh.Long {
		return nil
	}
	// The rows are the axis before the columns, unless both operands know that one: then it is of a batch.
	first, second := c.Fma.In.Args[0], c.Fma.In.Args[1]
	c.deps[c.Chains.Axis.Var] = onK
	for _, rows := range []int{1, 0} {
		if n <= rows {
			continue
		}
		c.Row, c.m, c.Batches = nil, 1, k.Axes[:n-1-rows]
		if rows == 1 {
			c.Row = &k.Axes[n-2]
			c.m, _ = extent(*c.Row)
			c.deps[c.Row.Var] = onRow
		} else if n > 1 {
			delete(c.deps, k.Axes[n-2].Var)
		}
		c.depend(c.Before)
		c.depend(c.Chains.Body.Stmts)
		if !c.plainBefore() {
			continue
		}
		a, b := c.deps[first], c.deps[second]
		switch {
		case a&onCol == 0 && b&onRow == 0:
		case b&onCol == 0 && a&onRow == 0:
			first, second, c.Swap = second, first, true
		default:
			continue
		}
		c.X, c.Y = c.operand(first), c.operand(second)
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
	c := ContractionOf(k)
	if c == nil {
		return nil
	}
	var out []Computed
	if c.X.load == nil {
		out = append(out, Computed{c.X.Stmts, &c.Col, c.Chains.Axis})
	}
	if c.Y.load == nil {
		out = append(out, Computed{c.Y.Stmts, c.Row, c.Chains.Axis})
	}
	return out
}

// plainBefore reports that the statements before the chains compute scalars. They may check values that are the same
// for all elements, such as the index of a matrix in a batch, or for all elements of a row, such as its position in a
// table. The reads that such a check guards are in the copies, which are made row by row, or in the epilogue.
func (c *Contraction) plainBefore() bool {
	c.rowChecks = false
	for i, st := range c.Before {
		if let, ok := st.(*kernel.Let); ok && let.In.Op == scalar.Check {
			d := c.DepOf(st)
			if d&^onRow != 0 {
				return false
			}
			c.rowChecks = c.rowChecks || d != 0
		} else if !analysis.PlainStmts(c.Before[i : i+1]) {
			return false
		}
	}
	return true
}

// startsAtZero reports that the chains start at the constant 0.
func (c *Contraction) startsAtZero() bool {
	for _, st := range c.Before {
		if l, ok := st.(*kernel.Let); ok && l.ID == c.Chains.Init[0] {
			return l.In.Op == scalar.Const && l.In.Imm == 0
		}
	}
	return false
}

// lastStep finds the multiplication and addition that end the body of the loop.
func (c *Contraction) lastStep() bool {
	stmts := c.Chains.Body.Stmts
	next, acc := c.Chains.Next[0], c.Chains.Vars[0]
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
		c.Fma = last
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
		c.Fma = mul
		return true
	}
	return false
}

// depend computes the dependences of scalars.
func (c *Contraction) depend(stmts []kernel.Stmt) {
	for _, st := range stmts {
		switch st := st.(type) {
		case *kernel.Let:
			if st.In.Op != scalar.Check {
				c.deps[st.ID] = c.DepOf(st)
			}
		case *kernel.Load:
			c.deps[st.ID] = c.DepOf(st)
		}
	}
}

// DepOf is the dependence of a statement.
func (c *Contraction) DepOf(st kernel.Stmt) (d dep) {
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

// operand gathers the statements that compute val in the loop.
func (c *Contraction) operand(val kernel.Ref) Operand {
	o := Operand{Val: val}
	need := map[kernel.Ref]bool{val: true}
	stmts := c.Chains.Body.Stmts
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
		o.Stmts = append([]kernel.Stmt{stmts[i]}, o.Stmts...)
		if l, ok := stmts[i].(*kernel.Load); ok {
			if d := c.deps[l.ID]; o.Main == nil || d&onK != 0 && d != onK {
				o.Main = l
			}
		}
	}
	if len(o.Stmts) == 1 {
		o.load, _ = o.Stmts[0].(*kernel.Load)
	}
	return o
}

// coef is the distance in memory between neighbours along v, when it is known.
func (c *Contraction) coef(at kernel.Access, v kernel.Ref) (int64, bool) {
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

// strides are the distances, along k and along the axis v, which is rows or columns, of an operand or of the load from
// which it is computed.
func (c *Contraction) strides(o Operand, v kernel.Ref) (along, across int64, ok bool) {
	if o.Main == nil {
		return 0, 0, false
	}
	for _, t := range o.Main.At.Terms {
		if c.deps[t.Var] != 0 && t.Var != v && t.Var != c.Chains.Axis.Var {
			return 0, 0, false // an index that is computed
		}
	}
	along, ok1 := c.coef(o.Main.At, c.Chains.Axis.Var)
	across, ok2 := c.coef(o.Main.At, v)
	return along, across, ok1 && ok2
}

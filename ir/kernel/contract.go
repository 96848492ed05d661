package kernel

import (
	"bufio"
	"io"

	"healc/ir/scalar"
)

// Note [Contracts]
//
// A kernel that is a matrix product says so: which loops are its rows, its columns and the chains of multiply-adds, and
// which scalars are the factors. The first differs between rows, the second between columns:
//
//	kernel @product(in x: f32[M, K], in y: f32[K, N], out z: f32[M, N]) over %0 in 0..M, %1 in 0..N {
//	  contract %6 by %7 rows %0 columns %1 along %4
//	  %2: f32 = const 0.0
//	  %3: f32 = loop %4 in 0..K carry %5: f32 = %2 {
//	    %6: f32 = load x[K*%0 + %4]
//	    %7: f32 = load y[N*%4 + %1]
//	    %8: f32 = fma %6, %7, %5
//	    next %8
//	  }
//	  store z[N*%0 + %1], %3
//	}
//
// A product of a vector has no rows. The axes before rows and columns are those of a batch. What is computed from the
// operands before the multiply-add (a cast, a scale), and from the sum behind the loop, may be anything that
// Contract.Wrong allows.
//
// Chains start at 0, or each at an element of a matrix: what is left of one when products are taken from it.
//
// The chains of 16-bit floats go by blocks (Note [Products by blocks] in ir/ops); chains.go knows their loops, too.
//
// A contract adds no meaning: it is true of the loops, which Verify checks. It is for the back ends, which write
// products in tiles. Package analysis finds it (FindContract), once, when a kernel is complete: whether a kernel is
// still a product depends on all that was fused into it. Renumber carries it along, and a pass that makes it untrue
// drops it.

// Contract says that a kernel is a matrix product.
type Contract struct {
	X, Y    Ref // the factors: X is the same for all columns, Y for all rows
	Rows    Ref // the variable of an axis; None for the product of a vector
	Columns Ref // the same
	Along   Ref // the variable of the loop
}

// Dep tells on which loops of a contract a scalar depends.
type Dep uint8

const (
	OnRow Dep = 1 << iota
	OnColumn
	OnStep
)

// Deps are the dependences of scalars.
type Deps map[Ref]Dep

// Of is the dependence of a statement.
func (d Deps) Of(st Stmt) (on Dep) {
	switch st := st.(type) {
	case *Let:
		for _, a := range st.In.Args {
			if a != scalar.None {
				on |= d[a]
			}
		}
	case *Load:
		for _, t := range st.At.Terms {
			on |= d[t.Var]
		}
	}
	return on
}

// note computes the dependences of what statements define.
func (d Deps) note(stmts []Stmt) {
	for _, st := range stmts {
		switch st := st.(type) {
		case *Let:
			if st.In.Op != scalar.Check {
				d[st.ID] = d.Of(st)
			}
		case *Load:
			d[st.ID] = d.Of(st)
		}
	}
}

// Parts are the chains of a product, and the statements before and behind them; chains is nil when k has no such loop.
func (c *Contract) Parts(k *Kernel) (before []Stmt, chains *Loop, after []Stmt) {
	for i, st := range k.Body.Stmts {
		if l, ok := st.(*Loop); ok && l.Axis.Var == c.Along {
			return k.Body.Stmts[:i], l, k.Body.Stmts[i+1:]
		}
	}
	return nil, nil, nil
}

// Start is the read of the element at which the chain of a row and a column starts, nil for one that starts at 0. Those
// of a vector always do.
func (c *Contract) Start(k *Kernel) *Load {
	before, chains, _ := c.Parts(k)
	if c.Rows == scalar.None || len(chains.Init) != 1 {
		return nil
	}
	for _, st := range before {
		if l, ok := st.(*Load); ok && l.ID == chains.Init[0] {
			return l
		}
	}
	return nil
}

// Deps are the dependences of the scalars before and in the chains.
func (c *Contract) Deps(k *Kernel) Deps {
	d := Deps{c.Columns: OnColumn, c.Along: OnStep}
	if c.Rows != scalar.None {
		d[c.Rows] = OnRow
	}
	before, chains, _ := c.Parts(k)
	d.note(before)
	d.note(chains.Body.Stmts)
	return d
}

// Wrong says why k is not the product that c says, "" when it is. Requires that k is right without c.
func (c *Contract) Wrong(k *Kernel) string {
	n := len(k.Axes)
	if n == 0 || k.Axes[n-1].Var != c.Columns {
		return "the columns of a contract are the last axis"
	}
	if c.Rows != scalar.None && (n < 2 || k.Axes[n-2].Var != c.Rows) {
		return "the rows of a contract are the axis before the last one"
	}
	before, chains, after := c.Parts(k)
	if chains == nil || chains.Parallel || len(chains.Init) != 1 && len(chains.Init) != 3 {
		return "a contract goes along a loop of the kernel that carries one value, or a sum and two chains"
	}
	for _, st := range append(before[:len(before):len(before)], after...) {
		if _, ok := st.(*Loop); ok {
			return "a contract stands beside no other loop"
		}
	}
	for _, a := range append(k.Axes[:n:n], chains.Axis) {
		if a.Begin != 0 || a.Extent.Div > 1 {
			return "the loops of a contract begin at 0 and take each index"
		}
	}
	for _, st := range chains.Body.Stmts {
		if !Plain(st) {
			return "the chains of a contract compute scalars alone"
		}
	}
	for _, init := range chains.Init {
		if !isConst(letsOf(before)[init], 0) && (len(chains.Init) > 1 || c.Start(k) == nil) {
			return "the chains of a contract start at the constant 0, or one of a matrix at an element that is read"
		}
	}
	ch := c.Chains(k)
	if ch == nil {
		return "each step of a contract ends with a multiply-add, the only reader of the sum"
	}
	if a, b := ch.Multiply.In.Args[0], ch.Multiply.In.Args[1]; (a != c.X || b != c.Y) && (a != c.Y || b != c.X) {
		return "the factors of a contract are what the multiply-add multiplies"
	}
	deps := c.Deps(k)
	if deps[c.X]&OnColumn != 0 || deps[c.Y]&OnRow != 0 {
		return "the first factor of a contract is the same for all columns, the second for all rows"
	}
	for _, st := range before {
		if let, ok := st.(*Let); ok && let.In.Op == scalar.Check {
			if deps.Of(st)&^OnRow != 0 {
				return "a check before the chains of a contract is the same for all columns"
			}
		} else if !Plain(st) {
			return "what stands before the chains of a contract computes scalars, or checks them"
		}
	}
	return ""
}

// Plain reports that a statement computes a scalar and does nothing else.
func Plain(st Stmt) bool {
	switch st := st.(type) {
	case *Load, *DimValue:
		return true
	case *Let:
		return st.In.Op != scalar.Check
	}
	return false
}

// contract prints what a kernel says of itself, before the names of its values are given: they are those that a first
// printing gives them.
func (p *printer) contract(k *Kernel) {
	once := *k
	once.Contract, once.Schedule = nil, nil
	first := &printer{w: bufio.NewWriter(io.Discard)}
	first.kernel(&once)
	c := k.Contract
	p.printf("  contract %s by %s", first.ref(c.X), first.ref(c.Y))
	if c.Rows != scalar.None {
		p.printf(" rows %s", first.ref(c.Rows))
	}
	p.printf(" columns %s along %s\n", first.ref(c.Columns), first.ref(c.Along))
}

// contract reads what a kernel says of itself. Its values are defined below, so that it is complete when the function
// that it returns is called behind the kernel.
func (p *parser) contract() func() *Contract {
	c := &Contract{Rows: scalar.None}
	var later []func()
	read := func(to *Ref) {
		text, at := p.Value()
		later = append(later, func() {
			r, ok := p.all[text]
			if !ok {
				p.ErrorAt(at, "%%%s is not defined in the kernel", text)
			}
			*to = r
		})
	}
	read(&c.X)
	p.keyword("by")
	read(&c.Y)
	if p.AcceptWord("rows") {
		read(&c.Rows)
	}
	p.keyword("columns")
	read(&c.Columns)
	p.keyword("along")
	read(&c.Along)
	return func() *Contract {
		for _, f := range later {
			f()
		}
		return c
	}
}

package analysis

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// FindContract is the contract of a kernel that is a matrix product, nil for any other kernel. The rows are the axis
// before the columns, unless both factors know that one: then it is of a batch.
func FindContract(k *kernel.Kernel) *kernel.Contract {
	n := len(k.Axes)
	if n == 0 {
		return nil
	}
	rows := []kernel.Ref{scalar.None}
	if n > 1 {
		rows = []kernel.Ref{k.Axes[n-2].Var, scalar.None}
	}
	for _, st := range k.Body.Stmts {
		l, ok := st.(*kernel.Loop)
		if !ok {
			continue
		}
		along := &kernel.Contract{Along: l.Axis.Var}
		chains := along.Chains(k)
		if chains == nil {
			return nil
		}
		factors := chains.Multiply.In.Args
		for _, row := range rows {
			c := &kernel.Contract{X: factors[0], Y: factors[1], Rows: row, Columns: k.Axes[n-1].Var, Along: l.Axis.Var}
			if c.Wrong(k) == "" {
				return c
			}
			if c.X, c.Y = c.Y, c.X; c.Wrong(k) == "" {
				return c
			}
		}
	}
	return nil
}

// NominalExtent stands for an extent that is not known.
const NominalExtent = 1024

// Contraction is a matrix product with all that follows from its loops and its shape: everything that a back end asks
// before it decides, and nothing that depends on the target.
type Contraction struct {
	Kernel     *kernel.Kernel
	Batches    []kernel.Axis // of a batch
	Row        *kernel.Axis  // nil: the product of a vector with a matrix
	Col        kernel.Axis
	Chains     *kernel.Loop
	Before     []kernel.Stmt // of the loop
	After      []kernel.Stmt // the sum
	Start      *kernel.Load  // what a sum starts at, nil for 0
	BlockSteps int64         // steps of a block of two chains, 0 for one chain (Note [Products by blocks] in ir/ops)
	Sum        kernel.Ref    // of all products
	Fma        *kernel.Let   // multiplies the factors
	Last       *kernel.Let   // gives the next sum: for floats the same statement, an fma
	X, Y       Operand       // y differs between columns, x between rows
	Swap       bool          // y is the first factor
	Acc        types.DType   // of the sums
	Deps       kernel.Deps

	RowChecks bool // Before has checks that differ between rows

	// Rows, columns, length of the chains. Where these follow from shape parameters (Free) they are guesses, and
	// the code reads the values when it runs.
	Free bool
	Size struct{ M, N, K int64 }

	PlainStore bool          // what follows the chains is one store of the sum
	Carry      *kernel.Store // a store to whose place unfinished sums can go, nil when there is none
}

// Operand is a factor.
type Operand struct {
	Val   kernel.Ref
	Stmts []kernel.Stmt // these compute it in the loop
	Load  *kernel.Load  // when that is all
	// the read that decides in which order it is best read: Load, or the first that moves with both axes
	Main *kernel.Load
}

// ContractionOf is the contraction of a kernel that says it is a matrix product, nil for any other kernel and for a
// product that is not written in tiles: of no elements, in work memory, or with something in the code around the chains
// that has no vectors along the columns.
func ContractionOf(k *kernel.Kernel) *Contraction {
	if k.Contract == nil {
		return nil
	}
	for _, p := range k.Params {
		if p.Work {
			return nil
		}
	}
	n := len(k.Axes)
	c := &Contraction{Kernel: k, Col: k.Axes[n-1], Batches: k.Axes[:n-1], Deps: k.Contract.Deps(k)}
	c.Before, c.Chains, c.After = k.Contract.Parts(k)
	chains := k.Contract.Chains(k)
	c.Fma, c.Last, c.BlockSteps, c.Sum = chains.Multiply, chains.Add, chains.Block, chains.Sum
	c.After = slices.DeleteFunc(slices.Clone(c.After), func(st kernel.Stmt) bool {
		return slices.Contains(chains.Fold, st)
	})
	c.Acc = k.Types[c.Sum]
	c.Swap = c.Fma.In.Args[0] != k.Contract.X
	empty := false
	extent := func(a kernel.Axis) int64 {
		e, ok := a.Extent.Dim.Const()
		if !ok {
			c.Free, e = true, NominalExtent
		}
		empty = empty || e <= 0
		return e
	}
	c.Size.M, c.Size.N, c.Size.K = 1, extent(c.Col), extent(c.Chains.Axis)
	if k.Contract.Rows != scalar.None {
		c.Row, c.Batches = &k.Axes[n-2], k.Axes[:n-2]
		c.Size.M = extent(*c.Row)
	}
	for _, a := range c.Batches {
		extent(a)
	}
	if sh, ok := CanVectorise(k.Types, c.Col.Var, k.Body); empty || !ok || sh.Long {
		return nil
	}
	for _, st := range c.Before {
		let, ok := st.(*kernel.Let)
		c.RowChecks = c.RowChecks || ok && let.In.Op == scalar.Check && c.Deps.Of(st) != 0
	}
	if c.Start = k.Contract.Start(k); c.Start != nil && !c.startsInTiles() {
		return nil
	}
	c.X, c.Y = c.operand(k.Contract.X), c.operand(k.Contract.Y)
	c.PlainStore, c.Carry = c.stores()
	return c
}

// startsInTiles reports that a tile can read what its sums start at: whole vectors of each row, as they lie in memory.
func (c *Contraction) startsInTiles() bool {
	unit, ok := Coef(c.Start.At, c.Col.Var)
	dtype := c.Kernel.Params[c.Start.Param].DType
	return ok && unit == 1 && dtype == c.Acc && dtype == ArithmeticType(c.Acc) && dtype != types.Bool &&
		c.OnAxes(c.Start.At) && c.Size.M > 1
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
			if d := c.Deps[l.ID]; o.Main == nil || d&kernel.OnStep != 0 && d != kernel.OnStep {
				o.Main = l
			}
		}
	}
	if len(o.Stmts) == 1 {
		o.Load, _ = o.Stmts[0].(*kernel.Load)
	}
	return o
}

// stores looks at what follows the chains: plain when it is one store of the sum, carry a store to whose place the
// unfinished sums can go.
func (c *Contraction) stores() (plain bool, carry *kernel.Store) {
	n := 0
	for _, st := range c.After {
		if s, ok := st.(*kernel.Store); ok {
			n++
			carry = s
		}
	}
	if n != 1 {
		return false, nil
	}
	p := c.Kernel.Params[carry.Param]
	unit, ok := Coef(carry.At, c.Col.Var)
	if !ok || unit != 1 || p.DType != ArithmeticType(c.Acc) || p.DType != c.Acc || p.InPlace ||
		p.DType == types.Bool {
		return false, nil
	}
	if !c.OnAxes(carry.At) {
		return false, nil
	}
	return len(c.After) == 1 && carry.Val == c.Sum, carry
}

// OnAxes reports that a place is told by the axes of the result alone, and by no index that is computed.
func (c *Contraction) OnAxes(at kernel.Access) bool {
	for _, t := range at.Terms {
		axis := t.Var == c.Col.Var || t.Var == c.RowVar()
		for _, a := range c.Batches {
			axis = axis || t.Var == a.Var
		}
		if !axis {
			return false
		}
	}
	return true
}

// RowVar is the variable of the rows, no Ref of the kernel when there are none.
func (c *Contraction) RowVar() kernel.Ref {
	if c.Row == nil {
		return -2
	}
	return c.Row.Var
}

// Uniform reports that the statements before the chains are the same for all rows and columns.
func (c *Contraction) Uniform() bool {
	for _, st := range c.Before {
		if c.Deps.Of(st) != 0 {
			return false
		}
	}
	return true
}

// Carried is what a step adds to: the sum, or the chain of a block that goes on.
func (c *Contraction) Carried() kernel.Ref {
	if c.Fma == c.Last {
		return c.Fma.In.Args[2]
	}
	return c.Chains.Vars[0]
}

// Step is the statements from the factors and the sum to the next sum.
func (c *Contraction) Step() []kernel.Stmt {
	if c.Fma == c.Last {
		return []kernel.Stmt{c.Fma}
	}
	return []kernel.Stmt{c.Fma, c.Last}
}

// Batch is the number of products in a batch.
func (c *Contraction) Batch() int64 {
	n := int64(1)
	for _, a := range c.Batches {
		e, _ := a.Extent.Dim.Const()
		n *= e
	}
	return n
}

// Fixed reports that the extent of an axis is known.
func Fixed(a kernel.Axis) bool {
	_, ok := a.Extent.Dim.Const()
	return ok
}

// Coef is the distance in memory between neighbours along v, when it is known.
func Coef(at kernel.Access, v kernel.Ref) (int64, bool) {
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

// Strides are the distances, along k and along the axis v, which is rows or columns, of an operand or of the load from
// which it is computed.
func (c *Contraction) Strides(o Operand, v kernel.Ref) (along, across int64, ok bool) {
	if o.Main == nil {
		return 0, 0, false
	}
	for _, t := range o.Main.At.Terms {
		if c.Deps[t.Var] != 0 && t.Var != v && t.Var != c.Chains.Axis.Var {
			return 0, 0, false // an index that is computed
		}
	}
	along, ok1 := Coef(o.Main.At, c.Chains.Axis.Var)
	across, ok2 := Coef(o.Main.At, v)
	return along, across, ok1 && ok2
}

// NextAlong reports that neighbours along v are neighbours in memory.
func (o Operand) NextAlong(v kernel.Ref) bool {
	if o.Main == nil {
		return false
	}
	n, ok := Coef(o.Main.At, v)
	return ok && n == 1
}

// InMemory reports that an operand is one read of elements that are computed with as they are.
func (c *Contraction) InMemory(o Operand) bool {
	return o.Load != nil && c.Kernel.Params[o.Load.Param].DType == ArithmeticType(c.Acc)
}

// CastAlong reports that an operand is one read along the chains, of elements that are cast, and how far its rows are
// apart.
func (c *Contraction) CastAlong(o Operand, v kernel.Ref) (across int64, ok bool) {
	if o.Main == nil || len(o.Stmts) != 2 || c.castFrom(o) != c.Kernel.Params[o.Main.Param].DType {
		return 0, false
	}
	along, across, ok := c.Strides(o, v)
	return across, ok && along == 1
}

// Narrow reports that an operand is cast from integers that fit 16 bits with a sign.
func (c *Contraction) Narrow(o Operand) bool {
	from := c.widened(o)
	return from == types.I8 || from == types.U8 || from == types.I16 || from == types.Bool
}

// widened is the type from which an operand of 32 bits is cast, Invalid for one that is not.
func (c *Contraction) widened(o Operand) types.DType {
	if c.Acc != types.I32 && c.Acc != types.U32 {
		return types.Invalid
	}
	return c.castFrom(o)
}

// castFrom is the type from which an operand is cast, Invalid for one that is not.
func (c *Contraction) castFrom(o Operand) types.DType {
	for _, st := range o.Stmts {
		if l, ok := st.(*kernel.Let); ok && l.ID == o.Val && l.In.Op == scalar.Cast {
			return c.Kernel.Types[l.In.Args[0]]
		}
	}
	return types.Invalid
}

// Bytes reports that both operands are cast from integers of 8 bits whose products are summed from 0 on, and which of
// these have a sign. Bits have it as is best: one factor with a sign and one without.
func (c *Contraction) Bytes() (signedX, signedY, ok bool) {
	x, y := c.widened(c.X), c.widened(c.Y)
	byteWide := func(d types.DType) bool { return d == types.I8 || d == types.U8 || d == types.Bool }
	signedX, signedY = x == types.I8, y == types.I8
	if x == types.Bool {
		signedX = !signedY
	} else if y == types.Bool {
		signedY = !signedX
	}
	return signedX, signedY, byteWide(x) && byteWide(y) && c.Start == nil
}

// BF16 reports that the product is one of bf16, which goes by blocks of 32.
func (c *Contraction) BF16() bool {
	return c.BlockSteps == 32 && c.castFrom(c.X) == types.BF16 && c.castFrom(c.Y) == types.BF16
}

// ReadAtTile lists the reads of the epilogue at the row and column of each element, such as weights that are updated in
// place or a residual. Other threads, or other kernels, have it in their caches, and nothing asks for it in time where
// the rows of a tile are far from each other.
func (c *Contraction) ReadAtTile() []*kernel.Load {
	if c.Row == nil {
		return nil
	}
	var out []*kernel.Load
	for _, list := range [][]kernel.Stmt{c.Before, c.After} {
		for _, st := range list {
			l, ok := st.(*kernel.Load)
			if !ok {
				continue
			}
			if unit, ok := Coef(l.At, c.Col.Var); !ok || unit != 1 || !c.OnAxes(l.At) {
				continue
			}
			if far, ok := Coef(l.At, c.Row.Var); ok && far == 0 {
				continue
			}
			out = append(out, l)
		}
	}
	return out
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
	if c.X.Load == nil {
		out = append(out, Computed{c.X.Stmts, &c.Col, c.Chains.Axis})
	}
	if c.Y.Load == nil {
		out = append(out, Computed{c.Y.Stmts, c.Row, c.Chains.Axis})
	}
	return out
}

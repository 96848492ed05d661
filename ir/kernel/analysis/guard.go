package analysis

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
	"healc/lang/types"
)

// A Guard is a condition on the row or the column alone without which an element of a product that is written in place
// of another stays what it is:
//
//	where(i >= k && j >= k, fma(..., m[i, j]), m[i, j])
//
// has one for the rows and one for the columns. It compares the index with what is the same for all elements, or the
// row with the column, so where it fails at the indices at which it holds most likely, it fails in the whole tile.
type Guard struct {
	Stmts []kernel.Stmt // these compute it, with what does not depend on an axis
	Cond  kernel.Ref
	Dep   kernel.Dep // kernel.OnRow, kernel.OnColumn or both
	// It holds most likely at the last row or column, otherwise at the first.
	LastRow, LastColumn bool
}

// Guards are the guards of a product: none where something else than one store in place depends on what is computed.
func (c *Contraction) Guards() []Guard {
	f := &guardFinder{Contraction: c, defs: map[kernel.Ref]kernel.Stmt{}, there: map[kernel.Ref]bool{},
		seen: map[kernel.Ref]bool{}, deps: map[kernel.Ref]kernel.Dep{}}
	store := f.onlyStore()
	if store == nil || !c.Kernel.Params[store.Param].InPlace {
		return nil
	}
	choice, ok := f.defs[store.Val].(*kernel.Let)
	if !ok || choice.In.Op != scalar.Select {
		return nil
	}
	old, ok := f.defs[choice.In.Args[2]].(*kernel.Load)
	if !ok || old.Param != store.Param || !sameAccess(old.At, store.At) {
		return nil
	}
	f.conjuncts(choice.In.Args[0])
	return f.out
}

// A guardFinder looks for guards in the statements around the chains.
type guardFinder struct {
	*Contraction
	defs  map[kernel.Ref]kernel.Stmt
	there map[kernel.Ref]bool // what is computed before the tiles
	seen  map[kernel.Ref]bool // conditions that are looked at once, however many are made of them
	deps  map[kernel.Ref]kernel.Dep
	out   []Guard
}

// onlyStore notes what the statements around the chains define, and returns the store among them. It is nil when
// there is another one, or something that can fail and has to be looked at for each element: what is checked before the
// chains and depends on neither row nor column, as the place of a slice, is looked at before the tiles.
func (f *guardFinder) onlyStore() *kernel.Store {
	var store *kernel.Store
	plain := true
	for i, st := range slices.Concat(f.Before, f.After) {
		there := i < len(f.Before) && f.Deps.Of(st) == 0
		switch st := st.(type) {
		case *kernel.Let:
			f.defs[st.ID], f.there[st.ID] = st, there
			plain = plain && (st.In.Op != scalar.Check || there)
		case *kernel.Load:
			f.defs[st.ID], f.there[st.ID] = st, there
		case *kernel.DimValue:
			f.defs[st.ID], f.there[st.ID] = st, i < len(f.Before)
		case *kernel.Store:
			plain = plain && store == nil
			store = st
		default:
			plain = false
		}
	}
	if !plain || !Movable(f.Chains.Body.Stmts) {
		return nil
	}
	return store
}

func sameAccess(a, b kernel.Access) bool {
	return a.Offset.Equal(b.Offset) && slices.EqualFunc(a.Terms, b.Terms, func(x, y kernel.Term) bool {
		return x.Var == y.Var && x.Coef.Equal(y.Coef)
	})
}

// conjuncts adds the guards among the conditions that all have to hold for cond.
func (f *guardFinder) conjuncts(cond kernel.Ref) {
	let, ok := f.defs[cond].(*kernel.Let)
	if !ok || f.seen[cond] {
		return
	}
	f.seen[cond] = true
	args := let.In.Args
	switch let.In.Op {
	case scalar.And:
		f.conjuncts(args[0])
		f.conjuncts(args[1])
	case scalar.Select: // of conditions: both, where the last is false
		if no, ok := f.defs[args[2]].(*kernel.Let); ok && no.In.Op == scalar.Const && no.In.Imm == 0 {
			f.conjuncts(args[0])
			f.conjuncts(args[1])
		}
	case scalar.Lt, scalar.Le:
		first, last := f.index(args[0]), f.index(args[1])
		same := func(axis, ref kernel.Ref) bool { return axis != scalar.None || f.dep(ref) == 0 }
		if first == last || !same(first, args[0]) || !same(last, args[1]) {
			return
		}
		g := Guard{Cond: cond, Dep: f.dep(cond), LastRow: last == f.RowVar(), LastColumn: last == f.Col.Var}
		if f.need(cond, &g.Stmts) {
			f.out = append(f.out, g)
		}
	}
}

// dep is on which axes ref depends. Deps knows that of what stands before the chains alone.
func (f *guardFinder) dep(ref kernel.Ref) kernel.Dep {
	switch {
	case ref == f.Col.Var:
		return kernel.OnColumn
	case ref == f.RowVar():
		return kernel.OnRow
	}
	let, ok := f.defs[ref].(*kernel.Let)
	switch {
	case f.there[ref]:
		return 0
	case !ok:
		return kernel.OnRow | kernel.OnColumn
	}
	on, known := f.deps[ref]
	if known {
		return on
	}
	for _, a := range let.In.Args {
		if a != scalar.None {
			on |= f.dep(a)
		}
	}
	f.deps[ref] = on
	return on
}

// index is the variable of the rows or of the columns that ref is, perhaps as an i32, which every extent fits; else
// None.
func (f *guardFinder) index(ref kernel.Ref) kernel.Ref {
	if let, ok := f.defs[ref].(*kernel.Let); ok && let.In.Op == scalar.Cast && let.In.Type == types.I32 {
		ref = let.In.Args[0]
	}
	if ref == f.Col.Var || ref == f.RowVar() {
		return ref
	}
	return scalar.None
}

// need adds what computes ref to stmts, but what is there already. It is false where that is not at hand.
func (f *guardFinder) need(ref kernel.Ref, stmts *[]kernel.Stmt) bool {
	if f.there[ref] || ref == f.Col.Var || ref == f.RowVar() {
		return true
	}
	let, ok := f.defs[ref].(*kernel.Let)
	if !ok {
		return false
	}
	if slices.Contains(*stmts, kernel.Stmt(let)) {
		return true
	}
	for _, a := range let.In.Args {
		if a != scalar.None && !f.need(a, stmts) {
			return false
		}
	}
	*stmts = append(*stmts, let)
	return true
}

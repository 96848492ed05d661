package analysis

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
)

// PlainStmts reports that statements compute scalars and nothing else.
func PlainStmts(stmts []kernel.Stmt) bool {
	return !slices.ContainsFunc(stmts, func(st kernel.Stmt) bool { return !kernel.Plain(st) })
}

// ReadsOrChecks reports that statements do more than compute.
func ReadsOrChecks(stmts []kernel.Stmt) bool {
	for _, st := range stmts {
		switch st := st.(type) {
		case *kernel.Load, *kernel.Reduce:
			return true
		case *kernel.Let:
			if st.In.Op == scalar.Check {
				return true
			}
		}
	}
	return false
}

// ArmsRead reports that an arm of s reads one of refs.
func ArmsRead(s *kernel.If, refs map[kernel.Ref]bool) bool {
	return Reads(&kernel.Reduce{Body: &kernel.Block{Stmts: []kernel.Stmt{&kernel.If{
		Cond: scalar.None, Then: s.Then, Else: s.Else, ThenVals: s.ThenVals, ElseVals: s.ElseVals}}}, Val: scalar.None,
		Chunk: scalar.None}, refs)
}

// Statements counts those of a block, inner ones included.
func Statements(b *kernel.Block) int {
	n := len(b.Stmts)
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.If:
			n += Statements(st.Then) + Statements(st.Else)
		case *kernel.Loop:
			n += Statements(st.Body)
		case *kernel.Iterate:
			n += Statements(st.Body)
		case *kernel.Reduce:
			n += Statements(st.Body)
		}
	}
	return n
}

// InLine reports that statements compute, load and store, without a choice or a check.
func InLine(ss []kernel.Stmt) bool {
	for _, s := range ss {
		if _, chooses := s.(*kernel.If); chooses {
			return false
		}
	}
	return Movable(ss)
}

// Define notes the values that a statement defines for those after it.
func Define(set map[kernel.Ref]bool, s kernel.Stmt) {
	switch s := s.(type) {
	case *kernel.Let:
		set[s.ID] = true
	case *kernel.DimValue:
		set[s.ID] = true
	case *kernel.Load:
		set[s.ID] = true
	case *kernel.Reduce:
		set[s.ID] = true
	case *kernel.Loop:
		Note(set, s.IDs)
	case *kernel.Iterate:
		Note(set, s.IDs)
	case *kernel.If:
		Note(set, s.IDs)
	case *kernel.Call:
		Note(set, s.IDs)
	case *kernel.Transform:
		set[s.ID] = true
	}
}

func Note(set map[kernel.Ref]bool, ids []kernel.Ref) {
	for _, r := range ids {
		set[r] = true
	}
}

// OnlyLoads reports that statements load nothing but loads.
func OnlyLoads(ss []kernel.Stmt, loads []*kernel.Load) bool {
	only := true
	kernel.Each(&kernel.Block{Stmts: ss}, func(l *kernel.Load) { only = only && slices.Contains(loads, l) })
	return only
}

// Movable reports that the iterations of statements may run in any order and in vectors: no check, whose first failure
// the order decides, no call and no loop.
func Movable(ss []kernel.Stmt) bool {
	for _, s := range ss {
		switch s := s.(type) {
		case *kernel.DimValue, *kernel.Load, *kernel.Store:
		case *kernel.Let:
			if s.In.Op == scalar.Check {
				return false
			}
		case *kernel.If:
			if !Movable(s.Then.Stmts) || !Movable(s.Else.Stmts) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// AlongStores reports that there are stores, and that all of them go to neighbours as v counts up.
func AlongStores(ss []kernel.Stmt, v kernel.Ref) bool {
	found := false
	for _, s := range ss {
		st, ok := s.(*kernel.Store)
		if !ok {
			continue
		}
		along := false
		for _, t := range st.At.Terms {
			along = along || t.Var == v && t.Coef.IsConst(1)
		}
		if !along {
			return false
		}
		found = true
	}
	return found
}

// IsShort reports that an axis is known to have fewer elements than the smallest square.
func IsShort(a kernel.Axis) bool {
	n, known := a.Extent.Dim.Const()
	return known && n/max(a.Extent.Div, 1)-a.Begin < 4
}

// InnerLoops are the bodies of the loops that stand in b.
func InnerLoops(b *kernel.Block) (out []*kernel.Block) {
	for _, st := range b.Stmts {
		switch st := st.(type) {
		case *kernel.Loop:
			out = append(out, st.Body)
		case *kernel.Iterate:
			out = append(out, st.Body)
		case *kernel.Reduce:
			out = append(out, st.Body)
		}
	}
	return out
}

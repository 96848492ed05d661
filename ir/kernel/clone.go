package kernel

import (
	"fmt"
	"slices"
)

// Clone is a copy of b that shares no statement with it. Its scalars have the same numbers, so that both can stand in
// one kernel only once they are numbered anew.
func (b *Block) Clone() *Block {
	out := &Block{}
	for _, st := range b.Stmts {
		out.Stmts = append(out.Stmts, cloneStmt(st))
	}
	return out
}

func cloneAccess(at Access) Access {
	at.Terms = slices.Clone(at.Terms)
	return at
}

func cloneStmt(st Stmt) Stmt {
	switch st := st.(type) {
	case *Let:
		c := *st
		return &c
	case *DimValue:
		c := *st
		return &c
	case *Load:
		c := *st
		c.At = cloneAccess(st.At)
		return &c
	case *Store:
		c := *st
		c.At = cloneAccess(st.At)
		return &c
	case *Loop:
		c := *st
		c.Init, c.Vars, c.Next, c.IDs = slices.Clone(st.Init), slices.Clone(st.Vars), slices.Clone(st.Next),
			slices.Clone(st.IDs)
		c.Body = st.Body.Clone()
		return &c
	case *Iterate:
		c := *st
		c.Init, c.Vars, c.Next, c.IDs = slices.Clone(st.Init), slices.Clone(st.Vars), slices.Clone(st.Next),
			slices.Clone(st.IDs)
		c.Body = st.Body.Clone()
		return &c
	case *Reduce:
		c := *st
		c.Axes = slices.Clone(st.Axes)
		c.Body = st.Body.Clone()
		return &c
	case *If:
		c := *st
		c.ThenVals, c.ElseVals, c.IDs = slices.Clone(st.ThenVals), slices.Clone(st.ElseVals), slices.Clone(st.IDs)
		c.Then, c.Else = st.Then.Clone(), st.Else.Clone()
		return &c
	case *Call:
		c := *st
		c.IDs, c.Args = slices.Clone(st.IDs), slices.Clone(st.Args)
		return &c
	case *Transform:
		c := *st
		if c.Times != nil {
			times := *c.Times
			c.Times = &times
		}
		for _, l := range c.Lines() {
			l.At = cloneAccess(l.At)
		}
		return &c
	case *Sort:
		c := *st
		c.Ranks = slices.Clone(st.Ranks)
		for _, l := range c.Lines() {
			l.At = cloneAccess(l.At)
		}
		return &c
	}
	panic(fmt.Sprintf("BUG: no copy of %T", st))
}

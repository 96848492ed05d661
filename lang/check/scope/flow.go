package scope

import (
	"healc/lang/check/tree"
)

// The typed tree changes variables by Assign, in the order of evaluation; lang/irgen turns that into values
// that never change. It needs to know which variables an `if` changes and whether it leaves the function:
// the checker keeps a log of assignments and a count of returns, and looks at what the arms added.

// Variable is what the checker knows of a local that may be assigned.
type Variable struct {
	ref    bool // a `&mut` parameter
	Lambda int  // how many lambdas are around the declaration
	serial int  // variables are numbered as they are declared
}

// Flow is the log of what was checked of the current declaration.
type Flow struct {
	Vars    map[*tree.Local]*Variable
	Changed []*tree.Local // assigned, each once since the innermost mark
	Returns int
}

// FlowMark is a place in the log.
type FlowMark struct{ changed, returns, declared int }

// Mark is the end of the log.
func (c *Scope) Mark() FlowMark {
	return FlowMark{len(c.Flow.Changed), c.Flow.Returns, len(c.Flow.Vars)}
}

// Variable declares l to be one that can be assigned.
func (c *Scope) Variable(l *tree.Local, ref bool) {
	if c.Flow.Vars == nil {
		c.Flow.Vars = map[*tree.Local]*Variable{}
	}
	c.Flow.Vars[l] = &Variable{ref, c.Lambda, len(c.Flow.Vars)}
}

// Chooses adds to an `if` what its arms, checked since the mark, change, and shortens the log to that.
func (c *Scope) Chooses(e *tree.If, m FlowMark) {
	seen := map[*tree.Local]bool{}
	for _, l := range c.Flow.Changed[m.changed:] {
		if v := c.Flow.Vars[l]; v != nil && v.serial < m.declared && !seen[l] {
			seen[l] = true
			e.Assigns = append(e.Assigns, l)
		}
	}
	c.Flow.Changed = append(c.Flow.Changed[:m.changed], e.Assigns...)
	e.Returns = c.Flow.Returns > m.returns
}

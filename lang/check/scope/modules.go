package scope

import (
	"healc/lang/ast"
	"healc/lang/check/tree"
)

// Module is one file while it is checked. The checker's funcs, consts and imports are those of the
// module that it is in.
type Module struct {
	Name    string // "" for the file that is compiled
	Link    string // what stands before its functions' names in the IR: "" or "nn."
	Key     string
	Library bool
	Tree    *ast.File
	Funcs   map[string]*Func
	Order   []*Func // all functions as written, generic ones included
	Consts  map[string]*Const
	Imports map[string]*Module // by the name in this file; nil for an import that failed
	Tests   []*Test
	Active  bool // its imports are being read: importing it now is a cycle
}

// NewModule is a file in which nothing is declared yet.
func NewModule(tree *ast.File) *Module {
	return &Module{Tree: tree, Funcs: map[string]*Func{}, Consts: map[string]*Const{},
		Imports: map[string]*Module{}}
}

// InModule runs f in another module, where nothing of the declaration being checked is visible.
func (c *Scope) InModule(m *Module, f func()) {
	mod, cur, locals, undo, lambda, ordered := c.Mod, c.Cur, c.Locals, c.undo, c.Lambda, c.ordered
	c.Locals, c.undo, c.Lambda, c.ordered = map[string]*tree.Local{}, nil, 0, 0
	c.EnterModule(m)
	f()
	c.Cur, c.Locals, c.undo, c.Lambda, c.ordered = cur, locals, undo, lambda, ordered
	c.EnterModule(mod)
}

// EnterModule makes the names of m visible.
func (c *Scope) EnterModule(m *Module) {
	c.Mod, c.Funcs, c.Consts = m, m.Funcs, m.Consts
}

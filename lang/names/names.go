package names

import (
	"path"
	"slices"
	"sort"

	"healc/lang/ast"
	"healc/lang/diag"
)

// Kind tells what a name is declared as.
type Kind uint8

// The kinds of symbols.
const (
	Function        Kind = iota
	Constant             // of the file
	Module               // an import
	Parameter            // of a function
	Shape                // a shape parameter or a type parameter of a function
	Variable             // of a let
	LambdaParameter      // of a lambda
	ArmName              // what an arm of a match calls the value
)

// String is the kind in words.
func (k Kind) String() string {
	return [...]string{"function", "constant", "module", "parameter", "shape parameter", "variable", "parameter",
		"name"}[k]
}

// Symbol is a name that a file declares.
type Symbol struct {
	Name  string
	Kind  Kind
	Decl  diag.Span // where the name is declared; the path of an import without `as`
	Scope diag.Span // where it can be read
	// Node is the declaration, the statement or the expression that declares it.
	Node ast.Node
	// Pattern is the whole pattern of a variable: what its parts are called says what the value is.
	Pattern ast.Pattern
	Uses    []*Use // in the order of the source
}

// Read reports whether anything reads the symbol: to assign is not to read.
func (s *Symbol) Read() bool {
	for _, u := range s.Uses {
		if !u.Assigned {
			return true
		}
	}
	return false
}

// Use is a place that names something.
type Use struct {
	Span     diag.Span
	Name     string
	In       ast.Decl // the declaration that it stands in
	Assigned bool     // it gets another value, whole or in part
	Symbol   *Symbol  // what is named; nil for a name that the file does not declare
	Module   *Symbol  // of `module.name`, the module; the symbol is nil
}

// Table is what the names of a file mean.
type Table struct {
	Symbols []*Symbol // those of the file first, then those within declarations, both in the order of the source
	Uses    []*Use    // all of them, in the order of the source

	top map[string]*Symbol
}

// Of reads a file.
func Of(file *ast.File) *Table {
	t := &Table{top: map[string]*Symbol{}}
	r := &reader{table: t, bound: map[string][]*Symbol{}}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			t.declare(&Symbol{Name: d.Name.Name, Kind: Function, Decl: d.Name.Loc, Scope: file.Loc, Node: d})
		case *ast.ConstDecl:
			t.declare(&Symbol{Name: d.Name.Name, Kind: Constant, Decl: d.Name.Loc, Scope: file.Loc, Node: d})
		case *ast.ImportDecl:
			name, at := path.Base(d.Path), d.Loc
			if d.Alias != nil {
				name, at = d.Alias.Name, d.Alias.Loc
			}
			t.declare(&Symbol{Name: name, Kind: Module, Decl: at, Scope: file.Loc, Node: d})
		}
	}
	for _, d := range file.Decls {
		r.in = d
		switch d := d.(type) {
		case *ast.FuncDecl:
			r.function(d)
		case *ast.ConstDecl:
			r.typ(d.Type)
			r.expr(d.Value)
		case *ast.TestDecl:
			r.expr(d.Body)
		}
		r.leave(0)
	}
	slices.SortStableFunc(t.Uses, func(a, b *Use) int { return a.Span.Start - b.Span.Start })
	for _, u := range t.Uses {
		if u.Symbol != nil {
			u.Symbol.Uses = append(u.Symbol.Uses, u)
		}
	}
	return t
}

// declare adds a symbol of the file. Of two with one name the first is meant.
func (t *Table) declare(s *Symbol) {
	t.Symbols = append(t.Symbols, s)
	if t.top[s.Name] == nil {
		t.top[s.Name] = s
	}
}

// Declared is the function, constant or module of the file with a name, or nil.
func (t *Table) Declared(name string) *Symbol { return t.top[name] }

// At is the use or the declaration at an offset of the file, whose end counts, as a cursor stands behind a name.
func (t *Table) At(offset int) (*Use, bool) {
	holds := func(s diag.Span) bool { return s.Start <= offset && offset <= s.End }
	i := sort.Search(len(t.Uses), func(i int) bool { return t.Uses[i].Span.End >= offset })
	if i < len(t.Uses) && holds(t.Uses[i].Span) {
		return t.Uses[i], true
	}
	for _, s := range t.Symbols {
		if holds(s.Decl) {
			return &Use{Span: s.Decl, Name: s.Name, Symbol: s}, true
		}
	}
	return nil, false
}

// Visible are the symbols that can be named at an offset, the innermost first; of those with one name the one that is
// meant.
func (t *Table) Visible(offset int) []*Symbol {
	var out []*Symbol
	seen := map[string]bool{}
	for i := len(t.Symbols) - 1; i >= 0; i-- {
		s := t.Symbols[i]
		if s.Scope.Start <= offset && offset <= s.Scope.End && !seen[s.Name] {
			seen[s.Name] = true
			out = append(out, s)
		}
	}
	return out
}

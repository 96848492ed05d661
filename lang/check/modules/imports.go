package modules

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/check/scope"
	"healc/lang/diag"
)

// Read adds to the modules of a scope the files that m imports, and what they import, in order. What cannot be imported
// is reported.
func Read(c *scope.Scope, m *scope.Module) {
	r := &reader{Scope: c, byKey: map[string]*scope.Module{}, links: map[string]bool{}, numbers: map[string]int{}}
	for _, known := range c.Modules {
		r.byKey[known.Key], r.links[known.Link] = known, true
	}
	r.imports(m)
}

// reader reads imports.
type reader struct {
	*scope.Scope
	chain   []*ast.ImportDecl // the imports that are being read, one in the other
	byKey   map[string]*scope.Module
	links   map[string]bool // those of the modules
	numbers map[string]int  // the last that tells files of a name apart
}

// imports reads what m imports.
func (c *reader) imports(m *scope.Module) {
	m.Active = true
	for _, d := range m.Tree.Decls {
		if d, ok := d.(*ast.ImportDecl); ok {
			c.importDecl(m, d)
		}
	}
	m.Active = false
}

// importName is the name by which a file uses what it imports.
func importName(d *ast.ImportDecl) (string, diag.Span) {
	if d.Alias != nil {
		return d.Alias.Name, d.Alias.Loc
	}
	return strings.TrimSuffix(path.Base(d.Path), ".heal"), d.Loc
}

// importDecl reads one import.
func (c *reader) importDecl(m *scope.Module, d *ast.ImportDecl) {
	name, at := importName(d)
	if _, twice := m.Imports[name]; twice {
		c.Errorf(diag.CodeDuplicate, at, "%s is imported twice",
			report.Quote(name)).Help("give one another name: `import ... as other`")
		return
	}
	m.Imports[name] = nil
	if !isName(name) || '0' <= name[0] && name[0] <= '9' {
		c.Errorf(diag.CodeImport, d.Loc, "%q is no name for a module", name).Help("give it one: `import %q as name`",
			d.Path)
		return
	}
	if c.Importer == nil {
		c.Errorf(diag.CodeImport, d.Loc, "this source cannot import anything")
		return
	}
	found, err := c.Importer.Import(m.Tree.Source, d)
	if err != nil {
		code, help := diag.CodeImport, ""
		var more *scope.ImportError
		if errors.As(err, &more) {
			if help = more.Help; more.Code != "" {
				code = more.Code
			}
		}
		r := c.Errorf(code, d.Loc, "%s", err)
		if help != "" {
			r.Help("%s", help)
		}
		return
	}
	if known := c.byKey[found.Key]; known != nil {
		if known.Active {
			c.importCycle(d, known)
			return
		}
		m.Imports[name] = known
		return
	}
	n := scope.NewModule(found.Tree)
	n.Name, n.Key, n.Library = found.Name, found.Key, found.Library
	n.Link = c.linkName(found.Name)
	c.Modules = append(c.Modules, n)
	c.byKey[n.Key], c.links[n.Link] = n, true
	m.Imports[name] = n
	if found.Errors != nil {
		for _, e := range found.Errors.Items {
			c.List.AddUpTo(scope.MaxErrors, e)
		}
		c.List.More += found.Errors.More
	}
	c.chain = append(c.chain, d)
	c.imports(n)
	c.chain = c.chain[:len(c.chain)-1]
}

// linkName is the prefix of a module's functions in the IR. Files of the same name in several folders are
// told apart by a number, in the order in which they are imported.
func (c *reader) linkName(name string) string {
	link := name
	for c.links[link+"."] {
		c.numbers[name] = max(c.numbers[name]+1, 2)
		link = fmt.Sprintf("%s%d", name, c.numbers[name])
	}
	return link + "."
}

// importCycle reports that d imports a module whose imports are being read.
func (c *reader) importCycle(d *ast.ImportDecl, m *scope.Module) {
	what := "this file"
	if m.Tree.Source != nil {
		what = m.Tree.Source.Name
	}
	r := c.Errorf(diag.CodeImportCycle, d.Loc, "%s imports itself through this import", what)
	for i := len(c.chain) - 1; i >= 0; i-- {
		r.Related(c.chain[i].Loc, "which this imports")
	}
	r.Help("move what both files need into a third")
}

// isName reports a word as names are made of.
func isName(s string) bool {
	for _, r := range s {
		if !report.IsWord(r) {
			return false
		}
	}
	return s != ""
}

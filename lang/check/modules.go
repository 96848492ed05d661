package check

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"

	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/check/tree"
	"healc/lang/check/unify"
	"healc/lang/diag"
	"healc/lang/types"
)

// An Importer finds the files that `import` names. The checker itself touches neither disk nor network.
type Importer interface {
	// Import finds what decl, in the file from, names. The error says why there is none, as one clause;
	// an *ImportError has more to say.
	Import(from *diag.File, decl *ast.ImportDecl) (*Imported, error)
	// Modules lists what can be imported by name alone, for suggestions.
	Modules() []string
}

// Imported is a file that an Importer found.
type Imported struct {
	Key     string     // what tells this file from all others: importing it twice gives one module
	Name    string     // what its functions are called in messages: `nn` for `nn.softmax`
	Tree    *ast.File  // its syntax tree, perhaps repaired
	Errors  *diag.List // what the parser reported; nil for nothing
	Library bool       // part of the standard library: tested there, so only what is used is checked
}

// ImportError says why there is nothing to import.
type ImportError struct {
	Message string // one lower-case clause
	Help    string // how to put it right, or ""
}

func (e *ImportError) Error() string { return e.Message }

// module is one file while it is checked. The checker's funcs, consts and imports are those of the
// module that it is in.
type module struct {
	name    string // "" for the file that is compiled
	link    string // what stands before its functions' names in the IR: "" or "nn."
	key     string
	library bool
	tree    *ast.File
	funcs   map[string]*funcInfo
	order   []*funcInfo // all functions as written, generic ones included
	consts  map[string]*constInfo
	imports map[string]*module // by the name in this file; nil for an import that failed
	tests   []*testInfo
	active  bool // its imports are being read: importing it now is a cycle
}

func newModule(tree *ast.File) *module {
	return &module{tree: tree, funcs: map[string]*funcInfo{}, consts: map[string]*constInfo{},
		imports: map[string]*module{}}
}

// inModule runs f in another module, where nothing of the declaration being checked is visible.
func (c *checker) inModule(m *module, f func()) {
	mod, cur, locals, undo, lambda, ordered := c.mod, c.cur, c.locals, c.undo, c.lambda, c.ordered
	c.locals, c.undo, c.lambda, c.ordered = map[string]*tree.Local{}, nil, 0, 0
	c.enterModule(m)
	f()
	c.cur, c.locals, c.undo, c.lambda, c.ordered = cur, locals, undo, lambda, ordered
	c.enterModule(mod)
}

func (c *checker) enterModule(m *module) {
	c.mod, c.funcs, c.consts = m, m.funcs, m.consts
}

// imports reads the files that m imports, and what they import, in order. at says how m was reached.
func (c *checker) imports(m *module) {
	m.active = true
	for _, d := range m.tree.Decls {
		if d, ok := d.(*ast.ImportDecl); ok {
			c.importDecl(m, d)
		}
	}
	m.active = false
}

// importName is the name by which a file uses what it imports.
func importName(d *ast.ImportDecl) (string, diag.Span) {
	if d.Alias != nil {
		return d.Alias.Name, d.Alias.Loc
	}
	return strings.TrimSuffix(path.Base(d.Path), ".heal"), d.Loc
}

func (c *checker) importDecl(m *module, d *ast.ImportDecl) {
	name, at := importName(d)
	if _, twice := m.imports[name]; twice {
		c.errorf(diag.CodeDuplicate, at, "%s is imported twice",
			report.Quote(name)).Help("give one another name: `import ... as other`")
		return
	}
	m.imports[name] = nil
	if !isName(name) || '0' <= name[0] && name[0] <= '9' {
		c.errorf(diag.CodeImport, d.Loc, "%q is no name for a module", name).Help("give it one: `import %q as name`",
			d.Path)
		return
	}
	if c.importer == nil {
		c.errorf(diag.CodeImport, d.Loc, "this source cannot import anything")
		return
	}
	found, err := c.importer.Import(m.tree.Source, d)
	if err != nil {
		r := c.errorf(diag.CodeImport, d.Loc, "%s", err)
		var more *ImportError
		if errors.As(err, &more) && more.Help != "" {
			r.Help("%s", more.Help)
		}
		return
	}
	for _, known := range c.modules {
		if known.key != found.Key {
			continue
		}
		if known.active {
			c.importCycle(d, known)
			return
		}
		m.imports[name] = known
		return
	}
	n := newModule(found.Tree)
	n.name, n.key, n.library = found.Name, found.Key, found.Library
	n.link = c.linkName(found.Name)
	c.modules = append(c.modules, n)
	m.imports[name] = n
	if found.Errors != nil {
		for _, e := range found.Errors.Items {
			c.list.Add(e)
		}
	}
	c.chain = append(c.chain, d)
	c.imports(n)
	c.chain = c.chain[:len(c.chain)-1]
}

// linkName is the prefix of a module's functions in the IR. Files of the same name in several folders are
// told apart by a number, in the order in which they are imported.
func (c *checker) linkName(name string) string {
	link := name
	for n := 2; ; n++ {
		taken := false
		for _, m := range c.modules {
			taken = taken || m.link == link+"."
		}
		if !taken {
			return link + "."
		}
		link = fmt.Sprintf("%s%d", name, n)
	}
}

// importCycle reports that d imports a module whose imports are being read.
func (c *checker) importCycle(d *ast.ImportDecl, m *module) {
	what := "this file"
	if m.tree.Source != nil {
		what = m.tree.Source.Name
	}
	r := c.errorf(diag.CodeImportCycle, d.Loc, "%s imports itself through this import", what)
	for i := len(c.chain) - 1; i >= 0; i-- {
		r.Related(c.chain[i].Loc, "which this imports")
	}
	r.Help("move what both files need into a third")
}

// importedModule is the module that e takes a member of, reporting when there is none.
func (c *checker) importedModule(e *ast.Member) *module {
	id := e.Module
	m, known := c.mod.imports[id.Name]
	if m != nil {
		return m
	}
	c.cur.failed = true
	if known || id.Name == "" {
		return nil // reported where it is imported, or by the parser
	}
	if l := c.locals[id.Name]; l != nil {
		r := c.errorf(diag.CodeUnknownName, id.Loc, "%s is a value, and values have no members",
			report.Quote(id.Name)).Label("%s", l.T)
		switch name := e.Name.Name; {
		case c.isFunction(name):
			r.Help("a function stands before its arguments: `%s(%s)`", name, id.Name)
		case name == "T":
			r.Help("write `transpose(%s)`", id.Name)
		case name == "shape":
			r.Help("extents are part of the type: `fn f[N](x: f32[N])` binds `N`, which is a value, too")
		default:
			if h := c.elsewhere(name); h != "" {
				r.Help("%s", h)
			}
		}
		return nil
	}
	c.errorf(diag.CodeUnknownName, id.Loc, "there is no module %s here", report.Quote(id.Name)).Help("%s",
		c.moduleHelp(id.Name, e.Name.Name))
	return nil
}

// moduleHelp is the advice for `module.member` when the file imports no such module.
func (c *checker) moduleHelp(name, member string) string {
	var imported, library []string
	for n := range c.mod.imports {
		imported = append(imported, n)
	}
	if c.importer != nil {
		library = c.importer.Modules()
	}
	if near := diag.Nearest(name, imported); near != "" {
		return "did you mean " + report.Quote(near) + "?"
	}
	switch near := diag.Nearest(name, library); {
	case slices.Contains(library, name):
		return fmt.Sprintf("write `import %s` at the top of the file", name)
	case builtins()[member] != nil:
		return fmt.Sprintf("%s is a function of the language: write `%s(...)`", report.Quote(member), member)
	case near != "":
		return fmt.Sprintf("did you mean %s? Write `import %s` at the top of the file", report.Quote(near), near)
	case len(library) > 0:
		return "the modules of the library are " + strings.Join(library, ", ")
	}
	return fmt.Sprintf("write `import \"./%s\"` at the top of the file, if it is a file beside this one", name)
}

// member resolves `m.name` to a function or a constant of m; both are nil when it has been reported.
func (c *checker) member(e *ast.Member) (*funcInfo, *constInfo) {
	m := c.importedModule(e)
	if m == nil || e.Name.Name == "" {
		c.cur.failed = true
		return nil, nil
	}
	public, at := false, diag.Span{}
	f, k := m.funcs[e.Name.Name], m.consts[e.Name.Name]
	switch {
	case f != nil:
		public, at = f.decl.Pub, f.decl.Name.Loc
	case k != nil:
		public, at = k.decl.Pub, k.decl.Name.Loc
	default:
		r := c.errorf(diag.CodeUnknownName, e.Name.Loc, "module %s has no %s", report.Quote(e.Module.Name),
			report.Quote(e.Name.Name))
		names := m.exports()
		if builtins()[e.Name.Name] != nil {
			r.Help("it is a function of the language: write `%s(...)`", e.Name.Name)
		} else if near := diag.Nearest(e.Name.Name, names); near != "" {
			r.Help("did you mean `%s.%s`?", e.Module.Name, near)
		} else if len(names) > 0 && len(names) <= 20 {
			r.Help("it has %s", strings.Join(names, ", "))
		}
		return nil, nil
	}
	if !public {
		what, keyword := "function", "fn"
		if f == nil {
			what, keyword = "constant", "const"
		}
		c.errorf(diag.CodePrivate, e.Name.Loc, "%s %s of module %s is private", what, report.Quote(e.Name.Name),
			report.Quote(e.Module.Name)).
			Related(at, "declared here without `pub`").Help("declare it `pub %s %s`, if the module is yours", keyword,
			e.Name.Name)
		return nil, nil
	}
	return f, k
}

// exports lists the public names of m, sorted.
func (m *module) exports() []string {
	var out []string
	for n, f := range m.funcs {
		if f.decl.Pub {
			out = append(out, n)
		}
	}
	for n, k := range m.consts {
		if k.decl.Pub {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out
}

// memberValue is `m.name` used as a value.
func (c *checker) memberValue(e *ast.Member) tree.Expr {
	f, k := c.member(e)
	switch {
	case f != nil:
		name := e.Module.Name + "." + e.Name.Name
		r := c.errorf(diag.CodeFunctionValue, e.Loc, "%s is a function, not a value", report.Quote(name))
		if r.Help("call it: `%s(...)`", name); len(f.decl.Params) == 2 {
			r.Help("call it: `%s(...)`; a fold with it is written `(|a, b| %s(a, b))/v`", name, name)
		}
		return tree.Bad(e.Loc)
	case k == nil:
		return tree.Bad(e.Loc)
	}
	return c.constantUse(k, e.Loc)
}

// constantUse is the value of a constant where it is used.
func (c *checker) constantUse(k *constInfo, at diag.Span) tree.Expr {
	c.constant(k)
	if k.value == nil {
		c.cur.failed = true
		return tree.Bad(at)
	}
	return tree.NewConst(k.value, at)
}

// tryDimConst is a constant in a shape expression; name is how it is written.
func (c *checker) tryDimConst(k *constInfo, name string, at diag.Span) (types.Dim, *unify.Problem) {
	c.constant(k)
	if k.value == nil {
		return types.Dim{}, &unify.Problem{Bad: true}
	}
	n, ok := intValue(k.value)
	if !ok {
		return types.Dim{}, &unify.Problem{Code: diag.CodeShapeExpr, At: at,
			Msg: fmt.Sprintf("constant %s is %s, not an integer", report.Quote(name), k.value.Type())}
	}
	return types.Lit(n), nil
}

// tryDimMember is `m.N` in a shape expression.
func (c *checker) tryDimMember(e *ast.Member) (types.Dim, *unify.Problem) {
	f, k := c.member(e)
	name := e.Module.Name + "." + e.Name.Name
	switch {
	case f != nil:
		return types.Dim{}, &unify.Problem{Code: diag.CodeShapeExpr, At: e.Loc, Msg: report.Quote(name) +
			" is a function, not a shape expression"}
	case k == nil:
		return types.Dim{}, &unify.Problem{Bad: true}
	}
	return c.tryDimConst(k, name, e.Loc)
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

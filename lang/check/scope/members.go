package scope

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"healc/lang/ast"
	"healc/lang/check/report"
	"healc/lang/diag"
)

// importedModule is the module that e takes a member of, reporting when there is none.
func (c *Scope) importedModule(e *ast.Member) *Module {
	id := e.Module
	m, known := c.Mod.Imports[id.Name]
	if m != nil {
		return m
	}
	c.Cur.Failed = true
	if known || id.Name == "" {
		return nil // reported where it is imported, or by the parser
	}
	if l := c.Locals[id.Name]; l != nil {
		r := c.Errorf(diag.CodeUnknownName, id.Loc, "%s is a value, and values have no members",
			report.Quote(id.Name)).Label("%s", l.T)
		switch name := e.Name.Name; {
		case c.IsFunction(name):
			r.Help("a function stands before its arguments: `%s(%s)`", name, id.Name)
		case name == "T":
			r.Help("write `transpose(%s)`", id.Name).Fix(e.Loc, "transpose("+id.Name+")")
		case name == "shape":
			r.Help("extents are part of the type: `fn f[N](x: f32[N])` binds `N`, which is a value, too")
		default:
			if h := c.elsewhere(name); h != "" {
				r.Help("%s", h)
			}
		}
		return nil
	}
	c.Errorf(diag.CodeUnknownName, id.Loc, "there is no module %s here", report.Quote(id.Name)).Help("%s",
		c.moduleHelp(id.Name, e.Name.Name))
	return nil
}

// moduleHelp is the advice for `module.member` when the file imports no such module.
func (c *Scope) moduleHelp(name, member string) string {
	var imported, library []string
	for n := range c.Mod.Imports {
		imported = append(imported, n)
	}
	if c.Importer != nil {
		library = c.Importer.Modules()
	}
	if near := diag.Nearest(name, imported); near != "" && !foreignModules[name] {
		return "did you mean " + report.Quote(near) + "?"
	}
	if form, ok := ForeignNames[member]; ok && !slices.Contains(library, name) {
		return fmt.Sprintf("write `%s`", form)
	}
	if advice := foreignAdvice[member]; advice != "" && !slices.Contains(library, name) {
		return advice
	}
	switch near := diag.Nearest(name, library); {
	case slices.Contains(library, name):
		return fmt.Sprintf("write `import %s` at the top of the file", name)
	case c.functions.Has(member):
		return fmt.Sprintf("%s is a function of the language: write `%s(...)`", report.Quote(member), member)
	case near != "" && !foreignModules[name]:
		return fmt.Sprintf("did you mean %s? Write `import %s` at the top of the file", report.Quote(near), near)
	case foreignModules[name]:
		return fmt.Sprintf("`healc doc %s` searches for it by what other systems call it", member)
	case len(library) > 0:
		return "the modules of the library are " + strings.Join(library, ", ")
	}
	return fmt.Sprintf("write `import \"./%s\"` at the top of the file, if it is a file beside this one", name)
}

// Member resolves `m.name` to a function or a constant of m; both are nil when it has been reported.
func (c *Scope) Member(e *ast.Member) (*Func, *Const) {
	m := c.importedModule(e)
	if m == nil || e.Name.Name == "" {
		c.Cur.Failed = true
		return nil, nil
	}
	public, at := false, diag.Span{}
	f, k := m.Funcs[e.Name.Name], m.Consts[e.Name.Name]
	switch {
	case f != nil:
		public, at = f.Decl.Pub, f.Decl.Name.Loc
	case k != nil:
		public, at = k.Decl.Pub, k.Decl.Name.Loc
	default:
		r := c.Errorf(diag.CodeUnknownName, e.Name.Loc, "module %s has no %s", report.Quote(e.Module.Name),
			report.Quote(e.Name.Name))
		names := m.exports()
		if c.functions.Has(e.Name.Name) {
			r.Help("it is a function of the language: write `%s(...)`", e.Name.Name)
		} else if near := diag.Nearest(e.Name.Name, names); near != "" {
			r.Help("did you mean `%s.%s`?", e.Module.Name, near).Fix(e.Name.Loc, near)
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
		c.Errorf(diag.CodePrivate, e.Name.Loc, "%s %s of module %s is private", what, report.Quote(e.Name.Name),
			report.Quote(e.Module.Name)).
			Related(at, "declared here without `pub`").Help("declare it `pub %s %s`, if the module is yours", keyword,
			e.Name.Name)
		return nil, nil
	}
	return f, k
}

// exports lists the public names of m, sorted.
func (m *Module) exports() []string {
	var out []string
	for n, f := range m.Funcs {
		if f.Decl.Pub {
			out = append(out, n)
		}
	}
	for n, k := range m.Consts {
		if k.Decl.Pub {
			out = append(out, n)
		}
	}
	sort.Strings(out)
	return out
}

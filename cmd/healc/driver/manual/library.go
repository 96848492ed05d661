package manual

import (
	"strings"
	"sync"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/parser"
	"healc/stdlib"
)

// Library is the documentation of a module of the standard library, taken from its source.
type Library struct {
	Name    string
	Doc     string // the comment at its head, as one paragraph
	Entries []LibraryEntry
}

// LibraryEntry is one public declaration.
type LibraryEntry struct {
	Name      string
	Signature string // without the body; a constant with its value
	Doc       string // the comment above it, as one paragraph
}

// libraries are the modules that were read, by name: each page of the manual looks through all of them.
var libraries sync.Map

// LookupLibrary reads the documentation of a module.
func LookupLibrary(name string) (*Library, bool) {
	if l, ok := libraries.Load(name); ok {
		return l.(*Library), true
	}
	text, ok := stdlib.Source(name)
	if !ok {
		return nil, false
	}
	file := diag.NewFile(name+".heal", text)
	tree, list := parser.Parse(file)
	if list.HasErrors() {
		panic("BUG: the library does not parse: " + list.Error())
	}
	out := &Library{Name: name, Doc: commentFrom(file, 1)}
	for _, d := range tree.Decls {
		e := LibraryEntry{Signature: Signature(d), Doc: Comment(d)}
		switch d := d.(type) {
		case *ast.FuncDecl:
			if !d.Pub {
				continue
			}
			e.Name = d.Name.Name
		case *ast.ConstDecl:
			if !d.Pub {
				continue
			}
			e.Name = d.Name.Name
		default:
			continue
		}
		out.Entries = append(out.Entries, e)
	}
	libraries.Store(name, out)
	return out, true
}

// Comment is the comment directly above a declaration, as one paragraph.
func Comment(d ast.Decl) string {
	at := d.Span()
	line := at.Pos().Line
	first := line
	for strings.HasPrefix(at.File.Line(first-1), "# ") {
		first--
	}
	if first == line {
		return ""
	}
	return commentFrom(at.File, first)
}

// commentFrom is the comment that starts at a line, its lines joined.
func commentFrom(file *diag.File, line int) string {
	var parts []string
	for {
		text, ok := strings.CutPrefix(file.Line(line), "#")
		if !ok {
			return strings.Join(parts, " ")
		}
		if text = strings.TrimSpace(text); text != "" {
			parts = append(parts, text)
		}
		line++
	}
}

// Signature is a declaration without the body of a function, on one line.
func Signature(d ast.Decl) string {
	text := d.Span().Text()
	if f, ok := d.(*ast.FuncDecl); ok && f.Body != nil {
		text = strings.TrimSpace(f.Loc.File.Text[f.Loc.Start:f.Body.Span().Start])
		if f.Equals || strings.HasSuffix(text, " =") {
			text = strings.TrimSpace(strings.TrimSuffix(text, "="))
		}
	}
	line := strings.Join(strings.Fields(text), " ")
	// a head of several lines has its parameters on their own
	return strings.NewReplacer("( ", "(", ", )", ")").Replace(line)
}

// SignatureText is the first declaration of a source without the body of a function, on one line.
func SignatureText(text string) string {
	file := diag.NewFile("", text)
	tree, list := parser.Parse(file)
	if list.HasErrors() || len(tree.Decls) == 0 {
		return ""
	}
	return Signature(tree.Decls[0])
}

package lsp

import (
	"context"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"go.lsp.dev/protocol"

	"healc/internal/regular"
	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/parser"
)

// rootsOf are the folders that an editor starts with.
func rootsOf(p *protocol.InitializeParams) (out []string) {
	folders, _ := p.WorkspaceFolders.Get()
	for _, f := range folders {
		out = append(out, pathOf(f.URI))
	}
	return out
}

// DidChangeWorkspaceFolders implements protocol.Server.
func (s *server) DidChangeWorkspaceFolders(_ context.Context, p *protocol.DidChangeWorkspaceFoldersParams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	roots := slices.Clone(s.state.roots) // requests may read the old ones
	for _, f := range p.Event.Removed {
		roots = slices.DeleteFunc(roots, func(r string) bool { return r == pathOf(f.URI) })
	}
	for _, f := range p.Event.Added {
		roots = append(roots, pathOf(f.URI))
	}
	s.state.roots = roots
	return nil
}

// mostFiles is how many files and folders below a folder are looked at.
const mostFiles = 20000

// sources are the .heal files in a folder and below it, but for what is hidden.
func sources(folder string) (out []string) {
	seen := 0
	_ = filepath.WalkDir(folder, func(path string, e fs.DirEntry, err error) error {
		switch seen++; {
		case seen > mostFiles:
			return fs.SkipAll
		case err != nil: // what cannot be read has no names
			return fs.SkipDir
		case e.IsDir() && path != folder && (strings.HasPrefix(e.Name(), ".") || e.Name() == "node_modules"):
			return fs.SkipDir
		case filepath.Ext(path) == ".heal" && !e.IsDir():
			out = append(out, path)
		}
		return nil
	})
	return out
}

// others are d, the documents that are open, and the files that may import the one of d: those in the open folder that
// has it, else in its own, and below; of the library those in all open folders.
func (s *server) others(ctx context.Context, d *document) []*document {
	paths := []string{d.file.Name}
	library, inside := strings.HasPrefix(d.file.Name, libraryFolder), false
	for _, root := range stateOf(ctx).roots {
		if library || regular.Within(d.file.Name, root) {
			inside = true
			paths = append(paths, sources(root)...)
		}
	}
	if !inside && !library {
		paths = append(paths, sources(filepath.Dir(d.file.Name))...)
	}
	for path := range stateOf(ctx).docs {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	var out []*document
	for _, path := range slices.Compact(paths) {
		o, ok := s.read(ctx, path, d.editor)
		if ok && (strings.Contains(o.file.Text, "import") || path == d.file.Name) {
			out = append(out, o)
		}
	}
	return out
}

// Symbols implements protocol.Server: the functions, constants and tests of all files in the open folders whose names
// have the letters of the query, in that order.
func (s *server) Symbols(ctx context.Context, p *protocol.WorkspaceSymbolParams) (protocol.WorkspaceSymbolResult,
	error) {
	var paths []string
	for _, root := range stateOf(ctx).roots {
		paths = append(paths, sources(root)...)
	}
	for path := range stateOf(ctx).docs {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	out := protocol.SymbolInformationSlice{}
	for _, path := range slices.Compact(paths) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, ok := s.read(ctx, path, s.editor)
		if !ok {
			continue
		}
		syntax, _ := parser.Parse(d.file) // what is open may be known, but not yet
		for _, decl := range syntax.Decls {
			name, kind, _ := symbolOf(decl)
			if name != "" && kind != protocol.SymbolKindModule && matches(name, p.Query) {
				out = append(out, protocol.SymbolInformation{
					BaseSymbolInformation: protocol.BaseSymbolInformation{Name: name, Kind: kind},
					Location:              protocol.Location{URI: d.uri, Range: d.span(nameOf(decl))}})
			}
		}
	}
	return out, nil
}

// symbolOf is what a declaration is called in lists, "" where it declares nothing, and where its name is.
func symbolOf(decl ast.Decl) (name string, kind protocol.SymbolKind, at diag.Span) {
	switch x := decl.(type) {
	case *ast.FuncDecl:
		return x.Name.Name, protocol.SymbolKindFunction, x.Name.Loc
	case *ast.ConstDecl:
		return x.Name.Name, protocol.SymbolKindConstant, x.Name.Loc
	case *ast.ImportDecl:
		return x.Path, protocol.SymbolKindModule, x.Loc
	case *ast.TestDecl:
		return "test " + x.Name, protocol.SymbolKindMethod, x.Loc
	}
	return "", 0, diag.Span{}
}

// matches reports whether a name has the letters of a query in order.
func matches(name, query string) bool {
	rest := []rune(query)
	for _, r := range name {
		if len(rest) > 0 && unicode.ToLower(r) == unicode.ToLower(rest[0]) {
			rest = rest[1:]
		}
	}
	return len(rest) == 0
}

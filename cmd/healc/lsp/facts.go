package lsp

import (
	"errors"
	"os"
	"slices"

	"healc/internal/modules"
	"healc/internal/pipeline"
	"healc/internal/regular"
	"healc/lang/ast"
	"healc/lang/check"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/names"
	"healc/lang/parser"
	"healc/lang/types"
)

// facts are what the front end finds in a document.
type facts struct {
	syntax   *ast.File
	names    *names.Table
	program  *tree.Program
	problems []*diag.Diagnostic // of all files
	imported []string           // the paths of the files that it imports, themselves or through others
	modules  []*ast.File        // those that were found
	beside   documents          // the open ones of them

	locals map[extent]*tree.Local // by where they are declared
	types  map[extent]types.Type  // of expressions, by where they stand
}

// extent is a span of the document.
type extent struct{ start, end int }

func extentOf(s diag.Span) extent { return extent{s.Start, s.End} }

// find reads and checks a document. A mistake in one declaration leaves what is known of the others.
func find(d *document) *facts {
	f := &facts{locals: map[extent]*tree.Local{}, types: map[extent]types.Type{}}
	im := &modules.Recorder{From: d.importer(func(path string) { f.imported = append(f.imported, path) })}
	var list *diag.List
	f.syntax, list = parser.Parse(d.file)
	f.names = names.Of(f.syntax)
	f.problems = list.Items
	if list.HasErrors() {
		f.program, list = check.CheckWith(f.syntax, modules.For(d.file, im))
		for _, p := range list.Items {
			if p.Code != diag.CodeUnknownName { // the declaration of a name may be what does not parse
				f.problems = append(f.problems, p)
			}
		}
	} else {
		program, err := pipeline.CheckTree(f.syntax, modules.For(d.file, im))
		f.program = program
		var mistakes *diag.List
		if errors.As(err, &mistakes) {
			f.problems = append(f.problems, mistakes.Items...)
		}
		f.problems = append(f.problems, program.Warnings...)
	}
	f.modules = im.Trees()
	f.typed()
	return f
}

// importer finds the files that a document imports, as they are in the editor or on disk, and says which it reads.
func (d *document) importer(reads func(path string)) *modules.Importer {
	return &modules.Importer{Read: func(path string) ([]byte, error) {
		if reads != nil {
			reads(path)
		}
		if other, ok := d.open(path); ok {
			return []byte(other.file.Text), nil
		}
		return regular.Read(path, regular.MaxSource)
	}}
}

// typed notes the types of what stands in the file.
func (f *facts) typed() {
	seen := map[*tree.Func]bool{}
	visit := func(fn *tree.Func) {
		if fn == nil || seen[fn] || fn.Loc.File != f.syntax.Source {
			return
		}
		seen[fn] = true
		for _, p := range fn.Params {
			f.local(p)
		}
		f.expr(fn.Body)
	}
	for _, fn := range f.program.Funcs {
		visit(fn)
	}
	for _, fn := range f.program.Broken {
		visit(fn)
	}
	for _, t := range f.program.Tests {
		visit(t.Fn)
	}
	for _, i := range f.program.Instances {
		visit(i.Fn)
	}
}

func (f *facts) local(l *tree.Local) {
	if l != nil && l.Loc.File == f.syntax.Source && f.locals[extentOf(l.Loc)] == nil {
		f.locals[extentOf(l.Loc)] = l
	}
}

func (f *facts) expr(e tree.Expr) {
	for e != nil {
		let, ok := e.(*tree.Let)
		if !ok { // the span of a let goes from its name to the end of the block
			at := e.Span()
			if x := extentOf(at); at.File == f.syntax.Source && !tree.IsBad(e) && f.types[x] == nil {
				f.types[x] = e.Type()
			}
			break
		}
		f.local(let.Local)
		f.expr(let.Value)
		e = let.Body // a block is a chain of lets, as long as it is
	}
	switch e := e.(type) {
	case *tree.Apply:
		f.exprs(e.Args)
		for _, l := range e.Lambdas {
			for _, p := range l.Params {
				f.local(p)
			}
			f.expr(l.Body)
		}
	case *tree.Call:
		f.exprs(e.Args)
	case *tree.If:
		f.exprs([]tree.Expr{e.Cond, e.Then, e.Else})
	case *tree.Assign:
		f.expr(e.Value)
	case *tree.Return:
		f.expr(e.Value)
	case *tree.Move:
		f.expr(e.X)
	case *tree.Tuple:
		f.exprs(e.Elems)
	case *tree.Get:
		f.expr(e.X)
	}
}

func (f *facts) exprs(es []tree.Expr) {
	for _, e := range es {
		f.expr(e)
	}
}

// function is the typed function that a declaration became, or nil.
func (f *facts) function(d *ast.FuncDecl) *tree.Func {
	for _, fn := range f.program.Funcs {
		if fn.Decl == d {
			return fn
		}
	}
	for _, i := range f.program.Instances {
		if i.Fn.Decl == d {
			return i.Fn
		}
	}
	return nil
}

// module is the syntax of the file that a module of this document is, or nil.
func (f *facts) module(d *ast.ImportDecl) *ast.File {
	name := pathOfImport(f.syntax.Source.Name, d)
	i := slices.IndexFunc(f.modules, func(file *ast.File) bool { return file.Source.Name == name })
	if i < 0 {
		return nil
	}
	return f.modules[i]
}

// declaration is the function or constant of a file with a name, or nil.
func declaration(file *ast.File, name string) ast.Decl {
	if file == nil {
		return nil
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.Name == name {
				return d
			}
		case *ast.ConstDecl:
			if d.Name.Name == name {
				return d
			}
		}
	}
	return nil
}

// nameOf is where a function or a constant is called what it is.
func nameOf(d ast.Decl) diag.Span {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return d.Name.Loc
	case *ast.ConstDecl:
		return d.Name.Loc
	}
	return d.Span()
}

// onDisk reports whether a path names a file that can be opened.
func onDisk(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// Package modules finds the sources that a program imports: files beside the one that imports them, and the modules of
// the standard library, which are part of the compiler.
package modules

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"healc/internal/regular"
	"healc/lang/ast"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/parser"
	"healc/stdlib"
)

// Importer finds what programs import. `import nn` is a module of the standard library, which is part of
// healc: no file on disk can stand in for it. `import "./layers"` is the file layers.heal in the folder of
// the importing file. Nothing else is looked at: no search path, no environment. For says which program imports.
type Importer struct {
	// Read returns the text of a file; nil is the file system, and a path that does not exist gives
	// an error that is fs.ErrNotExist.
	Read func(path string) ([]byte, error)
	// Allow are folders from which a program may import beside its own.
	Allow []string

	folder string // of the program, "" where imports may leave it
}

// libraryFolder starts the names of the library's files in messages.
const libraryFolder = "<stdlib>/"

// Import implements check.Importer.
func (im *Importer) Import(from *diag.File, d *ast.ImportDecl) (*check.Imported, error) {
	if !d.Quoted {
		return importLibrary(d.Path)
	}
	switch {
	case !strings.HasPrefix(d.Path, "./") && !strings.HasPrefix(d.Path, "../"):
		e := &check.ImportError{Message: fmt.Sprintf("the path %q does not start with `./` or `../`", d.Path)}
		if e.Help = fmt.Sprintf("write `import \"./%s\"`", strings.TrimPrefix(d.Path,
			"/")); !strings.ContainsAny(d.Path, "/.") {
			if _, ok := stdlib.Source(d.Path); ok {
				e.Help = fmt.Sprintf("a module of the library stands without quotes: `import %s`", d.Path)
			}
		}
		return nil, e
	case from == nil || strings.HasPrefix(from.Name, "<"):
		return nil, &check.ImportError{Message: "this source is no file, so nothing is relative to it",
			Help: "put it into a file, or import modules of the library only"}
	}
	name := filepath.Join(filepath.Dir(from.Name), filepath.FromSlash(d.Path))
	if filepath.Ext(name) != ".heal" {
		name += ".heal"
	}
	if err := im.inside(d.Path, name); err != nil {
		return nil, err
	}
	read := im.Read
	if read == nil {
		read = func(path string) ([]byte, error) { return regular.Read(path, regular.MaxSource) }
	}
	text, err := read(name)
	if err == nil && len(text) > regular.MaxSource {
		err = &regular.LargeError{Path: name, Limit: regular.MaxSource}
	}
	var kind *regular.KindError
	var large *regular.LargeError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, im.missing(name)
	case errors.As(err, &kind), errors.As(err, &large):
		return nil, &check.ImportError{Message: err.Error()}
	case err != nil:
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		return nil, &check.ImportError{Message: fmt.Sprintf("cannot read %s: %v", name, err)}
	}
	out := parseImport(name, string(text))
	out.Key, out.Name = name, strings.TrimSuffix(filepath.Base(name), ".heal")
	return out, nil
}

// Modules implements check.Importer: the modules of the standard library.
func (im *Importer) Modules() []string { return stdlib.Names() }

// missing says that there is no file, and which one beside it is meant.
func (im *Importer) missing(name string) error {
	e := &check.ImportError{Message: "there is no file " + name}
	if im.Read != nil {
		return e
	}
	entries, _ := os.ReadDir(filepath.Dir(name))
	var have []string
	for _, f := range entries {
		if filepath.Ext(f.Name()) == ".heal" {
			have = append(have, strings.TrimSuffix(f.Name(), ".heal"))
		}
	}
	if near := diag.Nearest(strings.TrimSuffix(filepath.Base(name), ".heal"), have); near != "" {
		e.Help = fmt.Sprintf("did you mean %s?", filepath.Join(filepath.Dir(name), near+".heal"))
	}
	return e
}

// foreign are modules of other languages that have tensors.
var foreign = []string{"numpy", "np", "torch", "jax", "tensorflow", "LinearAlgebra"}

// library are the modules of the library that were parsed, by name: each program imports the same syntax trees, which
// nobody changes.
var library sync.Map

func importLibrary(name string) (*check.Imported, error) {
	text, ok := stdlib.Source(name)
	if !ok {
		e := &check.ImportError{Message: fmt.Sprintf("the standard library has no module `%s`", name)}
		if slices.Contains(foreign, name) {
			e.Help = "tensors and their functions are part of the language, and need no import; the modules are " +
				strings.Join(stdlib.Names(), ", ")
		} else if near := diag.Nearest(name, stdlib.Names()); near != "" {
			e.Help = fmt.Sprintf("did you mean `%s`?", near)
		} else {
			e.Help = "its modules are " + strings.Join(stdlib.Names(), ", ") + "; a file is imported as `import \"./" +
				name + "\"`"
		}
		return nil, e
	}
	parsed, ok := library.Load(name)
	if !ok {
		parsed, _ = library.LoadOrStore(name, parseImport(libraryFolder+name+".heal", text))
	}
	out := *parsed.(*check.Imported)
	out.Key, out.Name, out.Library = libraryFolder+name, name, true
	return &out, nil
}

func parseImport(name, text string) *check.Imported {
	tree, list := parser.Parse(diag.NewFile(name, text))
	return &check.Imported{Tree: tree, Errors: list}
}

// Recorder finds what From does, and notes which files they are.
type Recorder struct {
	From check.Importer

	trees []*ast.File
	lost  bool // one of them is not known
}

// Import implements check.Importer.
func (r *Recorder) Import(from *diag.File, d *ast.ImportDecl) (*check.Imported, error) {
	out, err := r.From.Import(from, d)
	if err == nil && out.Tree != nil && out.Tree.Source != nil {
		r.trees = append(r.trees, out.Tree)
	} else {
		r.lost = true
	}
	return out, err
}

// Modules implements check.Importer.
func (r *Recorder) Modules() []string { return r.From.Modules() }

// Files are the files that were imported, in order; ok reports that all of them are known.
func (r *Recorder) Files() (files []*diag.File, ok bool) {
	for _, t := range r.trees {
		files = append(files, t.Source)
	}
	return files, !r.lost
}

// Trees are the syntax trees of those that are known.
func (r *Recorder) Trees() []*ast.File { return r.trees }

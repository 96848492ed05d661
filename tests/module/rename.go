package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

// elements are what `go` takes as a path of a module: a host with a dot, and folders.
var elements = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?(/[A-Za-z0-9_~-][A-Za-z0-9._~-]*)+$`)

// Rename gives the module in the folder root the path to.
func Rename(root, to string) error {
	if !elements.MatchString(to) {
		return fmt.Errorf("%q is no path by which go finds a module; it is HOST/OWNER/NAME, and the host has a dot, "+
			"as in example.org/owner/heal", to)
	}
	from, err := pathOf(root)
	if err != nil {
		return err
	}
	if from == to {
		return nil
	}
	r := &renaming{root: root, from: from, to: to}
	if r.mentioned, err = r.mentions(); err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "bin"):
			return filepath.SkipDir
		case d.Name() == "go.mod":
			return r.goMod(filepath.Dir(path))
		case d.Type().IsRegular():
			return r.file(path)
		}
		return nil
	})
}

// inText is how text that is no Go has the root package.
var inText = []string{`heal "PATH"`, "package `PATH`", "-require=PATH@", "-replace=PATH="}

type renaming struct {
	root, from, to string
	mentioned      *regexp.Regexp // a package of this module in any text, after what may stand before it
}

// pathOf is the path of the module in a folder.
func pathOf(folder string) (string, error) {
	m, err := modOf(folder)
	return m.Module.Path, err
}

// mod is what `go mod edit -json` says of a module.
type mod struct {
	Module  struct{ Path string }
	Require []struct{ Path, Version string }
	Replace []struct{ Old, New struct{ Path string } }
}

func modOf(folder string) (m mod, err error) {
	c := exec.Command("go", "mod", "edit", "-json")
	c.Dir = folder
	out, err := c.Output()
	if err != nil {
		return m, fmt.Errorf("go mod edit -json in %s: %w", folder, err)
	}
	return m, json.Unmarshal(out, &m)
}

// mentions matches the import paths of packages of the module where text has them.
func (r *renaming) mentions() (*regexp.Regexp, error) {
	var first []string // names of folders below the root in which there are Go files, somewhere
	found, err := os.ReadDir(r.root)
	if err != nil {
		return nil, err
	}
	for _, d := range found {
		if !d.IsDir() || strings.HasPrefix(d.Name(), ".") {
			continue
		}
		hasGo := false
		err := filepath.WalkDir(filepath.Join(r.root, d.Name()), func(path string, _ fs.DirEntry, err error) error {
			if hasGo = strings.HasSuffix(path, ".go"); hasGo {
				return fs.SkipAll
			}
			return err
		})
		if err != nil {
			return nil, err
		}
		if hasGo {
			first = append(first, regexp.QuoteMeta(d.Name()))
		}
	}
	// Not as the end of another path, such as cmd/healc/cli.
	return regexp.Compile(`(^|[^\w./-])` + regexp.QuoteMeta(r.from) + `/(` + strings.Join(first, "|") + `)\b`)
}

// goMod changes the go.mod of a folder: that of the module, and those that need it.
func (r *renaming) goMod(folder string) error {
	m, err := modOf(folder)
	if err != nil {
		return err
	}
	args := []string{"mod", "edit"}
	if m.Module.Path == r.from || strings.HasPrefix(m.Module.Path, r.from+"/") {
		args = append(args, "-module="+r.to+strings.TrimPrefix(m.Module.Path, r.from))
	}
	for _, d := range m.Require {
		if d.Path == r.from {
			args = append(args, "-droprequire="+r.from, "-require="+r.to+"@"+d.Version)
		}
	}
	for _, d := range m.Replace {
		if d.Old.Path == r.from {
			args = append(args, "-dropreplace="+r.from, "-replace="+r.to+"="+d.New.Path)
		}
	}
	c := exec.Command("go", args...)
	c.Dir = folder
	if out, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("go %v in %s: %w\n%s", args, folder, err, out)
	}
	return nil
}

// file changes one file, if the module stands in it.
func (r *renaming) file(path string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if !bytes.Contains(old, []byte(r.from)) || !utf8.Valid(old) {
		return nil
	}
	text := old
	if strings.HasSuffix(path, ".go") {
		if text, err = r.imports(path, old); err != nil {
			return err
		}
	} else {
		for _, form := range inText {
			old, new := strings.ReplaceAll(form, "PATH", r.from), strings.ReplaceAll(form, "PATH", r.to)
			text = bytes.ReplaceAll(text, []byte(old), []byte(new))
		}
	}
	text = r.mentioned.ReplaceAll(text, []byte("${1}"+r.to+"/${2}"))
	if bytes.Equal(text, old) {
		return nil
	}
	st, err := os.Stat(path)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, st.Mode().Perm())
}

// imports has a file of Go import the packages of the new path, in the order of gofmt.
func (r *renaming) imports(path string, text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, path, text, parser.ImportsOnly)
	if err != nil {
		return text, nil // what is no Go is text, such as tests of broken files
	}
	var out []byte
	last := 0
	for _, spec := range f.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil || name != r.from && !strings.HasPrefix(name, r.from+"/") {
			continue
		}
		begin, end := fset.Position(spec.Path.Pos()).Offset, fset.Position(spec.Path.End()).Offset
		out = append(append(out, text[last:begin]...), strconv.Quote(r.to+name[len(r.from):])...)
		last = end
	}
	if last == 0 {
		return text, nil
	}
	return format.Source(append(out, text[last:]...))
}

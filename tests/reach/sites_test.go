package reach

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// emitters are the packages that write the code of processors.
var emitters = []string{"emit", "loops", "matmul", "ntt", "reduce", "transpose"}

const below = "codegen/llvm/"

// function is a function of the emitters.
type function struct {
	name  string // with its package and its receiver, Func aside
	short string // with its package alone
	file  string // from the root of the project
	lines [2]int
	sites []*site

	method bool

	// helper says that it is given a function that writes what stands in its blocks, as Func.For is: its blocks are
	// those of who calls it.
	helper bool
}

// site is a place at which a function makes a block, or has one or more made by a helper.
type site struct {
	lines  [2]int
	callee string // NewBlock, or the name of a function
	name   string // of the block, or of the helper with its number in the function
	to     *function
}

// sites are all functions of the emitters.
type sites struct {
	list   []*function
	byFile map[string][]*function
}

func readSites(t testing.TB) *sites {
	s := &sites{byFile: map[string][]*function{}}
	fset := token.NewFileSet()
	decls := map[*function]*ast.FuncDecl{}
	for _, pkg := range emitters {
		files, err := filepath.Glob(filepath.Join("../..", below, pkg, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatal(pkg, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			parsed, err := parser.ParseFile(fset, file, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range parsed.Decls {
				decl, ok := d.(*ast.FuncDecl)
				if !ok || decl.Body == nil {
					continue
				}
				f := &function{name: pkg + "." + receiver(decl) + decl.Name.Name,
					short: pkg + "." + decl.Name.Name, file: below + pkg + "/" + filepath.Base(file),
					lines: span(fset, decl), helper: takesFunction(decl),
					method: decl.Recv != nil}
				s.list, decls[f] = append(s.list, f), decl
				s.byFile[f.file] = append(s.byFile[f.file], f)
			}
		}
	}
	for changed := true; changed; { // until no function makes blocks by way of another one
		changed = false
		for _, f := range s.list {
			n := len(f.sites)
			f.sites = s.sitesOf(fset, f, decls[f])
			changed = changed || len(f.sites) != n
		}
	}
	return s
}

// receiver is the type whose method a function is, with a dot behind it; "" for Func and where it is none.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	if p, ok := t.(*ast.StarExpr); ok {
		t = p.X
	}
	if id, ok := t.(*ast.Ident); ok && id.Name != "Func" {
		return id.Name + "."
	}
	return ""
}

func span(fset *token.FileSet, n ast.Node) [2]int {
	return [2]int{fset.Position(n.Pos()).Line, fset.Position(n.End()).Line}
}

// takesFunction reports whether a parameter is a function.
func takesFunction(d *ast.FuncDecl) bool {
	return slices.ContainsFunc(d.Type.Params.List, func(p *ast.Field) bool {
		_, is := p.Type.(*ast.FuncType)
		return is
	})
}

// sitesOf finds the sites of a function in the order of the source.
func (s *sites) sitesOf(fset *token.FileSet, f *function, d *ast.FuncDecl) []*site {
	var out []*site
	names := map[ast.Node]string{}
	count := map[string]int{}
	pkg, _, _ := strings.Cut(f.short, ".")
	ast.Inspect(d.Body, func(n ast.Node) bool {
		if a, ok := n.(*ast.AssignStmt); ok && len(a.Lhs) == len(a.Rhs) {
			for i, x := range a.Lhs {
				if id, ok := x.(*ast.Ident); ok {
					names[a.Rhs[i]] = id.Name
				}
			}
		}
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		name, from, plain := "", "", false
		switch fun := call.Fun.(type) {
		case *ast.SelectorExpr:
			name = fun.Sel.Name
			if id, ok := fun.X.(*ast.Ident); ok {
				from = id.Name
			}
		case *ast.Ident:
			name, plain = fun.Name, true
		}
		if name == "NewBlock" && len(call.Args) == 0 {
			x := names[call]
			if x == "" {
				x = "block"
			}
			if count["."+x]++; count["."+x] > 1 {
				x = fmt.Sprintf("%s %d", x, count["."+x])
			}
			out = append(out, &site{lines: span(fset, call), callee: name, name: x})
			return true
		}
		if to := s.helper(pkg, from, name, plain); to != nil && to != f {
			label := name
			if count[name]++; count[name] > 1 {
				label = fmt.Sprintf("%s %d", name, count[name])
			}
			out = append(out, &site{lines: span(fset, call), callee: to.short, name: label, to: to})
		}
		return true
	})
	return out
}

// helper is the helper with blocks that a call in package pkg is of, nil for none: of a name that is plain, or of one
// behind a package or a value.
func (s *sites) helper(pkg, from, name string, plain bool) *function {
	for _, f := range s.list {
		in, called, _ := strings.Cut(f.short, ".")
		if !f.helper || len(f.sites) == 0 || called != name {
			continue
		}
		switch {
		case plain:
			if !f.method && in == pkg {
				return f
			}
		case slices.Contains(emitters, from) && from != pkg:
			if !f.method && in == from {
				return f
			}
		case f.method && from != "schedule" && from != "kernel" && (in == pkg || in == "emit" && ast.IsExported(name)):
			return f
		}
	}
	return nil
}

// blocks are the names of all blocks that code of the function makes, or of what helpers make for it.
func (f *function) blocks(depth int) []string {
	var out []string
	for _, s := range f.sites {
		if s.to == nil {
			out = append(out, s.name)
			continue
		}
		if depth == 0 {
			continue
		}
		for _, b := range s.to.blocks(depth - 1) {
			out = append(out, s.name+", "+b)
		}
	}
	return out
}

// all are the names of all blocks.
func (s *sites) all() []string {
	var out []string
	for _, f := range s.list {
		if f.helper {
			continue
		}
		for _, b := range f.blocks(6) {
			out = append(out, "block "+f.name+": "+b)
		}
	}
	return out
}

// at is the function that stands at a line of a file, nil for none.
func (s *sites) at(file string, line int) *function {
	for _, f := range s.byFile[file] {
		if f.lines[0] <= line && line <= f.lines[1] {
			return f
		}
	}
	return nil
}

// placer names the block that is being made, on one thread.
type placer struct {
	s    *sites
	last map[string]int // for several blocks of a function that are made on one line
}

// here is the name of the block of a function that is being made by who calls it; skip frames are left out.
func (p *placer) here(in any, skip int) string {
	var pcs [64]uintptr
	frames := runtime.CallersFrames(pcs[:runtime.Callers(skip+2, pcs[:])])
	label, callee := "", "NewBlock"
	for {
		fr, _ := frames.Next()
		file := fr.File
		if i := strings.LastIndex(file, below); i >= 0 {
			file = file[i:]
		}
		f := p.s.at(file, fr.Line)
		if f == nil {
			return "" // of code that writes no kernels of processors
		}
		var match []*site
		for _, s := range f.sites {
			if s.callee == callee && s.lines[0] <= fr.Line && fr.Line <= s.lines[1] {
				match = append(match, s)
			}
		}
		switch {
		case callee == "NewBlock" && len(match) > 0: // several on one line follow each other
			key := fmt.Sprintf("%p %s:%d", in, file, fr.Line)
			label = match[p.last[key]%len(match)].name
			p.last[key]++
		case len(match) > 0: // the innermost
			label = match[len(match)-1].name + ", " + label
		case callee == f.short: // it calls itself
		default:
			return fmt.Sprintf("? %s:%d calls %s", file, fr.Line, callee)
		}
		if !f.helper {
			return "block " + f.name + ": " + label
		}
		callee = f.short
		for more := true; inLiteral(fr.Function); { // to where the helper itself is called
			if fr, more = frames.Next(); !more {
				return ""
			}
			for own(fr.Function) != f.short || p.s.at(trim(fr.File), fr.Line) != f {
				if fr, more = frames.Next(); !more {
					return ""
				}
			}
		}
	}
}

func trim(file string) string {
	if i := strings.LastIndex(file, below); i >= 0 {
		return file[i:]
	}
	return file
}

// inLiteral reports whether a function is a literal in another one.
func inLiteral(name string) bool { return strings.Contains(path.Base(name), ".func") }

// own is the name of a function with its package, without receivers.
func own(name string) string {
	name = path.Base(name)
	pkg, rest, _ := strings.Cut(name, ".")
	if strings.HasPrefix(rest, "(") {
		_, rest, _ = strings.Cut(rest, ").")
	}
	return pkg + "." + rest
}

// TestSites: the source has the blocks that are known to be in it.
func TestSites(t *testing.T) {
	all := readSites(t).all()
	t.Log(len(all), "blocks")
	for _, want := range []string{"block loops.shortRange: registers", "block loops.rareArm: If, then",
		"block emit.checkAll: bad", "block loops.vectors: slow"} {
		if !slices.Contains(all, want) {
			t.Errorf("there is no %s in\n%s", want, strings.Join(all, "\n"))
		}
	}
	seen := map[string]bool{}
	for _, b := range all {
		if seen[b] {
			t.Errorf("%s is there twice", b)
		}
		seen[b] = true
	}
}

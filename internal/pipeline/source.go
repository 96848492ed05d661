package pipeline

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strconv"
	"strings"

	"healc/internal/cache"
	"healc/internal/gradient"
	"healc/internal/modules"
	"healc/ir"
	"healc/lang/ast"
	"healc/lang/check"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/irgen"
	"healc/lang/parser"
	"healc/passes/checkpoint"
)

// Source is a program before any pass.
type Source struct {
	Program *tree.Program // nil for what was made from IR
	IR      *ir.Module

	// Identity tells the functions from those of other programs, whatever their file is called; "" where it is not
	// asked for.
	Identity string

	texts string // stands for the texts that it was made of; "" when it was made otherwise
}

// ReadOptions say what is read beside a file, and what of it is kept.
type ReadOptions struct {
	Imports check.Importer // finds what the source imports; nil is &modules.Importer{}, the library and the disk
	Entry   string         // an instance of a generic function that is wanted, as `norm[f32]`; "" for none
	Tests   bool           // keep the `test` blocks of the source

	Checkpoints *Checkpoints // nil: none
}

// Checkpoints say that the loops of a function keep their states.
type Checkpoints struct {
	Entry string // as it is called
	Every int32  // after so many steps
}

// Read parses and types a file and what it imports, and writes its IR. The error is a *diag.List.
func Read(file *diag.File, opts ReadOptions) (*Source, error) {
	files := &modules.Recorder{From: opts.Imports}
	prog, err := CheckWith(file, files)
	if err != nil {
		return nil, err
	}
	if opts.Entry != "" && prog.Func(opts.Entry) == nil {
		prog.Use(opts.Entry)
	}
	if !opts.Tests {
		prog.Tests = nil
	}
	src := &Source{Program: prog, IR: irgen.Generate(prog)}
	if imported, ok := files.Files(); ok {
		all := []string{opts.Entry, strconv.FormatBool(opts.Tests), file.Name, file.Text}
		for _, f := range imported {
			all = append(all, f.Name, f.Text)
		}
		if c := opts.Checkpoints; c != nil {
			all = append(all, "checkpoints", c.Entry, fmt.Sprint(c.Every))
		}
		src.texts = cache.Key(all...)
	}
	if c := opts.Checkpoints; c != nil {
		sum := sha256.New()
		for _, f := range src.IR.Funcs {
			fmt.Fprintln(sum, f)
		}
		src.Identity = hex.EncodeToString(sum.Sum(nil))
		f, _, err := src.Find(c.Entry)
		if err != nil {
			return nil, err
		}
		return src, checkpoint.Insert(src.IR, f.Name, c.Every)
	}
	return src, nil
}

// Of is the source of a program that was checked before; its tests are left out.
func Of(program *tree.Program) *Source {
	p := *program
	p.Tests = nil
	return &Source{Program: &p, IR: irgen.Generate(&p)}
}

// Check parses and type-checks a file and what it imports. The error is a *diag.List.
func Check(file *diag.File) (*tree.Program, error) { return CheckWith(file, nil) }

// CheckWith is Check with another way to find imports; nil is &modules.Importer{}.
func CheckWith(file *diag.File, imports check.Importer) (*tree.Program, error) {
	imports = modules.For(file, imports)
	tree, list := parser.Parse(file)
	if err := list.Err(); err != nil {
		return nil, err
	}
	prog, err := CheckTree(tree, imports)
	if err != nil {
		return nil, err
	}
	return prog, nil
}

// CheckTree types a file that was parsed without a mistake, and what it imports. The error is a *diag.List; the program
// is there with it, too, and has the functions that have no mistakes of types.
func CheckTree(tree *ast.File, imports check.Importer) (*tree.Program, error) {
	prog, list := check.CheckWith(tree, imports)
	if err := list.Err(); err != nil {
		return prog, err
	}
	prog.Warnings = check.Unused(tree)
	// Whether a derivative can be taken, and whether operands are cut alike, shows in the operations.
	if prog.Gradients {
		if err := gradient.Check(irgen.Generate(prog)); err != nil {
			return prog, err
		}
	}
	if prog.Sharded {
		if err := checkShardings(irgen.Generate(prog)); err != nil {
			return prog, err
		}
	}
	return prog, nil
}

// Names lists the functions, sorted.
func (s *Source) Names() []string {
	var out []string
	for _, f := range s.IR.Funcs {
		out = append(out, f.Name)
	}
	sort.Strings(out)
	return out
}

// Find returns the function called name, and how it is declared, which is nil where nothing declares it. An instance of
// a function with type parameters is called as messages show it, `norm[f32]`, too. A `test` block is a function.
func (s *Source) Find(name string) (*ir.Func, *tree.Func, error) {
	code := s.IR.Func(name)
	if code == nil && s.Program != nil {
		if f := s.Program.Func(name); f != nil {
			code = s.IR.Func(f.Name)
		}
	}
	if code == nil {
		return nil, nil, fmt.Errorf("there is no function %q; there are %s", name, strings.Join(s.Names(), ", "))
	}
	return code, s.declared(code.Name), nil
}

// declared is the declaration of a function or of a `test` block.
func (s *Source) declared(name string) *tree.Func {
	if s.Program == nil {
		return nil
	}
	if f := s.Program.Func(name); f != nil {
		return f
	}
	for _, t := range s.Program.Tests {
		if t.Fn.Name == name {
			return t.Fn
		}
	}
	return nil
}

package driver

import (
	"fmt"
	"io"
	"sort"
	"strings"

	heal "healc"
	"healc/codegen/gpu"
	"healc/codegen/llvm"
	"healc/codegen/llvm/aot"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/ir/kernel"
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/lexer"
	"healc/lang/parser"
	"healc/lang/types"
)

// Kind is something that `healc compile --emit` writes.
type Kind struct {
	Name    string
	Doc     string
	Ext     string    // of the file's name, with the dot
	Binary  bool      // is no text, and goes to a file by default
	File    bool      // goes to a file by default where a binary does
	Library bool      // needs a name of the library
	comment [2]string // how a comment of a line begins and ends, where the text has no mark of its own (Head)
	single  bool      // of one entry at a time: the texts of two cannot stand in one file
	ranks   bool      // may be for several ranks
	lines   bool      // can have the lines of the source
	Host    bool      // is of machine code for processors, which there is none of for GPUs
	write   func(e *Emit, w io.Writer) error
}

// Lined reports that what is written can have the lines of the source.
func (k Kind) Lined() bool { return k.lines }

// Kinds lists them in the order of the stages.
func Kinds() []Kind {
	slashes, hash := [2]string{"//", ""}, [2]string{"#", ""}
	return []Kind{
		{Name: "tokens", Doc: "tokens of the lexer", Ext: ".tokens", comment: slashes, write: (*Emit).tokens},
		{Name: "ast", Doc: "syntax tree", Ext: ".ast", comment: slashes, write: (*Emit).ast},
		{Name: "types", Doc: "typed tree", Ext: ".types", comment: slashes, write: (*Emit).types},
		{Name: "ir", Doc: "tensor IR, before any pass; with --stop-after, after that pass", Ext: ".ir",
			comment: slashes, write: (*Emit).ir},
		{Name: "kernels", Doc: "kernels and the plan that runs them", Ext: ".kernels", comment: slashes,
			write: (*Emit).kernels},
		{Name: "dot", Doc: "graph of kernels and buffers, for Graphviz", Ext: ".dot", single: true, comment: slashes,
			write: (*Emit).dot},
		{Name: "llvm", Doc: "LLVM IR as it is generated", Ext: ".ll", single: true, comment: [2]string{";", ""},
			lines: true, write: (*Emit).llvm},
		{Name: "asm", Host: true, Doc: "assembly", Ext: ".s", single: true, comment: [2]string{"/*", " */"},
			lines: true, write: (*Emit).asm},
		{Name: "obj", Host: true, Doc: "relocatable object with the functions of the header", Ext: ".o", Binary: true,
			Library: true, ranks: true, lines: true, write: (*Emit).obj},
		{Name: "a", Host: true, Doc: "static library with the functions of the header", Ext: ".a", Binary: true,
			Library: true, ranks: true, lines: true, write: (*Emit).archive},
		{Name: "so", Host: true, Doc: "shared library with a C interface", Ext: ".so", Binary: true, Library: true,
			ranks: true, lines: true, write: (*Emit).so},
		{Name: "header", Host: true, Doc: "C header of the shared library", Ext: ".h", File: true, Library: true,
			ranks: true, write: (*Emit).header},
		{Name: "pkgconfig", Host: true, Doc: "file for pkg-config, beside the library", Ext: ".pc", File: true,
			Library: true, ranks: true, comment: hash, write: (*Emit).pkgConfig},
		{Name: "cmake", Host: true, Doc: "package file for CMake, beside the library", Ext: "-config.cmake", File: true,
			Library: true, ranks: true, comment: hash, write: (*Emit).cmake},
		{Name: "python", Host: true, Doc: "Python module for the shared library, on NumPy arrays", Ext: ".py",
			File: true, Library: true, write: (*Emit).python},
		{Name: "torch", Host: true, Doc: "operators of PyTorch with derivatives, beside the Python module", Ext: ".py",
			File: true, Library: true, write: (*Emit).torch},
		{Name: "go", Host: true, Doc: "Go package with the machine code in it, for programs that import healc/runtime",
			Ext: ".go", File: true, Library: true, lines: true, write: (*Emit).golang},
		{Name: "ptx", Doc: "assembly for GPUs of NVIDIA, with how its kernels are launched", Ext: ".ptx", single: true,
			comment: slashes, lines: true, write: (*Emit).ptx},
	}
}

// kindNames lists their names.
func kindNames() []string {
	var out []string
	for _, k := range Kinds() {
		out = append(out, k.Name)
	}
	return out
}

// FindKind returns the kind of a name.
func FindKind(name string) (Kind, error) {
	for _, k := range Kinds() {
		if k.Name == name {
			return k, nil
		}
	}
	e := Usagef("there is nothing called `%s` to emit", name)
	if near := Nearest(name, kindNames()); near != "" {
		e.Help = "did you mean --emit " + near + "?"
	} else {
		e.Help = "the kinds are " + strings.Join(kindNames(), ", ")
	}
	return Kind{}, e
}

// Emit writes down what a stage of the compiler makes of a file.
type Emit struct {
	File  *diag.File
	Entry string           // "" is all public functions; else main; else all functions
	Shape map[string]int64 // values of shape parameters; the others stay symbolic
	Opts  engine.Options
	// Schedule asks Explain how each kernel is written for the processor of Opts.Target.
	Schedule bool
	Loaded   func(*engine.Module)
	Prefix   string    // of the names in a shared library
	SoName   string    // by which programs find the shared library
	Beside   aot.Files // what others find the library by
	Python   string    // the name of the Python module of the library
	Ranks    []int     // for which numbers of ranks a library has code, beside one
	TVM      bool      // a library is called by tvm-ffi, too
	Torch    bool      // a library has the derivatives of its functions, too
	Lines    bool      // machine code has a line table, as has LLVM IR

	// Program is the file where it was read and checked before; nil where it was not.
	Program *tree.Program

	module *engine.Module
	lib    *aot.Library
}

// Write compiles the file as far as kind needs, and writes it to w.
func (e *Emit) Write(kind Kind, w io.Writer) error { return kind.write(e, w) }

// Passes runs the passes on every entry for what they show, and writes nothing.
func (e *Emit) Passes() error {
	return e.each(func(entry string, bind map[string]int64, _ bool) error {
		_, err := e.module.Fused(entry, bind)
		return err
	})
}

func (e *Emit) tokens(w io.Writer) error {
	tokens, _, diags := lexer.Tokens(e.File)
	for _, t := range tokens {
		p := t.Span(e.File).Pos()
		if _, err := fmt.Fprintf(w, "%4d:%-3d %-8s%s\n", p.Line, p.Col, t.Kind, t.Text(e.File)); err != nil {
			return err
		}
	}
	return diags.Err()
}

func (e *Emit) ast(w io.Writer) error {
	tree, list := parser.Parse(e.File)
	if err := list.Err(); err != nil {
		return err
	}
	_, err := io.WriteString(w, ast.Dump(tree))
	return err
}

func (e *Emit) types(w io.Writer) error {
	p, err := pipeline.CheckWith(e.File, e.Opts.Imports)
	if err != nil {
		return err
	}
	return tree.Dump(w, p)
}

func (e *Emit) ir(w io.Writer) error {
	if p := e.Opts.Debug.Passes; p == nil || p.StopAfter == "" {
		if err := e.Load(); err != nil {
			return err
		}
		_, err := io.WriteString(w, e.module.IR().String())
		return err
	}
	return e.each(func(entry string, bind map[string]int64, several bool) error {
		m, err := e.module.Fused(entry, bind)
		if err != nil {
			return err
		}
		return section(w, entry, m.String(), several)
	})
}

func (e *Emit) kernels(w io.Writer) error {
	return e.Lowered(func(entry string, km *kernel.Module, several bool) error {
		if t := e.Opts.Target; t.CPU != "" && t.Kind != heal.GPU {
			if err := llvm.CheckProcessor(t); err != nil {
				return err
			}
			km = llvm.Scheduled(km, target.MachineOf(t), nil)
		} else if e.Opts.Native {
			sets, err := e.module.Sets(km)
			if err != nil {
				return err
			}
			km = llvm.Scheduled(km, target.MachineOf(t), sets)
		}
		return section(w, entry, km.String(), several)
	})
}

func (e *Emit) dot(w io.Writer) error {
	return e.one(func(km *kernel.Module) error { return Dot(w, km) })
}

func (e *Emit) llvm(w io.Writer) error {
	return e.one(func(km *kernel.Module) error {
		if e.Opts.Target.Kind == heal.GPU {
			text, _, err := gpu.Generate(km, e.Opts.Target.CPU, e.Lines)
			if err != nil {
				return err
			}
			_, err = io.WriteString(w, text)
			return err
		}
		o := llvm.Options{Lines: e.Lines} // a processor with AVX-512, whatever this machine is
		if t := e.Opts.Target; t.CPU != "" || t.Triple != "" {
			if err := llvm.CheckProcessor(t); err != nil {
				return err
			}
			o.Machine, o.Triple = target.MachineOf(t), t.Triple
		} else if e.Opts.Native {
			var err error
			if o.Tuned, err = e.module.Sets(km); err != nil {
				return err
			}
			o.Machine = target.MachineOf(t)
		}
		text, err := llvm.Generate(km, o)
		if err != nil {
			return err
		}
		_, err = io.WriteString(w, text)
		return err
	})
}

func (e *Emit) ptx(w io.Writer) error {
	return e.one(func(km *kernel.Module) error {
		opts := gpu.Options{}
		if t := e.Opts.Debug.Timer; t != nil {
			opts.Took = t.Took
		}
		text, err := gpu.CompileWith(km, e.Opts.Target, libllvm.Assembly, opts)
		if err != nil {
			return err
		}
		if err := launches(w, km); err != nil {
			return err
		}
		_, err = w.Write(text)
		return err
	})
}

func (e *Emit) asm(w io.Writer) error {
	return e.one(func(km *kernel.Module) error {
		sets, err := e.module.Sets(km)
		if err != nil {
			return err
		}
		opts := llvm.Options{Tuned: sets, Lines: e.Lines}
		if t := e.Opts.Debug.Timer; t != nil {
			opts.Took = t.Took
		}
		raw, err := llvm.CompileWith(km, e.Opts.Target, libllvm.Assembly, opts)
		if err != nil {
			return err
		}
		_, err = w.Write(raw)
		return err
	})
}

// section writes the text of one entry, under its name when there are several.
func section(w io.Writer, entry, text string, several bool) error {
	head := ""
	if several {
		head = "// entry " + entry + "\n"
		text += "\n"
	}
	_, err := io.WriteString(w, head+text)
	return err
}

// Load compiles the file as far as typed tensor IR, once.
func (e *Emit) Load() error {
	if e.module != nil {
		return nil
	}
	// Nothing runs: one thread, so that none is started.
	e.Opts.Threads = 1
	e.Opts.Entry = e.Entry
	compile := func() (*engine.Module, error) { return engine.CompileFile(e.File, e.Opts) }
	if e.Program != nil {
		compile = func() (*engine.Module, error) { return engine.CompileSource(pipeline.Of(e.Program), e.Opts) }
	}
	m, err := compile()
	if err != nil {
		return err
	}
	if e.Loaded != nil {
		e.Loaded(m)
	}
	e.module = m
	return nil
}

// each calls do for every entry.
func (e *Emit) each(do func(entry string, bind map[string]int64, several bool) error) error {
	if err := e.Load(); err != nil {
		return err
	}
	names, err := Entries(e.module.Program(), e.Entry)
	if err != nil {
		return err
	}
	if err := e.CheckShape(names); err != nil {
		return err
	}
	for _, n := range names {
		if err := do(n, e.Bindings(n), len(names) > 1); err != nil {
			return err
		}
	}
	return nil
}

// Each calls do for every entry, with the values of its shape parameters.
func (e *Emit) Each(do func(entry string, bind map[string]int64) error) error {
	return e.each(func(entry string, bind map[string]int64, _ bool) error { return do(entry, bind) })
}

// Module is the compiled file, after Load.
func (e *Emit) Module() *engine.Module { return e.module }

// Lowered calls do with the kernels of every entry.
func (e *Emit) Lowered(do func(entry string, km *kernel.Module, several bool) error) error {
	return e.each(func(entry string, bind map[string]int64, several bool) error {
		km, err := e.module.Kernels(entry, bind, nil)
		if err != nil {
			return err
		}
		return do(entry, km, several)
	})
}

// one calls do for the only entry.
func (e *Emit) one(do func(km *kernel.Module) error) error {
	if err := e.Load(); err != nil {
		return err
	}
	names, err := Entries(e.module.Program(), e.Entry)
	if err != nil {
		return err
	}
	if len(names) != 1 {
		return &UsageError{Message: fmt.Sprintf("%s has %d entries, and this is written for one at a time", e.File.Name,
			len(names)),
			Help: "choose one with --entry: " + strings.Join(names, ", ")}
	}
	return e.Lowered(func(_ string, km *kernel.Module, _ bool) error { return do(km) })
}

// Entries are the functions that `healc compile` and `healc explain` treat: the named one; else the public ones,
// else main, else all.
func Entries(p *tree.Program, entry string) ([]string, error) {
	if entry != "" {
		if err := HasFunc(p, entry); err != nil {
			return nil, err
		}
		return []string{p.Func(entry).Name}, nil
	}
	var public, all []string
	for _, f := range p.Funcs {
		if f.Shown == "" { // neither an instance nor of a module
			all = append(all, f.Name)
		}
		if f.Public {
			public = append(public, f.Name)
		}
	}
	switch {
	case len(public) > 0:
		return public, nil
	case p.Func("main") != nil:
		return []string{"main"}, nil
	case len(all) == 0:
		e := Usagef("there is no function to compile")
		if p.Source != nil {
			e.Message = "there is no function in " + p.Source.Name
		}
		if len(p.Instances) > 0 {
			e.Message += " without type parameters"
		}
		for _, i := range p.Instances {
			if !i.Tuples {
				e.Help = fmt.Sprintf("name one with its types, as in --entry '%s'", i.Fn.Shown)
				break
			}
		}
		return nil, e
	}
	return all, nil
}

// bindings are the values of the shape parameters of one entry.
func (e *Emit) Bindings(entry string) map[string]int64 {
	out := map[string]int64{}
	for _, d := range e.module.IR().Func(entry).Dims {
		if n, ok := e.Shape[d]; ok {
			out[d] = n
		}
	}
	return out
}

// checkShape requires that every name given with --shape is a shape parameter of an entry.
func (e *Emit) CheckShape(entries []string) error {
	known := map[string]bool{}
	for _, f := range entries {
		for _, d := range e.module.IR().Func(f).Dims {
			known[d] = true
		}
	}
	names := make([]string, 0, len(e.Shape))
	for n := range e.Shape {
		names = append(names, n)
	}
	sort.Strings(names)
	var have []string
	for d := range known {
		have = append(have, d)
	}
	sort.Strings(have)
	for _, n := range names {
		if known[n] {
			continue
		}
		u := Usagef("--shape %s=%d: there is no shape parameter `%s`", n, e.Shape[n], n)
		if len(have) > 0 {
			u.Help = "the shape parameters are " + strings.Join(have, ", ")
		}
		return u
	}
	return nil
}

// ParseShape reads the NAME=EXTENT of --shape, of which one may have several with commas between.
func ParseShape(list []string) (map[string]int64, error) {
	out := map[string]int64{}
	if len(list) == 0 {
		return out, nil
	}
	for _, s := range strings.Split(strings.Join(list, ","), ",") {
		name, text, ok := strings.Cut(s, "=")
		var n int64
		_, err := fmt.Sscanf(text+"\n", "%d\n", &n)
		if !ok || name == "" || err != nil || n < 0 || n > types.MaxExtent {
			return nil, Usagef("--shape %s is not NAME=EXTENT, as in N=1024 or M=16,N=1024", s)
		}
		if _, twice := out[name]; twice {
			return nil, Usagef("--shape gives %s twice", name)
		}
		out[name] = n
	}
	return out, nil
}

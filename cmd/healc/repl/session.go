package repl

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"

	"healc/cmd/healc/driver"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/lang/lexer"
	"healc/lang/parser"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/tensor"
)

// inputName is the file of an input in messages.
const inputName = "<repl>"

// Names that programs of the session use beside the user's.
const (
	entryName = "__input"
	valueName = "__value"
)

// Session is the state of an interactive session. Close frees it.
type Session struct {
	Opts engine.Options // how inputs are compiled and run
	Out  io.Writer      // what programs print, and the values of expressions

	decls []decl
	vars  []*variable
}

// decl is a declaration that is kept.
type decl struct {
	name       string // "import nn" for an import
	file       *diag.File
	begin, end int
}

// variable is a `let` that is kept.
type variable struct {
	name   string
	t      types.Type
	mut    bool
	values []*tensor.Tensor // tuples flattened
}

// Close frees the variables.
func (s *Session) Close() {
	for _, v := range s.vars {
		closeAll(v.values)
	}
	s.decls, s.vars = nil, nil
}

// Eval evaluates one input. After an error the session is as it was before. A *diag.List has its places in
// the text of the input, or of the earlier one that is to blame; every other error is a bug in healc.
func (s *Session) Eval(ctx context.Context, text string) error {
	file := diag.NewFile(inputName, text)
	tokens, _, lexical := lexer.Tokens(file)
	if len(tokens) == 0 && !lexical.HasErrors() {
		return nil
	}
	return driver.Guard(func() error {
		if isDeclarations(file) {
			return s.declare(file)
		}
		in, list := parseStatements(file)
		if err := list.Err(); err != nil {
			return err
		}
		return s.run(ctx, in)
	})
}

// declare adds declarations, each in the place of an earlier one of the same name.
func (s *Session) declare(file *diag.File) error {
	tree, list := parser.Parse(file)
	if err := list.Err(); err != nil {
		return err
	}
	next := slices.Clone(s.decls)
	begin := 0
	for _, d := range tree.Decls {
		added := decl{file: file, begin: begin, end: d.Span().End}
		begin = added.end
		switch d := d.(type) {
		case *ast.FuncDecl:
			added.name = d.Name.Name
		case *ast.ConstDecl:
			added.name = d.Name.Name
		case *ast.ImportDecl:
			added.name = "import " + d.Path
			if d.Alias != nil {
				added.name += " as " + d.Alias.Name
			}
		default:
			return &diag.List{Items: []*diag.Diagnostic{{
				Message: "a session keeps no tests", Primary: diag.Label{Span: d.Span()},
				Help: "write `assert_eq(a, b)` as it is, or put the test into a file for `healc test`",
			}}}
		}
		// A name that is declared twice in one input is the checker's to report.
		next = slices.DeleteFunc(next, func(o decl) bool { return o.name == added.name && o.file != file })
		next = append(next, added)
	}
	src := &source{}
	writeDecls(src, next)
	if _, err := s.check(src); err != nil {
		return err
	}
	s.decls = next
	for _, d := range next {
		if d.file == file {
			s.forget(d.name)
		}
	}
	return nil
}

func writeDecls(src *source, decls []decl) {
	for _, d := range decls {
		src.quote(d.file, d.begin, d.end)
		src.add("\n")
	}
}

// check types a program; the places of its errors are the user's.
func (s *Session) check(src *source) (*tree.Program, error) {
	gen := src.file()
	prog, err := pipeline.CheckWith(gen, s.Opts.Imports)
	return prog, s.own(src, gen, err)
}

// own words an error about a generated program for the user. A bug stays what it is.
func (s *Session) own(src *source, gen *diag.File, err error) error {
	if err == nil {
		return nil
	}
	o := driver.Classify(err, gen)
	if o.Bug != nil {
		return err
	}
	list := &diag.List{}
	for _, d := range o.Diagnostics {
		d = src.own(gen, d)
		if strings.Contains(d.Help, entryName) { // a shape parameter of what no user has declared
			d.Help = "declare it: `const NAME: nat = ...`"
		}
		list.Add(d)
	}
	return list
}

// forget drops a variable.
func (s *Session) forget(name string) {
	s.vars = slices.DeleteFunc(s.vars, func(v *variable) bool {
		if v.name == name {
			closeAll(v.values)
		}
		return v.name == name
	})
}

// program is the program of an input. keep are the variables whose values it returns; nil for none, which
// gives the program that is checked for the types alone.
func (s *Session) program(in *statements, value types.Type, keep []*variable) *source {
	src := &source{}
	writeDecls(src, s.decls)
	var params []string
	for _, v := range s.vars {
		params = append(params, v.name+": "+v.t.String())
	}
	src.add("@io fn " + entryName + "(" + strings.Join(params, ", ") + ")")
	var results, tail []string
	if value != nil && len(types.Flatten(value)) > 0 {
		results, tail = append(results, value.String()), append(tail, valueName)
	}
	for _, v := range keep {
		results, tail = append(results, v.t.String()), append(tail, v.name)
	}
	switch len(results) {
	case 0:
	case 1:
		src.add(" -> " + results[0])
	default:
		src.add(" -> (" + strings.Join(results, ", ") + ")")
	}
	src.add(" = {\n")
	for _, v := range s.vars {
		if v.mut {
			src.add("let mut " + v.name + " = " + v.name + ";\n")
		}
	}
	text := in.text
	if in.value.Valid() {
		src.quote(text, 0, in.value.Start)
		src.add("let " + valueName + " = ")
		src.quote(text, in.value.Start, in.value.End)
		src.add(";")
		src.quote(text, in.value.End, len(text.Text))
	} else {
		src.quote(text, 0, len(text.Text))
	}
	src.add("\n")
	if len(tail) > 0 {
		src.add("(" + strings.Join(tail, ", ") + ")\n")
	}
	src.add("}\n")
	return src
}

func mutWord(mut bool) string {
	if mut {
		return "mut "
	}
	return ""
}

// types checks an input and returns the type of its value, nil when it has none, and of the names that it
// declares.
func (s *Session) types(in *statements) (value types.Type, names map[string]types.Type, err error) {
	src := s.program(in, nil, nil)
	prog, err := s.check(src)
	if err != nil {
		return nil, nil, err
	}
	names = map[string]types.Type{}
	body := prog.Func(entryName).Body
	for let, ok := body.(*tree.Let); ok; let, ok = body.(*tree.Let) {
		if let.Local != nil {
			names[let.Local.Name] = let.Local.T
		} else if in.value.Valid() {
			names[valueName] = types.Tuple{} // a value of type unit is bound to no name
		}
		body = let.Body
	}
	if in.value.Valid() {
		value = names[valueName]
	}
	return value, names, nil
}

// run evaluates statements, prints their value and keeps what they declare and change.
func (s *Session) run(ctx context.Context, in *statements) error {
	value, names, err := s.types(in)
	if err != nil {
		return err
	}
	var keep []*variable
	for _, name := range in.names() {
		v := &variable{name: name, t: names[name], mut: in.mutable(name)}
		keep = append(keep, v)
	}
	declared := len(keep)
	for _, v := range s.vars {
		changed := v.mut && mentions(in.text, v.name)
		if changed && !slices.ContainsFunc(keep[:declared], func(n *variable) bool { return n.name == v.name }) {
			keep = append(keep, &variable{name: v.name, t: v.t, mut: true})
		}
	}
	src := s.program(in, value, keep)
	results, err := s.execute(ctx, src)
	if err != nil {
		return err
	}
	if value != nil {
		n := len(types.Flatten(value))
		shown := results[:n]
		results = results[n:]
		defer closeAll(shown)
		for _, t := range shown {
			if err := tensor.Format(s.Out, t); err != nil {
				return err
			}
			fmt.Fprintln(s.Out)
		}
	}
	for _, v := range keep {
		n := len(types.Flatten(v.t))
		v.values, results = results[:n:n], results[n:]
		s.set(v)
	}
	return nil
}

// set adds a variable, in the place of one of its name. A function of that name is hidden by it, as in a
// program.
func (s *Session) set(v *variable) {
	for i, old := range s.vars {
		if old.name == v.name {
			closeAll(old.values)
			s.vars[i] = v
			return
		}
	}
	s.vars = append(s.vars, v)
}

// execute runs the program of an input and gives its results.
func (s *Session) execute(ctx context.Context, src *source) ([]*tensor.Tensor, error) {
	gen := src.file()
	opts := s.Opts
	opts.System = runtime.OS{Out: s.Out, Ended: func() error { return runtime.Ended(ctx) }}
	m, err := runtime.Before(ctx, 0, func() (*engine.Module, error) {
		return engine.CompileFile(gen, opts)
	}, (*engine.Module).Close)
	if err != nil {
		return nil, s.own(src, gen, err)
	}
	defer m.Close()
	f, err := m.Func(entryName)
	if err != nil {
		return nil, err
	}
	var args []*tensor.Tensor
	for _, v := range s.vars {
		args = append(args, v.values...)
	}
	results, err := f.CallAll(ctx, args...)
	if err == nil {
		results, err = unaliased(results)
	}
	return results, s.own(src, gen, err)
}

// unaliased gives every result memory of its own: a program may hand back its argument.
func unaliased(results []*tensor.Tensor) ([]*tensor.Tensor, error) {
	for i, r := range results {
		c, err := r.Clone()
		if err != nil {
			closeAll(results)
			return nil, err
		}
		r.Close()
		results[i] = c
	}
	return results, nil
}

func closeAll(ts []*tensor.Tensor) {
	for _, t := range ts {
		t.Close()
	}
}

package repl

import (
	"context"
	"errors"
	"fmt"
	"strings"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/manual"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/check"
	"healc/lang/diag"
)

// ErrQuit is what Command returns for `:quit`.
var ErrQuit = errors.New("quit")

// commands are the inputs that start with a colon; one that runs is called with what stands after its name.
var commands = []struct {
	name, args, doc string
	run             func(s *Session, ctx context.Context, args string) error
}{
	{"type", "EXPR", "the type of an expression, or the signature of a function", (*Session).showType},
	{"ir", "FUNCTION", "the tensor IR of a function, before any pass", (*Session).showIR},
	{"list", "", "the variables and declarations of the session", (*Session).list},
	{"clear", "", "forget all of them", func(s *Session, _ context.Context, _ string) error { s.Close(); return nil }},
	{"quit", "", "end the session; so does Ctrl-D", func(*Session, context.Context, string) error { return ErrQuit }},
}

// Command runs an input that starts with a colon. Errors are those of Eval, *driver.UsageError, and ErrQuit.
func (s *Session) Command(ctx context.Context, text string) error {
	name, args, _ := strings.Cut(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(text), ":")), " ")
	args = strings.TrimSpace(args)
	if name == "help" || name == "h" || name == "?" {
		return s.help()
	}
	names := []string{"help"}
	for _, c := range commands {
		if c.name == name || name == c.name[:1] {
			if c.args != "" && args == "" {
				return &driver.UsageError{Message: fmt.Sprintf("`:%s` needs %s", c.name, c.args)}
			}
			return driver.Guard(func() error { return c.run(s, ctx, args) })
		}
		names = append(names, c.name)
	}
	e := &driver.UsageError{Message: fmt.Sprintf("there is no command `:%s`", name), Help: "`:help` lists the commands"}
	if near := driver.Nearest(name, names); near != "" {
		e.Help = fmt.Sprintf("did you mean `:%s`?", near)
	}
	return e
}

func (s *Session) help() error {
	fmt.Fprint(s.Out,
		"Write an expression to see its value, `let x = ...` to keep it, `fn`, `const` and `import` as in a file.\n"+
			"An open bracket or an operator at the end continues on the next line; an empty line ends the input.\n\n")
	for _, c := range commands {
		fmt.Fprintf(s.Out, "  %-14s %s\n", strings.TrimSpace(":"+c.name+" "+c.args), c.doc)
	}
	_, err := fmt.Fprintf(s.Out, "  %-14s %s\n\n`healc doc` is the manual.\n", ":help", "this page")
	return err
}

// showType prints the type of an expression without evaluating it.
func (s *Session) showType(_ context.Context, text string) error {
	file := diag.NewFile(inputName, text)
	if signature := s.signature(text); signature != "" {
		_, err := fmt.Fprintln(s.Out, signature)
		return err
	}
	in, list := parseStatements(file)
	if err := list.Err(); err != nil {
		return err
	}
	if !in.value.Valid() {
		return &driver.UsageError{Message: "a statement has no type", Help: "`:type` takes an expression"}
	}
	value, _, err := s.types(in)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(s.Out, value)
	return err
}

// signature is that of a function of the session or of the language, "" when there is none of the name.
func (s *Session) signature(name string) string {
	for _, v := range s.vars {
		if v.name == name {
			return ""
		}
	}
	for _, d := range s.decls {
		if d.name == name {
			return manual.SignatureText(d.file.Text[d.begin:d.end])
		}
	}
	if f, ok := check.LookupFunction(name); ok {
		return f.Signature
	}
	return ""
}

// showIR prints the IR of a function of the session.
func (s *Session) showIR(_ context.Context, name string) error {
	src := &source{}
	writeDecls(src, s.decls)
	gen := src.file()
	opts := s.Opts
	opts.Entry, opts.Backend = name, heal.Interp // no code is made
	m, err := engine.CompileFile(gen, opts)
	if err != nil {
		return s.own(src, gen, err)
	}
	defer m.Close()
	if err := driver.HasFunc(m.Program(), name); err != nil {
		var usage *driver.UsageError
		if errors.As(err, &usage) {
			usage.Message = strings.TrimSuffix(usage.Message, " in "+gen.Name)
		}
		return err
	}
	return ir.PrintFunc(s.Out, m.IR().Func(m.Program().Func(name).Name), ir.PrintOptions{})
}

// list prints what the session has.
func (s *Session) list(context.Context, string) error {
	for _, d := range s.decls {
		fmt.Fprintln(s.Out, manual.SignatureText(d.file.Text[d.begin:d.end]))
	}
	for _, v := range s.vars {
		if _, err := fmt.Fprintf(s.Out, "let %s%s: %s\n", mutWord(v.mut), v.name, v.t); err != nil {
			return err
		}
	}
	return nil
}

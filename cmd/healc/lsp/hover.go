package lsp

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"

	"healc/cmd/healc/driver/manual"
	"healc/ir"
	"healc/lang/ast"
	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/names"
	"healc/lang/types"
)

// Hover implements protocol.Server: the type of what is pointed at with its shapes, and what is written about it.
func (s *server) Hover(ctx context.Context, p *protocol.HoverParams) (*protocol.Hover, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	at := d.offset(p.Position)
	f := d.facts()
	if u, ok := f.names.At(at); ok {
		if code, doc := f.describe(u); code != "" {
			return d.hover(u.Span, code, doc, d.kernels(u.Span)), nil
		}
	}
	if at, t := f.typeAt(at); t != nil {
		return d.hover(at, t.String(), "", d.kernels(at)), nil
	}
	return nil, nil
}

func (d *document) hover(at diag.Span, code, doc, kernels string) *protocol.Hover {
	text := "```heal\n" + code + "\n```"
	if doc != "" {
		text += "\n\n" + doc
	}
	if kernels != "" {
		text += "\n\n---\n```text\n" + kernels + "```"
	}
	r := d.span(at)
	return &protocol.Hover{Range: &r, Contents: &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: text}}
}

// typeAt is the smallest expression around an offset that has a type.
func (f *facts) typeAt(offset int) (at diag.Span, t types.Type) {
	for s, x := range f.types {
		if s.start <= offset && offset < s.end && (t == nil || s.end-s.start < at.End-at.Start) {
			at, t = diag.Span{File: f.syntax.Source, Start: s.start, End: s.end}, x
		}
	}
	return at, t
}

// describe is what a name is, as code, and what is written about it.
func (f *facts) describe(u *names.Use) (code, doc string) {
	switch s := u.Symbol; {
	case u.Module != nil:
		im, ok := u.Module.Node.(*ast.ImportDecl)
		if !ok {
			return "", ""
		}
		return declared(declaration(f.module(im), u.Name), u.Module.Name+".")
	case s == nil:
		return builtin(u.Name)
	case s.Kind == names.Function:
		d := s.Node.(*ast.FuncDecl)
		if code, doc = declared(d, ""); code == "" {
			return "", ""
		}
		if fn := f.function(d); fn != nil && fn.IO && !strings.HasPrefix(code, "@") {
			code = "@io " + code
		}
		return code, doc
	case s.Kind == names.Constant:
		return declared(s.Node.(*ast.ConstDecl), "")
	case s.Kind == names.Module:
		im := s.Node.(*ast.ImportDecl)
		if l, ok := manual.LookupLibrary(im.Path); ok && !im.Quoted {
			return "import " + im.Path, l.Doc
		}
		return im.Loc.Text(), ""
	case s.Kind == names.Shape:
		return s.Node.(*ast.GenericParam).Loc.Text(), "a shape parameter or a type parameter, which a call binds"
	default:
		if t := f.typeOf(s); t != "" {
			return s.Name + ": " + t, ""
		}
		if p, ok := s.Node.(*ast.Param); ok {
			return p.Loc.Text(), ""
		}
		return "", ""
	}
}

// typeOf is the type of a variable or a parameter, or "".
func (f *facts) typeOf(s *names.Symbol) string {
	l := f.locals[extentOf(s.Decl)]
	switch {
	case l == nil || types.IsError(l.T):
		return ""
	case l.Declared != nil:
		return l.Declared.String()
	}
	return l.T.String()
}

// declared is the head of a function or a constant and the comment above it; a prefix is the module's.
func declared(d ast.Decl, prefix string) (code, doc string) {
	switch d := d.(type) {
	case *ast.FuncDecl:
		return strings.Replace(manual.Signature(d), "fn "+d.Name.Name, "fn "+prefix+d.Name.Name, 1), manual.Comment(d)
	case *ast.ConstDecl:
		return strings.Replace(manual.Signature(d), "const "+d.Name.Name, "const "+prefix+d.Name.Name, 1),
			manual.Comment(d)
	}
	return "", ""
}

// builtin is the signature of a function of the language, and what it does.
func builtin(name string) (code, doc string) {
	f, ok := check.LookupFunction(name)
	if !ok {
		return "", ""
	}
	op := f.Op
	if op == nil {
		op = ir.Lookup(name)
	}
	if op != nil {
		doc = op.Summary
		if op.Example != "" {
			doc += "\n\n```heal\n" + op.Example + "\n```"
		}
	}
	return f.Signature, doc
}

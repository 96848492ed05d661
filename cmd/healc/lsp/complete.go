package lsp

import (
	"context"
	"strings"

	"go.lsp.dev/protocol"

	"healc/lang/ast"
	"healc/lang/check"
	"healc/lang/lexer"
	"healc/lang/names"
	"healc/lang/types"
	"healc/stdlib"
)

// Completion implements protocol.Server: behind `module.` what the module has, behind `import` the modules of the
// library, elsewhere what can be named, and the functions of the language.
func (s *server) Completion(ctx context.Context, p *protocol.CompletionParams) (protocol.CompletionResult, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	at := d.offset(p.Position)
	word := at
	for word > 0 && isWord(d.file.Text[word-1]) {
		word--
	}
	f := d.facts()
	out := protocol.CompletionItemSlice{}
	add := func(label string, kind protocol.CompletionItemKind, detail, doc string) {
		item := protocol.CompletionItem{Label: label, Kind: kind}
		if detail != "" {
			item.Detail = protocol.NewOptional(detail)
		}
		if doc != "" {
			item.Documentation = &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: doc}
		}
		out = append(out, item)
	}
	line := d.file.Text[d.lines[p.Position.Line]:word]
	switch before := strings.TrimSpace(line); {
	case strings.HasSuffix(before, ".") && word > 0 && d.file.Text[word-1] == '.':
		name := strings.TrimSuffix(before, ".")
		name = name[strings.LastIndexFunc(name, func(r rune) bool { return r > 127 || !isWord(byte(r)) })+1:]
		if m := f.names.Declared(name); m != nil && m.Kind == names.Module {
			f.members(m, add)
		}
		return out, nil
	case before == "import":
		for _, m := range stdlib.Names() {
			add(m, protocol.CompletionItemKindModule, "", "")
		}
		return out, nil
	}
	for _, x := range f.names.Visible(word) {
		code, doc := f.describe(&names.Use{Symbol: x, Name: x.Name})
		add(x.Name, completionKinds[x.Kind], code, doc)
	}
	for _, b := range check.Functions() {
		code, doc := builtin(b.Name)
		add(b.Name, protocol.CompletionItemKindFunction, code, doc)
	}
	for _, k := range lexer.Keywords {
		add(k, protocol.CompletionItemKindKeyword, "", "")
	}
	for _, t := range types.DTypes {
		add(t.String(), protocol.CompletionItemKindStruct, "", "")
	}
	return out, nil
}

var completionKinds = map[names.Kind]protocol.CompletionItemKind{names.Function: protocol.CompletionItemKindFunction,
	names.Constant: protocol.CompletionItemKindConstant, names.Module: protocol.CompletionItemKindModule,
	names.Parameter: protocol.CompletionItemKindVariable, names.Shape: protocol.CompletionItemKindTypeParameter,
	names.Variable: protocol.CompletionItemKindVariable, names.LambdaParameter: protocol.CompletionItemKindVariable,
	names.ArmName: protocol.CompletionItemKindVariable}

// members are what others may use of a module.
func (f *facts) members(m *names.Symbol, add func(label string, kind protocol.CompletionItemKind, detail, doc string)) {
	im, ok := m.Node.(*ast.ImportDecl)
	if !ok {
		return
	}
	file := f.module(im)
	if file == nil {
		return
	}
	for _, d := range file.Decls {
		code, doc := declared(d, m.Name+".")
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Pub {
				add(d.Name.Name, protocol.CompletionItemKindFunction, code, doc)
			}
		case *ast.ConstDecl:
			if d.Pub {
				add(d.Name.Name, protocol.CompletionItemKindConstant, code, doc)
			}
		}
	}
}

func isWord(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 128
}

// SignatureHelp implements protocol.Server: the head of the function whose argument is being written, and which one
// that is. It looks at the tokens before the place, since a call that is being written does not parse.
func (s *server) SignatureHelp(ctx context.Context, p *protocol.SignatureHelpParams) (*protocol.SignatureHelp, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	at := d.offset(p.Position)
	lexed, _, _ := lexer.Tokens(d.file)
	depth, argument := 0, uint32(0)
	for i := len(lexed) - 1; i > 0; i-- {
		if int(lexed[i].End) > at {
			continue
		}
		switch text := lexed[i].Text(d.file); {
		case lexed[i].Kind != lexer.Op:
		case strings.Contains(")]}", text):
			depth++
		case strings.Contains("[{", text) && depth > 0, text == "(" && depth > 0:
			depth--
		case text == "{":
			return nil, nil
		case text == "," && depth == 0:
			argument++
		case text == "[":
			argument = 0 // an array, which is part of an argument
		case text == "(":
			if lexed[i-1].Kind == lexer.Ident {
				return d.signature(int(lexed[i-1].Start), argument), nil
			}
			argument = 0
		}
	}
	return nil, nil
}

// signature is the help for the function that is named at an offset.
func (d *document) signature(offset int, argument uint32) *protocol.SignatureHelp {
	f := d.facts()
	u, ok := f.names.At(offset)
	if !ok {
		name := d.file.Text[offset:]
		end := 0
		for end < len(name) && isWord(name[end]) {
			end++
		}
		u = &names.Use{Name: name[:end], Symbol: f.names.Declared(name[:end])}
	}
	if u.Symbol != nil && u.Symbol.Kind != names.Function {
		return nil
	}
	code, doc := f.describe(u)
	if code == "" {
		return nil
	}
	info := protocol.SignatureInformation{Label: code}
	if doc != "" {
		info.Documentation = &protocol.MarkupContent{Kind: protocol.MarkupKindMarkdown, Value: doc}
	}
	for _, p := range parameters(code) {
		info.Parameters = append(info.Parameters, protocol.ParameterInformation{Label: protocol.String(p)})
	}
	return &protocol.SignatureHelp{Signatures: []protocol.SignatureInformation{info},
		ActiveParameter: protocol.NewNullable(argument)}
}

// parameters are the parts of a signature between its parentheses.
func parameters(code string) (out []string) {
	_, rest, ok := strings.Cut(code, "(")
	if !ok {
		return nil
	}
	depth, from := 0, 0
	for i, r := range rest {
		switch {
		case strings.ContainsRune("([{", r):
			depth++
		case r == ')' && depth == 0:
			if s := strings.TrimSpace(rest[from:i]); s != "" {
				out = append(out, s)
			}
			return out
		case strings.ContainsRune(")]}", r):
			depth--
		case r == ',' && depth == 0:
			out = append(out, strings.TrimSpace(rest[from:i]))
			from = i + 1
		}
	}
	return out
}

package lsp

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.lsp.dev/protocol"

	"healc/lang/ast"
	"healc/lang/check/tree"
	"healc/lang/names"
	"healc/lang/types"
)

// CodeLens implements protocol.Server: above functions and tests, what healc can do with them. The commands are the
// client's, `heal.run`, `heal.test`, `heal.bench` and `heal.explain`: their arguments are the words behind `healc`.
func (s *server) CodeLens(ctx context.Context, p *protocol.CodeLensParams) ([]protocol.CodeLens, error) {
	d, err := s.document(ctx, p.TextDocument.URI)
	if err != nil {
		return nil, err
	}
	out := []protocol.CodeLens{}
	if !strings.HasPrefix(string(d.uri), "file:") || !stateOf(ctx).settings.Lenses {
		return out, nil // there is nothing that healc could read, or nobody wants them
	}
	f := d.facts()
	tests := f.tested()
	for _, decl := range f.syntax.Decls {
		add := func(title string, words ...string) {
			c := protocol.Command{Title: title, Command: "heal." + words[0]}
			words = slices.Insert(words, 1, d.file.Name)
			for _, w := range words {
				text, err := json.Marshal(w)
				if err != nil {
					panic("BUG: a word is no JSON: " + err.Error())
				}
				c.Arguments = append(c.Arguments, text)
			}
			at := d.position(nameOf(decl).Start)
			out = append(out, protocol.CodeLens{Range: protocol.Range{Start: at, End: at}, Command: c})
		}
		switch decl := decl.(type) {
		case *ast.TestDecl:
			add("Test", "test", "--run", exactly(decl.Name))
		case *ast.FuncDecl:
			f.lenses(decl, tests[decl], add)
		}
	}
	return out, nil
}

// exactly is an expression for some names.
func exactly(names ...string) string {
	for i, n := range names {
		names[i] = regexp.QuoteMeta(n)
	}
	if len(names) == 1 {
		return "^" + names[0] + "$"
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

// lenses are those of a function. What has type parameters is compiled where it is called, and is nothing to run.
func (f *facts) lenses(decl *ast.FuncDecl, tests []string, add func(title string, words ...string)) {
	entry := []string{"--entry", decl.Name.Name}
	isType := func(p *ast.GenericParam) bool { return p.Bound != nil && p.Bound.Name != "nat" }
	if decl.Body != nil && !slices.ContainsFunc(decl.Dims, isType) {
		if len(decl.Params) == 0 {
			add("Run", append([]string{"run"}, entry...)...)
		}
		add("Bench", append(append([]string{"bench"}, entry...), inputs(f.program.Func(decl.Name.Name))...)...)
		add("Explain", append([]string{"explain"}, entry...)...)
	}
	if len(tests) > 0 {
		add("Test", "test", "--run", exactly(tests...))
	}
}

// tested are the names of the tests of the file that call a function, themselves or through others of the file.
func (f *facts) tested() map[ast.Decl][]string {
	calls := map[ast.Decl][]ast.Decl{}
	for _, u := range f.names.Uses {
		if u.Symbol == nil || u.Symbol.Kind != names.Function {
			continue
		}
		if callee := u.Symbol.Node.(*ast.FuncDecl); !slices.Contains(calls[u.In], ast.Decl(callee)) {
			calls[u.In] = append(calls[u.In], callee)
		}
	}
	out := map[ast.Decl][]string{}
	for _, d := range f.syntax.Decls {
		t, ok := d.(*ast.TestDecl)
		if !ok {
			continue
		}
		seen, next := map[ast.Decl]bool{}, calls[t]
		for len(next) > 0 {
			d := next[len(next)-1]
			if next = next[:len(next)-1]; !seen[d] {
				seen[d] = true
				out[d] = append(out[d], t.Name)
				next = append(next[:len(next):len(next)], calls[d]...)
			}
		}
	}
	return out
}

// The extents of inputs that are made up: as in explanations, and fewer where tensors would be large.
const (
	sampleExtent   = 1024
	sampleElements = 1 << 22 // of one input
)

// inputs are flags with an input for each parameter of a function: random floats, and zeros of other types, which are
// indices that are there. Where there are none, healc says what is missing.
func inputs(fn *tree.Func) (out []string) {
	if fn == nil {
		return nil
	}
	extent := int64(sampleExtent)
	for extent > 1 && slices.ContainsFunc(fn.Params, func(p *tree.Local) bool { return large(p.T, fn.Dims, extent) }) {
		extent /= 2
	}
	for _, p := range fn.Params {
		t, ok := p.T.(types.Tensor)
		if !ok {
			return nil
		}
		var extents []string
		for _, d := range t.Shape {
			n, err := d.Eval(bound(fn.Dims, extent))
			if err != nil {
				return nil
			}
			extents = append(extents, fmt.Sprint(n))
		}
		values := "zeros"
		if t.Elem.IsFloat() {
			values = "rand(1)"
		}
		out = append(out, "--in", fmt.Sprintf("%s=%s[%s]:%s", p.Name, t.Elem, strings.Join(extents, ", "), values))
	}
	return out
}

// large reports whether a tensor has many elements where all shape parameters have one value.
func large(t types.Type, dims []string, extent int64) bool {
	for _, p := range types.Flatten(t) {
		n := int64(1)
		for _, d := range p.Shape {
			if e, err := d.Eval(bound(dims, extent)); err == nil && e > 0 {
				if n > sampleElements/e {
					return true
				}
				n *= e
			}
		}
	}
	return false
}

func bound(dims []string, extent int64) map[string]int64 {
	out := map[string]int64{}
	for _, d := range dims {
		out[d] = extent
	}
	return out
}

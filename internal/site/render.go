package main

import (
	"bytes"
	"fmt"
	"html/template"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"healc/cmd/healc/driver/manual"
	"healc/lang/lexer"
	"healc/lang/types"
)

// render makes a page of a document: headings get the names that links have for them, and links to documents lead to
// their pages.
func (s *site) render(name string, source []byte) (*page, error) {
	p := &page{source: name, ids: map[string]bool{}}
	md := goldmark.New(
		goldmark.WithExtensions(extension.GFM),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(blocks{}, 100))),
		goldmark.WithParserOptions(parser.WithAttribute()),
	)
	root := md.Parser().Parse(text.NewReader(source))
	err := ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			title := plainText(n, source)
			id := manual.Anchor(title)
			for i := 1; p.ids[id]; i++ {
				id = fmt.Sprintf("%s-%d", manual.Anchor(title), i)
			}
			p.ids[id] = true
			n.SetAttributeString("id", []byte(id))
			if n.Level == 1 && p.title == "" {
				p.title = title
			}
			p.heads = append(p.heads, head{n.Level, id, shortTitle(title)})
		case *ast.Link:
			n.Destination = []byte(s.follow(p, string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(s.follow(p, string(n.Destination)))
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := md.Renderer().Render(&b, source, root); err != nil {
		return nil, err
	}
	// A table that is wider than the page scrolls by itself.
	wide := strings.NewReplacer("<table>", "<div class=\"wide\"><table>", "</table>", "</table></div>")
	p.body = template.HTML(wide.Replace(b.String()))
	return p, nil
}

// shortTitle is what the contents of a page say of a heading: of `fn name[...](...)` its name.
func shortTitle(title string) string {
	if m := regexp.MustCompile(`^(?:fn|const) (\w+)`).FindStringSubmatch(title); m != nil {
		return m[1]
	}
	return title
}

// plainText is the text of a heading without its signs.
func plainText(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(source))
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// follow is the address of what a document links to.
func (s *site) follow(p *page, written string) string {
	if strings.Contains(written, "://") || strings.HasPrefix(written, "mailto:") {
		return written
	}
	to, anchor, _ := strings.Cut(written, "#")
	name := p.source
	if to != "" {
		name = path.Join(path.Dir(p.source), to)
		s.want(name)
	}
	file := s.fileOf(name)
	p.links = append(p.links, link{written, file, anchor})
	url := relative(s.fileOf(p.source), file)
	if to == "" {
		url = ""
	}
	if anchor != "" {
		url += "#" + anchor
	}
	return url
}

// blocks renders blocks of code with colours.
type blocks struct{}

func (blocks) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindFencedCodeBlock, block)
	r.Register(ast.KindCodeBlock, block)
}

func block(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	lang := ""
	if f, ok := n.(*ast.FencedCodeBlock); ok {
		lang = string(f.Language(source))
	}
	var b strings.Builder
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		b.Write(at.Value(source))
	}
	fmt.Fprintf(w, "<pre class=\"%s\"><code>%s</code></pre>\n", lang, highlight("."+lang, b.String()))
	return ast.WalkSkipChildren, nil
}

var (
	tokens  = regexp.MustCompile(`(?s)#[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|'(?:\\.[^']*|[^'\\\n])'|[A-Za-z_]\w*|\d[\w.]*`)
	prompts = regexp.MustCompile(`(?m)^(\$|>)( [^\n]*)`)
)

// highlight is a text as HTML, with the words of the language and the commands of a session marked.
func highlight(ext, text string) string {
	escape := template.HTMLEscapeString
	switch ext {
	case ".console":
		out, at := "", 0
		for _, m := range prompts.FindAllStringIndex(text, -1) {
			out += escape(text[at:m[0]]) + "<b>" + escape(text[m[0]:m[1]]) + "</b>"
			at = m[1]
		}
		return out + escape(text[at:])
	case ".heal":
		var out strings.Builder
		at := 0
		for _, m := range tokens.FindAllStringIndex(text, -1) {
			word := text[m[0]:m[1]]
			class := ""
			_, isType := types.ParseDType(word)
			switch {
			case word[0] == '#' || strings.HasPrefix(word, "/*"):
				class = "c"
			case word[0] == '"' || word[0] == '\'':
				class = "s"
			case word[0] >= '0' && word[0] <= '9':
				class = "n"
			case slices.Contains(lexer.Keywords, word):
				class = "k"
			case isType || word == "nat" || word == "string" || word == "unit":
				class = "t"
			}
			out.WriteString(escape(text[at:m[0]]))
			if class == "" {
				out.WriteString(escape(word))
			} else {
				fmt.Fprintf(&out, "<i class=\"%s\">%s</i>", class, escape(word))
			}
			at = m[1]
		}
		return out.String() + escape(text[at:])
	}
	return escape(text)
}

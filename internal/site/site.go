package main

import (
	"bytes"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"healc/cmd/healc/driver/manual"
	"healc/ir"
)

// contents is what the side of each page lists: titles, and documents below them. A document that is not named is
// found by a link.
var contents = []struct {
	title string
	pages []string
}{
	{"Begin", []string{"README.md", "docs/install.md", "docs/tutorial/README.md", "docs/coming/README.md",
		"docs/coming/numpy.md", "docs/coming/jax.md", "docs/coming/futhark.md", "docs/coming/matlab.md",
		"docs/tasks.md"}},
	{"Language", []string{"docs/language.md", "docs/library.md", "ir/OPS.md", "docs/errors/README.md",
		"docs/numerics.md", "docs/glossary.md"}},
	{"Tools", []string{"docs/cli.md", "docs/explore.md", "editors/README.md", "docs/performance.md",
		"docs/profiling.md", "docs/libraries.md", "docs/gpu.md", "docs/distributed.md", "docs/onnx.md",
		"docs/transcripts.md"}},
	{"Subjects", []string{"docs/training.md", "docs/modular.md", "docs/modular-theory.md", "docs/one-answer.md",
		"examples/README.md", "SECURITY.md"}},
	{"The project", []string{"ARCHITECTURE.md", "CONTRIBUTING.md", "docs/packages.md", "docs/testing.md",
		"docs/tuning/README.md"}},
}

// short are titles for the side where those of documents are long.
var short = map[string]string{"README.md": "Heal", "docs/coming/README.md": "Coming from ...",
	"docs/numerics.md": "Numerics", "docs/tuning/README.md": "Tuning"}

// page is a page of the site.
type page struct {
	source string // its path in the repository
	title  string
	body   template.HTML
	heads  []head
	ids    map[string]bool
	links  []link
}

// head is a heading of a page.
type head struct {
	Level     int
	ID, Title string
}

// link is a reference of a page: as it is written, and to which file of the site.
type link struct {
	written, file, anchor string
}

// site is a whole site: its pages by their files, and all files.
type site struct {
	root  string
	pages map[string]*page
	files map[string][]byte
	todo  []string // paths in the repository that something links to
	known map[string]bool
}

// operations is the page of the table of operations.
const operations = "ir/OPS.md"

//go:embed page.html style.css search.js
var assets embed.FS

// build renders all documents of a repository, and what they link to.
func build(root string) (*site, error) {
	s := &site{root: root, pages: map[string]*page{}, files: map[string][]byte{}, known: map[string]bool{}}
	for _, group := range contents {
		for _, name := range group.pages {
			s.want(name)
		}
	}
	documents, err := fs.Glob(os.DirFS(root), "docs/*.md")
	if err != nil {
		return nil, err
	}
	for _, name := range documents {
		if !s.known[name] {
			return nil, fmt.Errorf("%s stands nowhere in the contents: add it to the table in site.go", name)
		}
	}
	for _, e := range manual.Index() {
		name, _, _ := strings.Cut(e.Page, "#")
		s.want(name)
	}
	if err := s.addAll(); err != nil {
		return nil, err
	}
	if err := s.index(); err != nil {
		return nil, err
	}
	for _, name := range []string{"style.css", "search.js"} {
		if s.files[name], err = assets.ReadFile(name); err != nil {
			return nil, err
		}
	}
	frame, err := template.ParseFS(assets, "page.html")
	if err != nil {
		return nil, err
	}
	for file, p := range s.pages {
		var b bytes.Buffer
		if err := frame.Execute(&b, s.view(file, p)); err != nil {
			return nil, err
		}
		s.files[file] = b.Bytes()
	}
	return s, nil
}

// addAll renders what is on the list, and what that links to.
func (s *site) addAll() error {
	for len(s.todo) > 0 {
		name := s.todo[0]
		s.todo = s.todo[1:]
		if err := s.add(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// want puts a path of the repository on the list of what is rendered.
func (s *site) want(name string) {
	if !s.known[name] {
		s.known[name] = true
		s.todo = append(s.todo, name)
	}
}

// fileOf is where a path of the repository stands in the site.
func (s *site) fileOf(name string) string {
	switch {
	case path.Base(name) == "README.md":
		return path.Join(path.Dir(name), "index.html")
	case path.Ext(name) == ".md":
		return strings.TrimSuffix(name, ".md") + ".html"
	case isImage(name):
		return name
	}
	if info, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(name))); err == nil && info.IsDir() {
		if _, err := os.Stat(filepath.Join(s.root, filepath.FromSlash(name), "README.md")); err == nil {
			return path.Join(name, "index.html")
		}
		return path.Join(name, "files.html")
	}
	return name + ".html"
}

func isImage(name string) bool {
	return slices.Contains([]string{".svg", ".png"}, path.Ext(name))
}

// add renders a document, shows a file of another kind as it is, or lists a folder.
func (s *site) add(name string) error {
	file := filepath.Join(s.root, filepath.FromSlash(name))
	info, err := os.Stat(file)
	if err != nil {
		return err
	}
	if info.IsDir() {
		return s.addFolder(name, file)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if name == operations { // the page has those that programs can say, the table has all
		var b bytes.Buffer
		if err := ir.WriteManual(&b); err != nil {
			return err
		}
		text = b.Bytes()
	}
	var p *page
	switch {
	case path.Ext(name) == ".md":
		if p, err = s.render(name, text); err != nil {
			return err
		}
	case isImage(name):
		s.files[name] = text
		return nil
	case !utf8.Valid(text) || len(text) > 1<<20:
		p = &page{title: path.Base(name), body: template.HTML(fmt.Sprintf("<h1>%s</h1>\n<p>A file of %d bytes.</p>",
			path.Base(name), len(text)))}
	default:
		p = &page{title: path.Base(name), body: template.HTML("<h1>" + name + "</h1>\n<pre><code>" +
			highlight(path.Ext(name), string(text)) + "</code></pre>")}
	}
	p.source = name
	s.pages[s.fileOf(name)] = p
	return nil
}

// addFolder names what is in a folder, or shows its README.md.
func (s *site) addFolder(name, file string) error {
	if _, err := os.Stat(filepath.Join(file, "README.md")); err == nil {
		s.want(name + "/README.md")
		return nil
	}
	entries, err := os.ReadDir(file)
	if err != nil {
		return err
	}
	var b strings.Builder
	for _, e := range entries {
		fmt.Fprintf(&b, "<li>%s</li>\n", template.HTMLEscapeString(e.Name()))
	}
	s.pages[s.fileOf(name)] = &page{source: name, title: name,
		body: template.HTML("<h1>" + name + "</h1>\n<ul>\n" + b.String() + "</ul>\n")}
	return nil
}

// index writes what the search reads: the entries of the manual and its table of words, as a script, which a page that
// was opened from a disk may read, too.
func (s *site) index() error {
	type entry struct {
		Name    string `json:"n"`
		Kind    string `json:"k"`
		Summary string `json:"s"`
		URL     string `json:"u"`
	}
	var entries []entry
	for _, e := range manual.Index() {
		name, anchor, _ := strings.Cut(e.Page, "#")
		url := s.fileOf(name)
		if p := s.pages[url]; p == nil || anchor != "" && !p.ids[anchor] {
			return fmt.Errorf("the index has %s at %s, which is not there", e.Name, e.Page)
		}
		if anchor != "" {
			url += "#" + anchor
		}
		entries = append(entries, entry{e.Name, e.Kind, e.Summary, url})
	}
	text, err := json.Marshal(map[string]any{"entries": entries, "words": manual.Words(), "idle": manual.Idle()})
	if err != nil {
		return err
	}
	s.files["index.js"] = slices.Concat([]byte("healIndex("), text, []byte(");\n"))
	return nil
}

// check reports every link that leads nowhere.
func (s *site) check() error {
	var errs []error
	for file, p := range s.pages {
		for _, l := range p.links {
			to := s.pages[l.file]
			switch {
			case to == nil && s.files[l.file] == nil:
				errs = append(errs, fmt.Errorf("%s links to %s, which is not there", p.source, l.written))
			case l.anchor != "" && (to == nil || !to.ids[l.anchor]):
				errs = append(errs, fmt.Errorf("%s links to %s, and no heading is called that", p.source, l.written))
			}
		}
		for _, foreign := range []string{"src=\"http", "<link href=\"http", "@import", "url(http"} {
			if bytes.Contains(s.files[file], []byte(foreign)) {
				errs = append(errs, fmt.Errorf("%s reads something from a network: %s", file, foreign))
			}
		}
	}
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}

// view is what the frame of a page shows.
type view struct {
	Root, Title string
	Body        template.HTML
	Groups      []group
	Heads       []head
}

type group struct {
	Title string
	Items []item
}

type item struct {
	Title, URL string
	Here       bool
}

func (s *site) view(file string, p *page) view {
	v := view{Root: strings.Repeat("../", strings.Count(file, "/")), Title: p.title, Body: p.body}
	for _, g := range contents {
		out := group{Title: g.title}
		for _, name := range g.pages {
			to := s.fileOf(name)
			title := short[name]
			if title == "" {
				title = s.pages[to].title
			}
			below := path.Base(name) == "README.md" && strings.HasPrefix(file, path.Dir(name)+"/")
			here := to == file || below && !strings.HasPrefix(file, "docs/coming/")
			out.Items = append(out.Items, item{title, relative(file, to), here})
		}
		v.Groups = append(v.Groups, out)
	}
	for _, h := range p.heads {
		if h.Level == 2 || h.Level == 3 && len(p.heads) < 40 {
			v.Heads = append(v.Heads, h)
		}
	}
	if len(v.Heads) < 2 {
		v.Heads = nil
	}
	return v
}

// relative is the address of a file as another one writes it.
func relative(from, to string) string {
	a, b := strings.Split(path.Dir(from), "/"), strings.Split(to, "/")
	if a[0] == "." {
		a = nil
	}
	for len(a) > 0 && len(b) > 1 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return strings.Repeat("../", len(a)) + strings.Join(b, "/")
}

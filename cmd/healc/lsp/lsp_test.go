package lsp_test

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"healc/cmd/healc/lsp"
)

var update = flag.Bool("update", false, "write what the sessions answer")

// editor is a client, with the files that it shows.
type editor struct {
	t      testing.TB
	dir    string
	server protocol.Server
	files  map[string]*shown
	end    chan bool

	protocol.UnimplementedClient
	mu    sync.Mutex
	count int // of what was told
	told  map[uri.URI]*told
}

// told is what the server said of a file: when, and when it first did of this version.
type told struct {
	*protocol.PublishDiagnosticsParams
	last, first int
}

func (t *told) of(version int32) bool {
	if t == nil {
		return false
	}
	v, ok := t.Version.Get()
	return ok && v == version
}

// shown is a file in the editor; marks are offsets.
type shown struct {
	text    string
	version int32
	marks   map[string]int
}

type ends struct {
	io.Reader
	io.WriteCloser
}

func start(t testing.TB, dir string) *editor {
	t.Helper()
	e := &editor{t: t, dir: dir, files: map[string]*shown{}, end: make(chan bool, 1),
		told: map[uri.URI]*told{}}
	toServer, fromEditor := io.Pipe()
	toEditor, fromServer := io.Pipe()
	go func() { e.end <- lsp.Serve(context.Background(), toServer, fromServer, "test") }()
	_, _, e.server = protocol.NewClient(context.Background(), e, jsonrpc2.NewStream(ends{toEditor, fromEditor}))
	p := &protocol.InitializeParams{}
	p.WorkspaceFolders = protocol.NewNullable([]protocol.WorkspaceFolder{{URI: uri.File(dir), Name: "it"}})
	p.Capabilities.Workspace = &protocol.WorkspaceClientCapabilities{
		TextDocumentContent: &protocol.TextDocumentContentClientCapabilities{}}
	_, err := e.server.Initialize(context.Background(), p)
	e.must(err)
	return e
}

func (e *editor) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// PublishDiagnostics implements protocol.Client.
func (e *editor) PublishDiagnostics(_ context.Context, p *protocol.PublishDiagnosticsParams) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.count++
	now := &told{p, e.count, e.count}
	if v, _ := p.Version.Get(); e.told[p.URI].of(v) {
		now.first = e.told[p.URI].first
	}
	e.told[p.URI] = now
	return nil
}

func (e *editor) uri(name string) uri.URI { return uri.File(filepath.Join(e.dir, name)) }

func (e *editor) doc(name string) protocol.TextDocumentIdentifier {
	return protocol.TextDocumentIdentifier{URI: e.uri(name)}
}

// position is the place of an offset: all texts here have no rune beyond 16 bits.
func position(text string, offset int) protocol.Position {
	line := strings.Count(text[:offset], "\n")
	from := strings.LastIndex(text[:offset], "\n") + 1
	return protocol.Position{Line: uint32(line), Character: uint32(len([]rune(text[from:offset])))}
}

func offset(text string, p protocol.Position) int {
	at := 0
	for range p.Line {
		at += strings.Index(text[at:], "\n") + 1
	}
	for range p.Character {
		_, n := firstRune(text[at:])
		at += n
	}
	return at
}

func firstRune(s string) (rune, int) {
	for _, r := range s {
		return r, len(string(r))
	}
	return 0, 0
}

// open shows a file; `§name§` marks a place in it.
func (e *editor) open(name, marked string) {
	f := &shown{version: 1, marks: map[string]int{}}
	for i, part := range strings.Split(marked, "§") {
		if i%2 == 1 {
			f.marks[part] = len(f.text)
		} else {
			f.text += part
		}
	}
	e.files[name] = f
	e.must(e.server.DidOpen(context.Background(),
		&protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{
			URI: e.uri(name), LanguageID: "heal", Version: 1, Text: f.text}}))
}

// change puts text in the place of bytes.
func (e *editor) change(name string, from, to int, text string) {
	f := e.files[name]
	at := protocol.Range{Start: position(f.text, from), End: position(f.text, to)}
	f.text = f.text[:from] + text + f.text[to:]
	f.version++
	for m, at := range f.marks {
		if at >= to {
			f.marks[m] = at + len(text) - (to - from)
		}
	}
	e.must(e.server.DidChange(context.Background(), &protocol.DidChangeTextDocumentParams{
		TextDocument: protocol.VersionedTextDocumentIdentifier{TextDocumentIdentifier: e.doc(name),
			Version: f.version},
		ContentChanges: []protocol.TextDocumentContentChangeEvent{
			&protocol.TextDocumentContentChangePartial{Range: at, Text: text}}}))
}

// diagnostics waits for those of the files as they are. The server sends those of all files, in the order of their
// paths and as they were at one time: who comes after a file whose last version was seen knows of it.
func (e *editor) diagnostics(name string) []protocol.Diagnostic {
	seen := func() *told {
		e.mu.Lock()
		defer e.mu.Unlock()
		mine := e.told[e.uri(name)]
		for other, f := range e.files {
			t := e.told[e.uri(other)]
			if !t.of(f.version) || other < name && mine != nil && mine.last < t.first {
				return nil
			}
		}
		return mine
	}
	for range 6000 {
		if t := seen(); t != nil {
			return t.Diagnostics
		}
		time.Sleep(5 * time.Millisecond)
	}
	e.t.Fatalf("there are no diagnostics of %s", name)
	return nil
}

func (e *editor) stop() {
	e.must(e.server.Shutdown(context.Background()))
	e.must(e.server.Exit(context.Background()))
	if !<-e.end {
		e.t.Error("the server does not know that it was asked to end")
	}
}

// show is a range as `line:column-line:column`, from 1, with what it says.
func (e *editor) show(name string, r protocol.Range) string {
	f := e.files[name]
	s := fmt.Sprintf("%d:%d", r.Start.Line+1, r.Start.Character+1)
	if f == nil {
		return s
	}
	text := f.text[offset(f.text, r.Start):offset(f.text, r.End)]
	if i := strings.Index(text, "\n"); i >= 0 {
		text = text[:i] + "…"
	}
	return s + " `" + text + "`"
}

// pathOf is the path of a file, or the URI where it is none.
func pathOf(u uri.URI) string {
	if strings.HasPrefix(string(u), "file:") {
		return u.FsPath()
	}
	return string(u)
}

func (e *editor) location(l protocol.Location) string {
	name := filepath.Base(pathOf(l.URI))
	if !strings.HasPrefix(string(l.URI), "file:") { // where in it changes with the library
		return string(l.URI)
	}
	return name + ":" + e.show(name, l.Range)
}

func text(x any) string {
	switch x := x.(type) {
	case protocol.String:
		return string(x)
	case *protocol.MarkupContent:
		return x.Value
	}
	return ""
}

// edited is a text after edits.
func edited(s string, edits []protocol.TextEdit) string {
	sort.Slice(edits, func(i, j int) bool { return offset(s, edits[i].Range.Start) > offset(s, edits[j].Range.Start) })
	for _, x := range edits {
		s = s[:offset(s, x.Range.Start)] + x.NewText + s[offset(s, x.Range.End):]
	}
	return s
}

// apply makes edits one after the other, from the last, so that marks stay where they are.
func (e *editor) apply(name string, edits []protocol.TextEdit) {
	f := e.files[name]
	slices.SortFunc(edits, func(a, b protocol.TextEdit) int {
		return offset(f.text, b.Range.Start) - offset(f.text, a.Range.Start)
	})
	for _, x := range edits {
		e.change(name, offset(f.text, x.Range.Start), offset(f.text, x.Range.End), x.NewText)
	}
}

// do is what a line of a session prints.
func (e *editor) do(line string) string {
	verb, rest, _ := strings.Cut(line, " ")
	name, rest, _ := strings.Cut(rest, " ")
	mark, arg, _ := strings.Cut(rest, " ")
	if q, err := strconv.Unquote(arg); err == nil {
		arg = q
	}
	ctx, doc, f := context.Background(), e.doc(name), e.files[name]
	if f == nil {
		e.t.Fatalf("%s: the file is not open", line)
	}
	at := func(m string) int {
		i, ok := f.marks[m]
		if !ok {
			e.t.Fatalf("%s: there is no mark %q", line, m)
		}
		return i
	}
	here := func() protocol.TextDocumentPositionParams {
		return protocol.TextDocumentPositionParams{TextDocument: doc, Position: position(f.text, at(mark))}
	}
	whole := protocol.Range{End: position(f.text, len(f.text))}
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	failed := func(err error) {
		if err != nil {
			say("error: %v", strings.ReplaceAll(err.Error(), e.dir+"/", ""))
		}
	}
	switch verb {
	case "insert":
		e.change(name, at(mark), at(mark), arg)
	case "replace": // FROM TO TEXT
		to, arg, _ := strings.Cut(arg, " ")
		arg, err := strconv.Unquote(arg)
		e.must(err)
		e.change(name, at(mark), at(to), arg)
	case "diagnostics":
		for _, d := range e.diagnostics(name) {
			page := string(d.CodeDescription.Href)
			if text(d.Code) != "" && page != "heal:/errors/"+text(d.Code)+".md" {
				say("the page is %q", page)
			}
			say("%s %d %s: %s", e.show(name, d.Range), d.Severity, text(d.Code), strings.ReplaceAll(strings.ReplaceAll(
				text(d.Message), e.dir+"/", ""), "\n", "\n    "))
			for _, r := range d.RelatedInformation {
				say("    %s: %s", e.location(r.Location), r.Message)
			}
		}
	case "fixes":
		actions, err := e.server.CodeAction(ctx, &protocol.CodeActionParams{TextDocument: doc, Range: whole})
		failed(err)
		for _, a := range actions {
			a := a.(*protocol.CodeAction)
			say("%s: %s", e.show(name, a.Diagnostics[0].Range), a.Title)
		}
	case "fix": // all of them
		actions, err := e.server.CodeAction(ctx, &protocol.CodeActionParams{TextDocument: doc, Range: whole})
		failed(err)
		var edits []protocol.TextEdit
		for _, a := range actions {
			edits = append(edits, a.(*protocol.CodeAction).Edit.Changes[doc.URI]...)
		}
		e.change(name, 0, len(f.text), edited(f.text, edits))
		say("%s", strings.TrimSuffix(f.text, "\n"))
	case "hover":
		h, err := e.server.Hover(ctx, &protocol.HoverParams{TextDocumentPositionParams: here()})
		failed(err)
		if h != nil {
			say("%s\n%s", e.show(name, *h.Range), onAnyMachine.ReplaceAllString(text(h.Contents), ""))
		}
	case "hints":
		hints, err := e.server.InlayHint(ctx, &protocol.InlayHintParams{TextDocument: doc, Range: whole})
		failed(err)
		for _, h := range hints {
			from := offset(f.text, h.Position)
			word := from
			for word > 0 && f.text[word-1] != ' ' && f.text[word-1] != '(' && f.text[word-1] != '|' {
				word--
			}
			say("%d:%d %s%s", h.Position.Line+1, h.Position.Character+1, f.text[word:from], text(h.Label))
		}
	case "definition":
		d, err := e.server.Definition(ctx, &protocol.DefinitionParams{TextDocumentPositionParams: here()})
		failed(err)
		if l, ok := d.(*protocol.Location); ok {
			say("%s", e.location(*l))
		}
	case "references":
		ls, err := e.server.References(ctx, &protocol.ReferenceParams{TextDocumentPositionParams: here(),
			Context: protocol.ReferenceContext{IncludeDeclaration: true}})
		failed(err)
		for _, l := range ls {
			say("%s", e.location(l))
		}
	case "highlight":
		hs, err := e.server.DocumentHighlight(ctx,
			&protocol.DocumentHighlightParams{TextDocumentPositionParams: here()})
		failed(err)
		for _, h := range hs {
			say("%s %d", e.show(name, h.Range), h.Kind)
		}
	case "rename":
		r, err := e.server.Rename(ctx, &protocol.RenameParams{TextDocumentPositionParams: here(), NewName: arg})
		failed(err)
		if r != nil {
			for u, edits := range r.Changes {
				other := filepath.Base(u.FsPath())
				if e.files[other] == nil {
					say("%s: %d places", other, len(edits))
				} else {
					e.change(other, 0, len(e.files[other].text), edited(e.files[other].text, edits))
				}
			}
			for _, n := range slices.Sorted(func(yield func(string) bool) {
				for n := range e.files {
					if !yield(n) {
						return
					}
				}
			}) {
				say("-- %s\n%s", n, strings.TrimSuffix(e.files[n].text, "\n"))
			}
		}
	case "complete": // what begins as arg
		c, err := e.server.Completion(ctx, &protocol.CompletionParams{TextDocumentPositionParams: here()})
		failed(err)
		items, _ := c.(protocol.CompletionItemSlice)
		for _, i := range items {
			if detail, _ := i.Detail.Get(); strings.HasPrefix(i.Label, arg) {
				say("%s: %s", i.Label, detail)
			}
		}
	case "signature":
		h, err := e.server.SignatureHelp(ctx, &protocol.SignatureHelpParams{TextDocumentPositionParams: here()})
		failed(err)
		if h != nil {
			i, _ := h.ActiveParameter.Get()
			s := h.Signatures[0]
			active := "none"
			if int(i) < len(s.Parameters) {
				active = text(s.Parameters[i].Label)
			}
			say("%s\n    %s", s.Label, active)
		}
	case "symbols":
		d, err := e.server.DocumentSymbol(ctx, &protocol.DocumentSymbolParams{TextDocument: doc})
		failed(err)
		for _, s := range d.(protocol.DocumentSymbolSlice) {
			say("%s %d %s", s.Name, s.Kind, e.show(name, s.SelectionRange))
		}
	case "lenses":
		ls, err := e.server.CodeLens(ctx, &protocol.CodeLensParams{TextDocument: doc})
		failed(err)
		for _, l := range ls {
			words := []string{l.Command.Command}
			for _, a := range l.Command.Arguments {
				w := ""
				e.must(json.Unmarshal(a, &w))
				words = append(words, strconv.Quote(strings.TrimPrefix(w, e.dir+"/")))
			}
			say("%d %s: %s", l.Range.Start.Line+1, l.Command.Title, strings.Join(words, " "))
		}
	case "calls": // of what is named here, and to it
		items, err := e.server.PrepareCallHierarchy(ctx,
			&protocol.CallHierarchyPrepareParams{TextDocumentPositionParams: here()})
		failed(err)
		show := func(i protocol.CallHierarchyItem, of uri.URI, at []protocol.Range) (s string) {
			s = i.Name + " " + e.location(protocol.Location{URI: i.URI, Range: i.SelectionRange})
			for _, r := range at {
				s += " " + e.location(protocol.Location{URI: of, Range: r})
			}
			return s
		}
		for _, i := range items {
			say("%s", show(i, doc.URI, nil))
			in, err := e.server.IncomingCalls(ctx, &protocol.CallHierarchyIncomingCallsParams{Item: i})
			failed(err)
			for _, c := range in {
				say("    from %s", show(c.From, c.From.URI, c.FromRanges))
			}
			to, err := e.server.OutgoingCalls(ctx, &protocol.CallHierarchyOutgoingCallsParams{Item: i})
			failed(err)
			for _, c := range to {
				say("    to %s", show(c.To, i.URI, c.FromRanges))
			}
		}
	case "find": // in all files
		found, err := e.server.Symbols(ctx, &protocol.WorkspaceSymbolParams{Query: mark})
		failed(err)
		for _, x := range found.(protocol.SymbolInformationSlice) {
			say("%s %d %s", x.Name, x.Kind, e.location(x.Location))
		}
	case "page": // the head of what an URI is
		page, err := e.server.TextDocumentContent(ctx, &protocol.TextDocumentContentParams{URI: uri.URI(mark)})
		failed(err)
		if page != nil {
			say("%s", strings.SplitN(page.Text, "\n", 2)[0])
		}
	case "set": // settings, as JSON
		_, settings, _ := strings.Cut(line, name+" ")
		e.must(e.server.DidChangeConfiguration(ctx,
			&protocol.DidChangeConfigurationParams{Settings: protocol.LSPAny(settings)}))
		f.version++ // so that diagnostics are those of these settings
		e.must(e.server.DidChange(ctx, &protocol.DidChangeTextDocumentParams{
			TextDocument: protocol.VersionedTextDocumentIdentifier{TextDocumentIdentifier: doc, Version: f.version},
			ContentChanges: []protocol.TextDocumentContentChangeEvent{
				&protocol.TextDocumentContentChangeWholeDocument{Text: f.text}}}))
	case "folds":
		fs, err := e.server.FoldingRanges(ctx, &protocol.FoldingRangeParams{TextDocument: doc})
		failed(err)
		for _, r := range fs {
			say("%d to %d %s", r.StartLine+1, r.EndLine+1, r.Kind)
		}
	case "select":
		ss, err := e.server.SelectionRange(ctx, &protocol.SelectionRangeParams{TextDocument: doc,
			Positions: []protocol.Position{here().Position}})
		failed(err)
		for s := &ss[0]; s != nil; s = s.Parent {
			say("%s", e.show(name, s.Range))
		}
	case "format":
		edits, err := e.server.Formatting(ctx, &protocol.DocumentFormattingParams{TextDocument: doc})
		failed(err)
		for _, x := range edits {
			say("lines %d to %d", x.Range.Start.Line+1, x.Range.End.Line+1)
		}
		say("%s", strings.TrimSuffix(edited(f.text, edits), "\n"))
	case "format-range": // from a mark to another
		edits, err := e.server.RangeFormatting(ctx, &protocol.DocumentRangeFormattingParams{TextDocument: doc,
			Range: protocol.Range{Start: here().Position, End: position(f.text, at(arg))}})
		failed(err)
		for _, x := range edits {
			say("lines %d to %d", x.Range.Start.Line+1, x.Range.End.Line+1)
		}
		e.apply(name, edits)
		say("%s", strings.TrimSuffix(f.text, "\n"))
	case "type": // text, and what stands there when its last character has been typed
		e.change(name, at(mark), at(mark), arg)
		edits, err := e.server.OnTypeFormatting(ctx, &protocol.DocumentOnTypeFormattingParams{TextDocument: doc,
			Position: here().Position, Ch: arg[len(arg)-1:]})
		failed(err)
		e.apply(name, edits)
		say("%s", strings.TrimSuffix(f.text, "\n"))
	case "tokens":
		ts, err := e.server.SemanticTokensFull(ctx, &protocol.SemanticTokensParams{TextDocument: doc})
		failed(err)
		line, char := uint32(0), uint32(0)
		for i := 0; i+4 < len(ts.Data); i += 5 {
			if ts.Data[i] > 0 {
				line, char = line+ts.Data[i], 0
			}
			char += ts.Data[i+1]
			r := protocol.Range{Start: protocol.Position{Line: line, Character: char},
				End: protocol.Position{Line: line, Character: char + ts.Data[i+2]}}
			say("%s %d %d", e.show(name, r), ts.Data[i+3], ts.Data[i+4])
		}
	default:
		e.t.Fatalf("%s: no such line of a session", line)
	}
	return b.String()
}

// onAnyMachine is what a kernel's explanation says of the processor that it is on.
var onAnyMachine = regexp.MustCompile(`(?m)^  threads .*\n`)

// TestSessions: in testdata are files and a session, whose lines that begin with `> ` are requests; what they answer
// stands below them.
func TestSessions(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal("no sessions", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			a, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			e := start(t, t.TempDir())
			for _, f := range a.Files {
				if name, ok := strings.CutPrefix(f.Name, "disk/"); ok {
					e.must(os.WriteFile(filepath.Join(e.dir, name), f.Data, 0o600))
				} else if f.Name != "session" {
					e.open(f.Name, string(f.Data))
				}
			}
			for i, f := range a.Files {
				if f.Name != "session" {
					continue
				}
				var got strings.Builder
				for line := range strings.Lines(string(f.Data)) {
					if request, ok := strings.CutPrefix(line, "> "); ok {
						got.WriteString(line + e.do(strings.TrimSuffix(request, "\n")))
					}
				}
				if *update {
					a.Files[i].Data = []byte(got.String())
					e.must(os.WriteFile(path, txtar.Format(a), 0o600))
				} else if got.String() != string(f.Data) {
					t.Errorf("the session is\n%s", got.String())
				}
			}
			e.stop()
		})
	}
}

// TestEdits: whatever is typed and deleted anywhere, requests have answers, and in the end the diagnostics are those of
// a server that only saw the last text.
func TestEdits(t *testing.T) {
	paths, err := filepath.Glob("../../../examples/*.heal")
	if err != nil || len(paths) < 5 {
		t.Fatal("no examples", err)
	}
	files, edits := 3, 6
	if os.Getenv("HEAL_TEST_LONG") != "" {
		files, edits = len(paths), 60
	}
	rng := rand.New(rand.NewSource(1))
	rng.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	pieces := []string{"(", ")", "{", "|", ",", "\n", "let x = ", "fn f(", "é", "\"", ".+ ", " }", "= "}
	e := start(t, t.TempDir())
	defer e.stop()
	for _, path := range paths[:files] {
		b, err := os.ReadFile(path)
		e.must(err)
		name := filepath.Base(path)
		e.open(name, strings.ReplaceAll(string(b), "§", ""))
		for range edits {
			f := e.files[name]
			from := len([]byte(string([]rune(f.text)[:rng.Intn(len([]rune(f.text)))])))
			to := from
			for range rng.Intn(8) {
				_, n := firstRune(f.text[to:])
				to += n
			}
			text := pieces[rng.Intn(len(pieces))]
			if rng.Intn(3) == 0 {
				text = ""
			}
			e.change(name, from, to, text)
			f.marks["here"] = from
			for _, verb := range []string{"hover", "hints", "definition", "references", "complete", "signature",
				"symbols", "folds", "select", "format", "tokens", "fixes", "lenses", "calls"} {
				if got := e.do(verb + " " + name + " here"); strings.Contains(got, "a bug in healc") {
					t.Fatalf("%s at %d of\n%s\n%s", verb, from, f.text, got)
				}
			}
		}
		fresh := start(t, e.dir)
		for other, f := range e.files {
			fresh.open(other, f.text)
		}
		if got, want := fmt.Sprint(e.diagnostics(name)), fmt.Sprint(fresh.diagnostics(name)); got != want {
			t.Errorf("%s: after changes there is\n%s\nand of a fresh start\n%s", name, got, want)
		}
		fresh.stop()
	}
}

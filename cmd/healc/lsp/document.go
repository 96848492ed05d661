package lsp

import (
	"errors"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"unicode/utf8"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"healc/lang/diag"
)

// document is a text at one time; see Note [Snapshots].
type document struct {
	uri     uri.URI
	version int32
	file    *diag.File
	lines   []int // where each line begins
	editor  editor

	once    sync.Once
	found   atomic.Pointer[facts]
	lowered lowered
	fusion  struct {
		mu    sync.Mutex
		known bool
		out   []protocol.Diagnostic
	}
	docs documents // those that are open, among them what this one imports; nil when that is known
}

// editor is what a client said of itself when it came.
type editor struct {
	utf8  bool // it counts bytes of a line; else units of UTF-16
	pages bool // it shows what is in no file; see pages.go
}

func newDocument(at uri.URI, version int32, text string, e editor) *document {
	d := &document{uri: at, version: version, file: diag.NewFile(pathOf(at), text), lines: []int{0}, editor: e}
	for i := range len(text) {
		if text[i] == '\n' {
			d.lines = append(d.lines, i+1)
		}
	}
	return d
}

// pathOf is the path of a file, the name of a module of the library, or the URI where it is neither.
func pathOf(at uri.URI) string {
	if name, ok := strings.CutPrefix(string(at), libraryPages); ok {
		return libraryFolder + name
	}
	if !strings.HasPrefix(string(at), "file:") {
		return string(at)
	}
	return filepath.Clean(at.FsPath())
}

// facts are what there is to know of the document.
func (d *document) facts() *facts {
	d.once.Do(func() {
		f := find(d)
		f.beside = documents{}
		for _, path := range f.imported {
			if other, ok := d.docs[path]; ok {
				f.beside[path] = other
			}
		}
		d.found.Store(f)
		d.docs = nil // else a document would hold all that there ever were
	})
	return d.found.Load()
}

// open is what a file that the document imports is in the editor.
func (d *document) open(path string) (*document, bool) {
	docs := d.docs
	if f := d.found.Load(); f != nil {
		docs = f.beside
	}
	other, ok := docs[path]
	return other, ok
}

// again is the same text, with nothing found in it yet.
func (d *document) again() *document {
	return &document{uri: d.uri, version: d.version, file: d.file, lines: d.lines, editor: d.editor}
}

// offset is the byte of a place. What is behind the end of a line or of the text is that end.
func (d *document) offset(p protocol.Position) int {
	text := d.file.Text
	if int(p.Line) >= len(d.lines) {
		return len(text)
	}
	at, end := d.lines[p.Line], len(text)
	if int(p.Line)+1 < len(d.lines) {
		end = d.lines[p.Line+1] - 1
	}
	for units := int(p.Character); units > 0 && at < end; {
		r, n := utf8.DecodeRuneInString(text[at:])
		units -= d.units(r, n)
		at += n
	}
	return at
}

// units is how long the client says that a rune of n bytes is.
func (d *document) units(r rune, n int) int {
	switch {
	case d.editor.utf8:
		return n
	case r >= 0x10000:
		return 2
	}
	return 1
}

// position is the place of a byte.
func (d *document) position(offset int) protocol.Position {
	text := d.file.Text
	offset = min(max(offset, 0), len(text))
	line := sort.SearchInts(d.lines, offset+1) - 1
	units := 0
	for at := d.lines[line]; at < offset; {
		r, n := utf8.DecodeRuneInString(text[at:])
		units += d.units(r, n)
		at += n
	}
	return protocol.Position{Line: uint32(line), Character: uint32(units)}
}

// span is the range of a span of this document's file.
func (d *document) span(s diag.Span) protocol.Range {
	return protocol.Range{Start: d.position(s.Start), End: d.position(max(s.Start, s.End))}
}

var errUnknownChange = errors.New("a change of a document is neither of a range nor of the whole")

// changed is the document after changes, in order.
func (d *document) changed(version int32, changes []protocol.TextDocumentContentChangeEvent) (*document, error) {
	for _, c := range changes {
		text := ""
		switch c := c.(type) {
		case *protocol.TextDocumentContentChangeWholeDocument:
			text = c.Text
		case *protocol.TextDocumentContentChangePartial:
			from := d.offset(c.Range.Start)
			to := max(from, d.offset(c.Range.End))
			text = d.file.Text[:from] + c.Text + d.file.Text[to:]
		default:
			return nil, errUnknownChange
		}
		d = newDocument(d.uri, version, text, d.editor)
	}
	return d, nil
}

// documents are those that are open, by their path. They are never changed: a new map takes their place.
type documents map[string]*document

// with is ds with d, and with nothing found in the documents that import its file.
func (ds documents) with(d *document) documents {
	out := make(documents, len(ds)+1)
	for path, other := range ds {
		out[path] = other
	}
	out[d.file.Name] = d
	out.renew(d.file.Name)
	return out
}

// without is ds without a document.
func (ds documents) without(path string) documents {
	out := make(documents, len(ds))
	for p, other := range ds {
		if p != path {
			out[p] = other
		}
	}
	out.renew(path)
	return out
}

// renew forgets what was found in the documents that import a file, and lets all find the ones that are there now.
func (ds documents) renew(path string) {
	for p, d := range ds {
		f := d.found.Load() // nil: nobody knows yet what it imports
		if p == path || f == nil || slices.Contains(f.imported, path) {
			d = d.again()
			d.docs = ds
			ds[p] = d
		}
	}
}

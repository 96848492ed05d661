package lsp

import (
	"sync"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/explain"
	"healc/lang/ast"
	"healc/lang/diag"
)

// lowered are the functions of a document whose kernels were asked for, one request after the other.
type lowered struct {
	mu    sync.Mutex
	entry map[string]*driver.Emit
}

// kernels is what became of the line that a span begins in: the kernels of its function that it went into, what they
// move and compute, and what bounds them, as `healc explain` has it. It is "" in a file that has mistakes, and for
// functions with type parameters, which are no entries.
func (d *document) kernels(at diag.Span) string {
	f := d.facts()
	if f.mistaken() {
		return ""
	}
	for _, decl := range f.syntax.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Body == nil || at.Start < fn.Body.Span().Start || fn.Body.Span().End < at.End {
			continue
		}
		if typed := f.program.Func(fn.Name.Name); typed == nil || typed.Decl != fn {
			return ""
		}
		d.lowered.mu.Lock()
		defer d.lowered.mu.Unlock()
		text, err := explain.Line(d.emit(fn.Name.Name), at.Pos().Line)
		if err != nil {
			return "" // it is no entry, or there is no code for it
		}
		return text
	}
	return ""
}

// emit is what compiles a function; it is compiled once. The functions that are lowered are locked.
func (d *document) emit(entry string) *driver.Emit {
	e := d.lowered.entry[entry]
	if e == nil {
		e = &driver.Emit{File: d.file, Entry: entry, Program: d.facts().program}
		if d.lowered.entry == nil {
			d.lowered.entry = map[string]*driver.Emit{}
		}
		d.lowered.entry[entry] = e
	}
	return e
}

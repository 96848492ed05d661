package lsp

import (
	"go.lsp.dev/protocol"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/explain"
	"healc/lang/diag"
)

// kept are diagnostics that say what of the document is in memory between kernels and why, as `healc explain` does: for
// a value that is computed in another file, at the call. They are there when nothing else is wrong. Where stop says so,
// some may be missing.
func (d *document) kept(stop func() bool) []protocol.Diagnostic {
	d.fusion.mu.Lock()
	defer d.fusion.mu.Unlock()
	if d.fusion.known || d.facts().mistaken() {
		return d.fusion.out
	}
	e := &driver.Emit{File: d.file, Program: d.facts().program}
	kept, err := explain.Kept(e, stop)
	if err != nil || stop() { // there is nothing to compile, or nobody waits for it
		return nil
	}
	type found struct {
		at  extent
		why string
	}
	seen := map[found]bool{}
	for _, k := range kept {
		at := k.Span
		for at.File != d.file && at.Caller != nil {
			at = *at.Caller
		}
		if key := (found{extentOf(at), k.Why}); at.File == d.file && !seen[key] { // once for all entries
			seen[key] = true
			d.fusion.out = append(d.fusion.out, protocol.Diagnostic{Range: d.span(at),
				Severity: protocol.DiagnosticSeverityInformation, Source: protocol.NewOptional("heal"),
				Message: protocol.String("`" + k.Op + "` is kept in memory: " + k.Why)})
		}
	}
	d.fusion.known = true
	return d.fusion.out
}

// mistaken reports whether anything is wrong.
func (f *facts) mistaken() bool {
	for _, p := range f.problems {
		if p.Severity == diag.Error {
			return true
		}
	}
	return false
}

package libllvm

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/ebitengine/purego"
)

// Stage names the part of Compile that failed.
type Stage string

// The stages, in order.
const (
	Parse  Stage = "parse"
	Verify Stage = "verify"
	Target Stage = "target"
	Passes Stage = "passes"
	Emit   Stage = "emit"
)

// CompileError is LLVM's refusal of an input. IR comes from our own generators, so unless the
// processor or the pipeline was named by the user it tells of a bug there.
type CompileError struct {
	Stage   Stage
	Line    int    // 1-based line of the IR text, 0 when LLVM does not tell
	Column  int    // 1-based, 0 when unknown
	Message string // LLVM's words, maybe several lines
}

func (e *CompileError) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("LLVM %s: line %d:%d: %s", e.Stage, e.Line, e.Column, e.Message)
	}
	return fmt.Sprintf("LLVM %s: %s", e.Stage, e.Message)
}

// bufferName is the file name that LLVM puts in front of parse errors.
const bufferName = "ir"

var parseMessage = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?s)^` + bufferName + `:(\d+):(\d+): error: (.*)$`)
})

// parseError splits LLVM's "ir:3:7: error: what" (then the line and a caret) into its parts.
func parseError(msg string) *CompileError {
	e := &CompileError{Stage: Parse, Message: strings.TrimSpace(msg)}
	if m := parseMessage().FindStringSubmatch(e.Message); m != nil {
		// A number too long for an int cannot come from a file in memory; zero means unknown.
		e.Line, _ = strconv.Atoi(m[1])
		e.Column, _ = strconv.Atoi(m[2])
		e.Message = m[3]
	}
	return e
}

// diagnosis collects what LLVM says about one compilation.
type diagnosis struct {
	lib    *Lib
	errors []string
	frames func(function string, bytes int64)
}

var (
	diagnoses  sync.Map // uintptr id to *diagnosis; C code carries the id, never a Go pointer
	diagnoseID atomic.Uintptr
)

// newDiagnosis registers a collector. Without one LLVM prints diagnostics and exits on an error.
func newDiagnosis(lib *Lib) (id uintptr, d *diagnosis) {
	d = &diagnosis{lib: lib}
	id = diagnoseID.Add(1)
	diagnoses.Store(id, d)
	return id, d
}

func (d *diagnosis) text() string { return strings.Join(d.errors, "\n") }

// diagnosticHandler is the C function for LLVMContextSetDiagnosticHandler; its user value is the id.
var diagnosticHandler = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(info handle, id uintptr) {
		v, ok := diagnoses.Load(id)
		if !ok {
			return
		}
		d := v.(*diagnosis)
		const severityError, severityWarning = 0, 1 // then remark, note
		switch severity := d.lib.GetDiagInfoSeverity(info); {
		case severity == severityError:
			d.errors = append(d.errors, d.lib.take(d.lib.GetDiagInfoDescription(info)))
		case severity == severityWarning && d.frames != nil:
			if m := frameMessage().FindStringSubmatch(d.lib.take(d.lib.GetDiagInfoDescription(info))); m != nil {
				if n, err := strconv.ParseInt(m[1], 10, 64); err == nil {
					d.frames(m[2], n)
				}
			}
		}
	})
})

var frameMessage = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`stack frame size \((\d+)\) exceeds limit \(0\) in function '(.*)'$`)
})

// Note [Fatal errors]
//
// LLVM calls its fatal error handler where it has no way to return an error, such as an intrinsic that
// the processor lacks, and exits when the handler returns. Ours panics instead; the Go runtime unwinds
// a panic in a callback through the C frames like a longjmp, and Compile recovers it. LLVM's own crash
// recovery (CrashRecoveryContext) leaves these frames the same way. What the C++ frames owned leaks,
// and so does the context of that call, which is not touched again.

// fatalError is the panic of the handler.
type fatalError string

var fatalHandler = sync.OnceValue(func() uintptr {
	return purego.NewCallback(func(reason *byte) { panic(fatalError(goString(reason))) })
})

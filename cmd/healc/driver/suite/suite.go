// Package suite runs test files: their directives (`# expect`), their programs on each backend, and their test blocks.
// It is `healc test`.
package suite

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"healc/cmd/healc/driver"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/internal/modules"
	"healc/internal/regular"
	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/parser"
)

// Suite runs test files.
type Suite struct {
	Backends []string
	Run      *regexp.Regexp   // only files whose path matches, and test blocks whose name does; nil is all
	Take     func(i int) bool // only files whose number among those that are found it takes; nil is all
	Workers  int
	Cache    *cache.Cache
	Import   []string // folders from which a program may import beside its own, and beside the folder that was given
	// Args applies the words of `# args` to a job, as flags of `healc run`.
	Args func(words []string, job *driver.Job) error
	// Options, when it is not nil, changes how programs are compiled, which is as `healc run` does it: for tests.
	Options func(o *engine.Options)
	// Done, when it is not nil, is called after each file, with the number of those that are done.
	Done func(done, all int, name string)
}

// The results of a test.
const (
	Passed  = "passed"
	Failed  = "failed"
	Skipped = "skipped"
)

// Result is what became of one file, or of one test block of it, on one backend.
type Result struct {
	Name    string      `json:"name"`           // the path as it was given or found
	Test    string      `json:"test,omitempty"` // the name of the test block
	Backend string      `json:"backend,omitempty"`
	Result  string      `json:"result"`
	Seconds float64     `json:"seconds"`
	Message string      `json:"message,omitempty"` // why it failed or was skipped
	Bug     *driver.Bug `json:"-"`
	// Warnings are those of the file, at the first of its results.
	Warnings []*diag.Diagnostic `json:"-"`
}

// testFile is a file to test.
type testFile struct {
	path string
	file *diag.File
	want *expectation
	dir  string // the folder that was given, of a file that was found there
	bad  error  // the directives cannot be read
	runs bool   // has directives, and is to be run as a program

	warnings []*diag.Diagnostic // of its last module
	blocks   map[string]bool    // the test blocks that are to be run
}

// Test runs the tests among paths, which are files and folders. The results are in the order of the paths,
// then of the backends. The error is about the paths.
func (s *Suite) Test(ctx context.Context, paths []string) ([]Result, error) {
	found, err := s.find(paths)
	if err != nil {
		return nil, err
	}
	var files []*testFile
	for i, f := range found {
		if s.Take == nil || s.Take(i) {
			files = append(files, f)
		}
	}
	results := make([][]Result, len(files))
	next := make(chan int)
	var mu sync.Mutex
	done := 0
	var group sync.WaitGroup
	for range max(1, s.Workers) {
		group.Go(func() {
			for i := range next {
				results[i] = s.test(ctx, files[i])
				if len(results[i]) > 0 {
					results[i][0].Warnings = files[i].warnings
				}
				mu.Lock()
				done++
				if s.Done != nil {
					s.Done(done, len(files), files[i].path)
				}
				mu.Unlock()
			}
		})
	}
	for i := range files {
		next <- i
	}
	close(next)
	group.Wait()
	return slices.Concat(results...), nil
}

// find lists the test files. A file that is named has to be one; in folders those are taken that have
// directives or test blocks; what is no file there is left alone.
func (s *Suite) find(paths []string) ([]*testFile, error) {
	var out []*testFile
	seen := map[string]bool{}
	add := func(path, dir string) error {
		named := dir == ""
		if seen[path] {
			return nil
		}
		seen[path] = true
		text, err := regular.Read(path, regular.MaxSource)
		var kind *regular.KindError
		if !named && errors.As(err, &kind) {
			return nil
		}
		if err != nil {
			return driver.Usagef("cannot read the test: %v", err)
		}
		t := &testFile{path: path, dir: dir, file: diag.NewFile(path, string(text))}
		t.want, t.bad = expectations(t.file)
		matches := s.Run == nil || s.Run.MatchString(path)
		blocks := testBlocks(t.file)
		t.runs, t.blocks = t.want.lines > 0 && matches, map[string]bool{}
		for _, b := range blocks {
			if matches || s.Run.MatchString(b) {
				t.blocks[b] = true
			}
		}
		switch {
		case t.runs || len(t.blocks) > 0:
			out = append(out, t)
		case named && t.want.lines == 0 && len(blocks) == 0:
			return &driver.UsageError{Message: path + " has no tests",
				Help: "a test file starts with a comment such as `# expect exit 0`; see docs/cli.md"}
		}
		return nil
	}
	for _, p := range paths {
		info, err := os.Stat(p)
		if err != nil {
			return nil, driver.Usagef("there is no file or folder %s", p)
		}
		if !info.IsDir() {
			if err := add(p, ""); err != nil {
				return nil, err
			}
			continue
		}
		var found []string
		err = filepath.WalkDir(p, func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) == ".heal" {
				found = append(found, path)
			}
			return err
		})
		if err != nil {
			return nil, driver.Usagef("cannot search %s: %v", p, err)
		}
		sort.Strings(found)
		for _, f := range found {
			if err := add(f, p); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// importer finds what a file imports.
func (s *Suite) importer(t *testFile) *modules.Importer {
	allow := s.Import
	if t.dir != "" {
		allow = append(slices.Clone(allow), t.dir)
	}
	return &modules.Importer{Allow: allow}
}

// testBlocks lists the names of the file's test blocks.
func testBlocks(file *diag.File) []string {
	if !strings.Contains(file.Text, "test") {
		return nil
	}
	tree, _ := parser.Parse(file)
	var out []string
	for _, d := range tree.Decls {
		if t, ok := d.(*ast.TestDecl); ok {
			out = append(out, t.Name)
		}
	}
	return out
}

// test runs one file: as a program, if its head says what to expect, and its test blocks.
func (s *Suite) test(ctx context.Context, t *testFile) []Result {
	if t.bad != nil {
		return []Result{{Name: t.path, Result: Failed, Message: t.path + ": " + t.bad.Error()}}
	}
	var out []Result
	if t.runs {
		out = s.program(ctx, t)
	}
	if len(t.blocks) > 0 {
		out = append(out, s.runBlocks(ctx, t)...)
	}
	return out
}

// program runs a file on its backends, and requires the same output of all of them.
func (s *Suite) program(ctx context.Context, t *testFile) []Result {
	var out []Result
	first := ""
	for _, b := range s.Backends {
		if !t.want.runsOn(b) {
			continue
		}
		start := time.Now()
		stdout, message, bug := s.once(ctx, t, b)
		if len(out) == 0 {
			first = stdout
		} else if message == "" && out[0].Result == Passed && stdout != first {
			message = fmt.Sprintf("the output differs from that of the backend %s\n%s", out[0].Backend,
				difference(first, stdout))
		}
		r := Result{Name: t.path, Backend: b, Result: Passed, Seconds: time.Since(start).Seconds(), Message: message,
			Bug: bug}
		if message != "" {
			r.Result = Failed
		}
		out = append(out, r)
	}
	if out == nil {
		return []Result{{Name: t.path, Result: Skipped, Message: "it is for the backend " +
			strings.Join(t.want.backends, ", ")}}
	}
	return out
}

// once runs a file on one backend; message says what is not as expected.
func (s *Suite) once(ctx context.Context, t *testFile, backend string) (stdout, message string, bug *driver.Bug) {
	var text bytes.Buffer
	job := &driver.Job{
		File: t.file, Dir: filepath.Dir(t.path), Out: &text,
		Opts: engine.Options{Backend: backend, Threads: 1, Once: true, Cache: s.Cache,
			Imports: s.importer(t)},
	}
	if err := s.Args(t.want.args, job); err != nil {
		return "", "# args: " + err.Error(), nil
	}
	job.Opts.Backend = backend
	job.Loaded = func(m *engine.Module) { t.warnings = m.Program().WarningsOf(job.Entry) }
	if s.Options != nil {
		s.Options(&job.Opts)
	}
	exit := 0
	err := driver.Guard(func() (err error) {
		exit, err = job.Run(ctx)
		return err
	})
	o := driver.Classify(err, t.file)
	if o.Bug != nil {
		return "", "a bug in healc: " + o.Bug.Cause, o.Bug
	}
	return text.String(), t.want.judge(o, exit, text.String()), nil
}

// judge compares what happened with what was expected; "" means that they agree.
func (x *expectation) judge(o driver.Outcome, exit int, stdout string) string {
	rendered := (&diag.List{Items: o.Diagnostics, More: o.More}).Error()
	what := map[driver.Class]string{driver.OK: "it ran without an error", driver.CompileError: "it does not compile",
		driver.UsageFault: "the arguments are wrong", driver.RuntimeFault: "it failed while running"}[o.Class]
	wrong := func(expected string) string { return strings.TrimRight(expected+", but "+what+"\n"+rendered, "\n") }
	switch {
	case x.mustNotCompile():
		if o.Class != driver.CompileError {
			return wrong("expected a compile error")
		}
		if x.code != "" && !slices.ContainsFunc(o.Diagnostics, func(d *diag.Diagnostic) bool {
			return string(d.Code) == x.code
		}) {
			return "expected the error " + x.code + ", but got\n" + rendered
		}
		if !strings.Contains(rendered, x.compile) {
			return fmt.Sprintf("expected a compile error with %q, but got\n%s", x.compile, rendered)
		}
		return ""
	case x.runtime != "":
		if o.Class != driver.RuntimeFault {
			return wrong("expected a run-time error")
		}
		if !strings.Contains(rendered, x.runtime) {
			return fmt.Sprintf("expected a run-time error with %q, but got\n%s", x.runtime, rendered)
		}
	case o.Class != driver.OK && x.exit != int(o.Class):
		return strings.TrimRight(what+"\n"+rendered, "\n")
	case o.Class == driver.OK && exit != x.exit:
		return fmt.Sprintf("expected exit code %d, but got %d", x.exit, exit)
	}
	if x.stdout != nil && stdout != *x.stdout {
		return "the output is not as expected\n" + difference(*x.stdout, stdout)
	}
	return ""
}

// difference shows the first line in which two outputs differ.
func difference(want, got string) string {
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	i := 0
	for i < len(w) && i < len(g) && w[i] == g[i] {
		i++
	}
	return fmt.Sprintf("  line %d, expected: %s\n  line %d, but got:  %s", i+1, lineText(w, i), i+1, lineText(g, i))
}

func lineText(lines []string, i int) string {
	if i >= len(lines) || lines[i] == "" {
		return "(the end)"
	}
	return driver.Shorten(lines[i])
}

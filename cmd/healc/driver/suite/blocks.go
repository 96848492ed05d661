package suite

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"healc/cmd/healc/driver"
	"healc/internal/engine"
	"healc/lang/check/tree"
	"healc/lang/diag"
	"healc/runtime"
)

// runBlocks runs the chosen test blocks of a file on every backend. A file that does not compile is one
// failed result.
func (s *Suite) runBlocks(ctx context.Context, t *testFile) []Result {
	var out []Result
	printed := map[string]string{} // what each block printed on the first backend
	for _, b := range s.Backends {
		if !t.want.runsOn(b) {
			continue
		}
		start := time.Now()
		var text bytes.Buffer
		var m *engine.Module
		err := driver.Guard(func() (err error) {
			opts := engine.Options{
				Backend: b, Threads: 1, Once: true, Cache: s.Cache, Tests: true, Imports: s.importer(t),
				System: driver.System{Dir: filepath.Dir(t.path), OS: runtime.OS{Out: &text}},
			}
			if s.Options != nil {
				s.Options(&opts)
			}
			m, err = engine.CompileFile(t.file, opts)
			return err
		})
		if err != nil {
			r := Result{Name: t.path, Backend: b, Result: Failed, Seconds: time.Since(start).Seconds()}
			r.Message, r.Bug = failureText(err, t.file)
			return append(out, r)
		}
		t.warnings = m.Program().WarningsOf("")
		for _, test := range m.Program().Tests {
			if !t.blocks[test.Name] {
				continue
			}
			text.Reset()
			r := s.block(ctx, m, t, test)
			r.Backend = b
			got := text.String()
			if want, ran := printed[test.Name]; !ran {
				printed[test.Name] = got
			} else if r.Result == Passed && got != want {
				r.Result, r.Message = Failed, "the output differs from that of the first backend\n"+
					difference(want, got)
			}
			out = append(out, r)
		}
		m.Close()
	}
	return out
}

// block runs one test block.
func (s *Suite) block(ctx context.Context, m *engine.Module, t *testFile, test *tree.Test) Result {
	start := time.Now()
	err := driver.Guard(func() error {
		f, err := m.Func(test.Fn.Name)
		if err != nil {
			return err
		}
		results, err := f.CallAll(ctx)
		driver.CloseAll(results)
		return err
	})
	r := Result{Name: t.path, Test: test.Name, Result: Passed, Seconds: time.Since(start).Seconds()}
	if err != nil {
		r.Result = Failed
		r.Message, r.Bug = failureText(err, t.file)
	}
	return r
}

// failureText is what to show of an error of a test.
func failureText(err error, file *diag.File) (string, *driver.Bug) {
	o := driver.Classify(err, file)
	if o.Bug != nil {
		return fmt.Sprintf("a bug in healc: %s", o.Bug.Cause), o.Bug
	}
	return strings.TrimRight((&diag.List{Items: o.Diagnostics, More: o.More}).Error(), "\n"), nil
}

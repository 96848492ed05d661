package tests

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"healc"
	"healc/internal/pipeline"
	"healc/lang/diag"
	"healc/runtime"
)

// TestCodes takes every error code at its word: the example gives exactly that code, its correction compiles;
// what shows at run time stops the program; what no program alone can show says what does.
func TestCodes(t *testing.T) {
	for _, e := range diag.Entries() {
		t.Run(string(e.Code), func(t *testing.T) {
			if e.Title == "" || e.Text == "" {
				t.Error("the page has no title or no text")
			}
			switch {
			case e.Extern != "":
				if e.Example != "" {
					t.Error("the page has an example and says that there is none")
				}
				return
			case e.Example == "":
				t.Fatal("the page has no example and does not say why")
			case e.Runtime:
				stops(t, e.Example)
			case e.Warning:
				prog, err := pipeline.Check(diag.NewFile("example.heal", e.Example))
				if err != nil {
					t.Fatal(err)
				}
				onlyCode(t, &diag.List{Items: prog.Warnings}, e.Code)
			default:
				_, err := pipeline.Check(diag.NewFile("example.heal", e.Example))
				onlyCode(t, err, e.Code)
			}
			if e.Fixed == "" {
				t.Fatal("the page has no correction")
			}
			m, err := heal.Compile(e.Fixed, heal.Options{Backend: heal.Interp})
			if err != nil {
				t.Fatalf("the correction does not compile:\n%v", err)
			}
			m.Close()
		})
	}
}

// onlyCode requires that err is diagnostics of this code alone.
func onlyCode(t *testing.T, err error, code diag.Code) {
	t.Helper()
	var list *diag.List
	if !errors.As(err, &list) || len(list.Items) == 0 {
		t.Fatalf("the example gives no diagnostic, but %v", err)
	}
	for _, d := range list.Items {
		if d.Code != code {
			t.Errorf("the example gives %s:\n%s", d.Code, diag.Render(d, false))
		}
	}
}

// stops runs `main` and requires a run-time error with a place in the source, on both backends.
func stops(t *testing.T, source string) {
	t.Helper()
	for _, backend := range []string{heal.Interp, heal.CPU} {
		m, err := heal.Compile(source, heal.Options{Backend: backend, Threads: 1, System: runtime.OS{Out: io.Discard}})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		f, err := m.Func("main")
		if err != nil {
			t.Fatal(err)
		}
		_, err = f.CallAll(context.Background())
		var failed *runtime.RuntimeError
		if !errors.As(err, &failed) || failed.Site.Line == 0 || strings.TrimSpace(failed.Message) == "" {
			t.Errorf("%s: the example ends with %v, not with a run-time error that names its place", backend, err)
		}
	}
}

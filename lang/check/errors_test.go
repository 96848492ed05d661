package check_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"healc/lang/diag"
)

var (
	wantComment = regexp.MustCompile(`# ERROR (.*)$`)
	wantPair    = regexp.MustCompile(`(E\d{4}) "([^"]*)"`)
)

// TestErrors checks that every line of testdata/errors gives the errors that its `# ERROR CODE "text"`
// comment names, and no other line gives any.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/errors/*.heal")
	if err != nil || len(files) == 0 {
		t.Fatal("no test files", err)
	}
	for _, name := range files {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".heal"), func(t *testing.T) {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			_, errs := compile(t, string(text))
			got := map[int][]*diag.Diagnostic{}
			for _, d := range errs.Items {
				line := d.Primary.Span.Pos().Line
				got[line] = append(got[line], d)
			}
			for i, line := range strings.Split(string(text), "\n") {
				n := i + 1
				m := wantComment.FindStringSubmatch(line)
				if m != nil {
					for _, want := range wantPair.FindAllStringSubmatch(m[1], -1) {
						if !take(got, n, diag.Code(want[1]), want[2]) {
							t.Errorf("line %d does not give %s %q:\n%s\nbut %s", n, want[1], want[2], line,
								list(got[n]))
						}
					}
				}
				if len(got[n]) > 0 {
					t.Errorf("line %d gives what it does not say: %s", n, list(got[n]))
				}
			}
		})
	}
}

// take removes a diagnostic of the line with that code and text.
func take(got map[int][]*diag.Diagnostic, line int, code diag.Code, text string) bool {
	for i, d := range got[line] {
		if d.Code == code && strings.Contains(d.Message, text) {
			got[line] = append(got[line][:i:i], got[line][i+1:]...)
			return true
		}
	}
	return false
}

func list(ds []*diag.Diagnostic) string {
	s := ""
	for _, d := range ds {
		s += fmt.Sprintf("\n%s", diag.Render(d, false))
	}
	return s
}

package tests

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"healc"
	"healc/cmd/healc/driver/manual"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/lang/diag"
	"healc/runtime"
	"healc/stdlib"
)

// TestComing: each row of docs/coming gives here what the page says, on the interpreter, and that is what the other
// system gives: tests/coming has its values, recorded once by record.py there. With -update the page gets the values.
func TestComing(t *testing.T) {
	for _, p := range manual.ComingPages() {
		t.Run(p.Name, func(t *testing.T) {
			if len(p.Rows) < 90 {
				t.Errorf("the page has %d rows, not about a hundred", len(p.Rows))
			}
			file := filepath.Join("..", "docs", "coming", p.Name+".md")
			given := valuesOf(t, p)
			if *update {
				writeGiven(t, file, p, given)
			}
			recorded := recordedFor(t, p)
			for i, r := range p.Rows {
				at := fmt.Sprintf("docs/coming/%s.md:%d: %s", p.Name, r.Line, r.Here)
				if given[i] != r.Gives && !*update {
					t.Errorf("%s gives %s, not %s", at, given[i], r.Gives)
				}
				want, ok := recorded[r.There]
				switch {
				case r.Here == "" && r.Note == "":
					t.Errorf("%s: nothing is said of %s", at, r.There)
				case given[i] == "" || ok && want == "":
				case !ok:
					t.Errorf("%s: tests/coming/%s.json has no value of %s: README.md there says more", at, p.Name,
						r.There)
				case !sameNumbers(given[i], want):
					t.Errorf("%s gives %s, and %s gives %s", at, given[i], r.There, want)
				}
			}
		})
	}
}

// declaration is what a row declares that is no expression.
var declaration = regexp.MustCompile(`^(pub |@\w+ |@\w+\(.*\) )*(fn|const|import|test) `)

// valuesOf runs the rows of a page as one program, and gives what `print` writes of each, on one line.
func valuesOf(t *testing.T, p manual.ComingPage) []string {
	t.Helper()
	var b strings.Builder
	for _, name := range stdlib.Names() {
		fmt.Fprintf(&b, "import %s\n", name)
	}
	var body strings.Builder
	for i, r := range p.Rows {
		switch {
		case r.Here == "":
		case declaration.MatchString(r.Here):
			if _, err := pipeline.Check(diag.NewFile(fmt.Sprintf("%s.md:%d", p.Name, r.Line), r.Here)); err != nil {
				t.Error(err)
			}
		default:
			fmt.Fprintf(&body, "    print_str(\"\\x01%d\\x02\");\n    print(%s);\n", i, r.Here)
		}
	}
	b.WriteString("@io fn main() = {\n")
	for _, v := range p.Values {
		fmt.Fprintf(&b, "    let %s = %s;\n", v.Name, v.Here)
	}
	b.WriteString(body.String() + "}\n")
	var out strings.Builder
	m, err := engine.Compile(b.String(), engine.Options{Backend: heal.Interp, Threads: 1,
		System: &runtime.OS{Out: &out}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("main")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.CallAll(context.Background()); err != nil {
		t.Fatal(err)
	}
	given := make([]string, len(p.Rows))
	for _, part := range strings.Split(out.String(), "\x01")[1:] {
		number, text, _ := strings.Cut(part, "\x02")
		i, err := strconv.Atoi(number)
		if err != nil {
			t.Fatal(err)
		}
		given[i] = oneLine(text)
	}
	return given
}

// oneLine joins the lines of a printed value.
func oneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.ReplaceAll(strings.ReplaceAll(text, "[ ", "["), " ]", "]")
}

// writeGiven writes what the rows give into their page.
func writeGiven(t *testing.T, file string, p manual.ComingPage, given []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, r := range p.Rows {
		r.Gives = given[i]
		lines[r.Line-1] = r.Markdown()
	}
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
		t.Fatal(err)
	}
}

// recordedFor are the values that another system gave, by expression; "" for what only stands there.
func recordedFor(t *testing.T, p manual.ComingPage) map[string]string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("coming", p.Name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]string
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// numeral is a number, a truth value or a sign of a printed value.
var numeral = regexp.MustCompile(`[][(),]|[^][(),\s]+`)

// sameNumbers compares printed values: brackets, and numbers to a few bits of f32.
func sameNumbers(a, b string) bool {
	x, y := numeral.FindAllString(a, -1), numeral.FindAllString(b, -1)
	if len(x) != len(y) {
		return false
	}
	for i := range x {
		u, errU := strconv.ParseFloat(x[i], 64)
		v, errV := strconv.ParseFloat(y[i], 64)
		switch {
		case errU != nil || errV != nil:
			if !strings.EqualFold(x[i], y[i]) {
				return false
			}
		case math.IsNaN(u) || math.IsNaN(v):
			if math.IsNaN(u) != math.IsNaN(v) {
				return false
			}
		case u != v && !(math.Abs(u-v) <= 1e-6*max(math.Abs(u), math.Abs(v), 1)):
			return false
		}
	}
	return true
}

package parser_test

import (
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"healc/lang/diag"
	"healc/lang/parser"

	"github.com/rogpeppe/go-internal/txtar"
)

// seeds returns the sources of the golden archives, the examples of the errors, and odd pieces.
func seeds(tb testing.TB) []string {
	out := []string{
		"", "\xef\xbb\xbffn f() = 1", "\xff", "#", "/*", "/*/", "'", "\"", "'\\", "\"\\", "\\u{", "'\\u{}'", "0x", "1.",
		".1", "1..", "1e", "1_",
		"@", "@a", "@a(", "@a fn", "pub", "pub pub", "fn", "fn f", "fn f(", "fn f[", "fn f() ->", "fn f() =",
		"fn f() {", "const", "const A",
		"import", "import \"", "test", "test \"a\"", "fn f() = (", "fn f() = [", "fn f() = {", "fn f() = |",
		"fn f() = |x", "fn f() = if",
		"fn f() = match x {", "fn f() = let", "fn f() = +/[axis", "fn f() = +/[keep", "fn f() = max/",
		"fn f() = max/x/", "fn f() = x as",
		"fn f() = a[", "fn f() = a[..", "fn f() = a[..by", "fn f() = a.", "fn f() = x |>", "fn f() { return",
		"fn f() { let x = 1 let",
		")", "]", "}", "fn f() = )", "fn f() { ] } }", "fn f() { ( } )", "fn f() { x = ; y }", ";;", "fn f(,) = 1",
		"fn f(x: &mut) = 1",
	}
	for _, e := range diag.Entries() {
		out = append(out, e.Example)
	}
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		tb.Fatalf("no archives in testdata: %v", err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		for _, f := range a.Files {
			if strings.HasSuffix(f.Name, ".heal") {
				out = append(out, string(f.Data))
			}
		}
	}
	return out
}

// check parses text and requires that every span lies in the file and in the span of the node
// around it, and that a BadExpr or BadDecl comes with an error.
func check(t *testing.T, text string) {
	f := diag.NewFile("x.heal", text)
	tree, list := parser.Parse(f)
	inFile := func(s diag.Span) bool {
		return s.File == f && 0 <= s.Start && s.Start <= s.End && s.End <= len(text)
	}
	for _, d := range list.Items {
		if !inFile(d.Primary.Span) {
			t.Errorf("%s is at %d to %d of %d bytes", d.Message, d.Primary.Span.Start, d.Primary.Span.End, len(text))
		}
		if d.Code == "" || d.Message == "" {
			t.Errorf("a diagnostic without code or message: %+v", d)
		}
		diag.Render(d, false)
	}
	var walk func(v reflect.Value, around diag.Span)
	walk = func(v reflect.Value, around diag.Span) {
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() && v.Type() != reflect.TypeFor[*diag.File]() {
				walk(v.Elem(), around)
			}
		case reflect.Slice:
			for i := range v.Len() {
				walk(v.Index(i), around)
			}
		case reflect.Struct:
			name := v.Type().Name()
			if strings.HasPrefix(name, "Bad") && !list.HasErrors() {
				t.Errorf("a %s without an error", name)
			}
			if at := v.FieldByName("Loc"); at.IsValid() {
				s := at.Interface().(diag.Span)
				if !inFile(s) || s.Start < around.Start || s.End > around.End {
					t.Fatalf("the span %d to %d of a %s does not lie in %d to %d\n%q", s.Start, s.End, name,
						around.Start, around.End, text)
				}
				around = s
			}
			for i := range v.NumField() {
				if v.Type().Field(i).Name != "At" {
					walk(v.Field(i), around)
				}
			}
		}
	}
	walk(reflect.ValueOf(tree), diag.Span{File: f, Start: 0, End: len(text)})
}

// TestBroken cuts pieces out of well-formed and malformed sources, doubles them and swaps them.
func TestBroken(t *testing.T) {
	n := 0
	for _, s := range seeds(t) {
		check(t, s)
		step := max(1, len(s)/30)
		if testing.Short() {
			step *= 5
		}
		for i := 0; i < len(s); i += step {
			j := min(i+1+(i*7)%13, len(s))
			for _, text := range []string{s[:i], s[i:], s[:i] + s[j:], s[:j] + s[i:], s[j:] + s[:i]} {
				check(t, text)
				n++
			}
		}
	}
	t.Logf("%d sources", n)
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(check)
}

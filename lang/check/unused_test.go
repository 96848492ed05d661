package check_test

import (
	"strings"
	"testing"

	"healc/lang/check"
	"healc/lang/diag"
	"healc/lang/parser"
)

// TestUnused: which names of a file are never used, in the order of their places.
func TestUnused(t *testing.T) {
	for source, want := range map[string]string{
		"fn f(x: i32) -> i32 = { let y = x; x }":                                       "y",
		"fn f(x: i32) -> i32 = { let _y = x; x }":                                      "",
		"fn f(x: i32, y: i32) -> i32 = x":                                              "",
		"fn f(x: i32) -> i32 = { let x = x + 1; x }":                                   "",
		"fn f(x: i32) -> i32 = { let y = x; let y = y; x }":                            "y",
		"fn f(x: i32) -> i32 = let y = x in x":                                         "y",
		"fn f(x: i32) -> i32 = { let mut y = x; y = 2; y += 1; x }":                    "y",
		"fn f() -> i32 = { let mut y = [1]; y[0] = 2; 1 }":                             "y",
		"fn f() -> i32 = { let mut y = [1]; let i = 0; y[i] = 2; y[0] }":               "",
		"fn f(t: (i32, i32)) -> i32 = { let (a, b) = t; a }":                           "",
		"fn f(t: (i32, i32)) -> i32 = { let (a, b) = t; 1 }":                           "a b",
		"fn f(n: i32) -> i32 = match n { m if m > 2 => 1, k => 2 }":                    "",
		"fn f(v: i32[3]) -> i32[3] = map(|e| 1, v)":                                    "",
		"fn f(v: i32[3]) -> i32[3] = { let y = 2; map(|y| y, v) }":                     "y",
		"fn g() -> i32 = 1\nfn f() -> i32 = 2":                                         "",
		"fn g() -> i32 = 1\npub fn f() -> i32 = 2":                                     "g",
		"fn g() -> i32 = 1\npub fn f() -> i32 = g()":                                   "",
		"fn g() -> i32 = 1\nfn main() -> i32 = 2\ntest \"t\" { assert(g() == 1); }":    "",
		"fn g(n: i32) -> i32 = if n < 1 { 1 } else { g(n - 1) }\nfn main() -> i32 = 2": "g",
		"import math\nfn f() -> f64 = math.PI":                                         "",
		"import parts\nfn f(x: i32[2, 2] sharded(parts.ROWS)) -> i32 = 0":              "",
		"import math as m\nimport nn\nfn f() -> f64 = m.PI":                            "nn",
	} {
		file, errs := parser.Parse(diag.NewFile("test.heal", source))
		if errs.HasErrors() {
			t.Fatal(errs)
		}
		var got []string
		for _, d := range check.Unused(file) {
			_, name, _ := strings.Cut(d.Message, "`")
			name, _, _ = strings.Cut(name, "`")
			got = append(got, name)
			if d.Severity != diag.Warning || d.Code != diag.CodeUnused {
				t.Errorf("%s: %s is no warning", source, d.Message)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s\nnever uses %v, not %q", source, got, want)
		}
	}
}

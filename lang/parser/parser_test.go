package parser_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"healc/lang/ast"
	"healc/lang/diag"
	"healc/lang/parser"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the wanted results in testdata")

// TestGolden parses every `name.heal` of the archives and compares the tree, or the errors when there
// are some, with `name.want` after it.
func TestGolden(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no archives in testdata: %v", err)
	}
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]string{}
		for _, f := range a.Files {
			want[f.Name] = string(f.Data)
		}
		out := &txtar.Archive{Comment: a.Comment}
		for _, f := range a.Files {
			name, ok := strings.CutSuffix(f.Name, ".heal")
			if !ok {
				continue
			}
			t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar")+"/"+name, func(t *testing.T) {
				tree, list := parser.Parse(diag.NewFile(f.Name, string(f.Data)))
				got := list.Error()
				if got == "" {
					got = ast.Dump(tree)
				}
				if got != want[name+".want"] && !*update {
					t.Errorf("got:\n%swant:\n%s", got, want[name+".want"])
				}
				out.Files = append(out.Files, f, txtar.File{Name: name + ".want", Data: []byte(got)})
			})
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(out), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestExamples requires that the example of every syntax error gives exactly its code, and that its
// correction gives none.
func TestExamples(t *testing.T) {
	n := 0
	for _, e := range diag.Entries() {
		if !strings.HasPrefix(string(e.Code), "E01") {
			continue
		}
		n++
		if e.Extern != "" {
			continue // TestLimits
		}
		_, list := parser.Parse(diag.NewFile("example.heal", e.Example))
		if len(list.Items) != 1 || list.Items[0].Code != e.Code {
			t.Errorf("the example of %s gives\n%s", e.Code, list.Error())
		}
		if _, list := parser.Parse(diag.NewFile("fixed.heal", e.Fixed)); list.HasErrors() {
			t.Errorf("the corrected example of %s gives\n%s", e.Code, list.Error())
		}
	}
	if n < 19 {
		t.Errorf("only %d syntax errors are defined", n)
	}
}

// TestLimits parses input that is nested or chained beyond the limits, and just within them.
func TestLimits(t *testing.T) {
	rep := strings.Repeat
	const deep, many = 10000, 100000
	for name, c := range map[string]struct {
		text string
		want diag.Code
	}{
		"parentheses":    {"fn f() = " + rep("(", deep) + "1" + rep(")", deep), diag.CodeTooDeep},
		"open":           {"fn f() = " + rep("(", deep), diag.CodeTooDeep},
		"arrays":         {"fn f() = " + rep("[", deep) + "1" + rep("]", deep), diag.CodeTooDeep},
		"blocks":         {"fn f() " + rep("{", deep) + "1" + rep("}", deep), diag.CodeTooDeep},
		"minus":          {"fn f() = " + rep("-", deep) + "1", diag.CodeTooDeep},
		"reductions":     {"fn f() = " + rep("+/", deep) + "1", diag.CodeTooDeep},
		"folds":          {"fn f() = " + rep("max/", deep) + "1", diag.CodeTooDeep},
		"power":          {"fn f() = 1" + rep(".^ 1", deep), diag.CodeTooDeep},
		"lambdas":        {"fn f() = " + rep("|x| ", deep) + "1", diag.CodeTooDeep},
		"lets":           {"fn f() = " + rep("let x = 1 in ", deep) + "1", diag.CodeTooDeep},
		"let values":     {"fn f() = " + rep("let x = ", deep) + "1", diag.CodeTooDeep},
		"calls":          {"fn f() = " + rep("f(", deep) + "1" + rep(")", deep), diag.CodeTooDeep},
		"indices":        {"fn f() = " + rep("a[", deep) + "1" + rep("]", deep), diag.CodeTooDeep},
		"ifs":            {"fn f() = " + rep("if ", deep) + "1" + rep("{1}", deep), diag.CodeTooDeep},
		"matches":        {"fn f() = " + rep("match x { _ => ", deep) + "1" + rep("}", deep), diag.CodeTooDeep},
		"types":          {"fn f() -> " + rep("(", deep) + "i32" + rep(",i32)", deep) + " = 1", diag.CodeTooDeep},
		"types in types": {"fn f(x: " + rep("f32[x as ", deep) + "i32" + rep("]", deep) + ") = 1", diag.CodeTooDeep},
		"patterns":       {"fn f() = { let " + rep("(", deep) + "x" + rep(",y)", deep) + " = 1; 1 }", diag.CodeTooDeep},
		"comments":       {"fn f() = 1 " + rep("/*", deep) + rep("*/", deep), diag.CodeTooDeep},
		"sum":            {"fn f() = 1" + rep(" + 1", many), diag.CodeTooLong},
		"pipe":           {"fn f() = 1" + rep(" |> f", many), diag.CodeTooLong},
		"casts":          {"fn f() = 1" + rep(" as i32", many), diag.CodeTooLong},
		"call chain":     {"fn f() = f" + rep("()", many), diag.CodeTooLong},
		"else if":        {"fn f() = " + rep("if a {1} else ", many) + "{1}", diag.CodeTooLong},
		"spine of sums":  {"fn f() = " + rep("(", 100) + "1" + rep(rep(" + 1", 200)+")", 100), diag.CodeTooLong},
		"attributes":     {rep("@a(", many) + rep(")", many) + "fn f() = 1", diag.CodeUnexpected},

		"deep, but within": {"fn f() = " + rep("(", 900) + "1" + rep(")", 900), ""},
		"long, but within": {"fn f() = 1" + rep(" + 1", 9900), ""},
		"a long list":      {"fn f() = [1+1" + rep(", 1+1", many) + "]", ""},
		"a long block":     {"fn f() = {" + rep("print(1+1);", many) + "}", ""},
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			tree, list := parser.Parse(diag.NewFile("x.heal", c.text))
			var got diag.Code
			if len(list.Items) > 0 {
				got = list.Items[0].Code
			}
			if got != c.want || len(list.Items) > 1 {
				t.Errorf("got %d errors, the first %q, want one: %q\n%.300s", len(list.Items), got, c.want,
					list.Error())
			}
			if d := time.Since(start); d > 5*time.Second {
				t.Errorf("took %v", d)
			}
			if tree == nil {
				t.Error("no tree")
			}
		})
	}
}

// TestLargeFile parses 10 MB, half of it in one declaration, and 2 MB of no source.
func TestLargeFile(t *testing.T) {
	size := 10 << 20
	if testing.Short() {
		size = 1 << 20
	}
	decl :=
		"fn norm[M, N](x: f32[M, N]) -> f32[M] {\n    let s = +/[axis=1](x .* x); # squares\n" +
			"    sqrt(s[0..M]) .+ 1.5e-3_f32\n}\n\n"
	stmt := "    let s = +/[axis=1](x .* x) + f(a[i, 1..3], 2.0);\n"
	for name, text := range map[string]string{
		"source": strings.Repeat(decl, size/len(decl)/2) + "fn f() {\n" + strings.Repeat(stmt, size/len(stmt)/2) +
			"}\n",
		"garbage": strings.Repeat("\xff)]}? let fn '\n", size/70),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, list := parser.Parse(diag.NewFile("large.heal", text))
			if name != "garbage" && list.HasErrors() {
				t.Errorf("%.300s", list.Error())
			}
			if len(list.Items) > 100 {
				t.Errorf("%d errors", len(list.Items))
			}
			d := time.Since(start)
			t.Logf("%d bytes in %v", len(text), d)
			if d > 30*time.Second {
				t.Errorf("took %v", d)
			}
		})
	}
}

// TestErrorCount: a hundred errors are shown, those of tokens among them, and all are counted.
func TestErrorCount(t *testing.T) {
	for _, c := range []struct {
		text  string
		count int
	}{
		{strings.Repeat("fn f() = )\n", 99), 99},
		{strings.Repeat("fn f() = )\n", 1000), 1000},
		{strings.Repeat("fn f() = ^\n", 1000), 1000},
		{strings.Repeat("fn f() = ^\n", 70) + strings.Repeat("fn f() = )\n", 70), 140},
		{"fn f() = {\n" + strings.Repeat("let = 1;\n", 1000) + "}\n", 1000},
	} {
		_, list := parser.Parse(diag.NewFile("x.heal", c.text))
		if shown := min(c.count, 100); len(list.Items) != shown || list.More != c.count-shown {
			t.Errorf("%.40q...: %d errors, and %d more; want %d", c.text, len(list.Items), list.More, c.count)
		}
	}
}

func BenchmarkParseSmall(b *testing.B) {
	f := diag.NewFile("small.heal",
		"fn dot[N](x: f32[N], y: f32[N]) -> f32 = +/(x .* y)\n\n"+
			"@io fn main() -> i32 = { print(dot([1.0], [2.0])); 0 }\n")
	for b.Loop() {
		parser.Parse(f)
	}
}

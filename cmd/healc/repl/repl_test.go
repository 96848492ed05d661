package repl

import (
	"context"
	"errors"
	"strings"
	"testing"

	heal "healc"
	"healc/internal/engine"
	"healc/lang/diag"
)

func TestIncomplete(t *testing.T) {
	for text, want := range map[string]bool{
		"": false, "1": false, "1 +": true, "1 + 2": false, "f(": true, "f(1": true, "f(1)": false, "let x =": true,
		"let x = 1":  false,
		"let x = 1;": false, "[1,": true, "{ 1;": true, "{ 1; }": false, "fn f(x: f32) -> f32 =": true,
		"fn f(x: f32) -> f32": false,
		"@io":                 true, "@io\nfn f() = print(1)": false, "pub": true, "pub fn f() = 1": false,
		"/* a":    true,
		"/* a */": false, "# a": false,
		"\"a": false, "true": false, "if true { 1 } else": true, "x |>": true, "x as": true, "}": false, "x .*": true,
		"match x {":   true,
		"import math": false, "x[0..": true, "!": true,
	} {
		if got := Incomplete(text); got != want {
			t.Errorf("Incomplete(%q) is %v", text, got)
		}
	}
}

// eval evaluates inputs one after the other and returns what they print and the last error.
func eval(t *testing.T, s *Session, inputs ...string) (string, error) {
	t.Helper()
	var out strings.Builder
	s.Out = &out
	var err error
	for _, in := range inputs {
		if strings.HasPrefix(in, ":") {
			err = s.Command(context.Background(), in)
		} else {
			err = s.Eval(context.Background(), in)
		}
	}
	return out.String(), err
}

func session(t *testing.T) *Session {
	s := &Session{Opts: engine.Options{Backend: heal.Interp}}
	t.Cleanup(s.Close)
	return s
}

func TestEval(t *testing.T) {
	for _, c := range []struct {
		inputs []string
		want   string
	}{
		{[]string{"1 + 2"}, "3\n"},
		{[]string{"let x = 2", "let y = x * x; let z = y + x", "z"}, "6\n"},
		{[]string{"let x = 2", "let x = 2.5", "x"}, "2.5\n"},
		{[]string{"let (a, (b, c)) = (1, (2, true))", "b", "c"}, "2\ntrue\n"},
		{[]string{"let t = (1, 2.0)", "let (a, b) = t", "b", "t"}, "2.0\n1\n2.0\n"},
		{[]string{"let mut x = [1, 2]", "let y = x", "x[0] = 7", "x", "y"}, "[7 2]\n[1 2]\n"},
		{[]string{"let mut x = 1", "x += 1; x * 10", "x"}, "20\n2\n"},
		{[]string{"let mut s = \"a\"", "s = s ++ \"b\"", "s", "len(s)"}, "ab\n2\n"},
		{[]string{"let s = \"x\\\"\\\\\\t\\u{1F600}\"", "len(s)", "s"}, "8\nx\"\\\t\U0001F600\n"},
		{[]string{"let t = (\"a\", 2)", "t", "let (a, b) = t", "a ++ \"b\""}, "a\n2\nab\n"},
		{[]string{"let mut t = (\"a\", [1])", "t = (\"b\", [2])", "t"}, "b\n[2]\n"},
		{[]string{"let x = print_i32(3)", "x", "x"}, "3\n3\n3\n"}, // the effect happens once
		{[]string{"print(1)", "()"}, "1\n"},
		{[]string{"let u = ()", "u"}, ""},
		{[]string{"fn f(x: i32) -> i32 = x", "fn g(x: i32) -> i32 = 10 * f(x)", "fn f(x: i32) -> i32 = x + 1", "g(1)"},
			"20\n"},
		{[]string{"let f = 1", "fn f(x: i32) -> i32 = x", "f(4)"}, "4\n"},
		{[]string{"const N: nat = 2", "zeros[i32, N]()", "const N: nat = 3", "zeros[i32, N]()"}, "[0 0]\n[0 0 0]\n"},
		{[]string{"fn f(x: i32) -> i32 = g(x)\nfn g(x: i32) -> i32 = x", "f(1)"}, "1\n"},
		{[]string{"let x = 1 in x + 1", "{ let y = 2; y * y }"}, "2\n4\n"},
		{[]string{"import math", "import math as m", "m.square(3)"}, "9\n"},
		{[]string{"let x = 1 # a comment", "x # another"}, "1\n"},
		{[]string{"let x = 1", ":clear", ":list"}, ""},
		{[]string{"let x = 1", ":t x + 1", ":list"}, "i32\nlet x: i32\n"},
	} {
		got, err := eval(t, session(t), c.inputs...)
		if err != nil || got != c.want {
			t.Errorf("%q prints %q, %v; want %q", c.inputs, got, err, c.want)
		}
	}
}

// TestErrors: an error has its place in what the user wrote, and changes nothing.
func TestErrors(t *testing.T) {
	for _, c := range []struct {
		inputs     []string
		line, from int
		text       string // of the input that is to blame, and what is marked
	}{
		{[]string{"1 + nosuch"}, 1, 5, "nosuch"},
		{[]string{"1;\n\n2 + nosuch"}, 3, 5, "nosuch"},
		{[]string{"let x = 1", "x[0]"}, 1, 1, "x"},
		{[]string{"let n = 0", "let x = 7; x / n"}, 1, 12, "x"},
		{[]string{"fn f(x: i32) -> i32 = x", "fn g(x: i32) -> i32 = f(x)", "fn f(x: f32) -> f32 = x"}, 1, 25, "x"},
		{[]string{"fn f(n: i32) -> i32 = 1 / n", "f(0)"}, 1, 23, "1"},
		{[]string{"zeros[f32, N]()"}, 1, 12, "N"},
		{[]string{"return 1"}, 1, 1, "return 1"},
		{[]string{"let x ="}, 1, 8, ""},
	} {
		s := session(t)
		_, err := eval(t, s, c.inputs...)
		var list *diag.List
		if !errors.As(err, &list) {
			t.Errorf("%q gives %v", c.inputs, err)
			continue
		}
		at := list.Items[0].Primary.Span
		pos := at.Pos()
		if pos.File != inputName || pos.Line != c.line || pos.Col != c.from || !strings.HasPrefix(at.Text(), c.text) {
			t.Errorf("%q: the place is %s, %q; want %d:%d, %q", c.inputs, pos, at.Text(), c.line, c.from, c.text)
		}
		if strings.Contains(list.Error(), "__") {
			t.Errorf("%q: the message names what no user wrote:\n%v", c.inputs, list)
		}
		if got, err := eval(t, s, "1 + 1"); got != "2\n" || err != nil {
			t.Errorf("after %q, 1 + 1 prints %q, %v", c.inputs, got, err)
		}
	}
}

// TestAtomic: a failing input keeps none of its parts.
func TestAtomic(t *testing.T) {
	s := session(t)
	if _, err := eval(t, s, "let mut x = 1", "let n = 0"); err != nil {
		t.Fatal(err)
	}
	for _, in := range []string{"x = 5; let y = x / n", "fn f(x: i32) -> i32 = x\nfn g(x: i32) -> f32 = x",
		"let n = 7; let z = nosuch"} {
		if _, err := eval(t, s, in); err == nil {
			t.Fatalf("%q is right", in)
		}
	}
	if got, err := eval(t, s, "x", "n", ":list"); err != nil || got != "1\n0\nlet mut x: i32\nlet n: i32\n" {
		t.Errorf("the session has %q, %v", got, err)
	}
}

func TestCommands(t *testing.T) {
	for _, in := range []string{":nosuch", ":", ":type", ":type let x = 1", ":ir nosuch", ":type nosuch + 1"} {
		if _, err := eval(t, session(t), in); err == nil || errors.Is(err, ErrQuit) {
			t.Errorf("%s gives %v", in, err)
		}
	}
	if _, err := eval(t, session(t), ":quit"); !errors.Is(err, ErrQuit) {
		t.Errorf(":quit gives %v", err)
	}
	got, err := eval(t, session(t), "fn id[T: num](x: T) -> T = x", ":ir id[f64]")
	if err != nil || !strings.Contains(got, "(%x: f64) -> f64") {
		t.Errorf(":ir of an instance prints %q, %v", got, err)
	}
}

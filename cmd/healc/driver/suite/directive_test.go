package suite

import (
	"slices"
	"strings"
	"testing"

	"healc/lang/diag"
)

func TestExpectations(t *testing.T) {
	x, err := expectations(diag.NewFile("f.heal", strings.Join([]string{
		"# A test of everything.", "#", "# expect exit 42", `# expect stdout "a\n"`, `# expect stdout "\u{e9}\x41"`,
		`# expect runtime-error "zero"`, `# args --entry f --in x='[1, 2]'`, "# args --threads 2",
		"# backend cpu interp",
		"fn main() -> i32 = 42", "# expect exit 43",
	}, "\n")))
	if err != nil {
		t.Fatal(err)
	}
	if x.exit != 42 || x.runtime != "zero" || x.lines != 7 {
		t.Errorf("read %+v", x)
	}
	if x.stdout == nil || *x.stdout != "a\néA" {
		t.Errorf("stdout is %v", x.stdout)
	}
	if !slices.Equal(x.args, []string{"--entry", "f", "--in", "x=[1, 2]", "--threads", "2"}) {
		t.Errorf("args are %q", x.args)
	}
	if !slices.Equal(x.backends, []string{"cpu", "interp"}) {
		t.Errorf("backends are %q", x.backends)
	}
}

func TestWrongDirectives(t *testing.T) {
	for text, want := range map[string]string{
		"# expect":                                    "nothing to expect",
		"# expect success":                            "nothing to expect",
		"# expect exit":                               "no exit code",
		"# expect exit 256":                           "no exit code",
		"# expect exit -1":                            "no exit code",
		"# expect stdout abc":                         "needs a text in quotes",
		`# expect stdout "abc`:                        "needs a text in quotes",
		`# expect stdout "a" "b"`:                     "needs a text in quotes",
		`# expect stdout "\q"`:                        "needs a text in quotes",
		"# expect error 203":                          "no error code",
		`# expect compile-error ""`:                   "an empty text",
		"# args --in 'x=1":                            "a quote is never closed",
		"# backend":                                   "names no backend",
		"# backend cpu tpu":                           `no backend "tpu"`,
		"# expect error E0203\n# expect stdout \"a\"": "neither prints",
	} {
		_, err := expectations(diag.NewFile("f.heal", text+"\nfn main() -> i32 = 0\n"))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives the error %v, not one with %q", text, err, want)
		}
	}
}

func TestSplitWords(t *testing.T) {
	for text, want := range map[string][]string{
		"":                        nil,
		"  a\tb  ":                {"a", "b"},
		`a'b c'd`:                 {"ab cd"},
		`'' ""`:                   {"", ""},
		`"a \"b\" \\ \n" 'c\'`:    {`a "b" \ \n`, `c\`},
		`--in x='[[1, 2]]' --out`: {"--in", "x=[[1, 2]]", "--out"},
	} {
		got, err := splitWords(text)
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%q splits into %q, %v, not %q", text, got, err, want)
		}
	}
}

func TestDifference(t *testing.T) {
	for _, c := range []struct{ want, got, text string }{
		{"a\nb\n", "a\nc\n", "  line 2, expected: \"b\\n\"\n  line 2, but got:  \"c\\n\""},
		{"a\n", "a\nb\n", "  line 2, expected: (the end)\n  line 2, but got:  \"b\\n\""},
		{"a\n", "a", "  line 1, expected: \"a\\n\"\n  line 1, but got:  \"a\""},
	} {
		if got := difference(c.want, c.got); got != c.text {
			t.Errorf("%q against %q:\n%s", c.want, c.got, got)
		}
	}
}

package tests

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"healc/ir"
	"healc/lang/check"
	"healc/lang/lexer"
	"healc/lang/types"
	"healc/stdlib"
)

// manualNames are the names that the manual has pages for.
func manualNames() []string {
	out := slices.Concat(lexer.Keywords, typeNames())
	for _, op := range lexer.Operators {
		if !strings.Contains("( ) { } , ; : . -> => | & @ ! =", op) {
			out = append(out, op)
		}
	}
	for _, f := range check.Functions() {
		out = append(out, f.Name)
	}
	for _, op := range ir.Ops() {
		out = append(out, op.Name)
	}
	return append(out, stdlib.Names()...)
}

// typeNames are the element types and what else is a type by name.
func typeNames() []string {
	var out []string
	for _, name := range strings.Fields(
		"bool i8 i16 i32 i64 u8 u16 u32 u64 f16 bf16 f32 f64 f8e4m3 f8e5m2 e8m0 i4 f4e2m1") {
		if _, ok := types.ParseDType(name); ok {
			out = append(out, name)
		}
	}
	return append(out, "unit", "string")
}

// wordLists are the lists of words in the editors' files, by the name that stands before each.
func wordLists() map[string][]string {
	constants := []string{"true", "false"}
	declare := strings.Fields("fn const let mut pub import test")
	lists := map[string][]string{"constants": constants, "declarations": declare, "types": typeNames(),
		"bounds": {"any", "float", "int", "nat", "num", "tuple"}}
	for _, k := range lexer.Keywords {
		if !slices.Contains(constants, k) && !slices.Contains(declare, k) {
			lists["control"] = append(lists["control"], k)
		}
	}
	for _, f := range check.Functions() {
		lists["functions"] = append(lists["functions"], f.Name)
	}
	return lists
}

const (
	vscodeGrammar = "../editors/vscode/syntaxes/heal.tmLanguage.json"
	vimSyntax     = "../editors/vim/syntax/heal.vim"
)

// operatorRule is the rule of operators in the TextMate grammar, without its expression.
var operatorRule = regexp.MustCompile(`("name": "keyword\.operator\.heal",\s*"match": ")[^"]*(")`)

// operatorMatch is that expression, as JSON has it: the operators of the lexer, the longest first, without brackets and
// points.
func operatorMatch() string {
	var out []string
	for _, op := range lexer.Operators {
		if !strings.Contains("( ) [ ] { } , ; : .", op) {
			out = append(out, strings.ReplaceAll(regexp.QuoteMeta(op), `\`, `\\`))
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return len(b) - len(a) })
	return strings.Join(out, "|")
}

// TestWordLists: the editors know the keywords, types, functions and operators of the language. With -update the lists
// are rewritten.
func TestWordLists(t *testing.T) {
	for _, c := range []struct {
		path string
		list func(name string) *regexp.Regexp // with what stands before, the words, and what stands after
		sep  string
	}{
		{vscodeGrammar, func(name string) *regexp.Regexp {
			return regexp.MustCompile(`("comment": "` + name +
				`",\s*"name": "[^"]*",\s*"match": "\\\\b\(\?:)([a-z0-9_|]*)(\))`)
		}, "|"},
		{vimSyntax, func(name string) *regexp.Regexp {
			return regexp.MustCompile(`(?m)(" ` + name + `\nsyn keyword \S+)((?: [a-z0-9_]+)*)()$`)
		}, " "},
	} {
		text, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		got := string(text)
		for name, words := range wordLists() {
			re := c.list(name)
			if re.FindString(got) == "" {
				t.Errorf("%s has no list of %s", c.path, name)
				continue
			}
			joined := strings.Join(words, c.sep)
			if c.sep == " " {
				joined = " " + joined
			}
			got = re.ReplaceAllString(got, "${1}"+strings.ReplaceAll(joined, "$", "$$")+"${3}")
		}
		got = operatorRule.ReplaceAllString(got, "${1}"+strings.ReplaceAll(operatorMatch(), "$", "$$")+"${2}")
		if *update {
			if err := os.WriteFile(c.path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if got != string(text) {
			t.Errorf("the lists of words in %s are old: run go test ./tests -run WordLists -update", c.path)
		}
	}
}

// grammarRule is a rule of a TextMate grammar.
type grammarRule struct {
	Name, Match, Begin, End string
	Patterns                []grammarRule
}

// TestGrammar: the JSON of the VS Code extension parses, the package names files that are there, every
// expression of the grammar is one, and tokens get the scope that they should.
func TestGrammar(t *testing.T) {
	var grammar struct {
		ScopeName  string
		Patterns   []struct{ Include string }
		Repository map[string]grammarRule
	}
	readJSON(t, vscodeGrammar, &grammar)
	var order []grammarRule
	var compile func(r grammarRule)
	compile = func(r grammarRule) {
		for _, e := range []string{r.Match, r.Begin, r.End} {
			if _, err := regexp.Compile(e); err != nil {
				t.Errorf("%s: %v", r.Name, err)
			}
		}
		for _, p := range r.Patterns {
			compile(p)
		}
	}
	for _, p := range grammar.Patterns {
		r, ok := grammar.Repository[strings.TrimPrefix(p.Include, "#")]
		if !ok {
			t.Errorf("%s is not in the repository", p.Include)
		}
		compile(r)
		if len(r.Patterns) > 0 && r.Match == "" && r.Begin == "" {
			order = append(order, r.Patterns...)
		} else {
			order = append(order, r)
		}
	}
	for text, want := range map[string]string{
		"# a": "comment.line", "/* a": "comment.block", `"text"`: "string.quoted", `'\n'`: "constant.character",
		"fn ":    "keyword.declaration",
		"match ": "keyword.control", "f32[": "support.type", "softplus(": "support.function",
		"0xFF_u8": "constant.numeric", "1e-3": "constant.numeric",
		"2.5_f64": "constant.numeric", "true": "constant.language", "@io fn": "storage.modifier",
		"|> f": "keyword.operator", "&&/(": "keyword.operator",
		".^ 2": "keyword.operator", "..=4": "keyword.operator", "float,": "support.type",
	} {
		got := ""
		for _, r := range order { // the first rule that matches at the start wins, as in an editor
			for _, e := range []string{r.Match, r.Begin} {
				if at := regexp.MustCompile(e).FindStringIndex(text); e != "" && at != nil && at[0] == 0 && got == "" {
					got = r.Name
				}
			}
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%q gets the scope %q, not %s", text, got, want)
		}
	}
	var pack struct {
		Name        string
		Contributes struct {
			Languages []struct {
				ID, Configuration string
				Extensions        []string
			}
			Grammars []struct{ Language, ScopeName, Path string }
		}
	}
	readJSON(t, "../editors/vscode/package.json", &pack)
	if len(pack.Contributes.Languages) != 1 || len(pack.Contributes.Grammars) != 1 {
		t.Fatal("the package contributes no language or no grammar")
	}
	l, g := pack.Contributes.Languages[0], pack.Contributes.Grammars[0]
	if !slices.Contains(l.Extensions, ".heal") || l.ID != g.Language || g.ScopeName != grammar.ScopeName {
		t.Errorf("language %v and grammar %v do not fit", l, g)
	}
	for _, path := range []string{l.Configuration, g.Path} {
		readJSON(t, filepath.Join("..", "editors", "vscode", path), &struct{}{})
	}
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

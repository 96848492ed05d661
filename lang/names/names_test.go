package names_test

import (
	"fmt"
	"io/fs"
	"math/rand"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"healc/lang/diag"
	"healc/lang/names"
	"healc/lang/parser"
)

// mark is what TestTable says of the name before it.
var mark = regexp.MustCompile(`§(=?)(\d+|-)`)

// TestTable: `§k` behind a name says that it means symbol number k, `§-` that the file declares none, `§=k` that it is
// assigned.
func TestTable(t *testing.T) {
	const marked = `import nn
import "./layers" as l
const SIZE: nat = 4
fn f[N](x: f32[N§4], y: f32[SIZE§2]) -> f32[N§4] = {
  let mut s = x§5 .+ sum§-(y§6);
  let (a, _) = (s§7, l§1.scale§-(nn§0.relu§-(x§5)));
  s§=7 = a§8;
  s§=7[N§4 - 1] = 0.0;
  let s = map§-(|x| x§9 * a§8, s§7);
  let k = match sum§-(s§10) as i32 { 0 => 1, n if n§11 > 3 => n§11, _ => 2 };
  let inner = k§12 in f§3(s§10, y§6)
}
`
	type want struct {
		at, symbol int // the symbol is -1 for none
		assigned   bool
	}
	var wants []want
	text, rest := "", marked
	for at := mark.FindStringSubmatchIndex(rest); at != nil; at = mark.FindStringSubmatchIndex(rest) {
		text += rest[:at[0]]
		w := want{len(text), -1, at[2] < at[3]}
		if number := rest[at[4]:at[5]]; number != "-" {
			w.symbol, _ = strconv.Atoi(number)
		}
		wants = append(wants, w)
		rest = rest[at[1]:]
	}
	text += rest
	file := diag.NewFile("t.heal", text)
	tree, list := parser.Parse(file)
	if list.HasErrors() {
		t.Fatalf("%v", list)
	}
	table := names.Of(tree)
	for i, s := range table.Symbols {
		t.Logf("%d: %s %s at %s", i, s.Kind, s.Name, s.Decl.Pos())
	}
	if len(wants) != len(table.Uses) {
		t.Errorf("%d names are used, not %d", len(table.Uses), len(wants))
	}
	for _, w := range wants {
		u, ok := table.At(w.at)
		switch {
		case !ok || u.Span.End != w.at:
			t.Errorf("%s: nothing is used here", file.Pos(w.at))
		case u.Assigned != w.assigned:
			t.Errorf("%s: %s is assigned: %v", file.Pos(w.at), u.Name, u.Assigned)
		case w.symbol < 0 && u.Symbol != nil || w.symbol >= 0 && u.Symbol != table.Symbols[w.symbol]:
			t.Errorf("%s: %s is %v, not %d", file.Pos(w.at), u.Name, u.Symbol, w.symbol)
		}
	}
	// Within the lambda, its x hides the parameter, and s is still the variable that may change.
	at := strings.Index(file.Text, "x * a")
	seen := map[string]int{}
	for _, s := range table.Visible(at) {
		for i, o := range table.Symbols {
			if o == s {
				seen[s.Name] = i
			}
		}
	}
	if want := fmt.Sprint(map[string]int{"nn": 0, "l": 1, "SIZE": 2, "f": 3, "N": 4, "x": 9, "y": 6, "s": 7,
		"a": 8}); fmt.Sprint(seen) != want {
		t.Errorf("seen are %v, not %s", seen, want)
	}
}

// TestBroken: a file that is cut off anywhere still has its names, each in its place.
func TestBroken(t *testing.T) {
	rng := rand.New(rand.NewSource(1))
	err := filepath.WalkDir("../../examples", func(path string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".heal" {
			return err
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for range 3 {
			from := rng.Intn(len(b))
			to := min(len(b), from+rng.Intn(20))
			file := diag.NewFile(path, string(b[:from])+string(b[to:]))
			tree, _ := parser.Parse(file)
			for _, u := range names.Of(tree).Uses {
				if u.Span.Text() != u.Name {
					t.Errorf("%s without %d:%d: %q is called %q", path, from, to, u.Span.Text(), u.Name)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

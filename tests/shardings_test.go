package tests

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"healc/ir"
	_ "healc/ir/exchange"
	_ "healc/ir/ops"
)

// shardingRules is the table of docs/distributed.md: what becomes of each operation where operands are sharded.
func shardingRules() string {
	by, inner := map[ir.ShardingRule][]string{}, map[ir.ShardingRule][]string{}
	for _, d := range ir.Ops() {
		name := d.FunctionName()
		switch {
		case d.Surface != "":
			name = d.Surface
		case name == "": // made by the compiler, or of an index: shown where the rule has no others
			inner[d.Sharding] = append(inner[d.Sharding], "`"+d.Name+"`")
			continue
		}
		if quoted := "`" + strings.ReplaceAll(name, "|", `\|`) + "`"; !slices.Contains(by[d.Sharding], quoted) {
			by[d.Sharding] = append(by[d.Sharding], quoted)
		}
	}
	var b strings.Builder
	b.WriteString("| operations | what is sent |\n|---|---|\n")
	for r := ir.ShardElements; r <= ir.ShardAs; r++ {
		names := by[r]
		if len(names) == 0 {
			names = inner[r]
		}
		if len(names) > 0 {
			slices.Sort(names)
			fmt.Fprintf(&b, "| %s: %s | %s |\n", r, strings.Join(names, " "), r.Text())
		}
	}
	return b.String()
}

// TestGeneratedShardings compares the table in docs/distributed.md with the table of operations.
func TestGeneratedShardings(t *testing.T) {
	const begin, end = "<!-- rules, generated -->\n", "<!-- end of rules -->\n"
	path := filepath.Join("..", "docs", "distributed.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	have, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s has no place for the rules", path)
	}
	want := shardingRules()
	if *update {
		if err := os.WriteFile(path, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have != want {
		t.Errorf("%s does not have the rules of the table: run go test ./tests -run Generated -update", path)
	}
}

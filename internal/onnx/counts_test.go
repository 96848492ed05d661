package onnx_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"healc/internal/onnx"
)

// page has the operators and the counts, between two lines.
const page = "../../docs/onnx.md"

// counts are how many tests of each operator came out how.
type counts struct {
	of  map[string]map[string]int
	all map[string]int
}

func newCounts() *counts {
	return &counts{map[string]map[string]int{}, map[string]int{}}
}

// add counts a test: for its operator, if its model is one node, else for models of several.
func (c *counts) add(n *backendTest, how string) {
	op := several
	if m, err := onnx.Decode(n.model); err == nil && len(m.Graph.Nodes) == 1 {
		op = m.Graph.Nodes[0].Op
	}
	if c.of[op] == nil {
		c.of[op] = map[string]int{}
	}
	c.of[op][how]++
	c.all[how]++
}

// several is the line of models of several nodes.
const several = "several nodes"

func total(of map[string]int) int {
	n := 0
	for _, v := range of {
		n += v
	}
	return n
}

func (c *counts) summary() string {
	return fmt.Sprintf("of %d tests %d pass, %d have models that are refused, %d differ, %d fail", total(c.all),
		c.all["passed"], c.all["refused"], c.all["differ"], c.all["failed"])
}

var between = regexp.MustCompile(`(?s)(<!-- operators -->\n).*(<!-- end -->)`)

// write puts the counts into the page.
func (c *counts) write() error {
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "Of %d tests %d pass; %d have models that are refused; %d differ.\n\n", total(c.all),
		c.all["passed"], c.all["refused"], c.all["differ"])
	out.WriteString("| operator | from version | tests that pass |\n|---|---|---|\n")
	known := onnx.Operators()
	for _, op := range slices.Sorted(maps.Keys(known)) {
		fmt.Fprintf(&out, "| %s | %d | %d of %d |\n", op, known[op], c.of[op]["passed"], total(c.of[op]))
	}
	fmt.Fprintf(&out, "| models of several nodes | | %d of %d |\n\n", c.of[several]["passed"], total(c.of[several]))
	var others []string
	for _, op := range slices.Sorted(maps.Keys(c.of)) {
		if _, ok := known[op]; !ok && op != several {
			others = append(others, fmt.Sprintf("%s (%d)", op, total(c.of[op])))
		}
	}
	fmt.Fprintf(&out, "These operators have tests, and are not imported: %s.\n", strings.Join(others, ", "))
	return os.WriteFile(page, between.ReplaceAll(text, []byte("${1}"+out.String()+"$2")), 0o644)
}

// TestPage: docs/onnx.md has every operator that is imported, since when, and no other.
func TestPage(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]int64{}
	for _, m := range regexp.MustCompile(`(?m)^\| (\w+) \| (\d+) \|`).FindAllStringSubmatch(string(text), -1) {
		var since int64
		fmt.Sscan(m[2], &since)
		listed[m[1]] = since
	}
	if want := onnx.Operators(); !maps.Equal(listed, want) {
		t.Errorf("docs/onnx.md has the operators\n%v\nand should have\n%v\n%s=FOLDER go test -run "+
			"BackendFolder -update writes them", listed, want, dataEnv)
	}
}

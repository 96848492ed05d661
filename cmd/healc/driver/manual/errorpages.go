package manual

import (
	"fmt"
	"strings"

	"healc/internal/pipeline"
	"healc/lang/diag"
)

// errorBlocks are the kinds of error codes by their first digits, in order.
var errorBlocks = []struct{ prefix, title string }{
	{"E01", "Syntax"}, {"E02", "Types and shapes"}, {"E03", "Names, modules and effects"},
	{"E04", "Differentiation"}, {"E05", "Targets"}, {"E06", "Running"},
	{"E07", "Warnings"}, {"E08", "Ranks"},
}

// ErrorIndex is the first page of docs/errors.
func ErrorIndex() string {
	var b strings.Builder
	b.WriteString("# Error codes\n\nEvery code keeps its meaning forever. `healc explain E0203` prints a page.\n")
	for _, block := range errorBlocks {
		begun := false
		for _, e := range diag.Entries() {
			if !strings.HasPrefix(string(e.Code), block.prefix) {
				continue
			}
			if !begun {
				fmt.Fprintf(&b, "\n## %s\n\n| code | |\n|---|---|\n", block.title)
				begun = true
			}
			fmt.Fprintf(&b, "| [%s](%s.md) | %s |\n", e.Code, e.Code, strings.ReplaceAll(e.Title, "|", `\|`))
		}
	}
	return b.String()
}

// ErrorMarkdown is the page of a code in docs/errors. The programs in it are checked with those of the other
// documents: the first line of one that is wrong says its code.
func ErrorMarkdown(e diag.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s: %s\n\n%s\n", e.Code, e.Title, e.Text)
	if e.Extern != "" {
		fmt.Fprintf(&b, "\nGiven for: %s.\n", e.Extern)
	}
	if e.Example != "" {
		mark := fmt.Sprintf("# error %s\n", e.Code)
		if e.Runtime {
			mark = ""
			b.WriteString("\nThis program compiles, and fails when it runs:\n")
		}
		if e.Warning {
			mark = ""
		}
		fmt.Fprintf(&b, "\n```heal\n%s%s```\n", mark, e.Example)
		prog, err := pipeline.Check(diag.NewFile("example.heal", e.Example))
		if err == nil && len(prog.Warnings) > 0 {
			err = &diag.List{Items: prog.Warnings}
		}
		if err != nil {
			fmt.Fprintf(&b, "\n%s", indented(err.Error()))
		}
	}
	if e.Fixed != "" {
		fmt.Fprintf(&b, "\nPut right:\n\n```heal\n%s```\n", e.Fixed)
	}
	return b.String()
}

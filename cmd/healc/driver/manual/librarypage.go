package manual

import (
	"fmt"
	"strings"

	"healc/stdlib"
)

// LibraryMarkdown is docs/library.md: every module with the comment at its head, and every public declaration with the
// comment above it, as `healc doc` shows them.
func LibraryMarkdown() string {
	var b strings.Builder
	b.WriteString(
		"# The standard library\n\n" +
			"Made from the comments of `stdlib/*.heal` by `go test ./tests -run Pages -update`. " +
			"A module is made\n" +
			"visible by `import nn`, and its functions are called as `nn.softmax(x)`. The library is written in " +
			"Heal: a\n" +
			"function of it costs what the same text in your program would.\n")
	paragraph := func(doc string) {
		for _, line := range wrap(doc, 110) {
			fmt.Fprintln(&b, line)
		}
	}
	for _, name := range stdlib.Names() {
		l, _ := LookupLibrary(name)
		fmt.Fprintf(&b, "\n## %s\n\n", name)
		paragraph(l.Doc)
		for _, e := range l.Entries {
			fmt.Fprintf(&b, "\n### `%s`\n\n", strings.TrimPrefix(e.Signature, "pub "))
			paragraph(e.Doc)
		}
	}
	return b.String()
}

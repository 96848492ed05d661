package manual

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"healc/cmd/healc/driver"
	"healc/internal/pipeline"
	"healc/lang/diag"
)

// ErrorPage writes the page of an error code, with what healc says about its example.
func ErrorPage(w io.Writer, code string) error {
	code = strings.ToUpper(code)
	entry, ok := diag.Lookup(diag.Code(code))
	if !ok {
		var codes []string
		for _, e := range diag.Entries() {
			codes = append(codes, string(e.Code))
		}
		e := driver.Usagef("there is no error code %s", code)
		if near := driver.Nearest(code, codes); near != "" {
			e.Help = "the nearest is " + near
		}
		return e
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s: %s\n\n", entry.Code, entry.Title)
	for _, l := range wrap(entry.Text, 100) {
		fmt.Fprintln(b, l)
	}
	if entry.Example != "" {
		fmt.Fprintf(b, "\nWrong:\n\n%s", indented(entry.Example))
		prog, err := pipeline.Check(diag.NewFile("example.heal", entry.Example))
		if err == nil && len(prog.Warnings) > 0 {
			err = &diag.List{Items: prog.Warnings}
		}
		if err != nil {
			fmt.Fprintf(b, "\n%s", indented(err.Error()))
		}
	}
	if entry.Fixed != "" {
		fmt.Fprintf(b, "\nRight:\n\n%s", indented(entry.Fixed))
	}
	if entry.Extern != "" {
		fmt.Fprintf(b, "\nIt is given for %s.\n", entry.Extern)
	}
	return b.Flush()
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	if !strings.HasSuffix(text, "\n") {
		b.WriteByte('\n')
	}
	return b.String()
}

// wrap breaks a paragraph into lines of at most width bytes, where words allow it.
func wrap(text string, width int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(out, line)
}

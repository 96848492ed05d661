package explain

import (
	"fmt"
	"strconv"
	"strings"

	"healc/cmd/healc/driver"
	"healc/ir/kernel"
	"healc/lang/diag"
)

// fused lists the operations of a kernel under the source lines that they come from, in order of execution.
func (x *explanation) fused(notes []kernel.Note, indent string) {
	type place struct {
		file *diag.File
		line int
	}
	var places []place
	ops := map[place][]string{}
	for _, n := range notes {
		at := place{}
		if n.At.Valid() {
			at = place{n.At.File, n.At.Pos().Line}
		}
		if ops[at] == nil {
			places = append(places, at)
		}
		ops[at] = append(ops[at], n.Op)
	}
	for _, at := range places {
		name, text := lineNumber(at.line), driver.Cut(strings.TrimSpace(at.file.Line(at.line)), 80)
		if at.file != nil && at.file.Name != x.home {
			name = at.file.Name + ":" + name
		}
		x.line("%s%-4s %s", indent, name, strings.Join(repeated(ops[at]), ", "))
		if text != "" {
			x.line("%s     | %s", indent, text)
		}
	}
}

func lineNumber(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// repeated writes neighbours that are the same as one with a count.
func repeated(ops []string) []string {
	var out []string
	for i := 0; i < len(ops); {
		n := 1
		for i+n < len(ops) && ops[i+n] == ops[i] {
			n++
		}
		if n > 1 {
			out = append(out, fmt.Sprintf("%s (%d times)", ops[i], n))
		} else {
			out = append(out, ops[i])
		}
		i += n
	}
	return out
}

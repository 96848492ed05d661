package explain

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"healc/cmd/healc/driver"
)

// noteLine is a note of a kernel: the operation, and its line, of another file than the one that is explained if it has
// a name.
var noteLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(.*) \((?:line |(.*):)(\d+)\)$`) })

// fused lists the operations of a kernel under the source lines that they come from, in order of execution.
func (x *explanation) fused(notes []string, indent string) {
	type place struct {
		file string
		line int
	}
	var places []place
	ops := map[place][]string{}
	for _, n := range notes {
		at := place{}
		if m := noteLine().FindStringSubmatch(n); m != nil {
			n, at.file = m[1], m[2]
			at.line, _ = strconv.Atoi(m[3]) // the expression has digits there
		}
		if ops[at] == nil {
			places = append(places, at)
		}
		ops[at] = append(ops[at], n)
	}
	for _, at := range places {
		name, text := lineNumber(at.line), ""
		if at.file != "" {
			name = at.file + ":" + name
		}
		if file := x.files[cmp.Or(at.file, x.home)]; at.line > 0 && file != nil {
			text = driver.Cut(strings.TrimSpace(file.Line(at.line)), 80)
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

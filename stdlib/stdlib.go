// Package stdlib holds the standard library of Heal as source: the files *.heal of this folder, embedded.
// A program names one with `import nn` and calls its functions as `nn.f(...)`. The files are documented by
// the comments before their functions and tested by their `test` blocks.
package stdlib

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed *.heal
var files embed.FS

// Source returns the text of a module and whether there is one of that name.
func Source(name string) (string, bool) {
	text, err := files.ReadFile(name + ".heal")
	return string(text), err == nil
}

// Names lists the modules, sorted.
func Names() []string {
	var out []string
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic("BUG: the embedded library cannot be listed: " + err.Error())
	}
	for _, e := range entries {
		out = append(out, strings.TrimSuffix(e.Name(), ".heal"))
	}
	return out
}

package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"healc/cmd/healc/cli"
)

// doc is the folder of documents.
const doc = "share/doc/healc/"

// common are the files of all targets: manual pages, completions, documents, examples.
func (r *release) common(modules []module, bill []byte) ([]file, error) {
	root := cli.Commands()
	var files []file
	add := func(name string, text []byte) { files = append(files, file{name, 0o644, text}) }
	for name, text := range manual(root, r.version, r.time) {
		add("share/man/man1/"+name, []byte(text))
	}
	shells := []struct {
		name  string
		write func(*cobra.Command, *bytes.Buffer) error
	}{
		{"share/bash-completion/completions/healc",
			func(c *cobra.Command, w *bytes.Buffer) error { return c.GenBashCompletionV2(w, true) }},
		{"share/zsh/site-functions/_healc",
			func(c *cobra.Command, w *bytes.Buffer) error { return c.GenZshCompletion(w) }},
		{"share/fish/vendor_completions.d/healc.fish",
			func(c *cobra.Command, w *bytes.Buffer) error { return c.GenFishCompletion(w, true) }},
	}
	for _, shell := range shells {
		var text bytes.Buffer
		if err := shell.write(root, &text); err != nil {
			return nil, err
		}
		add(shell.name, text.Bytes())
	}
	add(doc+"third-party-licenses.txt", licenseTexts(modules))
	add(doc+"sbom.cdx.json", bill)
	for _, name := range []string{"LICENSE", "README.md"} {
		text, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		add(doc+name, text)
	}
	for _, dir := range []string{"docs", "examples"} {
		err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			name = filepath.ToSlash(name)
			if _, err := os.Stat(filepath.Join(name, "go.mod")); e.IsDir() && err == nil { // a module for a clone
				return filepath.SkipDir
			}
			if !e.IsDir() && isShipped(name) {
				text, err := os.ReadFile(name)
				if err != nil {
					return err
				}
				add(doc+name, text)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return files, nil
}

// isShipped reports whether a file of docs or examples goes into packages: pages with their figures, and whatever is no
// Go code of the examples. install.sh lies beside the archives.
func isShipped(name string) bool {
	if strings.HasPrefix(name, "docs/") {
		return slices.Contains([]string{".md", ".svg"}, filepath.Ext(name))
	}
	return !strings.HasSuffix(name, ".go") && !strings.HasPrefix(filepath.Base(name), ".")
}

// Command site writes the documents as a site of static pages, with a search in the browser and no reference to any
// network. `make site` calls it; it is a module of its own, so that healc does not depend on goldmark.
//
//	go run . -o ../../dist/site
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	out := flag.String("o", "../../dist/site", "the folder that is written; what is there goes")
	root := flag.String("root", "../..", "the folder of the repository")
	flag.Parse()
	if err := write(*root, *out); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write makes the site of a repository, in a folder beside the one where it goes, so that a broken site is never there.
func write(root, out string) error {
	s, err := build(root)
	if err != nil {
		return err
	}
	if err := s.check(); err != nil {
		return err
	}
	next := out + ".new"
	if err := os.RemoveAll(next); err != nil {
		return err
	}
	for name, text := range s.files {
		path := filepath.Join(next, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	if err := os.Rename(next, out); err != nil {
		return err
	}
	fmt.Printf("%s: %d pages, %d files\n", filepath.Join(out, "index.html"), len(s.pages), len(s.files))
	return nil
}

// Command packaging writes what a release consists of into a folder: archives and wheels for each system, packages for
// Debian and for rpm, checksums, a bill of materials, and the files with which they are installed. The same commit
// gives the same bytes, whichever folder and machine it is built in, with the same Go.
//
//	go run ./internal/packaging -o dist
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

func main() {
	r := &release{}
	flag.StringVar(&r.out, "o", "dist", "the folder that is written, which is made or is empty")
	flag.StringVar(&r.url, "url", "", "where the files will lie, which install.sh takes them from")
	flag.StringVar(&r.maintainer, "maintainer", "Heal developers <maintainers@heal.invalid>", "of packages")
	flag.StringVar(&r.nfpm, "nfpm", "", "the program that makes packages; without it there are none")
	only := flag.String("only", "", "the targets that are built, such as linux-amd64,windows-amd64; all without it")
	flag.Parse()
	if err := r.make(*only); err != nil {
		fmt.Fprintln(os.Stderr, "packaging:", err)
		os.Exit(1)
	}
}

// release is one version with its files.
type release struct {
	source
	out, url, maintainer, nfpm string

	stage string // a folder for what is not left
}

func (r *release) make(only string) error {
	built := targets
	if only != "" {
		built = nil
		for name := range strings.SplitSeq(only, ",") {
			i := slices.IndexFunc(targets, func(t target) bool { return t.String() == name })
			if i < 0 {
				return fmt.Errorf("%s is no target; they are %v", name, targets)
			}
			built = append(built, targets[i])
		}
	}
	if err := madeEmpty(r.out); err != nil {
		return err
	}
	var err error
	if r.source, err = sourceHere(); err != nil {
		return err
	}
	if r.stage, err = os.MkdirTemp("", "packaging"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.stage) }()

	programs := map[target]string{}
	for _, t := range built {
		fmt.Fprintf(os.Stderr, "packaging: healc %s for %s\n", r.version, t)
		if programs[t], err = r.build(t); err != nil {
			return err
		}
	}
	modules, err := modulesOf(programs)
	if err != nil {
		return err
	}
	bill, err := r.bill(modules)
	if err != nil {
		return err
	}
	if err := r.write("healc-"+r.version+".cdx.json", bill); err != nil {
		return err
	}
	common, err := r.common(modules, bill)
	if err != nil {
		return err
	}
	for _, t := range built {
		if err := r.archive(t, programs[t], common); err != nil {
			return err
		}
		if err := r.wheel(t, programs[t], modules, bill); err != nil {
			return err
		}
		if r.nfpm != "" && t.os == "linux" && t.libc == "" {
			if err := r.packages(t, programs[t], common); err != nil {
				return err
			}
		}
	}
	container, err := os.ReadFile("internal/packaging/Containerfile")
	if err != nil {
		return err
	}
	if err := r.write("Containerfile", container); err != nil {
		return err
	}
	script, err := os.ReadFile("docs/install.sh")
	if err == nil && r.url != "" {
		script, err = addressed(script, r.url)
	}
	if err != nil {
		return err
	}
	if err := r.write("install.sh", script); err != nil {
		return err
	}
	if err := os.Chmod(filepath.Join(r.out, "install.sh"), 0o755); err != nil {
		return err
	}
	return sums(r.out)
}

// addressed is install.sh as it takes files from a URL where nothing else is said.
func addressed(script []byte, url string) ([]byte, error) {
	if !isURL.MatchString(url) {
		return nil, fmt.Errorf("%q is no address of files: https://host/folder", url)
	}
	const from = "\nfrom=${HEAL_FROM:-"
	if bytes.Count(script, []byte(from+"}\n")) != 1 {
		return nil, errors.New("install.sh has no one line for the address")
	}
	return bytes.Replace(script, []byte(from), []byte(from+url), 1), nil
}

var isURL = regexp.MustCompile(`^https?://[0-9A-Za-z._~/%+:-]+$`)

// write writes a file of the release.
func (r *release) write(name string, text []byte) error {
	return os.WriteFile(filepath.Join(r.out, name), text, 0o644)
}

// madeEmpty makes a folder, unless it is there and empty. Nothing is removed: a release is never written over what
// somebody has.
func madeEmpty(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if err == nil && len(entries) > 0 {
		err = fmt.Errorf("%s is not empty: it has %s; name another folder, or remove it", dir, entries[0].Name())
	}
	return err
}

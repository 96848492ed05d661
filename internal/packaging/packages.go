package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// packages makes the packages of a target by nfpm, whose configuration has what they need. They have other places for
// some files than archives, and compressed manual pages.
func (r *release) packages(t target, program string, common []file) error {
	binary, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	for _, form := range []string{"deb", "rpm"} {
		files := append(slices.Clone(common), file{"bin/healc", 0o755, binary})
		for i, f := range files {
			switch {
			case strings.HasPrefix(f.name, "share/man/"):
				files[i].name += ".gz"
				if files[i].data, err = zipped(f.data); err != nil {
					return err
				}
			case form == "deb" && f.name == "share/zsh/site-functions/_healc":
				files[i].name = "share/zsh/vendor-completions/_healc"
			case form == "deb" && f.name == doc+"LICENSE":
				files[i] = file{doc + "copyright", 0o644, []byte(copyright)}
			}
		}
		if form == "deb" {
			log, err := zipped(r.changelog())
			if err != nil {
				return err
			}
			files = append(files, file{doc + "changelog.gz", 0o644, log})
		}
		usr := filepath.Join(r.stage, t.String(), form)
		if err := lay(usr, files, r.time); err != nil {
			return err
		}
		c := exec.Command(r.nfpm, "package", "-f", "internal/packaging/nfpm.yaml", "-p", form, "-t", r.out)
		c.Env = append(os.Environ(), "PKG_ARCH="+t.arch, "PKG_VERSION="+r.version, "PKG_USR="+usr,
			"PKG_MAINTAINER="+r.maintainer, fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.time.Unix()))
		if out, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("%s of %s: %w\n%s", form, t, err, out)
		}
	}
	return nil
}

// lay writes files below a folder, all of one time.
func lay(dir string, files []file, at time.Time) error {
	for _, f := range files {
		name := filepath.Join(dir, filepath.FromSlash(f.name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.data, os.FileMode(f.mode)); err != nil {
			return err
		}
		if err := os.Chmod(name, os.FileMode(f.mode)); err != nil { // whatever the umask
			return err
		}
	}
	return filepath.WalkDir(dir, func(name string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if e.IsDir() {
			if err := os.Chmod(name, 0o755); err != nil {
				return err
			}
		}
		return os.Chtimes(name, at, at)
	})
}

// zipped is what `gzip -9n` makes of a text.
func zipped(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return out.Bytes(), err
}

// copyright is the file that Debian wants in place of a licence whose text every Debian has.
const copyright = `Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: Heal

Files: *
Copyright: the authors of Heal
License: Apache-2.0
 The text of this licence is in /usr/share/common-licenses/Apache-2.0.
Comment:
 What healc is linked with, and its licences, are in third-party-licenses.txt
 beside this file.
`

// changelog is that of Debian, with the one entry that a package made outside of Debian has.
func (r *release) changelog() []byte {
	version := strings.Replace(r.version, "-", "~", 1)
	return fmt.Appendf(nil, "healc (%s) unstable; urgency=medium\n\n  * Version %s.\n\n -- %s  %s\n", version,
		r.version, r.maintainer, r.time.Format("Mon, 02 Jan 2006 15:04:05 +0000"))
}

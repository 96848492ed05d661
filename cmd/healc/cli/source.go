package cli

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"healc/cmd/healc/driver"
	"healc/lang/diag"
)

// maxSource is the largest source that is read: the lexer counts bytes in 31 bits, and no program that people or
// generators write comes near.
const maxSource = 256 << 20

// source reads the file called name; "-" is standard input.
func (a *app) source(name string) (*diag.File, error) {
	var r io.Reader
	shown := name
	if name == "-" {
		r, shown = a.in, "<stdin>"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return nil, noFile(name, err)
		}
		defer f.Close()
		r = f
	}
	text, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	if err != nil {
		return nil, noFile(name, err)
	}
	if len(text) > maxSource {
		return nil, &driver.UsageError{Message: fmt.Sprintf("%s is larger than %d MiB, the largest source that is read", shown, maxSource>>20)}
	}
	a.file = diag.NewFile(shown, string(text))
	return a.file, nil
}

// noFile says that a file named on the command line cannot be read.
func noFile(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &driver.UsageError{Message: "there is no file " + name}
	}
	if info, serr := os.Stat(name); serr == nil && info.IsDir() {
		return &driver.UsageError{Message: name + " is a folder, not a file"}
	}
	var p *fs.PathError
	if errors.As(err, &p) {
		err = p.Err
	}
	return &driver.UsageError{Message: "cannot read " + name + ": " + err.Error()}
}

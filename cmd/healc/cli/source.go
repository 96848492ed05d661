package cli

import (
	"fmt"
	"io"
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
			return nil, driver.NoFile(name, err)
		}
		defer f.Close()
		r = f
	}
	text, err := io.ReadAll(io.LimitReader(r, maxSource+1))
	if err != nil {
		return nil, driver.NoFile(name, err)
	}
	if len(text) > maxSource {
		return nil, &driver.UsageError{Message: fmt.Sprintf("%s is larger than %d MiB, the largest source that is read",
			shown, maxSource>>20)}
	}
	a.file = diag.NewFile(shown, string(text))
	return a.file, nil
}

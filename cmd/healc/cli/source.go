package cli

import (
	"healc/cmd/healc/driver"
	"healc/internal/regular"
	"healc/lang/diag"
)

// source reads the file called name; "-" is standard input.
func (a *app) source(name string) (*diag.File, error) {
	shown := name
	var text []byte
	var err error
	if name == "-" {
		shown = "<stdin>"
		text, err = regular.ReadAll(a.in, shown, regular.MaxSource)
	} else {
		text, err = regular.Read(name, regular.MaxSource)
	}
	if err != nil {
		return nil, driver.NoFile(name, err)
	}
	a.file = diag.NewFile(shown, string(text))
	return a.file, nil
}

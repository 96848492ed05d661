package cli

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"

	"healc/cmd/healc/driver"
	"healc/codegen/target/tuned"
	"healc/internal/engine"
	"healc/internal/regular"
)

// tuneFileFlags say which tune file holds for a program. They are those of a command, never of a `# args` line.
type tuneFileFlags struct{ tune string }

func (f *tuneFileFlags) register(fs *pflag.FlagSet) {
	fs.StringVar(&f.tune, "tune", "",
		"`FILE` of `healc tune` with what was measured about the kernels (default: FILE.tune beside FILE.heal, where "+
			"it is); off\nfor none; require: that file, and every kernel has to be in it")
}

// The words that --tune takes beside the name of a file.
const (
	tuneOff     = "off"
	tuneRequire = "require"
)

// tuneFile is the name of the tune file of a program; "" where the program has none.
func tuneFile(program string) string {
	if program == "-" {
		return ""
	}
	return strings.TrimSuffix(program, filepath.Ext(program)) + ".tune"
}

// asked reports whether a tune file is asked for, and not just used where there is one.
func (f *tuneFileFlags) asked() bool { return f.tune != "" && f.tune != tuneOff }

// name is the file to read, and whether it may be missing; "" for none.
func (f *tuneFileFlags) name(program string) (name string, optional bool) {
	switch f.tune {
	case tuneOff:
		return "", true
	case "", tuneRequire:
		return tuneFile(program), true
	}
	return f.tune, false
}

// apply reads the tune file of a program into options.
func (f *tuneFileFlags) apply(program string, opts *engine.Options) error {
	opts.RequireTuned = f.tune == tuneRequire
	name, optional := f.name(program)
	if name == "" {
		return nil
	}
	file, err := readTuned(name, optional)
	opts.Tuned = file
	return err
}

// readTuned reads a tune file; nil for one that may be missing and is.
func readTuned(name string, optional bool) (*tuned.File, error) {
	text, err := regular.Read(name, tuned.MaxBytes)
	if optional && errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, driver.NoFile(name, err)
	}
	return tuned.Parse(name, text)
}

// refuse says that a tune file was asked for where none counts.
func (f *tuneFileFlags) refuse(why, help string) error {
	return &driver.UsageError{Message: "--tune is about code for the processor of this machine, and " + why, Help: help}
}

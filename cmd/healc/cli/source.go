package cli

import (
	"os"

	"github.com/spf13/pflag"

	"healc/cmd/healc/driver"
	"healc/internal/modules"
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

// importFlags say what a program may import. They are those of a command, never of a `# args` line, which the program
// itself has.
type importFlags struct{ allow []string }

func (f *importFlags) register(fs *pflag.FlagSet) {
	fs.StringArrayVar(&f.allow, "allow-import", nil,
		"the program may import files in `FOLDER` and below, too, not those beside it alone")
}

// importer finds the imports of programs.
func (f *importFlags) importer() (*modules.Importer, error) {
	for _, dir := range f.allow {
		if st, err := os.Stat(dir); err != nil || !st.IsDir() {
			return nil, &driver.UsageError{Message: "there is no folder " + dir, Help: "--allow-import takes folders"}
		}
	}
	return &modules.Importer{Allow: f.allow}, nil
}

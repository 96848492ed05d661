package modules

import (
	"fmt"
	"path/filepath"
	"strings"

	"healc/internal/regular"
	"healc/lang/check"
	"healc/lang/diag"
)

// For is importer for the program whose first file is file: what a stranger's program imports stays in the folder of
// that file, or where Allow says. An importer that is no *Importer has rules of its own; nil is the library and the
// disk.
func For(file *diag.File, importer check.Importer) check.Importer {
	switch im := importer.(type) {
	case nil:
		return (&Importer{}).of(file)
	case *Importer:
		return im.of(file)
	case *Recorder:
		im.From = For(file, im.From)
	}
	return importer
}

func (im *Importer) of(file *diag.File) *Importer {
	out := *im
	out.folder = filepath.Dir(file.Name)
	return &out
}

// inside returns the error for a file that lies in no folder that the program may import from. Links are followed where
// the files are those of the disk.
func (im *Importer) inside(path, name string) error {
	if im.folder == "" {
		return nil
	}
	at, err := im.place(name)
	if err != nil {
		return &check.ImportError{Message: fmt.Sprintf("cannot read %s: %v", name, err)}
	}
	for _, folder := range append([]string{im.folder}, im.Allow...) {
		dir, err := im.place(folder)
		if err != nil {
			continue
		}
		if regular.Within(at, dir) {
			return nil
		}
	}
	allow := filepath.Dir(name)
	if lexical, err := filepath.Abs(name); err == nil && lexical != at {
		allow = filepath.Dir(at) // where the link leads
	}
	return &check.ImportError{Code: diag.CodeOutside,
		Message: fmt.Sprintf("%q leaves the folder of the program, %s", path, shown(im.folder)),
		Help:    fmt.Sprintf("move the file there, or allow its folder with `--allow-import %s`", allow)}
}

// shown is a folder for a message.
func shown(folder string) string {
	if folder == "." {
		return "the working folder"
	}
	return strings.TrimSuffix(folder, "/") + "/"
}

// place is where a file is; links are followed where the files are those of the disk.
func (im *Importer) place(name string) (string, error) {
	if im.Read != nil {
		return filepath.Abs(name)
	}
	return regular.Place(name)
}

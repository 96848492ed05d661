package driver

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"healc/internal/regular"
	"healc/ir"
	"healc/runtime"
	"healc/runtime/collective"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// Policy is what a program may do beside computing.
type Policy struct {
	NoIO        bool     // it may not print, either
	NoFiles     bool     // it may read and write no files
	Read, Write []string // the folders whose files it may read and write; with none of both it may use none
}

// check refuses a program that does what it may not, before it runs.
func (p *Policy) check(m *ir.Module, entry string) error {
	files, effects := usesFiles(m), usesIO(m)
	switch {
	case p == nil:
	case p.NoIO && effects:
		return &UsageError{Message: fmt.Sprintf("`%s` prints, reads or writes, which --deny io does not let it", entry),
			Help: "name a function that only computes with --entry"}
	case p.NoFiles && files:
		return Usagef("`%s` reads or writes files, which --deny files does not let it", entry)
	case files && len(p.Read)+len(p.Write) == 0:
		return &UsageError{Message: fmt.Sprintf("`%s` reads or writes files, and no folder is allowed", entry),
			Help: "name the folder with --allow-read or --allow-write"}
	}
	return nil
}

// allow checks the path of a file that the program names. Links are followed, so that none leads elsewhere.
func (p *Policy) allow(path, what, flag string, folders []string) error {
	if p == nil {
		return nil
	}
	in, err := regular.InFolder(path, folders)
	if err == nil && !in {
		err = fmt.Errorf("%s may not be %s: it is in no folder of %s", path, what, flag)
	}
	return err
}

// usesFiles reports whether a module has operations that read or write files.
func usesFiles(m *ir.Module) bool {
	return hasOp(m, func(op *ir.Op) bool { return op.Def.Traits.Has(ir.Files) })
}

// usesIO reports whether a module has operations with effects outside of it.
func usesIO(m *ir.Module) bool {
	return hasOp(m, func(op *ir.Op) bool { return op.Def.Traits.Has(ir.Effect) })
}

func hasOp(m *ir.Module, is func(*ir.Op) bool) (found bool) {
	for _, f := range m.Funcs {
		ir.Walk(f.Body, func(op *ir.Op) { found = found || is(op) })
	}
	return found
}

// LoadNpyPart implements runtime.NpyPartLoader.
func (s System) LoadNpyPart(path string, cut tensorfile.Cut) (t *tensor.Tensor, err error) {
	err = s.withNpy(path, func(path string) error {
		t, err = runtime.LoadNpyPart(s.OS, path, cut)
		return err
	})
	return t, err
}

// LoadNpy implements runtime.System.
func (s System) LoadNpy(path string) (t *tensor.Tensor, err error) {
	err = s.withNpy(path, func(path string) error {
		t, err = s.OS.LoadNpy(path)
		return err
	})
	return t, err
}

// withNpy gives read the path of a file that the program may read, and its error what helps where there is none.
func (s System) withNpy(named string, read func(path string) error) error {
	path := inDir(s.Dir, named)
	if s.May != nil {
		if err := s.May.allow(path, "read", "--allow-read", s.May.Read); err != nil {
			return err
		}
	}
	err := read(path)
	if s.May == nil && errors.Is(err, fs.ErrNotExist) {
		if dir := s.elsewhere(named); dir != "" {
			err = fmt.Errorf("%w\nthe file is there in the folder %s: run healc in it", err, dir)
		}
	}
	return err
}

// elsewhere is the folder of the source, or one that it lies in, where a relative path leads to a file; "" for none.
func (s System) elsewhere(path string) string {
	dir, err := filepath.Abs(filepath.Dir(s.Source))
	if s.Source == "" || strings.HasPrefix(s.Source, "<") || err != nil || filepath.IsAbs(path) {
		return ""
	}
	for {
		if st, err := os.Stat(filepath.Join(dir, path)); err == nil && st.Mode().IsRegular() {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			return ""
		}
		dir = up
	}
}

// SaveNpy implements runtime.System.
func (s System) SaveNpy(path string, t *tensor.Tensor) error {
	path, err := s.written(path)
	if err != nil {
		return err
	}
	return s.OS.SaveNpy(path, t)
}

// SaveImage implements runtime.ImageSaver.
func (s System) SaveImage(path string, form tensorfile.Image, t *tensor.Tensor) error {
	path, err := s.written(path)
	if err != nil {
		return err
	}
	return s.OS.SaveImage(path, form, t)
}

// written is the path of a file that the program may write.
func (s System) written(path string) (string, error) {
	path = inDir(s.Dir, path)
	if s.May == nil {
		return path, nil
	}
	return path, s.May.allow(path, "written", "--allow-write", s.May.Write)
}

// SharedFiles implements runtime.FileSharer.
func (s System) SharedFiles() collective.Files { return sharedFiles{runtime.SharedFiles(s.OS), s} }

// sharedFiles are files that ranks write together, below the paths that the program may write.
type sharedFiles struct {
	collective.Files
	of System
}

// CreateShared implements collective.Files.
func (f sharedFiles) CreateShared(path string) (collective.File, uint64, error) {
	path, err := f.of.written(path)
	if err != nil {
		return nil, 0, err
	}
	return f.Files.CreateShared(path)
}

// OpenShared implements collective.Files.
func (f sharedFiles) OpenShared(path string, tag uint64) (collective.File, error) {
	path, err := f.of.written(path)
	if err != nil {
		return nil, err
	}
	return f.Files.OpenShared(path, tag)
}

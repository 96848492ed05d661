package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"healc/cmd/healc/driver"
	"healc/codegen/llvm/aot"
	"healc/codegen/llvm/aot/names"
)

// outputs are where `healc compile` writes, and what the library is called.
type outputs struct {
	files  []string // one for each kind, - for standard output
	soName string   // by which programs find the shared library
	prefix string   // with which its functions begin
	module string   // the Python module that calls it
	beside aot.Files
}

// outputs decides them. Text goes to standard output unless -o names a file, or what comes with machine code to use it
// is written beside that.
func (f *compileFlags) outputs(source string, kinds []driver.Kind) (*outputs, error) {
	stem := strings.TrimSuffix(filepath.Base(source), ".heal")
	given := f.output != "" && f.output != "-"
	if given {
		stem = strings.TrimSuffix(f.output, filepath.Ext(f.output))
	}
	folder, base := filepath.Split(stem)
	name := base
	// The library of a program f may be called libf.so; a file libf.heal is another than f.heal.
	if rest, ok := strings.CutPrefix(base, "lib"); ok && given && rest != "" && (rest[0] < '0' || rest[0] > '9') {
		name = rest
	}
	if f.prefix != "" {
		name = f.prefix
	}
	if strings.ContainsAny(f.soName, "/ \t\n") {
		return nil, driver.Usagef("--soname %q is no name of a file", f.soName)
	}
	out := &outputs{}
	if slices.ContainsFunc(kinds, func(k driver.Kind) bool { return k.Library }) {
		var err error
		var bad *names.FileError
		if out.prefix, err = names.Library(name); errors.As(err, &bad) {
			return nil, &driver.UsageError{Message: bad.Error(),
				Help: "give the library another name, as in --prefix " + bad.Valid()}
		}
	}
	module := names.PythonModule(name)
	out.module = module
	so := stem + ".so"
	if slices.ContainsFunc(kinds, func(k driver.Kind) bool { return k.Name == "python" }) {
		so = folder + "lib" + module + ".so" // of f.py and f.so, `import f` would take the library for the module
	}
	out.soName = filepath.Base(so)
	beside := slices.ContainsFunc(kinds, func(k driver.Kind) bool { return k.Binary })
	for _, k := range kinds {
		file := stem + k.Ext
		switch {
		case f.output == "-" || !given && !k.Binary && (!k.File || !beside):
			file = "-"
		case given && len(kinds) == 1:
			file = f.output
			if k.Name == "so" {
				out.soName = filepath.Base(f.output)
			}
		case k.Name == "so":
			file = so
		case k.Name == "a":
			file = folder + "lib" + name + k.Ext
		case k.Name == "pkgconfig" || k.Name == "cmake":
			file = folder + name + k.Ext
		case k.Name == "python":
			file = folder + module + k.Ext
		case k.Name == "torch":
			file = folder + module + "_torch" + k.Ext
		case k.Name == "header":
			file = folder + names.Header(base) + k.Ext
		case k.Name == "go":
			file = folder + names.GoFile(base) + k.Ext
		}
		out.files = append(out.files, file)
	}
	out.beside = f.beside(source, name, out, kinds)
	if f.soName != "" {
		out.soName = f.soName
	}
	return out, nil
}

// beside says what the files are called that find the library, or that it is found by. With neither library to be
// written, the shared one is there, or comes later.
func (f *compileFlags) beside(source, name string, out *outputs, kinds []driver.Kind) aot.Files {
	files := aot.Files{Source: filepath.Base(source), Name: name, SoName: f.soName}
	for i, k := range kinds {
		if k.Name == "a" && out.files[i] != "-" {
			files.Static = filepath.Base(out.files[i])
		}
	}
	if files.Static == "" || slices.ContainsFunc(kinds, func(k driver.Kind) bool {
		return k.Name == "so" || k.Name == "python"
	}) {
		files.Shared = out.soName
	}
	if _, version, ok := strings.Cut(f.soName, ".so."); ok {
		files.Version = version
	}
	return files
}

// free checks, before the work, that healc may write the files: none is another's.
func (o *outputs) free() error {
	for _, file := range o.files {
		if file == "-" {
			continue
		}
		foreign, err := driver.Foreign(file)
		if err != nil {
			return fmt.Errorf("cannot write the output: %w", err)
		}
		if foreign {
			return &driver.UsageError{Message: fmt.Sprintf("%s is there, and healc has not written it", file),
				Help: "move it away, name another place with -o, or let it be overwritten with --force"}
		}
	}
	return nil
}

// emit writes one kind to a file, or to standard output when that is called -.
func (a *app) emit(e *driver.Emit, kind driver.Kind, output string) error {
	if output == "-" {
		return e.Write(kind, a.out)
	}
	// The file is written when all of it is there, so that an error leaves no half of it.
	var text bytes.Buffer
	text.WriteString(kind.Head(filepath.Base(e.File.Name)))
	if err := e.Write(kind, &text); err != nil {
		return err
	}
	if err := replace(output, text.Bytes()); err != nil {
		return fmt.Errorf("cannot write the output: %w", err)
	}
	return nil
}

// replace writes a file in one step. A program that has the old one open, as those have that loaded a library, keeps
// that; what is no file, such as a device, is written where it is.
func replace(path string, data []byte) error {
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	mode := os.FileMode(0o666)
	if info, err := os.Stat(path); err == nil {
		if !info.Mode().IsRegular() {
			return os.WriteFile(path, data, mode)
		}
		mode = info.Mode().Perm()
	}
	beside := fmt.Sprintf("%s.%d.tmp", path, os.Getpid())
	f, err := os.OpenFile(beside, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if errors.Is(err, fs.ErrPermission) { // a file that may be written in a folder that may not
		return os.WriteFile(path, data, mode)
	}
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(beside, path)
	}
	if err != nil {
		os.Remove(beside)
	}
	return err
}

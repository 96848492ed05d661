package library

import (
	"os/exec"
	"path/filepath"
	"testing"

	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/lang/diag"
)

// libraryOf is a library for entries of a program.
func libraryOf(t *testing.T, prefix, source string, entries ...string) *aot.Library {
	t.Helper()
	m, err := engine.CompileFile(diag.NewFile(prefix+".heal", source), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Library(prefix, entries, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// made is libraryOf with its objects.
func made(t *testing.T, prefix, source string, entries ...string) (*aot.Library, [][]byte) {
	t.Helper()
	l := libraryOf(t, prefix, source, entries...)
	objects, err := aot.Objects(l)
	if err != nil {
		t.Fatal(err)
	}
	return l, objects
}

// compiler is the system's C compiler. Where there is none, the test is skipped.
func compiler(t *testing.T) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip("there is no C compiler")
	}
	return cc
}

// linked is a shared library of objects. Where there is no linker, the test is skipped.
func linked(t *testing.T, l *aot.Library, objects [][]byte, soname string) string {
	t.Helper()
	if _, err := aot.FindLinker(l.Target.Triple); err != nil {
		t.Skip(err)
	}
	raw, err := aot.Link(objects, l.Prefix, soname, l.Target.Triple)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// inC builds a C program of testdata with libraries of entries of a program: for each ending of `with`, .so or .o, the
// path of a program that is linked with that one.
func inC(t *testing.T, program, source string, entries []string, with ...string) []string {
	t.Helper()
	cc := compiler(t)
	l, objects := made(t, "s", source, entries...)
	joined, err := aot.Join(objects)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	inFolder(t, dir, map[string]string{"libs.so": linked(t, l, objects, "libs.so"), "libs.o": string(joined),
		"s.h": aot.Header(l)})
	var built []string
	for _, ending := range with {
		path := filepath.Join(dir, program+ending+".out")
		out, err := exec.Command(cc, "-O1", "-I", dir, filepath.Join("testdata", program+".c"),
			filepath.Join(dir, "libs"+ending), "-Wl,-rpath,"+dir, "-lpthread", "-lm", "-o", path).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		built = append(built, path)
	}
	return built
}

// silent runs a program that says what is wrong.
func silent(t *testing.T, command ...string) {
	t.Helper()
	if out, err := exec.Command(command[0], command[1:]...).CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%s: %v\n%s", filepath.Base(command[0]), err, out)
	}
}

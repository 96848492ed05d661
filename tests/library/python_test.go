package library

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/lang/diag"
)

// numpy is a Python that has NumPy, or "".
func numpy() string {
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import numpy").Run() == nil {
			return name
		}
	}
	return ""
}

// python compiles a file for Python and runs a script with it.
func python(t *testing.T, heal_, name, script string) string {
	t.Helper()
	interpreter := numpy()
	if interpreter == "" {
		t.Skip("there is no Python with NumPy; tests/cli looks at the text of a module")
	}
	return pythonRun(t, interpreter, pythonModule(t, heal_, name), script)
}

// pythonModule compiles a file for Python into a folder.
func pythonModule(t *testing.T, heal_, name string) string {
	t.Helper()
	text, err := os.ReadFile(heal_)
	if err != nil {
		t.Fatal(err)
	}
	m, err := engine.CompileFile(diag.NewFile(filepath.Base(heal_), string(text)), engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	var names []string
	for _, f := range m.Program().Funcs {
		if f.Public {
			names = append(names, f.Name)
		}
	}
	l, err := m.Library(name, names, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l.Target.CPU = plain
	objects, err := aot.Objects(l)
	if err != nil {
		t.Fatal(err)
	}
	file := "lib" + name + ".so"
	raw, err := aot.Link(objects, name, file, "")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, data := range map[string][]byte{file: raw, name + ".py": []byte(aot.Python(l, file))} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// pythonRun is what a script prints that imports modules of a folder.
func pythonRun(t *testing.T, interpreter, dir, script string) string {
	t.Helper()
	path, err := filepath.Abs(script)
	if err != nil {
		t.Fatal(err)
	}
	run := exec.Command(interpreter, path)
	run.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1",
		"PYTHONPATH="+dir+string(os.PathListSeparator)+os.Getenv("PYTHONPATH"))
	out, err := run.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

func TestPythonExample(t *testing.T) {
	got := python(t, "../../examples/layernorm.heal", "layernorm", "../../examples/library/main.py")
	want := `[[-1.2247  0.5     2.2247]
 [-1.2247  1.7247  1.    ]]
[[ 0.      1.7247 -0.2247]
 [ 1.2247  0.5    -0.2247]]
[[-1.2247 -1.2247]
 [ 0.5     1.7247]
 [ 2.2247  1.    ]]
layernorm: axis 0 of scale has extent 2, but N is 3
x is an array of float64; its elements must be float32
`
	if got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestPythonTypes calls functions of every element type, with scalars, several results and `&mut`, and with arrays of
// others by DLPack, where there is NumPy and where there is none.
func TestPythonTypes(t *testing.T) {
	interpreter, dir := numpy(), pythonModule(t, "testdata/every.heal", "every")
	for _, script := range []string{"use_every", "use_dlpack", "use_alone", "use_torch"} {
		t.Run(script, func(t *testing.T) {
			with := interpreter
			switch {
			case with == "" && script == "use_alone":
				var err error
				if with, err = exec.LookPath("python3"); err != nil {
					t.Skip("there is no Python")
				}
			case with == "":
				t.Skip("there is no Python with NumPy")
			case script == "use_torch" && exec.Command(with, "-c", "import torch").Run() != nil:
				t.Skip("there is no PyTorch")
			}
			if got := pythonRun(t, with, dir, "testdata/"+script+".py"); got != "" {
				t.Error(got)
			}
		})
	}
}

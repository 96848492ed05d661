package names

import (
	"debug/elf"
	"errors"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// samples are names that lie close together: all short ones of a few letters, and each word that is taken somewhere,
// with underscores around it.
func samples() []string {
	out := []string{}
	short := []string{""}
	for range 4 {
		var longer []string
		for _, s := range short {
			for _, c := range "aX_1" {
				if s != "" || c != '1' {
					longer = append(longer, s+string(c))
				}
			}
		}
		out, short = append(out, longer...), longer
	}
	seen := map[string]bool{}
	for _, list := range []map[string]bool{cFamilies(), cNames(), cEndings(), cHeaders(), pythonWords(), pythonOwn(),
		pythonModules(),
		goWords(), goOwn(), goLocal(), goSystems(), set(strings.Join(Own, " "))(),
		set(strings.Join(OfRanks, " "))(),
		set("main init test threads f_test f_linux f_tensors tensors all name linux")()} {
		for w := range list {
			for _, s := range []string{w, "_" + w, "__" + w} {
				for range 4 {
					if !seen[s] && !strings.ContainsAny(s, ".-") && (s[0] < '0' || s[0] > '9') {
						seen[s] = true
						out = append(out, s)
					}
					s += "_"
				}
			}
		}
	}
	return out
}

// TestOneName: no two names become one, and none becomes what is taken.
func TestOneName(t *testing.T) {
	python := func(s string) bool {
		return pythonWords()[s] || pythonOwn()[s] || strings.HasPrefix(s, "__") && strings.HasSuffix(s, "__") &&
			!strings.HasSuffix(s, "___") || strings.HasPrefix(s, "_") && !strings.HasSuffix(s, "_")
	}
	for _, c := range []struct {
		what  string
		of    func(string) string
		taken func(string) bool
	}{
		{"C", func(s string) string { return C("lib", s) }, func(s string) bool {
			for _, own := range slices.Concat(Own, OfRanks) {
				if s == OwnC("lib", own) {
					return true
				}
			}
			return strings.HasSuffix(s, Tensors)
		}},
		{"library", func(s string) string {
			if s[0] == '_' {
				return "(" + s + ")"
			}
			l, err := Library(s)
			if err != nil {
				t.Errorf("%s: %v", s, err)
			}
			return l
		}, func(s string) bool {
			return cFamilies()[s] || s == strings.ToUpper(s) && !strings.HasSuffix(s, "_") && s[0] != '('
		}},
		{"Python", Python, python},
		{"Python module", PythonModule, func(s string) bool {
			return python(s) && !pythonOwn()[s] || pythonModules()[s]
		}},
		{"Go", Go, func(s string) bool {
			return goOwn()[s] || s[0] < 'A' || s[0] > 'Z' || strings.HasSuffix(s, Into)
		}},
		{"Go package", GoPackage, func(s string) bool {
			return goWords()[s] || s == "main" || s == "init" || s == "_"
		}},
		{"Go file", GoFile, func(s string) bool {
			return s[0] == '_' && !strings.HasSuffix(s, "_") || strings.HasSuffix(s, "_test") ||
				strings.HasSuffix(s, "_linux")
		}},
		{"header", Header, func(s string) bool { return cHeaders()[s] }},
		{"Go parameter", func(s string) string { return NewLocals(InGo).Take(s) },
			func(s string) bool { return goWords()[s] || goLocal()[s] || s == "_" }},
		{"Python parameter", func(s string) string { return NewLocals(InPython).Take(s) },
			func(s string) bool {
				return pythonWords()[s] || s == "out" || s[0] == '_' && !strings.HasSuffix(s, "_")
			}},
	} {
		from := map[string]string{}
		for _, s := range samples() {
			n := c.of(s)
			if c.taken(n) {
				t.Errorf("%s: %s becomes %s, which is taken", c.what, s, n)
			}
			if other, twice := from[n]; twice {
				t.Errorf("%s: %s and %s both become %s", c.what, other, s, n)
			}
			from[n] = s
		}
	}
}

// TestUsual: what nothing stands against stays as it is.
func TestUsual(t *testing.T) {
	for _, c := range [][2]string{
		{C("layernorm", "layer_norm"), "layernorm_layer_norm"}, {C("f", "max"), "f_max"},
		{C("f", "last_error"), "f_last_error_"}, {C("f", "f_tensors"), "f_f_tensors_"},
		{C("aligned", "alloc"), "aligned_alloc_"},
		{Python("max"), "max"}, {Python("lambda"), "lambda_"}, {Python("lambda_"), "lambda__"}, {Python("cpu"), "cpu_"},
		{PythonModule("random"), "random_"}, {PythonModule("layernorm"), "layernorm"},
		{Go("layer_norm"), "LayerNorm"}, {Go("threads"), "Threads_"}, {Go("log1p"), "Log1p"}, {Go("log_1p"), "Log_1p"},
		{Go("matMul"), "Mat_Mul"}, {Go("_f"), "XF_"}, {Go("F"), "X_F_"}, {Go("a__b"), "A__B"},
		{Go("copy_into"), "CopyInto_"}, {Go("copy_into_"), "CopyInto__"}, {Go("into"), "Into_"},
		{GoPackage("case"), "case_"}, {GoFile("relu_arm64"), "relu_arm64_"}, {GoFile("f_test"), "f_test_"},
		{C("f", "sq.f32"), "f_sq_f32"}, {Python("sq.f32"), "sq_f32"}, {Go("sq.f32"), "SqF32"},
		{NewLocals(InC).Take("a.0"), "a_0_"}, {NewLocals(InGo).Take("a.0"), "a_0"},
		{NewLocals(InPython).Take("a.0"), "a_0"}, {NewLocals(InC).Take("1"), "x1_"},
		{Header("math"), "math_"}, {Header("layernorm"), "layernorm"},
		{NewLocals(InC).Take("linux"), "linux_"}, {NewLocals(InC).Take("__linux__"), "linux___"},
		{NewLocals(InGo).Take("float32"), "float32_"}, {NewLocals(InPython).Take("max"), "max"},
	} {
		if c[0] != c[1] {
			t.Errorf("%s, want %s", c[0], c[1])
		}
	}
	for _, c := range [][2]string{{"lib1", "lib1"}, {"lib2", "lib2"}, {"pthread", "pthread_"}, {"heal", "heal_"},
		{"M", "M_"}, {"layer_norm", "layer_norm"}} {
		if got, err := Library(c[0]); err != nil || got != c[1] {
			t.Errorf("library %s is %s, %v; want %s", c[0], got, err, c[1])
		}
	}
	for _, c := range [][2]string{{"", "lib"}, {"1", "lib"}, {"2-d", "d"},
		{"layer norm", "layer_norm"}, {"é", "lib"}, {"_f", "f"}} {
		_, err := Library(c[0])
		var bad *FileError
		if !errors.As(err, &bad) || bad.Valid() != c[1] {
			t.Errorf("library %q: %v", c[0], err)
		}
		if _, err := Library(c[1]); err != nil {
			t.Error(err)
		}
	}
}

// TestSystemLibraries: no function of any library has the name of one of the system's C library.
func TestSystemLibraries(t *testing.T) {
	symbols := map[string]bool{}
	folders := []string{"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib"}
	for _, name := range []string{"libc.so.6", "libm.so.6", "libpthread.so.0"} {
		for _, folder := range folders {
			f, err := elf.Open(filepath.Join(folder, name))
			if err != nil {
				continue
			}
			list, err := f.DynamicSymbols()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range list {
				if s.Section != elf.SHN_UNDEF {
					symbols[s.Name] = true
				}
			}
			f.Close()
		}
	}
	if len(symbols) == 0 {
		t.Skip("the C library is not where it is looked for")
	}
	for s := range symbols {
		for i := range len(s) {
			if s[i] != '_' || i == 0 || i == len(s)-1 {
				continue
			}
			library, err := Library(s[:i])
			if err != nil {
				continue
			}
			for _, made := range []string{C(library, s[i+1:]), C(library, s[i+1:]) + Tensors, OwnC(library, s[i+1:])} {
				own := false
				for _, o := range slices.Concat(Own, OfRanks) {
					own = own || OwnC(library, o) == made
				}
				if symbols[made] && (made == C(library, s[i+1:]) || own) {
					t.Errorf("the function %s of a library %s is called %s, as one of the C library is", s[i+1:], s[:i],
						made)
				}
			}
		}
	}
}

// TestListsOfGo: no word of Go is missing, as its own packages list them.
func TestListsOfGo(t *testing.T) {
	for _, name := range types.Universe.Names() {
		if !goWords()[name] {
			t.Errorf("the predeclared name %s is missing", name)
		}
	}
	for w := token.BREAK; w <= token.VAR; w++ {
		if w.IsKeyword() && !goWords()[w.String()] {
			t.Errorf("the keyword %s is missing", w)
		}
	}
	out, err := exec.Command("go", "tool", "dist", "list").Output()
	if err != nil {
		t.Skip("there is no go command")
	}
	for _, line := range strings.Fields(string(out)) {
		for _, name := range strings.Split(line, "/") {
			if !goSystems()[name] {
				t.Errorf("the system or processor %s is missing", name)
			}
		}
	}
}

// TestListsOfPython: no word or module of Python is missing, as the one that is installed lists them.
func TestListsOfPython(t *testing.T) {
	out, err := exec.Command("python3", "-c",
		"import keyword, sys; print(*keyword.kwlist); print(*sys.stdlib_module_names)").Output()
	if err != nil {
		t.Skip("there is no Python from 3.10 on")
	}
	words, modules, _ := strings.Cut(string(out), "\n")
	for _, w := range strings.Fields(words) {
		if !pythonWords()[w] {
			t.Errorf("the keyword %s is missing", w)
		}
	}
	for _, m := range strings.Fields(modules) {
		if m[0] != '_' && !pythonModules()[m] {
			t.Errorf("the module %s is missing", m)
		}
	}
}

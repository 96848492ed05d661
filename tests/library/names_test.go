package library

import (
	"fmt"
	gotypes "go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"healc/codegen/llvm/aot"
	"healc/codegen/llvm/aot/names"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/lang/types"
)

// reservedWords are names that mean something in C, C++, Go or Python, in headers or compilers of these, or to healc.
var reservedWords = strings.Fields(`
	alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class co_await
	co_return co_yield compl concept const const_cast consteval constexpr constinit continue decltype default delete do
	double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable namespace
	new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast requires
	restrict return short signed sizeof static static_assert static_cast struct switch template this thread_local throw
	true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq
	_Alignas _Atomic _Bool _Complex _Generic _Imaginary _Noreturn _Static_assert _Thread_local __attribute__ __asm__
	I linux unix i386 complex imaginary NULL EOF INT8_MAX INT64_C M_PI HUGE_VAL NAN INFINITY errno assert signbit isnan
	stdin stdout stderr offsetof va_start size_t int32_t int64_t uint8_t near far small interface min max N
	heal_tensor HEAL_OK heal_last_error tensor OK last_error set_threads get_threads set_parallel_for cpu use_cpu
	release_memory tensors x_tensors twice_tensors twice heal task t r l H
	False None True as assert async await def del elif except finally from global import in is lambda nonlocal pass
	raise with yield match type _ __ self Error ValueError TypeError OverflowError Exception isinstance zip len range sum
	abs pow round all any tuple list dict str print id map filter hash format input open iter next super object out
	_b _c _np _npt _os _operator _lib _check _kind _int _float _bool _array _call _tensors _Tensor _result _extent _outs
	__all__ __name__ __file__ __doc__ __dict__ __builtins__ __path__ __init__ __all_ np numpy ctypes annotations
	chan defer fallthrough func go map package select var any byte comparable error float32 float64 int8 int16 rune string
	uint uintptr iota nil append cap clear close copy imag make new panic println real recover ctx code runtime tensor
	context err Threads threads main init t0 t1 s0 log_1p log1p layer_norm layerNorm LayerNorm layer__norm`)

// worded is a library that has a function for each of reservedWords and of more, with that word as the name of its
// second parameter, which it gives.
func worded(t *testing.T, prefix string, more ...string) *aot.Library {
	t.Helper()
	m, err := engine.CompileFile(diag.NewFile("w.heal", "pub fn f[N](a: i32, b: i32, x: i32[N]) -> i32 = b\n"),
		engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	l, err := m.Library(prefix, []string{"f"}, func(string) map[string]int64 { return nil })
	if err != nil {
		t.Fatal(err)
	}
	l.Target.CPU = plain
	one := *l.Entries[0]
	if len(one.Packed.Kernels) > 0 {
		t.Fatal("the function has kernels, which would be compiled for each name")
	}
	l.Entries = nil
	seen := map[string]bool{}
	for _, w := range append(more, reservedWords...) {
		if seen[w] {
			continue
		}
		seen[w] = true
		e := one
		e.Name, e.Signature = w, "pub fn "+w
		e.Params = []aot.Param{{Name: "b", Type: one.Params[0].Type}, {Name: w, Type: one.Params[1].Type}}
		e.Dims, e.Strided = nil, nil
		l.Entries = append(l.Entries, &e)
	}
	return l
}

// macros are the ones that a compiler has of itself.
func macros(t *testing.T, compiler, language string) []string {
	t.Helper()
	out, err := exec.Command(compiler, "-dM", "-E", "-x", language, os.DevNull).Output()
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, m := range regexp.MustCompile(`(?m)^#define (\w+)`).FindAllStringSubmatch(string(out), -1) {
		list = append(list, m[1])
	}
	return list
}

// TestNamesInC: headers compile as C and as C++, whatever the functions, parameters and shape parameters are called
// and whatever macros were there before.
func TestNamesInC(t *testing.T) {
	scalar, vector := types.Tensor{Elem: types.I32}, types.Tensor{Elem: types.F32, Shape: []types.Dim{types.Param("I")}}
	tried := 0
	for _, c := range []struct{ compiler, language, standard string }{
		{"gcc", "c", "gnu89"}, {"gcc", "c", "c11"}, {"g++", "c++", "gnu++98"}, {"g++", "c++", "c++20"},
		{"clang", "c", "gnu17"}, {"clang++", "c++", "c++20"},
	} {
		if _, err := exec.LookPath(c.compiler); err != nil {
			continue
		}
		tried++
		all := append(macros(t, c.compiler, c.language), reservedWords...)
		for _, prefix := range []string{"lib", "int", "M_", "heal_", "linux", "unix"} {
			l := &aot.Library{Prefix: prefix}
			seen := map[string]bool{}
			for _, w := range all {
				if !seen[w] {
					seen[w] = true
					l.Entries = append(l.Entries, &aot.Entry{Name: w, Dims: []string{w, "N"},
						Params:  []aot.Param{{Name: w, Type: vector}, {Name: "_" + w, Type: scalar}},
						Results: []types.Tensor{scalar, vector}})
				}
			}
			dir := t.TempDir()
			other := &aot.Library{Prefix: "second", Entries: l.Entries[:1]}
			use := "#include <complex.h>\n#include <errno.h>\n#include <math.h>\n#include <stdio.h>\n" +
				"#include <stdlib.h>\n" +
				"#define N 100\n#define n 3\n#define threads 4\n#define user\n#define name 5\n" +
				"#include \"a.h\"\nint once(void) { heal_set_threads(2); return heal_get_threads(); }\n" +
				"#include \"b.h\"\n#include \"a.h\"\nint twice(void) { " + prefix + "_set_threads(1); return " +
				"second_get_threads(); }\n"
			if c.language == "c++" {
				use = strings.Replace(use, "complex.h", "complex", 1)
			}
			for file, text := range map[string]string{"a.h": aot.Header(l), "b.h": aot.Header(other), "use": use} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			run := exec.Command(c.compiler, "-x", c.language, "-std="+c.standard, "-Werror", "-fsyntax-only", "use")
			run.Dir = dir
			if out, err := run.CombinedOutput(); err != nil {
				t.Errorf("%s -std=%s, library %s: %v\n%.2000s", c.compiler, c.standard, prefix, err, out)
			}
		}
	}
	if tried == 0 {
		t.Skip("there is no C compiler")
	}
}

// TestNamesInPython imports a module and calls each of its functions.
func TestNamesInPython(t *testing.T) {
	interpreter := numpy()
	if interpreter == "" {
		var err error
		if interpreter, err = exec.LookPath("python3"); err != nil {
			t.Skip("there is no Python")
		}
	}
	// What this Python has of its own.
	own, err := exec.Command(interpreter, "-c",
		"import builtins, keyword; print(*keyword.kwlist, *keyword.softkwlist, *dir(builtins))").Output()
	if err != nil {
		t.Fatal(err)
	}
	l := worded(t, "words", strings.Fields(string(own))...)
	objects, err := aot.Objects(l)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := aot.Link(objects, l.Prefix, "libwords.so", "")
	if err != nil {
		t.Fatal(err)
	}
	calls := "import inspect, words\n"
	for i, e := range l.Entries {
		calls += fmt.Sprintf("assert words.%s(7, %d) == %d\n", names.Python(e.Name), i, i)
		calls += fmt.Sprintf("assert words.%s(b=7, **{%q: %d}) == %d\n", names.Python(e.Name),
			names.NewLocals(names.InPython).Take(e.Params[1].Name), i, i)
	}
	// Nothing in the module is looked up by a name that a program may have.
	calls += `
def globals_of(code):
    import dis
    for i in dis.get_instructions(code):
        if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"):
            yield i.argval
    for c in code.co_consts:
        if inspect.iscode(c):
            yield from globals_of(c)
own = {"Error", "Tensor", "__name__", "staticmethod", "__file__"}
for name, f in vars(words).items():
    if inspect.isfunction(f):
        found = {g for g in globals_of(f.__code__) if not g.startswith("_")} - own
        assert not found, (name, found)
assert sorted(words.__all__) == sorted(n for n, f in vars(words).items()
    if (inspect.isfunction(f) or n == "timeout") and f.__module__ == "words" and not (n[0] == "_" and n[-1] != "_")
    or n in ("Error", "Tensor")), \
    set(words.__all__) ^ {n for n, f in vars(words).items() if inspect.isfunction(f)}
words.set_threads(2)
assert words.get_threads() == 2 and words.cpu() and words.release_memory() is None
try:
    words.use_cpu("abacus")
except ValueError as e:
    assert "abacus" in str(e)
else:
    assert False
from words import *
assert Error is words.Error and max(7, 3) == 3
`
	dir := t.TempDir()
	for name, data := range map[string]string{"libwords.so": string(raw), "words.py": aot.Python(l, "libwords.so"),
		"use.py": calls} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	run := exec.Command(interpreter, "use.py")
	run.Dir = dir
	if out, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v\n%.3000s", err, out)
	}
}

// TestNamesInGo builds packages whose functions, parameters and own names are words.
func TestNamesInGo(t *testing.T) {
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	packages := map[string]string{}
	imports := "package main\n\nimport (\n"
	for _, prefix := range []string{"case", "main", "init", "string", "runtime", "x_test", "words"} {
		code, err := aot.Go(worded(t, prefix, gotypes.Universe.Names()...))
		if err != nil {
			t.Fatal(err)
		}
		file := names.GoFile(prefix+"_arm64") + ".go"
		packages[filepath.Join("p"+prefix, file)] = string(code)
		imports += fmt.Sprintf("\tp%s %q\n", prefix, "use/p"+prefix)
	}
	main := imports + ")\n\nvar _ = pcase.Threads\nvar _ = pmain.Threads_\n" +
		"var _ = pinit.LayerNorm\nvar _ = pstring.T0\n" +
		"var _ = pruntime.Range\nvar _ = px_test.Float32\nvar _ = pwords.Log_1p\n\nfunc main() {}\n"
	dir := goProgram(t, main, packages)
	goCommand(t, dir, "vet", "./...")
}

// TestTwoLibraries: each library in a process has messages and threads of its own, and its own functions.
func TestTwoLibraries(t *testing.T) {
	var libs []*Lib
	for i, prefix := range []string{"lib1", "lib2"} {
		src := fmt.Sprintf("pub fn scale(x: i32) -> i32 = x * %d\npub fn at[N](x: i32[N], i: i32) -> i32 = x[i]\n", i+2)
		libs = append(libs, sourceAs(t, prefix, src, "scale", "at"))
	}
	result := outside(8)
	defer result.free()
	three := outside(16)
	defer three.free()
	for i, l := range libs {
		if code, err := l.Do(names.C(l.prefix, "scale"), 5, result.addr()); err != nil || code != 0 ||
			int(result.bytes()[0]) != 5*(i+2) {
			t.Errorf("%s: code %d, %d, %v", l.prefix, code, result.bytes()[0], err)
		}
	}
	if code, err := libs[0].Do(names.C("lib1", "at"), 4, three.addr(), 9, result.addr()); err != nil ||
		code != aot.CodeIndex {
		t.Errorf("code %d, %v", code, err)
	}
	if m := libs[0].LastError(); !strings.Contains(m, "index 9") {
		t.Errorf("the first library says %q", m)
	}
	if m := libs[1].LastError(); m != "" {
		t.Errorf("the second library says %q of an error that is not its own", m)
	}
	for i, l := range libs {
		if _, err := l.Do(l.Own("set_threads"), uintptr(i+3)); err != nil {
			t.Fatal(err)
		}
	}
	for i, l := range libs {
		if n, err := l.Do(l.Own("get_threads")); err != nil || int(n) != i+3 {
			t.Errorf("%s has %d threads, %v", l.prefix, n, err)
		}
	}
}

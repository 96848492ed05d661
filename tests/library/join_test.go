package library

import (
	"debug/elf"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"healc/codegen/llvm/aot"
)

const joinSource = `
pub fn scale[N](x: f32[N]) -> f32[N] = exp(x .* %s)
pub fn at[N](x: f32[N], i: i32) -> f32 = x[i]
pub fn same(x: i64) -> i64 = x
`

// join makes one object of all levels of a library.
func join(t *testing.T, prefix, factor string) (*aot.Library, []byte) {
	t.Helper()
	l, objects := made(t, prefix, fmt.Sprintf(joinSource, factor), "scale", "at", "same")
	raw, err := aot.Join(objects)
	if err != nil {
		t.Fatal(err)
	}
	return l, raw
}

// TestJoin: an object has what its header declares, and what it shows to others begins with the name of the library.
func TestJoin(t *testing.T) {
	dir := t.TempDir()
	for i, prefix := range []string{"one", "two"} {
		l, raw := join(t, prefix, []string{"2.0", "-1.0"}[i])
		for name, data := range map[string][]byte{prefix + ".o": raw, prefix + ".h": []byte(aot.Header(l))} {
			if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		f, err := elf.Open(filepath.Join(dir, prefix+".o"))
		if err != nil {
			t.Fatal(err)
		}
		symbols, err := f.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		f.Close()
		for _, s := range symbols {
			shown := elf.ST_BIND(s.Info) != elf.STB_LOCAL && s.Section != elf.SHN_UNDEF
			if shown && !strings.HasPrefix(s.Name, prefix+"_") {
				t.Errorf("%s.o shows %s", prefix, s.Name)
			}
			if s.Section == elf.SHN_UNDEF && strings.HasPrefix(s.Name, "heal.") {
				t.Errorf("%s.o lacks %s", prefix, s.Name)
			}
		}
	}
	cc := compiler(t)
	main := `#include "one.h"
#include "two.h"
#include <stdio.h>
int main(void) {
  float x[2] = {0, 1}, y[2], z[2], e;
  int64_t n = 0;
  int32_t code = one_scale(2, x, y) + two_scale(2, x, z) + two_same(5, &n);
  printf("%d %.3f %.3f %.3f %d\n", code, y[0], y[1], z[1], (int)n);
  printf("%d\n", one_at(2, x, 7, &e));
  printf("%s|%s\n", one_last_error(), two_last_error());
  for (int i = 0; i < 4; i++) {
    const char *cpus[] = {"x86-64", "avx2", "avx512", "generic"};
    if (one_use_cpu(cpus[i]) != 0) continue;
    if (one_scale(2, x, y) != 0 || y[1] < 7.389 || y[1] > 7.390) printf("%s\n", one_cpu());
  }
  return 0;
}
`
	if err := os.WriteFile(filepath.Join(dir, "main.c"), []byte(main), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"one.o", "two.o"}, {"-static", "two.o", "one.o"}} {
		all := append([]string{"-Wall", "-Werror", "main.c", "-o", "main"}, append(args, "-lm")...)
		build := exec.Command(cc, all...)
		build.Dir = dir
		if out, err := build.CombinedOutput(); err != nil {
			if args[0] == "-static" && strings.Contains(string(out), "cannot find") {
				continue // the system's static libraries are not there
			}
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		run := exec.Command("./main")
		run.Dir = dir
		out, err := run.CombinedOutput()
		want := "0 1.000 7.389 0.368 5\n3\none.heal:3:42: index 7 is out of range for an axis of extent 2|\n"
		if err != nil || string(out) != want {
			t.Errorf("%v: %v\n%s\nwant\n%s", args, err, out, want)
		}
	}
}

// TestJoinAlone: an object needs no linker.
func TestJoinAlone(t *testing.T) {
	t.Setenv(aot.LinkerEnv, "no-such-linker")
	if _, raw := join(t, "one", "2.0"); len(raw) == 0 {
		t.Error("no object")
	}
}

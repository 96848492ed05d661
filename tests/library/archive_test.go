package library

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"healc/codegen/llvm/aot"
)

// archives writes static libraries of two programs, with their headers.
func archives(t *testing.T, names ...string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	for i, name := range names {
		l, object := join(t, name, []string{"2.0", "-1.0"}[i])
		raw, err := aot.Archive(object, name+".o")
		if err != nil {
			t.Fatal(err)
		}
		if !aot.Ours(bytes.NewReader(raw)) {
			t.Errorf("lib%s.a is not known as healc's", name)
		}
		inFolder(t, dir, map[string]string{"lib" + name + ".a": string(raw), name + ".h": aot.Header(l)})
	}
	return dir
}

func inFolder(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// said is what a command prints in a folder. A command that is not there skips the test.
func said(t *testing.T, dir string, command ...string) string {
	t.Helper()
	path, err := exec.LookPath(command[0])
	if err != nil {
		t.Skipf("there is no %s", command[0])
	}
	c := exec.Command(path, command[1:]...)
	c.Dir = dir
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %v\n%s", command, err, out)
	}
	return string(out)
}

const useArchives = `#include "one.h"
#include "a_rather_long_name.h"
#include <stdio.h>
int main(void) {
  float x[2] = {0, 1}, y[2], z[2];
  int32_t code = one_scale(2, x, y) + a_rather_long_name_scale(2, x, z);
  printf("%d %.3f %.3f\n", code, y[1], z[1]);
  return 0;
}
`

// TestArchive: two static libraries in one program, which find each other's symbols by the index, in any order; one has
// a name that does not fit into the header of a member.
func TestArchive(t *testing.T) {
	dir := archives(t, "one", "a_rather_long_name")
	inFolder(t, dir, map[string]string{"main.c": useArchives})
	for _, libs := range [][]string{{"-lone", "-la_rather_long_name"}, {"-la_rather_long_name", "-lone"}} {
		build := append([]string{"cc", "-Wall", "-Werror", "main.c", "-L.", "-o", "main"}, libs...)
		said(t, dir, append(build, "-lm")...)
		if out := said(t, dir, filepath.Join(dir, "main")); out != "0 7.389 0.368\n" {
			t.Errorf("%v: the program says %q", libs, out)
		}
	}
	if out := said(t, dir, "ar", "t", "liba_rather_long_name.a"); out != "a_rather_long_name.o\n" {
		t.Errorf("ar finds %q", out)
	}
}

// TestOurs: what healc has not written is not its own, and nothing that is broken stops it.
func TestOurs(t *testing.T) {
	_, object := join(t, "one", "2.0")
	raw, err := aot.Archive(object, "one.o")
	if err != nil {
		t.Fatal(err)
	}
	foreign := "!<arch>\n" + "x.o/            0           0     0     644     4         `\nabcd"
	for _, text := range []string{"", "!<arch>", "!<arch>\n", foreign, foreign[:40],
		strings.Replace(foreign, "4  ", "-1 ", 1), string(raw[:200])} {
		if aot.Ours(strings.NewReader(text)) {
			t.Errorf("%.20q is taken for healc's", text)
		}
	}
}

// static is a folder with two static libraries, and the first of them as a shared one.
func static(t *testing.T) (dir, shared string) {
	t.Helper()
	l, object := join(t, "one", "2.0")
	return archives(t, "one", "a_rather_long_name"), linked(t, l, [][]byte{object}, "libone.so.3")
}

// TestPkgConfig: a program is built with what pkg-config says, of a static library and of a shared one.
func TestPkgConfig(t *testing.T) {
	dir, so := static(t)
	inFolder(t, dir, map[string]string{
		"libone.so.3": so,
		"main.c":      useArchives,
		"one.pc": aot.PkgConfig(&aot.Files{Source: "one.heal", Name: "one", Shared: "libone.so.3", Static: "libone.a",
			Version: "3"}),
		"long.pc": aot.PkgConfig(&aot.Files{Source: "long.heal", Name: "long", Static: "liba_rather_long_name.a"}),
	})
	t.Setenv("PKG_CONFIG_PATH", dir)
	if out := said(t, dir, "pkg-config", "--modversion", "one"); out != "3\n" {
		t.Errorf("the version is %q", out)
	}
	flags := strings.Fields(said(t, dir, "pkg-config", "--cflags", "--libs", "one", "long"))
	said(t, dir, append([]string{"cc", "-Wall", "-Werror", "main.c", "-o", "main"}, flags...)...)
	t.Setenv("LD_LIBRARY_PATH", dir)
	if out := said(t, dir, filepath.Join(dir, "main")); out != "0 7.389 0.368\n" {
		t.Errorf("the program says %q", out)
	}
}

// TestCMake: CMake builds a program that names the targets of package files.
func TestCMake(t *testing.T) {
	dir, so := static(t)
	inFolder(t, dir, map[string]string{
		"one.so": so,
		"main.c": useArchives,
		"one-config.cmake": aot.CMake(&aot.Files{Name: "one", Shared: "one.so", SoName: "libone.so.3",
			Static: "libone.a", Version: "3"}),
		"long-config.cmake": aot.CMake(&aot.Files{Name: "long", Static: "liba_rather_long_name.a"}),
		"CMakeLists.txt": `cmake_minimum_required(VERSION 3.16)
project(use C)
find_package(one CONFIG REQUIRED PATHS ${CMAKE_SOURCE_DIR} NO_DEFAULT_PATH)
find_package(long CONFIG REQUIRED PATHS ${CMAKE_SOURCE_DIR} NO_DEFAULT_PATH)
message(STATUS "version ${one_VERSION}")
add_executable(main main.c)
target_link_libraries(main one::one long::static)
add_executable(alone main.c)
target_link_libraries(alone one::static long::static)
`,
		"libone.so.3": so, // where a program finds it when it runs
	})
	if out := said(t, dir, "cmake", "-S", ".", "-B", "build"); !strings.Contains(out, "version 3") {
		t.Errorf("CMake says %s", out)
	}
	said(t, dir, "cmake", "--build", "build")
	t.Setenv("LD_LIBRARY_PATH", dir)
	for _, program := range []string{"build/main", "build/alone"} {
		if out := said(t, dir, filepath.Join(dir, program)); out != "0 7.389 0.368\n" {
			t.Errorf("%s says %q", program, out)
		}
	}
}

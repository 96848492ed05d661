package aot

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"healc/codegen/llvm/aot/names"
)

// LinkerEnv is the environment variable that names the linker.
const LinkerEnv = "HEAL_LD"

// linkers are tried in order. All understand the options of GNU ld.
var linkers = []string{"ld", "ld.lld", "ld.gold", "ld.mold"}

// crossLinkers are those for another processor than this machine's. lld and mold link for all.
func crossLinkers(triple string) []string {
	return []string{gnuName(triple) + "-ld", "ld.lld", "ld.mold"}
}

// LinkError says that there is no linker, or what it said.
type LinkError struct{ Message, Help string }

func (e *LinkError) Error() string { return e.Message }

// FindLinker returns the path of a linker for a target, "" being this machine: that of HEAL_LD, else the first that is
// there.
func FindLinker(triple string) (string, error) {
	names, packages := linkers, "binutils or lld"
	if foreign(triple) {
		names, packages = crossLinkers(triple), "lld or binutils-"+strings.ReplaceAll(gnuName(triple), "_", "-")
	}
	if v := os.Getenv(LinkerEnv); v != "" {
		names = []string{v}
	}
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	what := "a shared library"
	if foreign(triple) {
		what += " for " + triple
	}
	return "", &LinkError{
		Message: "there is no linker to make " + what + " with: none of " + strings.Join(names, ", ") +
			" is on the PATH",
		Help: "install one, such as Debian's package " + packages + ", or name it in " + LinkerEnv +
			"; --emit obj needs none",
	}
}

// libraryFolders are where the C library may lie: lld, unlike ld, knows none by itself.
var libraryFolders = []string{"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib",
	"/usr/lib"}

// Link makes a shared library of objects. Only names that begin with prefix and an underscore, and those of tvm-ffi,
// can be seen from outside; the names of kernels stay for profilers and debuggers, and so do unwind tables and lines.
// soname is the name that programs linked against it look for. triple is the target, "" for this machine. The same
// objects give the same bytes.
func Link(objects [][]byte, prefix, soname, triple string) ([]byte, error) {
	linker, err := FindLinker(triple)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "heal-link-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	exports := fmt.Sprintf("{ global: %s_*; %s*; local: *; };\n", prefix, names.TVM(""))
	args := []string{"-shared", "-o", "out.so", "-soname", soname, "--version-script", "exports",
		"-Bsymbolic", "--no-undefined", "--as-needed", "--build-id=none", "--hash-style=gnu", "-O1", "--gc-sections",
		"-z", "noexecstack", "-z", "relro", "-z", "now", "--eh-frame-hdr", "-X"}
	if padsCode(linker) {
		args = append(args, "-z", "noseparate-code")
	}
	if err := os.WriteFile(filepath.Join(dir, "exports"), []byte(exports), 0o600); err != nil {
		return nil, err
	}
	var names []string
	for i, o := range objects {
		name := fmt.Sprintf("%d.o", i)
		if err := os.WriteFile(filepath.Join(dir, name), o, 0o600); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	if foreign(triple) {
		stubs, err := stubLibraries(linker, dir, triple, objects)
		var failed *LinkError
		if errors.As(err, &failed) {
			failed.Help = "ld of GNU links for one kind of processor; lld links for all: HEAL_LD=ld.lld"
		}
		if err != nil {
			return nil, err
		}
		args = append(append(args, names...), stubs...)
	} else {
		for _, f := range libraryFolders {
			if _, err := os.Stat(f); err == nil {
				args = append(args, "-L"+f)
			}
		}
		args = append(append(args, names...), libraries()...)
	}
	if err := runLinker(linker, dir, args); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, "out.so"))
}

// padsCode says whether a linker has to be told that code may share pages of the file with tables. ld of GNU gives it
// pages of its own, and fills them up, which makes a library 4 or 8 KiB larger. gold does not, and refuses the option.
func padsCode(linker string) bool {
	said, err := exec.Command(linker, "--version").Output()
	return err == nil && bytes.HasPrefix(said, []byte("GNU ld"))
}

// runLinker runs the linker in a folder.
func runLinker(linker, dir string, args []string) error {
	cmd := exec.Command(linker, args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return &LinkError{Message: fmt.Sprintf("%s failed: %v: %s", linker, err, strings.TrimSpace(said.String()))}
	}
	return nil
}

// libraries are the arguments for what a library needs: the files that programs run with, not the ones for
// development, which may not be installed. The loader has the address of thread-local variables; libpthread is a part
// of libc in newer systems, and libgcc divides integers of 128 bits.
func libraries() []string {
	var out []string
	for _, name := range []string{"libc.so.6", "libm.so.6", "libpthread.so.0", "libgcc_s.so.1", "ld-linux-x86-64.so.2",
		"ld-linux-aarch64.so.1"} {
		for _, f := range libraryFolders {
			if _, err := os.Stat(filepath.Join(f, name)); err == nil {
				out = append(out, "-l:"+name)
				break
			}
		}
	}
	return out
}

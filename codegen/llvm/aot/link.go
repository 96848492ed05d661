package aot

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// LinkerEnv is the environment variable that names the linker.
const LinkerEnv = "HEAL_LD"

// linkers are tried in order. All understand the options of GNU ld.
var linkers = []string{"ld", "ld.lld", "ld.gold", "ld.mold"}

// LinkError says that there is no linker, or what it said.
type LinkError struct{ Message, Help string }

func (e *LinkError) Error() string { return e.Message }

// FindLinker returns the path of the linker: that of HEAL_LD, else the first of ld and lld that is there.
func FindLinker() (string, error) {
	names := linkers
	if v := os.Getenv(LinkerEnv); v != "" {
		names = []string{v}
	}
	for _, n := range names {
		if path, err := exec.LookPath(n); err == nil {
			return path, nil
		}
	}
	return "", &LinkError{
		Message: "there is no linker to make a shared library with: none of " + strings.Join(names, ", ") + " is on the PATH",
		Help:    "install one, such as Debian's package binutils or lld, or name it in " + LinkerEnv + "; --emit obj needs none",
	}
}

// libraryFolders are where the C library may lie: lld, unlike ld, knows none by itself.
var libraryFolders = []string{"/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib64", "/usr/lib64", "/lib", "/usr/lib"}

// Link makes a shared library of objects. Only names that begin with heal_ or with prefix and an underscore can be
// seen from outside. soname is the name that programs linked against it look for. The same objects give the same bytes.
func Link(objects [][]byte, prefix, soname string) ([]byte, error) {
	linker, err := FindLinker()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "heal-link-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	exports := fmt.Sprintf("{ global: heal_*; %s_*; local: *; };\n", prefix)
	args := []string{"-shared", "-o", "out.so", "-soname", soname, "--version-script", "exports",
		"-Bsymbolic", "--no-undefined", "--as-needed", "--build-id=none", "--hash-style=gnu", "-O1", "--gc-sections", "-z", "noexecstack", "-z", "relro", "-z", "now", "-s"}
	for _, f := range libraryFolders {
		if _, err := os.Stat(f); err == nil {
			args = append(args, "-L"+f)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "exports"), []byte(exports), 0o600); err != nil {
		return nil, err
	}
	for i, o := range objects {
		name := fmt.Sprintf("%d.o", i)
		if err := os.WriteFile(filepath.Join(dir, name), o, 0o600); err != nil {
			return nil, err
		}
		args = append(args, name)
	}
	args = append(args, libraries()...)
	cmd := exec.Command(linker, args...)
	cmd.Dir = dir
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Run(); err != nil {
		return nil, &LinkError{Message: fmt.Sprintf("%s failed: %v: %s", linker, err, strings.TrimSpace(said.String()))}
	}
	return os.ReadFile(filepath.Join(dir, "out.so"))
}

// libraries are the arguments for what a library needs: the files that programs run with, not the ones for
// development, which may not be installed. The loader has the address of thread-local variables; libpthread is a part
// of libc in newer systems, and libgcc divides integers of 128 bits.
func libraries() []string {
	var out []string
	for _, name := range []string{"libc.so.6", "libm.so.6", "libpthread.so.0", "libgcc_s.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1"} {
		for _, f := range libraryFolders {
			if _, err := os.Stat(filepath.Join(f, name)); err == nil {
				out = append(out, "-l:"+name)
				break
			}
		}
	}
	return out
}

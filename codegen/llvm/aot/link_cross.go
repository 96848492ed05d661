package aot

import (
	"bytes"
	"debug/elf"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"healc/codegen/llvm/libllvm"
)

// archOf is the architecture of a triple in GNU's spelling.
func archOf(triple string) string {
	arch, _, _ := strings.Cut(triple, "-")
	switch arch {
	case "amd64":
		return "x86_64"
	case "arm64":
		return "aarch64"
	}
	return arch
}

// gnuName is the name that cross tools and folders of libraries have in Debian.
func gnuName(triple string) string { return archOf(triple) + "-linux-gnu" }

// foreign reports that a target is another architecture than this machine's.
func foreign(triple string) bool { return triple != "" && archOf(triple) != archOf(runtime.GOARCH) }

// Note [Stub libraries]: linking for another architecture needs no C library of it. The linker wants to know in which
// libraries the functions are that the objects call, and only their names go into the result. So stubs stand for the
// libraries: each has a function for every name that is needed, and what is made of the result when it is loaded is up
// to the loader, which looks through all libraries that it names.

// loaders are the names of the dynamic loaders, which have the address of thread-local variables.
var loaders = map[string]string{"x86_64": "ld-linux-x86-64.so.2", "aarch64": "ld-linux-aarch64.so.1"}

// stubLibraries writes stubs of the libraries that the objects need, and gives their names.
func stubLibraries(linker, dir, triple string, objects [][]byte) ([]string, error) {
	needed, err := undefined(objects)
	if err != nil {
		return nil, err
	}
	lib, err := libllvm.Open()
	if err != nil {
		return nil, err
	}
	of := map[string][]string{}
	for _, name := range needed {
		switch {
		case name == "__tls_get_addr":
			of[loaders[archOf(triple)]] = append(of[loaders[archOf(triple)]], name)
		case strings.HasSuffix(name, "ti3") || strings.HasSuffix(name, "hf2") || strings.HasPrefix(name, "__extendhf"):
			of["libgcc_s.so.1"] = append(of["libgcc_s.so.1"], name)
		default:
			of["libc.so.6"] = append(of["libc.so.6"], name)
		}
	}
	// What is in libc is in one of these: libpthread was apart up to version 2.33.
	for _, soname := range []string{"libm.so.6", "libpthread.so.0"} {
		of[soname] = nil
	}
	var files, names []string
	for soname := range of {
		names = append(names, soname)
	}
	slices.Sort(names)
	for _, soname := range names {
		var text strings.Builder
		for _, f := range of[soname] {
			fmt.Fprintf(&text, "define void @%q() {\n  ret void\n}\n", f)
		}
		fmt.Fprintf(&text, "@%q = constant i8 0\n", "heal.stub."+soname)
		obj, err := lib.Compile(text.String(), libllvm.Options{Triple: triple, CPU: "generic", Emit: libllvm.Object})
		if err != nil {
			return nil, fmt.Errorf("BUG: libLLVM refuses a stub: %w", err)
		}
		if err := os.WriteFile(filepath.Join(dir, soname+".o"), obj, 0o600); err != nil {
			return nil, err
		}
		if err := runLinker(linker, dir, []string{"-shared", "-soname", soname, "-o", soname, soname + ".o"}); err !=
			nil {
			return nil, err
		}
		files = append(files, soname)
	}
	return append([]string{"--no-as-needed"}, files...), nil
}

// undefined lists the names that objects need from elsewhere.
func undefined(objects [][]byte) ([]string, error) {
	defined, wanted := map[string]bool{}, map[string]bool{}
	for _, o := range objects {
		f, err := elf.NewFile(bytes.NewReader(o))
		if err != nil {
			return nil, fmt.Errorf("BUG: an object that cannot be read: %w", err)
		}
		symbols, err := f.Symbols()
		if err != nil {
			return nil, fmt.Errorf("BUG: an object without symbols: %w", err)
		}
		for _, s := range symbols {
			switch {
			case s.Name == "":
			case s.Section == elf.SHN_UNDEF && elf.ST_VISIBILITY(s.Other) == elf.STV_HIDDEN: // the linker knows it
			case s.Section == elf.SHN_UNDEF:
				wanted[s.Name] = true
			default:
				defined[s.Name] = true
			}
		}
	}
	var out []string
	for name := range wanted {
		if !defined[name] && name != "_GLOBAL_OFFSET_TABLE_" {
			out = append(out, name)
		}
	}
	slices.Sort(out)
	return out, nil
}

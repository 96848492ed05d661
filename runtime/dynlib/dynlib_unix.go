//go:build unix

package dynlib

import "github.com/ebitengine/purego"

// Open opens the library of a file, or of a name that the linker of the system looks for. The linker keeps the reason
// of a failure for the thread.
func Open(path string, mode Mode) (uintptr, error) {
	flags := purego.RTLD_LAZY
	if mode&Now != 0 {
		flags = purego.RTLD_NOW
	}
	if mode&Global != 0 {
		return purego.Dlopen(path, flags|purego.RTLD_GLOBAL)
	}
	return purego.Dlopen(path, flags|purego.RTLD_LOCAL)
}

// Symbol is the address of what a library defines.
func Symbol(library uintptr, name string) (uintptr, error) { return purego.Dlsym(library, name) }

// Close gives a library back.
func Close(library uintptr) error { return purego.Dlclose(library) }

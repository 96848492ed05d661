package dynlib

import (
	"fmt"

	"golang.org/x/sys/windows"
)

// Open opens the library of a file, beside which it looks for what that needs, or of a name that it looks for beside
// the program and in the folders of the system, not in the current one. Mode has no meaning here.
func Open(path string, _ Mode) (uintptr, error) {
	flags := uintptr(windows.LOAD_LIBRARY_SEARCH_DEFAULT_DIRS)
	if isPath(path) {
		flags |= windows.LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR
	}
	h, err := windows.LoadLibraryEx(path, 0, flags)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", path, err)
	}
	return uintptr(h), nil
}

// isPath reports whether a library is named by its file, from the root of a drive.
func isPath(path string) bool { return len(path) > 2 && path[1] == ':' }

// Symbol is the address of what a library defines.
func Symbol(library uintptr, name string) (uintptr, error) {
	return windows.GetProcAddress(windows.Handle(library), name)
}

// Close gives a library back.
func Close(library uintptr) error { return windows.FreeLibrary(windows.Handle(library)) }

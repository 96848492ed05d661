package memory

import (
	"unsafe"

	"golang.org/x/sys/windows"
)

// mapPages returns size bytes of zeroed memory. The system provides pages as they are first touched.
func mapPages(size int64) ([]byte, error) {
	at, err := windows.VirtualAlloc(0, uintptr(size), windows.MEM_RESERVE|windows.MEM_COMMIT, windows.PAGE_READWRITE)
	if err != nil {
		return nil, err
	}
	// The address is of no memory of Go's, so that it is made a pointer as it lies.
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), size), nil
}

// unmapPages gives them back.
func unmapPages(pages []byte) error {
	return windows.VirtualFree(uintptr(unsafe.Pointer(unsafe.SliceData(pages))), 0, windows.MEM_RELEASE)
}

// AddressLimit is what this process may map in all: no limit is set here.
func AddressLimit() (int64, bool) { return 0, false }

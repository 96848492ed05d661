//go:build !linux || !(amd64 || arm64)

package mapped

import (
	"errors"
	"os"
	"unsafe"
)

// File is a file that is held, of which there is none on this system.
type File struct{}

// Hold holds no file on this system.
func Hold(*os.File) (*File, error) { return nil, errors.ErrUnsupported }

// Map maps bytes of the file.
func (*File) Map(int64, int64) (unsafe.Pointer, error) { return nil, errors.ErrUnsupported }

// Err says why what is mapped may not be what the file held.
func (*File) Err() error { return nil }

// Close unmaps and closes the file.
func (*File) Close() {}

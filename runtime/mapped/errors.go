package mapped

import "errors"

// FileError says that what was computed from a mapped file may not be computed from what the file held.
type FileError struct {
	Path string
	Err  error
}

func (e *FileError) Error() string { return "the file " + e.Path + " " + e.Err.Error() }

// Unwrap returns the reason.
func (e *FileError) Unwrap() error { return e.Err }

// The reasons.
var (
	errUnreadable = errors.New("could not be read while it was used: the disk failed, or the file was shortened")
	errChanged    = errors.New("was changed while it was used")
	errNoMemory   = errors.New("is changed while it is used, and there is no memory for what it held")
)

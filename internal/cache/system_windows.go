package cache

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// tryLock takes the lock of a file, and does not wait for it; busy: somebody has it.
func tryLock(f *os.File) (busy bool, err error) {
	const how = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	err = windows.LockFileEx(windows.Handle(f.Fd()), how, 0, 1, 0, &windows.Overlapped{})
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return true, nil
	}
	return false, err
}

// refused says why a folder or a file is not used. Here the folder of a user's cache lies in his profile, which the
// system keeps from others, and the mode of a file says nothing of who else may write it.
func refused(fs.FileInfo, string) error { return nil }

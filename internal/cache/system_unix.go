//go:build unix

package cache

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// tryLock takes the lock of a file, and does not wait for it; busy: somebody has it.
func tryLock(f *os.File) (busy bool, err error) {
	err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// refused says why a folder or a file is not used: others own it or may write it.
func refused(info fs.FileInfo, name string) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && st.Uid != 0 && int64(st.Uid) != int64(os.Geteuid()) {
		return fmt.Errorf("%s belongs to the user with the number %d, and healc runs as %d", name, st.Uid, os.Geteuid())
	}
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("others may write %s (its mode is %04o)", name, mode)
	}
	return nil
}

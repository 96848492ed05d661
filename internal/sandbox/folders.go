package sandbox

import (
	"os"
	"path/filepath"
	"strings"
)

// InFolder reports whether a file is in one of some folders or below it. Links are followed, so that none leads
// elsewhere. The file may not be there yet.
func InFolder(path string, folders []string) (bool, error) {
	at, err := resolved(path)
	if err != nil {
		return false, err
	}
	for _, folder := range folders {
		if dir, err := resolved(folder); err == nil && within(at, dir) {
			return true, nil
		}
	}
	return false, nil
}

// resolved is a path without links, of a file that may not be there yet.
func resolved(path string) (string, error) {
	at, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	real, err := filepath.EvalSymlinks(at)
	if os.IsNotExist(err) {
		dir, err := filepath.EvalSymlinks(filepath.Dir(at))
		if err != nil {
			return "", err
		}
		return filepath.Join(dir, filepath.Base(at)), nil
	}
	return real, err
}

// within reports whether a path is a folder or below it.
func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, strings.TrimSuffix(folder, "/")+"/")
}

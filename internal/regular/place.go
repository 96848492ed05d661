package regular

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Place is where a file is, as the system finds it: its path from the root, without links. `..` leads out of the folder
// that a link names, not out of that of the link. The file need not be there, nor its folder. A link to what is not
// there is an error: who writes the file would write where the link leads.
func Place(path string) (string, error) {
	if !filepath.IsAbs(path) {
		dir, err := os.Getwd()
		if err != nil {
			return "", err
		}
		path = dir + "/" + path // filepath.Join would take `..` away
	}
	if path = strings.TrimRight(path, "/"); path == "" {
		return "/", nil
	}
	real, err := filepath.EvalSymlinks(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return real, err
	}
	if _, err := os.Lstat(path); err == nil {
		return "", fmt.Errorf("%s is a link to what is not there", path)
	}
	last := strings.LastIndexByte(path, '/') + 1
	dir, err := Place(path[:last])
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, path[last:]), nil
}

// Within reports whether a file is a folder, or in it, or below. Both are places.
func Within(file, folder string) bool {
	rel, err := filepath.Rel(folder, file)
	return err == nil && filepath.IsLocal(rel)
}

// InFolder reports whether a file is in one of some folders, or below. Links are followed, so that none leads
// elsewhere.
func InFolder(path string, folders []string) (bool, error) {
	at, err := Place(path)
	if err != nil {
		return false, err
	}
	for _, folder := range folders {
		if dir, err := Place(folder); err == nil && Within(at, dir) {
			return true, nil
		}
	}
	return false, nil
}

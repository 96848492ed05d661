package cli

import (
	"io"
	"os"
	"path/filepath"
	"testing"
)

// TestReplace: a file is replaced in one step, where a link leads, with the rights that it had. Who has the old one
// open keeps it, and a failure leaves nothing behind.
func TestReplace(t *testing.T) {
	dir := t.TempDir()
	file, link := filepath.Join(dir, "f.so"), filepath.Join(dir, "link.so")
	if err := os.WriteFile(file, []byte("old"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("f.so", link); err != nil {
		t.Fatal(err)
	}
	open, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	if err := replace(link, []byte("new")); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(open); err != nil || string(text) != "old" {
		t.Errorf("the open file is %q, %v", text, err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "new" {
		t.Errorf("the file is %q, %v", text, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("%v, %v", info, err)
	}
	if to, err := os.Readlink(link); err != nil || to != "f.so" {
		t.Errorf("the link leads to %q, %v", to, err)
	}
	if err := replace(filepath.Join(dir, "no", "f.so"), nil); err == nil {
		t.Error("a file in a folder that is not there")
	}
	if err := replace(os.DevNull, []byte("nothing")); err != nil {
		t.Error(err)
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
}

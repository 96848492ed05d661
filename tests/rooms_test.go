package tests

import (
	"os"
	"strings"
	"testing"
)

// TestRooms: README.md has a row for each folder.
func TestRooms(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if name := e.Name(); e.IsDir() && !strings.Contains(string(page), "\n| ["+name+"]("+name+") |") {
			t.Errorf("README.md has no row for %s", name)
		}
	}
}

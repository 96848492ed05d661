package regular

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestInFolder: links are followed on the way and at its end; what is not there can be in a folder, but not behind a
// link that leads nowhere.
func TestInFolder(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return dir + "/" + name } // filepath.Join would take `..` away
	for _, folder := range []string{"in/below", "in2", "out/deep"} {
		if err := os.MkdirAll(at(folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"in/file", "in2/file", "out/file"} {
		if err := os.WriteFile(at(file), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{"in/away": at("out"), "in/up": "../out/file", "in/stays": "below",
		"in/nowhere": at("out/new"), "in/lost": "lost2", "in/round": "round", "enters": "in"} {
		if err := os.Symlink(to, at(link)); err != nil {
			t.Skip(err)
		}
	}
	for path, want := range map[string]string{
		"in": "yes", "in/file": "yes", "in/new": "yes", "in/new/newer/newest": "yes", "in/below/../file": "yes",
		"in/stays/new": "yes", "enters/file": "yes", "enters/new": "yes",
		"in/..": "no", "in/../out/file": "no", "in2/file": "no", "in2": "no", "new": "no", "in/up": "no",
		"in/away/file": "no", "in/away/new": "no", "in/away/new/newer": "no", "in/away/deep/..": "no",
		"in/away/..": "no", "in/away/../file": "no", "in/away/../in/file": "yes", "in/stays/../file": "yes",
		"in/away/../in/new/": "yes", "in/new/../../out/file": "no", "in/./file": "yes", "in//new//": "yes",
		"in/nowhere": "is a link to what is not there", "in/lost": "is a link to what is not there",
		"in/lost/new": "is a link to what is not there", "in/round": "too many links",
	} {
		got := "no"
		if in, err := InFolder(at(path), []string{at("nosuch"), at("in")}); err != nil {
			got = err.Error()
		} else if in {
			got = "yes"
		}
		if got != want && !(len(want) > 3 && strings.Contains(got, want)) {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if in, err := InFolder(at("in/file"), []string{"/"}); err != nil || !in {
		t.Errorf("in /: %t, %v", in, err)
	}
	if in, err := InFolder(at("in/file"), nil); err != nil || in {
		t.Errorf("in no folder: %t, %v", in, err)
	}
}

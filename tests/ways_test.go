package tests

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// otherwise says why files that compile programs do not go through tests/ways; a folder stands for its files.
var otherwise = map[string]string{
	"tests/allocations":                      "about memory of Go, which no code for programs decides",
	"tests/bench":                            "about time: each measurement says what it compiles",
	"tests/bits":                             "what the interpreter gives, which compiles nothing",
	"tests/cli/api_test.go":                  "examples of the Go API",
	"tests/coming_test.go":                   "what the interpreter gives, which compiles nothing",
	"tests/codehash":                         "lists code of each way itself",
	"tests/codes_test.go":                    "examples of errors; tests/lang has the checks",
	"tests/cluster/library_linux_test.go":    "libraries are what a way stands for",
	"tests/digits_test.go":                   "an example with each number of threads, too long for more",
	"tests/fusion":                           "counts kernels, and runs nothing",
	"tests/golden":                           "texts between the passes",
	"tests/gradients/cost_test.go":           "counts kernels, and runs nothing",
	"tests/library":                          "libraries are what a way stands for",
	"tests/sources/ranks_test.go":            "what passes make, and runs nothing",
	"tests/matmul/moved_test.go":             "looks at what plans say, and runs nothing",
	"tests/matmul/free_test.go":              "a way of its own: several shapes with one code",
	"tests/programs/library_test.go":         "libraries are what a way stands for",
	"tests/random/large_test.go":             "checks programs, and runs nothing; tests/reach has the ways",
	"tests/random/product_schedules_test.go": "gives schedules in place of those of a way",
	"tests/random/roundings_test.go":         "gives numbers in place of those of a way, and says for which code",
	"tests/random/tuned_test.go":             "a tune file has entries for the code of a call, whose effort is drawn",
	"tests/reach":                            "names a way with each program",
	"tests/residues/ring_test.go":            "counts kernels, and runs nothing",
	"tests/rlwe_test.go":                     "an example with each number of threads, too long for more",
	"tests/run/library_test.go":              "libraries are what a way stands for",
	"tests/module":                           "a program of a user, who takes the module from elsewhere",
	"tests/ways":                             "the ways themselves",
	"tests/shardings/files_test.go":          "files that are written; programs_test.go there has the ways",
	"tests/train_digits_test.go":             "an example of the Go API",
	"tests/transcripts/malformed_test.go":    "wants mistakes in files",
}

// compiles is what makes code of programs.
var compiles = regexp.MustCompile(`\b(engine|heal|replay)\.Compile(IR|File|Transcript)?\(|\bsuite\.Suite\{`)

// TestWays: the suites below tests and stdlib go through tests/ways, where they do not say why.
func TestWays(t *testing.T) {
	used, n := map[string]bool{}, 0
	for _, file := range suiteFiles(t) {
		text, err := os.ReadFile(filepath.Join("..", file))
		if err != nil {
			t.Fatal(err)
		}
		if !compiles.Match(text) {
			continue
		}
		n++
		why := ""
		for name := range otherwise {
			if file == name || strings.HasPrefix(file, name+"/") {
				why, used[name] = otherwise[name], true
			}
		}
		switch goes := strings.Contains(string(text), `"healc/tests/ways"`); {
		case goes && why != "":
			t.Errorf("%s goes through tests/ways, and the list says why it does not: %s", file, why)
		case !goes && why == "":
			t.Errorf("%s compiles programs in one way alone: let a case have one a day by tests/ways, as other suites "+
				"do, or say in `otherwise` why it does not", file)
		}
	}
	for name := range otherwise {
		if !used[name] {
			t.Errorf("%s, which the list has, compiles no programs", name)
		}
	}
	if n < 40 {
		t.Errorf("only %d files compile programs", n)
	}
}

// suiteFiles are the Go files below tests and stdlib, relative to the root.
func suiteFiles(t *testing.T) (out []string) {
	t.Helper()
	for _, folder := range []string{"tests", "stdlib"} {
		err := filepath.WalkDir(filepath.Join("..", folder), func(path string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && filepath.Ext(path) == ".go" {
				out = append(out, strings.TrimPrefix(filepath.ToSlash(path), "../"))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

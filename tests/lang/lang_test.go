// Package lang runs the tests of the language's sentences: small programs whose first line is the
// sentence, and whose next ones say what is expected of them.
package lang

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/tests/devices"
)

var update = flag.Bool("update", false, "rewrite the lists of files in README.md")

// leastPrograms is how many programs the sections have at least: a folder that is not found must not pass.
const leastPrograms = 900

// TestLanguage runs every program on the interpreter and on the CPU, with a cache of its own, so that nothing
// that was compiled before hides a failure.
func TestLanguage(t *testing.T) {
	sections, err := filepath.Glob("s*_*")
	if err != nil || len(sections) == 0 {
		t.Fatalf("no sections: %v", err)
	}
	s := &driver.Suite{
		Backends: []string{heal.Interp, heal.CPU},
		Workers:  runtime.GOMAXPROCS(0),
		Cache:    &heal.Cache{Dir: t.TempDir()},
		Args:     arguments,
	}
	if testing.Short() {
		s.Backends = []string{heal.Interp}
	}
	results, err := s.Test(context.Background(), sections)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{}
	for _, r := range results {
		files[r.Name] = true
		if r.Result == driver.Passed {
			continue
		}
		if r.Result == driver.Skipped {
			t.Logf("%s: skipped: %s", r.Name, r.Message)
			continue
		}
		name := r.Name
		if r.Test != "" {
			name += " " + r.Test
		}
		t.Errorf("%s (%s): %s", name, r.Backend, r.Message)
	}
	if len(files) < leastPrograms {
		t.Errorf("%d programs ran, expected %d at least", len(files), leastPrograms)
	}
}

// TestLanguageOnDevice runs programs on the interpreter and a device, a sample of them on the simulator.
func TestLanguageOnDevice(t *testing.T) {
	sections, err := filepath.Glob("s*_*")
	if err != nil || len(sections) == 0 {
		t.Fatalf("no sections: %v", err)
	}
	s := &driver.Suite{
		Backends: []string{heal.Interp, devices.Backend()},
		Workers:  runtime.GOMAXPROCS(0),
		Cache:    &heal.Cache{Dir: t.TempDir()},
		Args:     arguments,
		Take:     func(i int) bool { return devices.Takes(i, 4) },
	}
	results, err := s.Test(context.Background(), sections)
	if err != nil {
		t.Fatal(err)
	}
	ran := 0
	for _, r := range results {
		switch r.Result {
		case driver.Failed:
			t.Errorf("%s %s (%s): %s", r.Name, r.Test, r.Backend, r.Message)
		case driver.Passed:
			ran++
		}
	}
	if devices.Takes(0, 1) && ran < leastPrograms/4 {
		t.Errorf("%d programs ran", ran)
	}
}

// arguments applies the words of `# args` to a job: the entry, its inputs and the number of threads.
func arguments(words []string, job *driver.Job) error {
	for len(words) > 1 {
		switch words[0] {
		case "--entry":
			job.Entry = words[1]
		case "--in":
			job.Inputs = append(job.Inputs, words[1])
		case "--threads":
			n, err := strconv.Atoi(words[1])
			if err != nil || n < 1 {
				return fmt.Errorf("%q is no number of threads", words[1])
			}
			job.Opts.Threads = n
		default:
			return fmt.Errorf("a test of the language has --entry, --in and --threads alone, not %s", words[0])
		}
		words = words[2:]
	}
	if len(words) > 0 {
		return fmt.Errorf("%s has no value", words[0])
	}
	return nil
}

// TestDirectives checks that the suite sees a program that does not do what it says.
func TestDirectives(t *testing.T) {
	for _, text := range []string{
		"# expect exit 1\nfn main() -> i32 = 2\n",
		"# expect stdout \"1\\n\"\n@io fn main() -> i32 = { print(2); 0 }\n",
		"# expect error E0203\nfn main() -> i32 = 0\n",
		"# expect error E0203\nfn main() -> i32 = x\n",
		"# expect compile-error \"other\"\nfn main() -> i32 = x\n",
		"# expect runtime-error \"zero\"\nfn main() -> i32 = 0\n",
		"# expect exit 0\n# backend interp\nfn main() -> i32 = 1\n",
		"# expect exit 0\n# args --entry g\nfn f() -> i32 = 1\n",
		"test \"t\" { assert_eq(1, 2) }\n",
	} {
		path := filepath.Join(t.TempDir(), "wrong.heal")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		s := &driver.Suite{Backends: []string{heal.Interp}, Args: arguments}
		results, err := s.Test(context.Background(), []string{path})
		if err != nil || len(results) != 1 || results[0].Result != driver.Failed {
			t.Errorf("this should have failed once: %v, %v\n%s", results, err, text)
		}
	}
}

// link is a file in the table of README.md.
var link = regexp.MustCompile(`\[[^\]]*\]\(([^)]*)\)`)

// TestIndex checks that README.md lists every program once, at the sentence that its first line says, and
// that every sentence has a program.
func TestIndex(t *testing.T) {
	programs, err := bySentence()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	section := ""
	for line := range strings.Lines(string(page)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = strings.TrimSpace(title)
		}
		sentence, ok := strings.CutPrefix(line, "| ")
		if !ok || sentence == "sentence | files |\n" {
			out.WriteString(line)
			continue
		}
		cell := strings.Split(sentence, " | ")[0]
		key := section + ": " + strings.ReplaceAll(cell, `\|`, "|")
		files := programs[key]
		if len(files) == 0 {
			t.Errorf("no program for the sentence %q", key)
		}
		delete(programs, key)
		links := make([]string, len(files))
		for i, f := range files {
			links[i] = fmt.Sprintf("[%s](%s)", strings.TrimSuffix(filepath.Base(f), ".heal"), f)
		}
		fmt.Fprintf(&out, "| %s | %s |\n", cell, strings.Join(links, ", "))
	}
	for key, files := range programs {
		t.Errorf("README.md has no row for %q of %s", key, strings.Join(files, ", "))
	}
	if out.String() == string(page) {
		return
	}
	if *update {
		if err := os.WriteFile("README.md", []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	listed := link.FindAllStringSubmatch(string(page), -1)
	t.Errorf("the files in README.md, %d, are not those of the folders: run this test with -update", len(listed))
}

// bySentence lists the programs of each sentence, in the order of their names. A key is the folder and the sentence.
func bySentence() (map[string][]string, error) {
	out := map[string][]string{}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && slices.Contains([]string{"parts"}, d.Name()) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".heal" {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		first, _, _ := strings.Cut(string(text), "\n")
		sentence, ok := strings.CutPrefix(strings.TrimSuffix(first, "\r"), "# ")
		if !ok {
			return fmt.Errorf("%s does not start with the sentence that it tests", path)
		}
		key := filepath.ToSlash(filepath.Dir(path)) + ": " + sentence
		out[key] = append(out[key], filepath.ToSlash(path))
		return nil
	})
	return out, err
}

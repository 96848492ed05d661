// Package lang runs the tests of the language's sentences. An archive (txtar) is about one subject: it begins with the
// sentences that it tests, one a line. Each file in it is a case, a program whose first line is one of the sentences
// and whose next ones say what is expected of it, as `healc test` reads them. Files in folders of the archive are what
// its cases import; what they read lies in the folder data beside the archive.
//
//	go test ./tests/lang -run 'TestLanguage/slices/slice_with_a_step'
//	go test ./tests/lang -run 'TestLanguage/slices' -keep FOLDER    # leaves the programs of these cases in FOLDER
package lang

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/suite"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

var (
	update = flag.Bool("update", false, "rewrite the table of archives in README.md")
	keep   = flag.String("keep", "", "leave the programs of the cases below this `folder`")
)

// archive is the cases about one subject.
type archive struct {
	section   string // its folder
	name      string
	sentences []string
	cases     []txtar.File
	imported  []txtar.File
}

// archives reads all archives, in the order of their paths, and requires of each that it is well formed: a name of
// its own, sentences, each with a case, and cases, each with a sentence.
func archives(t *testing.T) []*archive {
	t.Helper()
	var out []*archive
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(file) != ".txtar" {
			return err
		}
		parsed, err := txtar.ParseFile(file)
		if err != nil {
			return err
		}
		file = filepath.ToSlash(file)
		a := &archive{section: path.Dir(file), name: strings.TrimSuffix(path.Base(file), ".txtar"),
			sentences: strings.Split(strings.TrimRight(string(parsed.Comment), "\n"), "\n")}
		if i := slices.IndexFunc(out, func(b *archive) bool { return a.name == b.name }); i >= 0 {
			t.Errorf("%s has the name of an archive of %s", file, out[i].section)
		}
		tested, names := map[string]bool{}, map[string]bool{}
		for _, f := range parsed.Files {
			if names[f.Name] || path.Ext(f.Name) != ".heal" || !filepath.IsLocal(f.Name) {
				t.Errorf("%s: %s is no .heal file or is there twice", file, f.Name)
			}
			names[f.Name] = true
			if strings.Contains(f.Name, "/") {
				a.imported = append(a.imported, f)
				continue
			}
			first, _, _ := strings.Cut(string(f.Data), "\n")
			sentence, _ := strings.CutPrefix(strings.TrimSuffix(first, "\r"), "# ")
			if !slices.Contains(a.sentences, sentence) {
				t.Errorf("%s: %s does not start with a sentence of the archive", file, f.Name)
			}
			tested[sentence] = true
			a.cases = append(a.cases, f)
		}
		for _, s := range a.sentences {
			if !tested[s] {
				t.Errorf("%s: no case for the sentence %q", file, s)
			}
		}
		out = append(out, a)
		return nil
	})
	if err != nil || len(out) == 0 {
		t.Fatalf("%d archives: %v", len(out), err)
	}
	return out
}

// TestLanguage runs every case on the interpreter, on the CPU, compiled in the way whose turn it is, and on a device
// those whose turn it is, with a cache of its own, so that nothing that was compiled before hides a failure.
func TestLanguage(t *testing.T) {
	cache := &cache.Cache{Dir: t.TempDir()}
	n, day := 0, sample.Today(t)
	for _, a := range archives(t) {
		first := n
		n += len(a.cases)
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if *keep != "" {
				dir = filepath.Join(*keep, filepath.FromSlash(a.section), a.name)
			}
			a.extract(t, dir)
			for i, c := range a.cases {
				s := suite.Suite{Backends: []string{heal.Interp}, Cache: cache, Args: arguments}
				if devices.Takes(first+i+day, 4) {
					s.Backends = append(s.Backends, devices.Backend())
				}
				t.Run(strings.TrimSuffix(c.Name, ".heal"), func(t *testing.T) {
					t.Parallel()
					path := filepath.Join(dir, c.Name)
					ran := run(t, "", &s, path)
					if !testing.Short() {
						for _, w := range ways.Usual(first+i, 4) {
							_ = w.Run(t, engine.Options{}, func(o engine.Options) error {
								s := suite.Suite{Backends: []string{heal.CPU}, Cache: o.Cache, Args: arguments,
									Options: w.Set}
								ran = run(t, w.Name, &s, path) || ran
								return nil
							})
						}
					}
					if !ran {
						t.Skip("on none of the backends")
					}
				})
			}
		})
	}
}

// extract writes the programs to a folder, and what they read.
func (a *archive) extract(t *testing.T, dir string) {
	t.Helper()
	for _, f := range slices.Concat(a.cases, a.imported) {
		file := filepath.Join(dir, filepath.FromSlash(f.Name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, f.Data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	data := filepath.Join(filepath.FromSlash(a.section), "data")
	if _, err := os.Stat(data); err != nil {
		return
	}
	if err := os.RemoveAll(filepath.Join(dir, "data")); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "data"), os.DirFS(data)); err != nil {
		t.Fatal(err)
	}
}

// run runs one program on the backends of the suite, compiled in a way, and reports whether it is for any of them.
func run(t *testing.T, way string, s *suite.Suite, file string) (ran bool) {
	t.Helper()
	results, err := s.Test(context.Background(), []string{file})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range results {
		switch r.Result {
		case suite.Failed:
			t.Errorf("%s (%s, %s=%s): %s", r.Test, r.Backend, ways.Env, way, r.Message)
		case suite.Skipped:
			t.Log(r.Message)
			continue
		}
		ran = true
	}
	return ran
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
		s := &suite.Suite{Backends: []string{heal.Interp}, Args: arguments}
		results, err := s.Test(context.Background(), []string{path})
		if err != nil || len(results) != 1 || results[0].Result != suite.Failed {
			t.Errorf("this should have failed once: %v, %v\n%s", results, err, text)
		}
	}
}

// tableStart is the line of README.md after which the table of archives stands.
const tableStart = "<!-- The table is written by go test ./tests/lang -update. -->\n"

// TestIndex checks the table of README.md: a line for each archive.
func TestIndex(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	head, _, found := strings.Cut(string(page), tableStart)
	if !found {
		t.Fatalf("README.md has no line %q", tableStart)
	}
	all := archives(t)
	cases := 0
	for _, a := range all {
		cases += len(a.cases)
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s%s\n%d cases in %d archives.\n", head, tableStart, cases, len(all))
	section := ""
	for _, a := range all {
		if a.section != section {
			section = a.section
			fmt.Fprintf(&out, "\n## %s\n\n| archive | cases | sentences |\n|---|---|---|\n", section)
		}
		sentences := strings.ReplaceAll(strings.Join(a.sentences, " "), "|", `\|`)
		fmt.Fprintf(&out, "| [%s](%s/%s.txtar) | %d | %s |\n", a.name, section, a.name, len(a.cases), sentences)
	}
	switch {
	case out.String() == string(page):
	case *update:
		if err := os.WriteFile("README.md", []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Error("the table of README.md is not that of the archives: run this test with -update")
	}
}

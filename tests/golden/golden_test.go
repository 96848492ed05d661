// Package golden compares what each stage of the compiler makes with files that were reviewed.
//
// An archive (txtar) starts with one line that says what it proves. `in.heal` or `in.ir` is the input,
// `options` has lines such as `entry f`, `bind N=8` and `stage fuse`; without the last, the folder is the
// stage: check, irgen, passes/<name>, fuse, kernels, llvm. The stage's text is in `want/out`, its remarks in
// `want/remarks`. A line of `want/counts` is a word and the number of lines of the text that have it: what
// the archive is about, stated so that it survives a change of the text around it.
//
// Every archive is compiled twice and has to give the same bytes. Text that has a parser is parsed,
// verified and printed again, and has to come out the same.
//
//	go test ./tests/golden -update    rewrites the want/ sections; read the diff before committing
package golden

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"healc/ir"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the want/ sections")

// TestGolden runs every archive below this folder.
func TestGolden(t *testing.T) {
	n := 0
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".txtar" {
			n++
			t.Run(strings.TrimSuffix(filepath.ToSlash(path), ".txtar"), func(t *testing.T) { golden(t, path) })
		}
		return err
	})
	if err != nil || n == 0 {
		t.Fatalf("%d archives: %v", n, err)
	}
}

// TestEveryOperation requires an archive in ops/ for each operation of the table, whose text has it.
func TestEveryOperation(t *testing.T) {
	for _, d := range ir.Ops() {
		a, err := txtar.ParseFile(filepath.Join("ops", d.Name+".txtar"))
		if err != nil {
			t.Errorf("operation %s has no golden file: %v", d.Name, err)
			continue
		}
		if countLines(section(a, "want/out"), d.Name) == 0 {
			t.Errorf("ops/%s.txtar does not show the operation", d.Name)
		}
	}
}

// job is an archive that was read.
type job struct {
	stage   string
	name    string // of the input
	input   string
	entry   string
	bind    map[string]int64
	remarks bool
}

// output is what a stage made.
type output struct {
	text    string
	remarks string
}

func golden(t *testing.T, path string) {
	a, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if first, _, _ := strings.Cut(string(a.Comment), "\n"); strings.TrimSpace(first) == "" {
		t.Error("the first line has to say what the archive proves")
	}
	j, err := readJob(a, path)
	if err != nil {
		t.Fatal(err)
	}
	got, err := j.run()
	if err != nil {
		t.Fatal(err)
	}
	again, err := j.run()
	if err != nil {
		t.Fatal(err)
	}
	if got != again {
		t.Errorf("compiling twice gives different bytes; the second time:\n%s", again.text)
	}
	if err := roundTrip(j.stage, got.text); err != nil {
		t.Error(err)
	}
	counts, err := count(section(a, "want/counts"), got.text)
	if err != nil {
		t.Fatal(err)
	}
	wants := []txtar.File{{Name: "want/out", Data: []byte(got.text)}}
	if j.remarks {
		wants = append(wants, txtar.File{Name: "want/remarks", Data: []byte(got.remarks)})
	}
	if counts != "" {
		wants = append(wants, txtar.File{Name: "want/counts", Data: []byte(counts)})
	}
	if *update {
		rewrite(t, path, a, wants)
		return
	}
	for _, w := range wants {
		if want := section(a, w.Name); want != string(w.Data) {
			t.Errorf("%s\n%s", w.Name, diff(want, string(w.Data)))
		}
	}
	if section(a, "want/out") == "" {
		t.Error("there is no want/out; run the test with -update")
	}
}

// readJob takes the inputs of an archive apart.
func readJob(a *txtar.Archive, path string) (*job, error) {
	j := &job{stage: filepath.ToSlash(filepath.Dir(path)), bind: map[string]int64{}}
	if j.stage == "ops" {
		j.stage = "irgen"
	}
	for _, f := range a.Files {
		switch f.Name {
		case "in.heal", "in.ir":
			j.name, j.input = f.Name, string(f.Data)
		case "want/remarks":
			j.remarks = true
		case "want/out", "want/counts", "options":
		default:
			return nil, fmt.Errorf("unknown section %q", f.Name)
		}
	}
	if j.input == "" {
		return nil, fmt.Errorf("there is neither in.heal nor in.ir")
	}
	for _, line := range strings.Split(section(a, "options"), "\n") {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch key {
		case "":
		case "stage":
			j.stage = value
		case "entry":
			j.entry = value
		case "bind":
			name, num, _ := strings.Cut(value, "=")
			n, err := strconv.ParseInt(num, 10, 64)
			if err != nil {
				return nil, fmt.Errorf("options: %q: %v", line, err)
			}
			j.bind[name] = n
		default:
			return nil, fmt.Errorf("unknown option %q", line)
		}
	}
	return j, nil
}

// section is the text of a section, "" when it is missing.
func section(a *txtar.Archive, name string) string {
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	return ""
}

// rewrite puts new want/ sections into the archive.
func rewrite(t *testing.T, path string, a *txtar.Archive, wants []txtar.File) {
	t.Helper()
	out := &txtar.Archive{Comment: a.Comment}
	for _, f := range a.Files {
		if !strings.HasPrefix(f.Name, "want/") {
			out.Files = append(out.Files, f)
		}
	}
	out.Files = append(out.Files, wants...)
	if text := txtar.Format(out); !bytes.Equal(text, txtar.Format(a)) {
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		t.Logf("%s was rewritten", path)
	}
}

// count gives the lines of `want/counts` with the numbers that text has.
func count(want, text string) (string, error) {
	var b strings.Builder
	for _, line := range strings.Split(strings.TrimSpace(want), "\n") {
		if line == "" {
			continue
		}
		i := strings.LastIndexByte(line, ' ')
		if i < 0 {
			return "", fmt.Errorf("want/counts: %q is no word with a number", line)
		}
		fmt.Fprintf(&b, "%s %d\n", line[:i], countLines(text, line[:i]))
	}
	return b.String(), nil
}

// countLines is the number of lines that have word, not as a part of a longer word or of a name.
func countLines(text, word string) int {
	n := 0
	for _, line := range strings.Split(text, "\n") {
		for at := 0; ; {
			i := strings.Index(line[at:], word)
			if i < 0 {
				break
			}
			start, end := at+i, at+i+len(word)
			before, _ := utf8.DecodeLastRuneInString(line[:start])
			after, _ := utf8.DecodeRuneInString(line[end:])
			if !inWord(before) && !inWord(after) {
				n++
				break
			}
			at = end
		}
	}
	return n
}

func inWord(r rune) bool {
	return r == '_' || r == '.' || r == '%' || r == '@' || r == '"' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' ||
		'A' <= r && r <= 'Z'
}

// diff shows the lines from the first to the last that differs.
func diff(want, got string) string {
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	from := 0
	for from < len(w) && from < len(g) && w[from] == g[from] {
		from++
	}
	wEnd, gEnd := len(w), len(g)
	for wEnd > from && gEnd > from && w[wEnd-1] == g[gEnd-1] {
		wEnd, gEnd = wEnd-1, gEnd-1
	}
	var b strings.Builder
	fmt.Fprintf(&b, "from line %d on, want:\n", from+1)
	for _, l := range w[from:wEnd] {
		b.WriteString("  - " + l)
	}
	b.WriteString("\ngot:\n")
	for _, l := range g[from:gEnd] {
		b.WriteString("  + " + l)
	}
	return b.String()
}

// Package fusion asserts how many kernels programs become, and how many bytes these move.
//
// An archive (txtar) starts with one line that says what it proves, and each of its files is a program with one public
// function. The comments at the top of a program are what is expected of it:
//
//	# M=512 N=1000                               values of shape parameters, when there are any
//	# 1 kernel, reads 2048000, writes 2048000    what `healc explain` says; "0 kernels" for a view
//	# because the reason                         where that is more than one pass over the inputs and the results
//
// The least that a program can do is one kernel that reads its inputs and writes its results once. A program that does
// more has to say why: what the cost model weighs there (Note [Recompute or materialise] in passes/fusion), or what
// stands in the way. A program that does no more must not give a reason.
//
//	go test ./tests/fusion -update    rewrites the numbers; read the diff before committing
package fusion

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/explain"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/runtime/abi"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "rewrite the numbers of kernels and bytes")

// enough is the number of programs below which something has gone missing.
const enough = 100

func TestKernels(t *testing.T) {
	paths, err := filepath.Glob("*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	programs := 0
	for _, path := range paths {
		a, err := txtar.ParseFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(bytes.TrimSpace(a.Comment)) == 0 {
			t.Errorf("%s: the first line has to say what the archive proves", path)
		}
		seen := map[string]bool{}
		for i := range a.Files {
			f := &a.Files[i]
			if seen[f.Name] {
				t.Errorf("%s has two programs called %q", path, f.Name)
			}
			seen[f.Name] = true
			programs++
			t.Run(strings.TrimSuffix(path, ".txtar")+"/"+f.Name, func(t *testing.T) {
				f.Data = []byte(check(t, string(f.Data)))
			})
		}
		if *update {
			if err := os.WriteFile(path, txtar.Format(a), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	if programs < enough {
		t.Errorf("%d programs, and there should be %d", programs, enough)
	}
}

// An expectation is what the comments at the top of a program say.
type expectation struct {
	bind    map[string]int64
	numbers string // of kernels and bytes
	because string
	from    int // where the numbers stand in the text
	to      int
}

// read takes the comments apart.
func read(text string) (expectation, error) {
	x := expectation{bind: map[string]int64{}}
	at := 0
	for strings.HasPrefix(text[at:], "#") {
		end := at + strings.IndexByte(text[at:], '\n') + 1
		line := strings.TrimSpace(text[at+1 : end])
		switch why, reason := strings.CutPrefix(line, "because "); {
		case reason:
			x.because = why
		case strings.Contains(line, "kernel"):
			x.numbers, x.from, x.to = line, at, end
		case x.because != "":
			x.because += " " + line
		default:
			for _, word := range strings.Fields(line) {
				name, value, _ := strings.Cut(word, "=")
				n, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					return x, fmt.Errorf("%q is no value of a shape parameter", word)
				}
				x.bind[name] = n
			}
		}
		at = end
	}
	if x.numbers == "" {
		return x, fmt.Errorf("no comment says how many kernels there are")
	}
	return x, nil
}

// check compiles one program, compares what becomes of it, and gives its text with the numbers as they are.
func check(t *testing.T, text string) string {
	want, err := read(text)
	if err != nil {
		t.Fatal(err)
	}
	file := diag.NewFile("in.heal", text)
	var out bytes.Buffer
	e := &driver.Emit{File: file, Shape: want.bind, Opts: engine.Options{Backend: heal.Interp}}
	if err := explain.Program(e, &out); err != nil {
		t.Fatal(err)
	}
	kernels, reads, writes := moved(t, out.String())
	got := fmt.Sprintf("%s, reads %d, writes %d", driver.Count(int(kernels), "kernel"), reads, writes)
	if kernels == 0 {
		got = "0 kernels"
	}
	if got != want.numbers && !*update {
		t.Errorf("%s, and not\n%s\n%s", got, want.numbers, out.String())
	}
	in, res := least(t, file, want.bind)
	more := kernels > 1 || reads > in || writes > res
	if more && want.because == "" {
		t.Errorf(
			"%s; the inputs have %d bytes and the results %d. More than one pass over them wants a reason, a comment "+
				"`# because ...`\n%s", got, in, res, out.String())
	}
	if !more && want.because != "" {
		t.Errorf("there is nothing to explain: %s, which is the least\n%s", got, want.because)
	}
	return text[:want.from] + "# " + got + "\n" + text[want.to:]
}

var (
	kernelLine = regexp.MustCompile(`(?m)^ *kernel k\d+_`)
	movedLine  = regexp.MustCompile(`(?m)^ *(reads|writes) +(\S+) bytes`)
)

// moved adds up what an explanation says of the kernels, each once: of a loop it is one step.
func moved(t *testing.T, explanation string) (kernels, reads, writes int64) {
	t.Helper()
	kernels = int64(len(kernelLine.FindAllString(explanation, -1)))
	for _, m := range movedLine.FindAllStringSubmatch(explanation, -1) {
		n, err := strconv.ParseInt(m[2], 10, 64)
		if err != nil {
			t.Fatalf("%s bytes: a shape parameter has no value\n%s", m[2], explanation)
		}
		if m[1] == "reads" {
			reads += n
		} else {
			writes += n
		}
	}
	return kernels, reads, writes
}

// least is the number of bytes of the inputs and of the results of the one function of a program; what it changes is
// both.
func least(t *testing.T, file *diag.File, bind map[string]int64) (in, out int64) {
	t.Helper()
	m, err := engine.CompileFile(file, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	km, err := m.Kernels("f", bind, nil)
	if err != nil {
		t.Fatal(err)
	}
	f := km.Plan.Funcs[0]
	changed := map[int]bool{}
	for _, i := range f.Updates {
		changed[i] = true
	}
	for i := range f.Buffers {
		b := &f.Buffers[i]
		size := int64(b.DType.Bytes())
		for _, d := range b.Shape {
			n, ok := d.Dim.Const()
			if !ok {
				t.Fatalf("buffer %d has an extent %s", i, d.Dim)
			}
			size *= (n + max(d.Div, 1) - 1) / max(d.Div, 1)
		}
		switch b.Kind {
		case abi.Input, abi.Data:
			in += size
			if changed[i] {
				out += size
			}
		case abi.Output:
			out += size
		}
	}
	return in, out
}

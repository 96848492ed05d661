package gpu_test

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"healc/codegen/llvm/libllvm"
)

var (
	// linePattern is what lines of the source add to PTX: directives, and labels that nothing goes to. libLLVM counts
	// calls from one module to the next.
	linePattern = regexp.MustCompile(
		`(?m)^(\t\.loc\t.*|\t[{}] // callseq \d+.*|\t\.file\t.*|\t\.section\t\.debug_loc.*|\$L__(tmp|func_begin|func_end)\d+:.*)\n`)
	locPattern = regexp.MustCompile(`(?m)^\t\.loc\t(\d+) (\d+) (\d+)`)
	emptyLines = regexp.MustCompile(`\n\n+`)
)

// bare is PTX without lines of the source and without empty ones.
func bare(ptx string) string {
	return emptyLines.ReplaceAllString(linePattern.ReplaceAllString(ptx, ""), "\n")
}

// TestLines: the lines of the source change nothing in the code of the standard kernels, and are lines of the source.
func TestLines(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Fatal(err)
	}
	for _, a := range archives(t) {
		for _, arch := range []string{"sm_70", "sm_90"} {
			with, _ := standard(t, a.text["in.heal"], a.text["bind"], arch, true)
			without, _ := standard(t, a.text["in.heal"], a.text["bind"], arch, false)
			if got, want := bare(with), bare(without); got != want {
				t.Errorf("%s for %s: the code with lines differs:\n%s\nwithout:\n%s", a.name, arch, got, want)
			}
			if locPattern.MatchString(without) || strings.Contains(without, ".file") {
				t.Errorf("%s for %s: there are lines that nobody asked for", a.name, arch)
			}
			known := 0
			for _, m := range locPattern.FindAllStringSubmatch(with, -1) {
				line, _ := strconv.Atoi(m[2])
				col, _ := strconv.Atoi(m[3])
				lines := strings.Split(a.text["in.heal"], "\n")
				if m[1] != "1" || line > len(lines) || line > 0 && col > len(lines[line-1]) {
					t.Errorf("%s for %s: there is no place %s", a.name, arch, m[0])
				}
				if line > 0 {
					known++
				}
			}
			if known == 0 || !strings.Contains(with, "\t.file\t1 \"") {
				t.Errorf("%s for %s: %d lines, of no file", a.name, arch, known)
			}
		}
	}
}

// TestLinesOfFiles: what is inlined from another file has its lines, and each statement those of its operations.
func TestLinesOfFiles(t *testing.T) {
	const source = `import nn
fn twice(x: f32) -> f32 = x * 2.0
fn f[M, N](x: f32[M, N]) -> f32[M, N] =
    nn.softmax(
        x + 1.0)
`
	ptx, _ := standard(t, source, "M=5 N=100", "sm_80", true)
	used := map[string]map[string]bool{}
	names := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t\.file\t(\d+) "([^"]*)"`).FindAllStringSubmatch(ptx, -1) {
		names[m[1]] = filepath.Base(m[2])
	}
	for _, m := range locPattern.FindAllStringSubmatch(ptx, -1) {
		name := names[m[1]]
		if used[name] == nil {
			used[name] = map[string]bool{}
		}
		used[name][m[2]] = true
	}
	if !used["<source>"]["5"] || used["<source>"]["2"] || len(used) != 2 || len(used["nn.heal"]) < 3 {
		t.Errorf("the lines are %v", used)
	}
}

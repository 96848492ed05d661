package growth_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"healc/tests/growth"
	"healc/tests/sample"
)

// steepest is how much more work the second doubling of a size may be than the first: 2 for work in proportion to the
// size, 4 for its square; n log n of small sizes is in between, beside what depends on no size.
const steepest = 2.9

// TestGrowth compiles a program of each family in three sizes, and compares how much work they are. That has a day of
// three, when no system of TestSystems has its day: the compiler is built with counters, all of it.
func TestGrowth(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the compiler with counters")
	}
	if !sample.Has(sample.Today(t), 0, 3) {
		t.Skip("the compiler is built with counters on another day; " + sample.Long + "=1 does it today")
	}
	counted := filepath.Join(t.TempDir(), "counted")
	build := exec.Command("go", "build", "-cover", "-covermode=atomic",
		"-coverpkg=healc/...,github.com/alecthomas/participle/...", "-o", counted, "./counted")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, f := range growth.Families {
		t.Run(f.Name, func(t *testing.T) {
			work := workOf(t, counted, f)
			first, second := work[1]-work[0], work[2]-work[1]
			t.Logf("%v blocks run for sizes %d, %d, %d: the second doubling is %.2f times the first", work, f.N, 2*f.N,
				4*f.N, second/first)
			if second > steepest*first {
				t.Errorf("%s grow too fast: %.0f, %.0f and %.0f blocks run for sizes %d, %d and %d\n%s", f.Name,
					work[0], work[1], work[2], f.N, 2*f.N, 4*f.N, places(t, counted, f))
			}
		})
	}
}

// workOf is how many blocks run for the three sizes of a family.
func workOf(t *testing.T, counted string, f growth.Family) [3]float64 {
	t.Helper()
	out, err := exec.Command(counted, f.Name).Output()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	var work [3]float64
	for k, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		fields := strings.Split(line, "\t")
		if work[k], err = strconv.ParseFloat(fields[len(fields)-1], 64); err != nil {
			t.Fatal(err)
		}
	}
	return work
}

// places are the lines of the compiler that grow most.
func places(t *testing.T, counted string, f growth.Family) string {
	t.Helper()
	var runs [3]map[string]float64
	for k := range runs {
		folder := t.TempDir()
		text := filepath.Join(folder, "text")
		for _, c := range []*exec.Cmd{
			exec.Command(counted, f.Name, fmt.Sprint(f.N<<k), folder),
			exec.Command("go", "tool", "covdata", "textfmt", "-i", folder, "-o", text),
		} {
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		lines, err := os.ReadFile(text)
		if err != nil {
			t.Fatal(err)
		}
		runs[k] = map[string]float64{}
		for line := range strings.Lines(string(lines)) {
			fields := strings.Fields(line) // FILE:LINE.COLUMN,LINE.COLUMN STATEMENTS COUNT
			if len(fields) == 3 {
				n, _ := strconv.ParseFloat(fields[2], 64)
				place, _, _ := strings.Cut(fields[0], ".go:")
				line, _, _ := strings.Cut(fields[0][len(place)+len(".go:"):], ".")
				runs[k][place+".go:"+line] += n
			}
		}
	}
	type growing struct {
		place  string
		second float64
	}
	var all []growing
	for place, n := range runs[2] {
		if second := n - runs[1][place]; second > steepest*(runs[1][place]-runs[0][place]) {
			all = append(all, growing{place, second})
		}
	}
	slices.SortFunc(all, func(a, b growing) int { return int(b.second - a.second) })
	var out strings.Builder
	for _, g := range all[:min(len(all), 10)] {
		fmt.Fprintf(&out, "%s: %.0f times more\n", g.place, g.second)
	}
	return out.String()
}

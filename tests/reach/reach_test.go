package reach

import (
	"bufio"
	"flag"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"healc/codegen/llvm/libllvm"
	"healc/tests/sample"
)

var (
	update = flag.Bool("update", false, "search for programs, and write reached.txt")
	from   = flag.Uint64("reach.from", 1, "the number of the first program to search or count")
	count  = flag.Int("reach.n", 0, "how many programs to search or count")
	gen    = flag.String("reach.gen", "", "the generator of what is searched or counted")
	way    = flag.String("reach.way", "", "the way in which they run, such as ptxsim or x86-64-v3,full,profile")
	one    = flag.String("reach.program", "", "count what this program reaches, such as `ir 7 x86-64-v3,full`")
)

// outcome is what a program reached.
type outcome struct {
	program
	found, wrote map[string]bool
	took         time.Duration
}

// reaches reports whether the program reaches a thing. Of code for devices nobody knows what runs: what stands in it
// counts, with stands.
func (o *outcome) reaches(x string, stands bool) bool {
	return o.found[x] || stands && o.way == device && o.wrote[x]
}

// holds reports that a thing stands in code that this machine cannot run: a machine that can has seen it run, or it is
// not in reached.txt.
func (o *outcome) holds(x string) bool { return o.way != device && !o.runs() && o.wrote[x] }

// runAll runs programs, and gives what they reached in their order. One that fails is an error of the test.
func runAll(t *testing.T, s *sites, programs []program) []outcome {
	t.Helper()
	out := make([]outcome, len(programs))
	var wg sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				p, start := programs[i], time.Now()
				found, wrote, err := p.run(s)
				if err != nil {
					t.Errorf("%v\nrun it with: go test ./tests/reach -run TestCount -reach.program '%s'", err, p)
				}
				out[i] = outcome{p, found, wrote, time.Since(start)}
			}
		})
	}
	for i := range programs {
		next <- i
	}
	close(next)
	wg.Wait()
	return out
}

// needs skips a test on machines that run none of the code.
func needs(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the programs are for x86-64")
	}
	lib, err := libllvm.Open()
	if err != nil {
		t.Skip(err)
	}
	if _, features := lib.HostCPU(); !strings.Contains(","+features+",", ",+avx2,") {
		t.Skip("the programs need AVX2")
	}
}

// table reads lines of two parts with a tab between them; # begins a comment.
func table(t *testing.T, file string) map[string]string {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	out := map[string]string{}
	for in := bufio.NewScanner(f); in.Scan(); {
		if line := in.Text(); line != "" && line[0] != '#' {
			name, rest, ok := strings.Cut(line, "\t")
			if !ok || out[name] != "" {
				t.Fatalf("%s: %q has no tab, or is there twice", file, line)
			}
			out[name] = rest
		}
	}
	return out
}

const (
	reachedFile   = "reached.txt"
	unreachedFile = "unreached.txt"
)

// TestReached: for everything there is a program that reaches it, with the results of the interpreter.
func TestReached(t *testing.T) {
	needs(t)
	s := readSites(t)
	all := things(t, s)
	if *update {
		search(t, s, all)
	}
	reached, unreached := table(t, reachedFile), table(t, unreachedFile)
	var missing []string
	for _, x := range all {
		switch by, why := reached[x], unreached[x]; {
		case by == "" && why == "":
			missing = append(missing, x)
		case by != "" && why != "":
			t.Errorf("%s: is in %s, and %s reaches it", x, unreachedFile, by)
		}
	}
	if len(missing) > 0 {
		t.Errorf("no program is known that reaches %s\nsearch: go test ./tests/reach -update -reach.n 2000, or "+
			"teach the generators of tests/random and tests/sources to draw one, or say why there is none in %s",
			strings.Join(missing, "\n"), unreachedFile)
	}
	for _, list := range []map[string]string{reached, unreached} {
		for x := range list {
			if !slices.Contains(all, x) {
				t.Errorf("there is no %s any more: go test ./tests/reach -update", x)
			}
		}
	}
	programs := programsOf(t, reached)
	by := map[string]outcome{}
	for _, o := range runAll(t, s, programs) {
		by[o.String()] = o
	}
	held := 0
	for x, p := range reached {
		switch o := by[p]; {
		case o.found == nil || o.reaches(x, true):
		case o.holds(x):
			held++
		default:
			t.Errorf("%s does not reach %s any more: go test ./tests/reach -update -reach.n 2000", p, x)
		}
	}
	for x, why := range unreached {
		for _, o := range by {
			if err := disproof(&o, x, why); err != nil {
				t.Error(err)
			}
		}
	}
	t.Logf("%d things are reached by %d programs, and %d by none", len(reached), len(programs), len(unreached))
	if held > 0 {
		t.Logf("%d of them stand in code that this machine cannot run", held)
	}
}

// The two kinds of proofs in unreached.txt: no emitter writes the block, or one does and it never runs.
const (
	neverWritten = "never written: "
	neverRuns    = "never runs: "
)

// disproof is what is wrong with the reason why nothing reaches x, of those things that the program shows: it is no
// proof, or the program does what it says that none does.
func disproof(o *outcome, x, why string) error {
	switch {
	case len(why) < len(neverWritten)+20 || !strings.HasPrefix(why, neverWritten) && !strings.HasPrefix(why, neverRuns):
		return fmt.Errorf("%s: %q is no proof, which is a sentence behind %q or %q: teach the generators to draw a "+
			"program that reaches it", x, why, neverWritten, neverRuns)
	case strings.HasPrefix(why, neverWritten) && o.wrote[x]:
		return fmt.Errorf("%s: %s says that it is never written, and it stands in the code of %s", x, unreachedFile, o)
	case o.reaches(x, false):
		return fmt.Errorf("%s: is in %s, and %s reaches it: go test ./tests/reach -update", x, unreachedFile, o)
	}
	return nil
}

// TestWithoutTiles: where there are no tile registers, what stands in code for them is not reached, and a search leaves
// what is known of such code as it is.
func TestWithoutTiles(t *testing.T) {
	defer func(has func() bool) { hasTiles = has }(hasTiles)
	const old, other = "block a.b: then", "block a.b: other"
	all := []string{old, other}
	p := program{from: "open", seed: 1, way: tiled + ",full"}
	code := []outcome{{program: p, wrote: map[string]bool{old: true, other: true}}}
	before := map[string]string{old: p.String()}
	for _, tiles := range []bool{false, true} {
		hasTiles = func() bool { return tiles }
		by := map[string]program{}
		keep(by, all, before, code)
		cover(by, all, code, false)
		cover(by, all, code, true)
		if o := &code[0]; o.holds(old) == tiles || o.reaches(old, true) {
			t.Errorf("with tile registers %v: holds %v, reaches %v", tiles, o.holds(old), o.reaches(old, true))
		}
		if _, is := by[old]; is == tiles {
			t.Errorf("with tile registers %v, what was reached is %v", tiles, by)
		}
		if _, is := by[other]; is {
			t.Errorf("with tile registers %v, what stands in code is reached: %v", tiles, by)
		}
	}
}

// TestProofs: what is not reached has a proof, which programs do not contradict.
func TestProofs(t *testing.T) {
	const x = "block matmul.writer.tile: For, ForStep, head"
	of := func(names ...string) map[string]bool {
		out := map[string]bool{}
		for _, n := range names {
			out[n] = true
		}
		return out
	}
	for _, c := range []struct {
		why          string
		found, wrote map[string]bool
		ok           bool
	}{
		{neverWritten + "the extents of these loops are numbers", nil, nil, true},
		{neverWritten + "the extents of these loops are numbers", nil, of(x), false},
		{neverRuns + "the loop before it has no end", nil, of(x), true},
		{neverRuns + "the loop before it has no end", of(x), of(x), false},
		{neverRuns, nil, nil, false},
		{"not found: products of bf16 are not drawn", nil, nil, false},
	} {
		o := outcome{program: program{from: "ir", seed: 1, way: "x86-64,full"}, found: c.found, wrote: c.wrote}
		if err := disproof(&o, x, c.why); (err == nil) != c.ok {
			t.Errorf("%q: %v", c.why, err)
		}
	}
}

// programsOf are the programs of a table, each once.
func programsOf(t *testing.T, reached map[string]string) []program {
	var out []program
	seen := map[string]bool{}
	for _, x := range slices.Sorted(maps.Keys(reached)) {
		if text := reached[x]; !seen[text] {
			seen[text] = true
			p, err := parseProgram(text)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, p)
		}
	}
	return out
}

// search looks for programs that reach everything, among those of reached.txt and -reach.n others, and writes
// reached.txt with few of them.
func search(t *testing.T, s *sites, all []string) {
	var programs []program
	before := map[string]string{}
	if _, err := os.Stat(reachedFile); err == nil {
		before = table(t, reachedFile)
		programs = programsOf(t, before)
	}
	for i := range uint64(*count) {
		programs = append(programs, draw(*from+i))
	}
	outcomes := runAll(t, s, programs)
	by := map[string]program{}
	keep(by, all, before, outcomes)
	cover(by, all, outcomes, false)
	cover(by, all, outcomes, true)
	var text strings.Builder
	text.WriteString("# What is to be reached, and a program that does: go test ./tests/reach -update -reach.n 2000 " +
		"searches for more.\n")
	for _, x := range all {
		if p, is := by[x]; is {
			fmt.Fprintf(&text, "%s\t%s\n", x, p)
		}
	}
	if err := os.WriteFile(reachedFile, []byte(text.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// keep leaves programs what they had before where it stands in their code and this machine cannot run that. What else
// stands in such code is not reached.
func keep(by map[string]program, all []string, before map[string]string, outcomes []outcome) {
	for _, x := range all {
		for i := range outcomes {
			if o := &outcomes[i]; before[x] == o.String() && o.holds(x) {
				by[x] = o.program
			}
		}
	}
}

// cover gives programs to what has none, few and quick ones, or what stands in code of which nobody knows what runs.
func cover(by map[string]program, all []string, outcomes []outcome, stands bool) {
	for {
		var best *outcome
		worth := 0.0
		for i := range outcomes {
			o := &outcomes[i]
			n := 0
			for _, x := range all {
				if _, is := by[x]; !is && o.reaches(x, stands) {
					n++
				}
			}
			if w := float64(n) / (0.1 + o.took.Seconds()); w > worth {
				best, worth = o, w
			}
		}
		if best == nil {
			return
		}
		for _, x := range all {
			if _, is := by[x]; !is && best.reaches(x, stands) {
				by[x] = best.program
			}
		}
	}
}

// TestCount counts how many of many random programs reach each thing, and prints the table.
func TestCount(t *testing.T) {
	needs(t)
	var programs []program
	n := *count
	switch {
	case *update:
		t.Skip("the other test searches")
	case *one != "":
		p, err := parseProgram(*one)
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, p)
	case n == 0 && !sample.All():
		t.Skip("-reach.n says how many programs to count; make test-long has 3000")
	case n == 0:
		n = 3000
	}
	for i := range uint64(n) {
		programs = append(programs, draw(*from+i))
	}
	s := readSites(t)
	all := things(t, s)
	ran, stands := map[string]int{}, map[string]int{}
	outcomes := runAll(t, s, programs)
	for _, o := range outcomes {
		for x := range o.found {
			ran[x]++
		}
		for x := range o.wrote {
			stands[x]++
		}
	}
	var text strings.Builder
	never := 0
	for _, x := range all {
		if ran[x] == 0 {
			never++
		}
		if *one == "" || ran[x] > 0 {
			fmt.Fprintf(&text, "%7d %7d  %s\n", ran[x], stands[x], x)
		}
	}
	t.Logf("of %d programs so many reach it, and so many have it in their code:\n%s%d of %d are reached by none",
		len(programs), &text, never, len(all))
	for _, list := range []map[string]int{ran, stands} {
		for x := range list {
			if !slices.Contains(all, x) {
				t.Errorf("%s is in no table", x)
			}
		}
	}
	for x, why := range table(t, unreachedFile) {
		for _, o := range outcomes {
			if err := disproof(&o, x, why); err != nil {
				t.Error(err)
			}
		}
	}
}

package cluster_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"healc/ir"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/sources"
)

// seedEnv names the one program that TestRandomPrograms runs, in all of its ways.
const seedEnv = "HEAL_TEST_CLUSTER_SEED"

// TestRandomPrograms: drawn programs, with parameters, values and results that are sharded at random, give as processes
// what the interpreter gives: the same bits in the files of their results, or the same message at the same place.
func TestRandomPrograms(t *testing.T) {
	day := sample.Today(t)
	sizes, each := []int{1, 2, 3, 4, 7}, 2
	if sample.All() {
		each = 25
	}
	seed, only := uint64(day)<<20, os.Getenv(seedEnv)
	if only != "" {
		each = 1
	}
	said, failed := 0, 0
	for i, c := range connections(t) {
		for k, n := range sizes {
			few := testing.Short() && k != day%len(sizes) || c.env != "" && !sample.All() && k != 1+day%3
			if few && only == "" {
				continue // 7 ranks of a library that does not give way take long
			}
			for range each {
				if only != "" {
					var err error
					if seed, err = strconv.ParseUint(only, 10, 64); err != nil {
						t.Fatal(err)
					}
				}
				p := drawn(t, &seed)
				if strings.Contains(p.Text(), "sharded(") {
					said++
				}
				want, err := sources.Run(p, sources.Interp, t.TempDir())
				if err != nil {
					t.Fatal(err)
				}
				if want.Failed != "" {
					failed++
				}
				if msg := asProcesses(t, c, n, p, want); msg != "" {
					t.Errorf("program %d as %d ranks of %s: %s\nrun it with: %s=%d go test ./tests/cluster -run "+
						"TestRandomPrograms\n%s", p.Seed, n, c.name, msg, seedEnv, p.Seed, p)
				}
			}
		}
		if i == 0 && !testing.Short() && only == "" && said == 0 {
			t.Error("no program says what a rank has")
		}
	}
	t.Logf("%d programs say what a rank has, and %d stop with an error", said, failed)
}

// drawn is the next program whose inputs have types that .npy files have.
func drawn(t *testing.T, seed *uint64) *sources.Program {
	t.Helper()
	for {
		p := sources.New(*seed, nil)
		*seed++
		input, err := p.Input()
		if err != nil {
			t.Fatal(err)
		}
		fits := true
		for _, a := range input {
			fits = fits && hasFile(a)
		}
		if fits {
			return p
		}
	}
}

// hasFile reports that a tensor can be in a .npy file.
func hasFile(a *ir.Array) bool {
	x, err := tensor.Zeros(a.DType)
	if err != nil {
		return false
	}
	defer x.Close()
	return tensorfile.WriteNpy(&strings.Builder{}, x) == nil
}

// asProcesses says how what a program gives as n ranks differs, "" where it does not.
func asProcesses(t *testing.T, c connection, n int, p *sources.Program, want *random.Outcome) string {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "f.heal")
	if err := os.WriteFile(program, []byte(p.Text()), 0o666); err != nil {
		t.Fatal(err)
	}
	input, err := p.Input()
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"run", program, "--entry", "f"}
	for i, a := range input {
		x, err := random.Strided(a, p.Seed+uint64(i))
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, fmt.Sprintf("in%d.npy", i))
		err = tensorfile.WriteNpyFile(path, x)
		x.Close()
		if err != nil {
			t.Fatal(err)
		}
		args = append(args, "--in", p.Params[i].Name+"=@"+path)
	}
	for i, a := range want.Results { // the others are printed
		if hasFile(a) {
			args = append(args, "--out", fmt.Sprintf("%d=%s", i, result(dir, i)))
		}
	}
	code, stdout, stderr := run(c.start(t, n, args...))
	if want.Failed != "" {
		if code != 3 || strings.Count(stderr, "error: ") != 1 || !strings.Contains(stderr, firstLine(want.Failed)) {
			return fmt.Sprintf("exit code %d\n%s%s\nwant the failure %s", code, stdout, stderr, want.Failed)
		}
		return ""
	}
	if code != 0 {
		return fmt.Sprintf("exit code %d\n%s%s", code, stdout, stderr)
	}
	for i, a := range want.Results {
		if !hasFile(a) {
			continue
		}
		x, err := tensorfile.ReadNpyFile(result(dir, i))
		if err != nil {
			return err.Error()
		}
		got := &ir.Array{DType: x.DType, Shape: x.Shape, Bits: x.Bits()}
		x.Close()
		if d := random.Diff(one(a), one(got)); d != "" {
			return fmt.Sprintf("result %d: %s", i, d)
		}
	}
	return ""
}

func result(dir string, i int) string { return filepath.Join(dir, fmt.Sprintf("out%d.npy", i)) }

func one(a *ir.Array) *random.Outcome { return &random.Outcome{Results: []*ir.Array{a}} }

func firstLine(s string) string {
	first, _, _ := strings.Cut(s, "\n")
	return first
}

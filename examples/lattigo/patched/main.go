// Command patched writes a copy of Lattigo v6 whose rings, wherever it makes them, ask a function of the program for
// their transforms. A program puts the copy in the place of Lattigo, in its go.mod, and sets the function before its
// first ring:
//
//	go run healc/examples/lattigo/patched -o lattigo
//	go mod edit -replace github.com/tuneinsight/lattigo/v6=./lattigo
//
//	transforms, err := lattigo.New()
//	ring.CustomTransformer = transforms.For
//
// With -tests Lattigo's own tests and benchmarks in the copy have the transforms of healc, unless TRANSFORMS=lattigo.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

const lattigo = "github.com/tuneinsight/lattigo/v6"

// renamed are declarations of package ring that give way to those of custom.
var renamed = []struct{ file, from, to string }{
	{"ntt.go", "func NewNumberTheoreticTransformerStandard(", "func newStandardTransformer("},
	{"ntt.go", "func NewNumberTheoreticTransformerConjugateInvariant(", "func newConjugateInvariantTransformer("},
	{"subring.go", "func (s *SubRing) Type() Type {", "func (s *SubRing) typeOfTransformer() Type {"},
}

const custom = `package ring

// CustomTransformer, set before rings are made, gives the transformer of a SubRing, which may still be without its tables,
// in place of Lattigo's own. It may return that. One of another type has a method Type() Type.
var CustomTransformer func(s *SubRing, own NumberTheoreticTransformer) NumberTheoreticTransformer

func customized(s *SubRing, own NumberTheoreticTransformer) NumberTheoreticTransformer {
	if CustomTransformer == nil {
		return own
	}
	return CustomTransformer(s, own)
}

// NewNumberTheoreticTransformerStandard is the transformer of Z[X]/(X^N+1).
func NewNumberTheoreticTransformerStandard(s *SubRing, n int) NumberTheoreticTransformer {
	return customized(s, newStandardTransformer(s, n))
}

// NewNumberTheoreticTransformerConjugateInvariant is the transformer of Z[X+X^-1]/(X^2N+1).
func NewNumberTheoreticTransformerConjugateInvariant(s *SubRing, n int) NumberTheoreticTransformer {
	return customized(s, newConjugateInvariantTransformer(s, n))
}

// Type is the type of the ring.
func (s *SubRing) Type() Type {
	if t, ok := s.ntt.(interface{ Type() Type }); ok {
		return t.Type()
	}
	return s.typeOfTransformer()
}
`

// test goes to each tested package.
const test = `package %s_test

import (
	"os"
	"sync/atomic"
	"testing"

	"github.com/tuneinsight/lattigo/v6/ring"
	"healc/examples/lattigo"
)

var customRings atomic.Int64

func init() {
	if os.Getenv("TRANSFORMS") == "lattigo" {
		return
	}
	transforms, err := lattigo.New()
	if err != nil {
		panic(err)
	}
	ring.CustomTransformer = func(s *ring.SubRing, own ring.NumberTheoreticTransformer) ring.NumberTheoreticTransformer {
		t := transforms.For(s, own)
		if t != own {
			customRings.Add(1)
		}
		return t
	}
}

// TestZCustomTransformers, the last test, is the one that fails where rings have Lattigo's transforms.
func TestZCustomTransformers(t *testing.T) {
	t.Logf("%%d rings modulo a prime have the transforms of healc", customRings.Load())
	if customRings.Load() == 0 && ring.CustomTransformer != nil {
		t.Error("none has the transforms of healc")
	}
}
`

// steps are benchmarks of the steps of a bootstrapping, which Lattigo's own measures as a whole, of 2^16 coefficients,
// by the clock. They report the time of the processor. A degree of 2^13 is not secure.
const steps = `//go:build unix

package bootstrapping_test

import (
	"syscall"
	"testing"

	"github.com/tuneinsight/lattigo/v6/circuits/ckks/bootstrapping"
	"github.com/tuneinsight/lattigo/v6/core/rlwe"
	"github.com/tuneinsight/lattigo/v6/schemes/ckks"
)

// processor is the time of the processor that this process took, in nanoseconds.
func processor() int64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return r.Utime.Nano() + r.Stime.Nano()
}

func BenchmarkSteps(b *testing.B) {
	check := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	set, degree := bootstrapping.DefaultParametersDense[0], 13
	set.SchemeParams.LogN, set.BootstrappingParams.LogN = degree, &degree
	scheme, err := ckks.NewParametersFromLiteral(set.SchemeParams)
	check(err)
	params, err := bootstrapping.NewParametersFromLiteral(scheme, set.BootstrappingParams)
	check(err)
	keys, _, err := params.GenEvaluationKeys(rlwe.NewKeyGenerator(scheme).GenSecretKeyNew())
	check(err)
	eval, err := bootstrapping.NewEvaluator(params, keys)
	check(err)
	low, _, err := eval.ScaleDown(ckks.NewCiphertext(scheme, 1, 0))
	check(err)
	up, err := eval.ModUp(low.CopyNew())
	check(err)
	real, imag, err := eval.CoeffsToSlots(up.CopyNew())
	check(err)
	modReal, err := eval.EvalMod(real.CopyNew())
	check(err)
	modImag, err := eval.EvalMod(imag.CopyNew())
	check(err)
	for _, step := range []struct {
		name string
		run  func() error
	}{
		{"ModUp", func() error { _, err := eval.ModUp(low.CopyNew()); return err }},
		{"CoeffsToSlots", func() error { _, _, err := eval.CoeffsToSlots(up.CopyNew()); return err }},
		{"EvalMod", func() error { _, err := eval.EvalMod(real.CopyNew()); return err }},
		{"SlotsToCoeffs", func() error {
			_, err := eval.SlotsToCoeffs(modReal.CopyNew(), modImag.CopyNew())
			return err
		}},
		{"Bootstrap", func() error { _, err := eval.Bootstrap(ckks.NewCiphertext(scheme, 1, 0)); return err }},
	} {
		b.Run(step.name, func(b *testing.B) {
			began := processor()
			for b.Loop() {
				check(step.run())
			}
			b.ReportMetric(float64(processor()-began)/float64(b.N), "ns/op")
		})
	}
}
`

// tested are the folders of the packages that get the test, whose names are those of the folders.
var tested = []string{"ring", "core/rlwe", "core/rgsw", "schemes/ckks", "circuits/ckks/bootstrapping"}

func main() {
	out := flag.String("o", "", "the folder for the copy, which is made")
	tests := flag.Bool("tests", false, "let Lattigo's tests have the transforms of healc")
	flag.Parse()
	if *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := write(*out, *tests); err != nil {
		fmt.Fprintln(os.Stderr, "patched:", err)
		os.Exit(1)
	}
}

func write(out string, tests bool) error {
	from, err := folder(lattigo)
	if err != nil {
		return err
	}
	if err := copied(out, from); err != nil {
		return err
	}
	rings := filepath.Join(out, "ring")
	for _, r := range renamed {
		path := filepath.Join(rings, r.file)
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if bytes.Count(text, []byte(r.from)) != 1 {
			return fmt.Errorf("%s has no %q: another version of Lattigo than v6.2.0?", path, r.from)
		}
		text = bytes.Replace(text, []byte(r.from), []byte(r.to), 1)
		if err := os.WriteFile(path, text, 0o644); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(rings, "custom.go"), []byte(custom), 0o644); err != nil {
		return err
	}
	if !tests {
		return nil
	}
	for _, dir := range tested {
		text := fmt.Sprintf(test, filepath.Base(dir))
		path := filepath.Join(out, filepath.FromSlash(dir), "zcustom_test.go")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return err
		}
	}
	path := filepath.Join(out, "circuits", "ckks", "bootstrapping", "zsteps_test.go")
	if err := os.WriteFile(path, []byte(steps), 0o644); err != nil {
		return err
	}
	return require(out)
}

// folder is where the go command has a module.
func folder(module string) (string, error) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if path := strings.TrimSpace(string(dir)); err == nil && path != "" {
		return path, nil
	}
	if e, ok := err.(*exec.ExitError); ok {
		err = fmt.Errorf("%s", bytes.TrimSpace(e.Stderr))
	}
	return "", fmt.Errorf("no sources of %s: %v", module, err)
}

// copied copies a folder of the module cache, where nothing may be written, to one where it may.
func copied(out, from string) error {
	if err := os.Mkdir(out, 0o755); err != nil {
		return err
	}
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil || path == from {
			return err
		}
		to := filepath.Join(out, strings.TrimPrefix(path, from))
		if d.IsDir() {
			return os.Mkdir(to, 0o755)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		return os.WriteFile(to, text, 0o644)
	})
}

// require lets the copy import this module, and healc.
func require(out string) error {
	edit := []string{"mod", "edit"}
	const this = "healc/examples/lattigo"
	for _, module := range []string{strings.TrimSuffix(this, "/examples/lattigo"), this} {
		dir, err := folder(module)
		if err != nil {
			return err
		}
		edit = append(edit, "-require="+module+"@v0.0.0", "-replace="+module+"="+dir)
	}
	for _, args := range [][]string{edit, {"mod", "tidy"}} {
		c := exec.Command("go", args...)
		c.Dir = out
		if text, err := c.CombinedOutput(); err != nil {
			return fmt.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, text)
		}
	}
	return nil
}

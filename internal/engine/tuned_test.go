package engine

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"testing"

	"healc/codegen"
	"healc/codegen/llvm/aot"
	"healc/codegen/target/tuned"
	"healc/internal/cache"
	"healc/internal/pipeline"
	"healc/runtime/tensor"
)

// tunedFor is a file with a set for every kernel of a function of `chain`, for the code of a target.
func tunedFor(t *testing.T, n int64, target codegen.Target, set tuned.Set) *tuned.File {
	t.Helper()
	m, err := Compile(chain, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	km, err := m.Kernels("f", map[string]int64{"N": n}, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := &tuned.File{Name: "f.tune"}
	for _, k := range km.Kernels {
		file.Put(tuned.Entry{Key: tuned.KeyOf(k, tuned.ProcessorOf(target)), Set: set})
	}
	return file
}

// TestTunedCode: code is made with what a file has for its kernels and this processor, and that of one file is not
// taken from the cache for another.
func TestTunedCode(t *testing.T) {
	const n = 1 << 22
	set := tuned.Set{"prefetch.distance": 512, "prefetch.two_inputs": 0, "loops.short_body": 0, "rows.many": 2}
	c := &cache.Cache{Dir: filepath.Join(t.TempDir(), "cache")}
	build := func(file *tuned.File, target codegen.Target) (objects [][]byte, made bool) {
		t.Helper()
		timer := &pipeline.Timer{}
		opts := Options{Tuned: file, Target: target, Cache: c, Debug: pipeline.Debug{Timer: timer}}
		m, err := Compile(chain, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		art, err := m.Build("f", map[string]int64{"N": n}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return art.Objects, slices.Contains(timer.Names, "llvm generate")
	}
	here, there := codegen.Target{}, codegen.Target{CPU: "x86-64-v3"}
	same := func(what string, file *tuned.File, target codegen.Target, want [][]byte, wantSame, wantMade bool) {
		t.Helper()
		got, made := build(file, target)
		if slices.EqualFunc(got, want, bytes.Equal) != wantSame || made != wantMade {
			t.Errorf("%s: the same code: %v, made: %v", what, !wantSame, made)
		}
	}
	usual, _ := build(nil, here)
	file := tunedFor(t, n, here, set)
	tunedCode, made := build(file, here)
	if slices.EqualFunc(usual, tunedCode, bytes.Equal) || !made {
		t.Errorf("the numbers change no code, made: %v", made)
	}
	same("again", file, here, tunedCode, true, false)
	same("without a file", nil, here, usual, true, false)
	same("a file about nothing here", tunedFor(t, 100, here, set), here, usual, true, false)
	same("a file of another processor", tunedFor(t, n, there, set), here, usual, true, false)
	same("nothing but the profile", tunedFor(t, n, here, nil), here, usual, true, false)
	other, _ := build(nil, there)
	same("another target", file, there, other, true, false)
	same("a file for another target", tunedFor(t, n, there, set), there, other, false, true)
}

// TestRequireTuned: a kernel without an entry is an error where each has to have one, also where its code is in the
// cache; and one on the interpreter has none.
func TestRequireTuned(t *testing.T) {
	c := &cache.Cache{Dir: filepath.Join(t.TempDir(), "cache")}
	run := func(n int, opts Options) error {
		t.Helper()
		opts.Cache = c
		f := function(t, chain, "f", opts)
		x := tensor.FromSlice(make([]float32, n))
		defer x.Close()
		y, err := f.Call(context.Background(), x, x, x)
		if err == nil {
			y.Close()
		}
		return err
	}
	file := tunedFor(t, 1000, codegen.Target{}, nil)
	if err := run(50, Options{}); err != nil {
		t.Fatal(err)
	}
	if err := run(1000, Options{Tuned: file, RequireTuned: true}); err != nil {
		t.Error(err)
	}
	for _, opts := range []Options{{RequireTuned: true}, {Tuned: file, RequireTuned: true}} {
		var missing *tuned.MissingError
		if err := run(50, opts); !errors.As(err, &missing) || len(missing.Missing) != 1 ||
			(missing.File == "") != (opts.Tuned == nil) {
			t.Errorf("%v", err)
		}
	}
	if err := run(50, Options{RequireTuned: true, Backend: "interp"}); err != nil {
		t.Error(err)
	}
}

// TestTunedLibrary: a library for the processor of this machine has what a file says about it, in its kernels for
// row-major arguments; one for every level has not.
func TestTunedLibrary(t *testing.T) {
	const n = 1 << 22
	// Not how long loops are: by that the code around the kernels says how many elements a worker takes at once.
	file := tunedFor(t, n, codegen.Target{}, tuned.Set{"prefetch.two_inputs": 0})
	objects := func(opts Options) [][]byte {
		t.Helper()
		m, err := Compile(chain, opts)
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		l, err := m.Library("p", []string{"f"}, func(string) map[string]int64 { return map[string]int64{"N": n} })
		if err != nil {
			t.Fatal(err)
		}
		out, err := aot.Objects(l)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	usual, other := objects(Options{Native: true}), objects(Options{Native: true, Tuned: file, RequireTuned: true})
	if len(usual) != 3 || len(other) != 3 { // of row-major arguments, of any, and of what is around them
		t.Fatalf("%d and %d objects", len(usual), len(other))
	}
	for i, same := range []bool{false, true, true} {
		if bytes.Equal(usual[i], other[i]) != same {
			t.Errorf("object %d is the same: %v", i, !same)
		}
	}
	all := objects(Options{})
	if len(all) <= 3 && codegenHasLevels || !slices.EqualFunc(all, objects(Options{Tuned: file}), bytes.Equal) {
		t.Errorf("a library of every level, %d objects, has what was measured on one processor", len(all))
	}
}

// codegenHasLevels says that there are several levels of this processor.
const codegenHasLevels = goruntime.GOARCH == "amd64"

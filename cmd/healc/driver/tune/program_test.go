package tune

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"healc/cmd/healc/driver"
	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/tuned"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/abi"
)

const someSums = `
pub fn sums[M, N](x: f32[M, N], s: f32) -> (f32[M], f32[N]) = (+/[axis=1](x .* s), max/[axis=0](x))
pub fn bump[N](x: &mut f32[N], keep: bool[N], i: i32) = { x += 1.0; }
fn hidden(x: f32[10]) -> f32[10] = x
`

func someJob() *driver.Job {
	return &driver.Job{File: diag.NewFile("sums.heal", someSums), Opts: engine.Options{}}
}

// TestProgram: each kernel of the functions gets an entry, with numbers that its schedule may have; those of others
// stay; and a program that runs with the file misses nothing.
func TestProgram(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	other := tuned.Entry{Key: tuned.Key{Kernel: "0123456789abcdef", Shape: "1", Processor: "another"}, Time: 1}
	before := &tuned.File{Name: "sums.tune"}
	before.Put(other)
	steps := 0
	last := 0.0
	p := &Program{Job: someJob(), Shape: map[string]int64{"M": 300, "N": 500}, Budget: 3 * time.Second,
		File: before, Progress: func(what string, done float64) {
			if steps++; done < 0 || done > 1 || what == "" {
				t.Errorf("%s is done to %g", what, done)
			}
			last = max(last, done)
		}}
	r, err := p.Run(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if steps == 0 || last != 1 || len(before.Entries()) != 1 {
		t.Errorf("progress was told %d times, up to %g; %d entries before", steps, last, len(before.Entries()))
	}
	meanwhile := &tuned.File{}
	meanwhile.Put(tuned.Entry{Key: tuned.Key{Kernel: "fedcba9876543210", Shape: "1", Processor: "another"}})
	found := len(r.File.Entries())
	if r.Onto(meanwhile); len(r.File.Entries()) != found || len(meanwhile.Entries()) != 1 {
		t.Errorf("%d entries and one that came meanwhile are %d", found, len(r.File.Entries()))
	}
	r.Onto(before)
	path := filepath.Join(t.TempDir(), "folder", "sums.tune")
	if err := r.Write(path); err != nil {
		t.Fatal(err)
	}
	file, err := tuned.Parse("sums.tune", r.File.Text())
	if err != nil {
		t.Fatal(err)
	}
	if file.Find(other.Key) == nil {
		t.Error("the entry of another processor is gone")
	}
	var b strings.Builder
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	if len(r.Functions) != 2 || !strings.HasPrefix(b.String(), "sums[M, N](x: f32[M, N], s: f32) -> (f32[M], f32[N]) "+
		"for M = 300, N = 500\n  k") || !strings.Contains(b.String(), "\n  k0_sums ") ||
		!strings.Contains(b.String(), "\n  k1_sums ") || !strings.Contains(b.String(), "\nbump[N](") {
		t.Errorf("%s", b.String())
	}
	tried := 0
	for _, f := range r.Functions {
		for _, k := range f.Kernels {
			tried += len(k.Entry.Rejected)
			if k.Other > 0 && k.Left == NotLeft && (k.Entry.Time == 0 || len(k.Entry.Rejected) == 0) {
				t.Errorf("%+v", k)
			}
		}
	}
	if tried == 0 {
		t.Error("no schedule was tried")
	}
	for entry, inputs := range map[string][]string{
		"sums": {"x=f32[300,500]:rand(7)", "s=2.0"},
		"bump": {"x=f32[500]:rand(7)", "keep=bool[500]:ones", "i=3"},
	} {
		j := someJob()
		j.Entry, j.Inputs, j.Out = entry, inputs, &b
		j.Opts.Tuned, j.Opts.RequireTuned = file, true
		if _, err := j.Run(context.Background()); err != nil {
			t.Errorf("%s: %v", entry, err)
		}
	}
}

// TestLeft: a kernel that is not measured keeps the entry that it has, and one that has none gets one.
func TestLeft(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	const src = `
pub fn f[N](x: f32[N]) -> (f32[N], f32[2]) = (sin(x), x[0..2] .+ 1.0)
pub fn g[N](x: f32[N]) -> f32[N] = sin(x)
`
	run := func(file *tuned.File, budget time.Duration) *ProgramReport {
		t.Helper()
		p := &Program{Job: &driver.Job{File: diag.NewFile("f.heal", src)}, Shape: map[string]int64{"N": 1 << 20},
			Budget: budget, File: file}
		r, err := p.Run(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	reasons := func(r *ProgramReport) (out []Left) {
		for _, f := range r.Functions {
			for _, k := range f.Kernels {
				out = append(out, k.Left)
			}
		}
		return out
	}
	r := run(nil, time.Second)
	if got := reasons(r); !slices.Equal(got, []Left{NotLeft, Minor, Again}) || len(r.File.Entries()) != 2 {
		t.Errorf("%v, %d entries", got, len(r.File.Entries()))
	}
	set := tuned.Set{"rows.many": 3}
	file := &tuned.File{}
	for _, e := range r.File.Entries() {
		file.Put(tuned.Entry{Key: e.Key, Name: e.Name, Set: set})
	}
	late := run(file, 0)
	if got := reasons(late); !slices.Equal(got, []Left{Late, Minor, Late}) {
		t.Errorf("without time %v", got)
	}
	for _, e := range late.File.Entries() {
		if e.Set.String() != set.String() {
			t.Errorf("%s has %s", e.Name, e.Set)
		}
	}
	if n := len(run(nil, 0).File.Entries()); n != 2 {
		t.Errorf("%d entries", n)
	}
}

// TestProgramErrors: what is missing is said before anything is measured.
func TestProgramErrors(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	for want, p := range map[string]*Program{
		"the input `x` is not given, and its extents are not known": {Job: someJob(), Shape: map[string]int64{"M": 3}},
		"there is no shape parameter `K`":                           {Job: someJob(), Shape: map[string]int64{"K": 3}},
		"fails with random inputs: f.heal:1:50: index 5 is": {Job: &driver.Job{
			File: diag.NewFile("f.heal", "fn f(x: f32[5], i: i32[10]) -> f32[10] = map(|k| x[k], i)\n")}},
		"unknown name `y`": {Job: &driver.Job{
			File: diag.NewFile("f.heal", "fn f(x: f32) -> f32 = y\n")}},
		"a function that returns text": {Job: &driver.Job{
			File: diag.NewFile("f.heal", "fn f() -> string = \"text\"\n")}},
	} {
		if _, err := p.Run(context.Background()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	p := &Program{Job: someJob(), Shape: map[string]int64{"M": 300, "N": 500}, Budget: time.Hour}
	if _, err := p.Run(ctx); err == nil {
		t.Error("a context that has ended is no error")
	}
}

// TestSchedules: all sets make other code, each another one, and those nearest to the profile come first.
func TestSchedules(t *testing.T) {
	m, err := engine.Compile(someSums, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	km, err := m.Kernels("sums", map[string]int64{"M": 3000, "N": 5000}, nil)
	if err != nil {
		t.Fatal(err)
	}
	tr := &trial{p: &Program{}, ctx: context.Background(), job: driver.Job{Opts: engine.Options{
		Target: codegen.Target{CPU: "znver4"}}}}
	all := 0
	for _, k := range km.Kernels {
		sets, err := tr.schedules(km, k)
		if err != nil {
			t.Fatal(err)
		}
		all += len(sets)
		file := &tuned.File{}
		for _, s := range sets {
			e := tuned.Entry{Key: tuned.KeyOf(k, "p"), Set: s}
			file.Put(e)
			if _, err := tuned.Parse("f", file.Text()); err != nil || len(s) == 0 {
				t.Errorf("%s: %v", s, err)
			}
		}
	}
	if all < 3 {
		t.Errorf("%d schedules", all)
	}
}

// TestRound: what is faster by more than its scatter wins.
func TestRound(t *testing.T) {
	r := &round{ratios: []float64{0.9, 0.8, 0.99, 0.7, 0.85}, scatter: []float64{0.95, 0.9, 0.995, 1.1, 0.99}}
	if got := r.best(worthTaking, 3); !slices.Equal(got, []int{1, 4, 0}) {
		t.Errorf("%v", got)
	}
	if got := r.best(worthTaking, 1); !slices.Equal(got, []int{1}) {
		t.Errorf("%v", got)
	}
	if got := r.best(0.5, 3); len(got) != 0 {
		t.Errorf("%v", got)
	}
	if both, ok := united(tuned.Set{"rows.many": 2}, tuned.Set{"columns.rows": 4}); !ok ||
		both.String() != "columns.rows = 4, rows.many = 2" {
		t.Errorf("%s", both)
	}
	if _, ok := united(tuned.Set{"rows.many": 2}, tuned.Set{"rows.many": 4}); ok {
		t.Error("two values of a number are one set")
	}
}

// TestShares: a kernel counts by its estimates, one in a loop many times.
func TestShares(t *testing.T) {
	launch := func(name string, n int64) abi.Step {
		return abi.Step{Launch: &abi.Launch{Kernel: name, Work: 10, Outer: abi.Extent{Dim: types.Lit(n)}}}
	}
	steps := []abi.Step{launch("a", 100), launch("b", 300), launch("a", 100),
		{Loop: &abi.Loop{Body: []abi.Step{launch("c", 5)}}},
		{If: &abi.If{Then: []abi.Step{launch("d", 1)}, Else: []abi.Step{launch("d", 99)}}}}
	km := &kernel.Module{Plan: &abi.Program{Funcs: []*abi.Function{{Steps: steps}}}}
	got := sharesOf(km)
	for name, want := range map[string]float64{"a": 200. / 1100, "b": 300. / 1100, "c": 500. / 1100, "d": 100. / 1100} {
		if x := got[name]; x < want*0.99 || x > want*1.01 {
			t.Errorf("%s takes %g, want %g", name, x, want)
		}
	}
}

// TestRandomInputs: what is random for a parameter.
func TestRandomInputs(t *testing.T) {
	n, k := types.Param("N"), types.Lit(3)
	for want, of := range map[string]types.Tensor{
		"x=f32[10,3]:rand(5)": {Elem: types.F32, Shape: []types.Dim{n, k}},
		"x=f64:rand(5)":       {Elem: types.F64},
		"x=i32:ones":          {Elem: types.I32},
		"x=u64[10]:iota":      {Elem: types.U64, Shape: []types.Dim{n}},
		"x=bool[3]:ones":      {Elem: types.Bool, Shape: []types.Dim{k}},
		"":                    {Elem: types.F32, Shape: []types.Dim{types.Param("M")}},
	} {
		got, ok := random(&ir.Value{Name: "x", Type: of}, map[string]int64{"N": 10}, 5)
		if got != want || ok != (want != "") {
			t.Errorf("%v: %q, want %q", of, got, want)
		}
	}
}

package shardings

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime"
	"healc/runtime/checkpoint"
	"healc/runtime/collective"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

// looping are programs with loops at the top level of f, whose states are of any kind.
var looping = []program{
	{"a state that is cut", `pub fn f[N, M](x: f32[N, M] sharded(0)) -> f32[N, M] sharded(0) = iterate(20, x, |u| {
    let mut next = u;
    next[1..N - 1, 1..M - 1] = 0.25 * (u[0..N - 2, 1..M - 1] + u[2..N, 1..M - 1] + u[1..N - 1, 0..M - 2]
        + u[1..N - 1, 2..M]);
    next
})`, [][]int64{{70, 33}}},
	{"one that a step cuts", `pub fn f[N](x: f32[N] sharded(0), y: f32[N]) -> (f32, f32[N] sharded(0)) = {
    let (n, v) = iterate(11, (0.0, y), |(n, v)| (n + +/(v), 0.5 .* v + x));
    (n, v)
}`, [][]int64{{100}, {100}}},
	{"several values", `pub fn f[N, M](x: f32[N, M] sharded(1), y: f32[M])
    -> (f64, i32, f32[N, M] sharded(1), f32[M], bool) =
    iterate(9, (1.0_f64, 0, x, y, false), |(a, n, u, v, b)| (a * 1.5, n + 1, u .* 0.5 .+ v, v .+ 1.0, !b))`,
		[][]int64{{7, 60}, {60}}},
	{"scalars", `pub fn f(x: f32) -> (f32, i32) = iterate(1000, (x, 0), |(a, n)| (sin(a) + 0.1, n + 1))`, [][]int64{{}}},
	{"until it holds", `pub fn f[N](x: f32[N] sharded(0)) -> (i32, f32[N] sharded(0)) =
    iterate_until((0, x), |(n, v)| (n + 1, 0.7 .* v), |(n, v)| max/(abs(v)) < 0.01, 1000)`, [][]int64{{50}}},
	{"until there is no more", `pub fn f[N](x: f32[N] sharded(0)) -> f32[N] sharded(0) =
    iterate_until(x, |v| 0.7 .* v, |v| +/(v) > 1000000.0, 13)`, [][]int64{{50}}},
	{"no step", `pub fn f[N](x: f32[N] sharded(0)) -> (f32[N] sharded(0), f32[N] sharded(0)) =
    (iterate(0 - 5, x, |v| 0.7 .* v), iterate_until(x, |v| 0.5 .* v, |v| +/(v) < 0.0, 0))`, [][]int64{{50}}},
	{"one after the other", `pub fn f[N](x: f32[N] sharded(0)) -> f32 = {
    let u = iterate(5, x, |v| 0.7 .* v);
    let w = iterate_until((0, u), |(n, v)| (n + 1, v + u), |(n, v)| n >= 7, 30);
    let (_n, v) = w;
    iterate(3, +/(v), |s| s * 1.1)
}`, [][]int64{{50}}},
	{"a fold", `pub fn f[N, M](x: f32[N, M] sharded(0), y: f32[11]) -> f32[N, M] sharded(0) = fold(x, |u, v| u .* v, y)`,
		[][]int64{{30, 4}, {11}}},
	{"what captures", `pub fn f[N](x: f32[N] sharded(0), y: f32) -> f32[N] sharded(0) = {
    let k = y * 2.0;
    iterate((abs(y) * 10.0) as i32 + 4, x, |v| v .* k + iterate(3, k, |s| s * 0.5))
}`, [][]int64{{30}, {}}},
}

// history keeps every file that is written at a path.
type history struct {
	collective.Files
	path  string
	mu    *sync.Mutex
	texts *[][]byte
}

func (h history) CreateShared(path string) (collective.File, uint64, error) {
	f, tag, err := h.Files.CreateShared(path)
	return kept{f, h}, tag, err
}

type kept struct {
	collective.File
	of history
}

func (k kept) Commit() error {
	if err := k.File.Commit(); err != nil {
		return err
	}
	text, err := os.ReadFile(k.of.path)
	k.of.mu.Lock()
	defer k.of.mu.Unlock()
	*k.of.texts = append(*k.of.texts, text)
	return err
}

// TestCheckpoints: a program that keeps its states has the same bits, and so has one that goes on from any of them, on
// another number of ranks. What is kept does not say on how many ranks.
func TestCheckpoints(t *testing.T) {
	day := sample.Today(t)
	for k, p := range looping {
		t.Run(p.name, func(t *testing.T) {
			if testing.Short() && (day+k)%3 > 0 {
				t.Skip("its turn is on another day")
			}
			input := p.input()
			interp := engine.Options{Backend: heal.Interp}
			want, err := outcome(p.source, input, interp)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			path := filepath.Join(dir, "state")
			var texts [][]byte
			var mu sync.Mutex
			// run is the program on so many ranks, on the interpreter for none.
			run := func(n, every int, resume bool) {
				t.Helper()
				o := engine.Options{Threads: 1, Checkpoints: &pipeline.Checkpoints{Entry: "f", Every: int32(every)},
					System: runtime.OS{Out: io.Discard}}
				if n == 0 {
					o.Backend = heal.Interp
				}
				ways.Usual(day+k, len(sizes))[0].Set(&o)
				for rank, got := range each(t, max(n, 1), o, func(o engine.Options) (*random.Outcome, error) {
					f := checkpoint.New(path, history{runtime.SharedFiles(o.System), path, &mu, &texts})
					if resume {
						if err := f.Resume(); err != nil {
							return nil, err
						}
					}
					defer f.Close()
					o.Checkpoint = f
					return outcome(p.source, input, o)
				}) {
					if d := random.Diff(want, got); d != "" {
						t.Errorf("rank %d of %d, every %d steps, resumed %v: %s", rank, n, every, resume, d)
					}
				}
			}
			numbers := []int{0, 1, 2, 3, 4, 7}
			every := []int{1, 4, 1000}[(day+k)%3]
			run(numbers[(day+k)%len(numbers)], every, false)
			first := texts
			texts = nil
			run(numbers[(day+k+1)%len(numbers)], every, false)
			if len(first) == 0 && p.name != "no step" {
				t.Error("nothing is kept")
			}
			if !same(first, texts) {
				t.Errorf("other states are kept: %d and %d", len(first), len(texts))
			}
			for i := range 3 {
				if len(first) == 0 {
					break
				}
				at := (len(first) - 1) * i / 2
				if err := os.WriteFile(path, first[at], 0o666); err != nil {
					t.Fatal(err)
				}
				texts = nil
				run(numbers[(day+k+i+2)%len(numbers)], every, true)
				if rest := first[at+1:]; !same(rest, texts) {
					t.Errorf("from state %d of %d on, %d are kept, or others", at, len(first), len(texts))
				}
			}
		})
	}
}

func same(a, b [][]byte) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if string(a[i]) != string(b[i]) {
			return false
		}
	}
	return true
}

// TestCheckpointsRefused: a checkpoint of something else is refused, and so is what has no place for one.
func TestCheckpointsRefused(t *testing.T) {
	const source = "pub fn f[N](x: f32[N] sharded(0), k: f32) -> f32[N] sharded(0) = iterate(20, x, |v| k .* v)"
	path := filepath.Join(t.TempDir(), "state")
	ones := func(n int64) *ir.Array {
		return &ir.Array{DType: types.F32, Shape: []int64{n}, Bits: make([]uint64, n)}
	}
	scalar := func(bits uint64) *ir.Array { return &ir.Array{DType: types.F32, Bits: []uint64{bits}} }
	run := func(source string, input []*ir.Array, resume bool) error {
		o := engine.Options{Threads: 1, Checkpoints: &pipeline.Checkpoints{Entry: "f", Every: 10}}
		f := checkpoint.New(path, runtime.SharedFiles(runtime.OS{}))
		if resume {
			if err := f.Resume(); err != nil {
				return err
			}
		}
		defer f.Close()
		o.Checkpoint = f
		_, err := outcome(source, input, o)
		return err
	}
	if err := run(source, []*ir.Array{ones(10), scalar(0x3f000000)}, true); err == nil ||
		!strings.Contains(err.Error(), "it is not there") {
		t.Error(err)
	}
	if err := run(source, []*ir.Array{ones(10), scalar(0x3f000000)}, false); err != nil {
		t.Fatal(err)
	}
	if err := run(source, []*ir.Array{ones(10), scalar(0x3f000000)}, true); err != nil {
		t.Error(err)
	}
	const other = "it is of another program, of another function, or of other inputs"
	for _, c := range []struct {
		name, source string
		input        []*ir.Array
		want         string
	}{
		{"another program", strings.Replace(source, "20", "21", 1), []*ir.Array{ones(10), scalar(0x3f000000)}, other},
		{"another shape", source, []*ir.Array{ones(11), scalar(0x3f000000)}, other},
		{"another value", source, []*ir.Array{ones(10), scalar(0x3f100000)}, other},
	} {
		err := run(c.source, c.input, true)
		var refused *checkpoint.Error
		if !errors.As(err, &refused) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if err := os.WriteFile(path, []byte("no checkpoint"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := run(source, []*ir.Array{ones(10), scalar(0)}, true); err == nil ||
		!strings.Contains(err.Error(), "it cannot be read") {
		t.Error(err)
	}
	for _, c := range []struct{ source, want string }{
		{"pub fn f(x: f32) -> f32 = x + 1.0", "`f` has no loop at its top level"},
		{"pub fn f(x: f32) -> f32 = if x > 0.0 { iterate(3, x, |s| s + 1.0) } else { x }", "has no loop at its top"},
		{"fn g(x: f32) -> f32 = iterate(3, x, |s| s + 1.0)\npub fn f(x: f32) -> f32 = g(x)", "has no loop at its top"},
		{"pub fn f(x: f32) -> f32 = iterate(3, x, |s| s + 1.0)\npub fn g(x: f32) -> f32 = f(x)",
			"`f` is called by a function"},
		{`pub fn f(x: f32) -> i32 = len(iterate(3, "a", |s| s ++ "b"))`, "has string, which no checkpoint holds"},
	} {
		err := run(c.source, []*ir.Array{scalar(0)}, false)
		if text := fmt.Sprint(err); !strings.Contains(text, c.want) || !strings.Contains(text, "unsupported") {
			t.Errorf("%s: %v", c.source, err)
		}
	}
}

package matmul

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/ir/kernel/analysis"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

// TestGuards: a product that changes a part of a matrix in place, the part being another one in each step, leaves out
// tiles of which nothing changes: beyond either end, none, all, for rows and columns together and alone.
func TestGuards(t *testing.T) {
	const step = `fn f[M, K, N](a: T[M, K], b: T[K, N], c: T[M, N]) -> T[M, N] = {
    let (_, r) = iterate(5, (-3, c), |(n, m)| (n + STEP, tabulate(M, N, |i, j| where(
        GUARD,
        fold(m[i, j], |s, k| fma(a[i, k], b[k, j], s), 0..K),
        m[i, j],
    ))));
    r
}`
	rng := rand.New(rand.NewPCG(5, 6))
	day := sample.Today(t)
	cpus, turn := devices.Targets(t), day
	for i, c := range []struct {
		elem, guard string
		guards      int
	}{
		{"f32", "i >= n && j >= n", 2}, {"f64", "i < n && n >= j", 2}, {"f64", "i > n && j < 2 * n", 2},
		{"f32", "n < i", 1}, {"f64", "j <= n", 1}, {"i32", "i > n && (j > n && j < M)", 3},
		{"f32", "i > n || j > n", 0}, {"f32", "i > n && j > i", 2}, {"f64", "i - 2 > n && j == n", 0},
		{"f64", "j > n && j <= i", 2}, {"f32", "i < j", 1},
		{"f64", "j - 1 < i", 0}, {"f32", "i > n && i > 2 * j", 1},
	} {
		src := strings.NewReplacer("T[", c.elem+"[", "GUARD", c.guard).Replace(step)
		if c.elem == "i32" {
			src = strings.Replace(src, "fma(a[i, k], b[k, j], s)", "s + a[i, k] * b[k, j]", 1)
		}
		found := -1
		for k, s := range [][3]int64{{3, 1, 2}, {41, 6, 70}, {70, 5, 140}} {
			if !sample.Has(day+i, k, 3) {
				continue
			}
			m, k, n := s[0], s[1], s[2]
			src := strings.Replace(src, "STEP", fmt.Sprint(max(m, n)/4+1), 1)
			args := []*tensor.Tensor{randomTensor(t, rng, dtypes[c.elem], []int64{m, k}),
				randomTensor(t, rng, dtypes[c.elem], []int64{k, n}),
				randomTensor(t, rng, dtypes[c.elem], []int64{m, n})}
			want := call(t, src, src, engine.Options{Backend: heal.Interp, Threads: 1}, args)
			cpu, threads := cpus[turn%len(cpus)], threads[turn%len(threads)]
			turn++
			opts := engine.Options{Threads: threads, SplitAll: true, Target: codegen.Target{Kind: "cpu", CPU: cpu}}
			for _, w := range ways.Thorough(drawn(fmt.Sprint(src, s)), 4) {
				for _, o := range w.Options(t, opts) {
					differ(t, fmt.Sprintf("%s, %v on %q, %s", src, s, cpu, w), call(t, src, src, o, args), want)
				}
			}
			free := newAnyShape(t, src, cpu, 2)
			differ(t, src+" for any shape", free.call(t, src, s, args), want)
			free.close()
			for _, a := range args {
				a.Close()
			}
			found = guards(t, src)
		}
		if found != c.guards {
			t.Errorf("%d guards were found in %q, not %d", found, c.guard, c.guards)
		}
	}
}

// TestGuardsAndPlaces: a product whose rows are parts of others leaves out tiles, too, and the place of these parts is
// looked at where it leaves out all.
func TestGuardsAndPlaces(t *testing.T) {
	const src = `fn f(a: f64[70, 20], b: f64[8, 40], c: f64[70, 40], from: i32, at: i32) -> f64[70, 40] = iterate(1, c, |m| {
    let wanted = unsqueeze(0..70 .>= from, 1);
    where(wanted, m + a[.., at..at + 8] @ b, m)
})`
	if n := guards(t, src); n != 1 {
		t.Errorf("%d guards were found, not 1", n)
	}
	rng := rand.New(rand.NewPCG(5, 7))
	args := []*tensor.Tensor{randomTensor(t, rng, types.F64, []int64{70, 20}),
		randomTensor(t, rng, types.F64, []int64{8, 40}), randomTensor(t, rng, types.F64, []int64{70, 40})}
	for _, cpu := range devices.Targets(t) {
		for _, c := range [][2]int32{{-1, 0}, {13, 12}, {70, 5}, {0, 13}, {70, 13}, {100, -1}} {
			all := args
			for _, x := range c {
				n, err := tensor.FromBits(types.I32, nil, []uint64{uint64(uint32(x))})
				if err != nil {
					t.Fatal(err)
				}
				all = append(all[:len(all):len(all)], n)
			}
			want, wantErr := tryCall(t, src, engine.Options{Backend: heal.Interp, Threads: 1}, all)
			got, err := tryCall(t, src, engine.Options{Threads: 2, SplitAll: true,
				Target: codegen.Target{Kind: "cpu", CPU: cpu}}, all)
			if fmt.Sprint(err) != fmt.Sprint(wantErr) || (c[1] < 0 || c[1] > 12) != (err != nil) {
				t.Errorf("%v on %q: %v, want %v", c, cpu, err, wantErr)
			}
			differ(t, fmt.Sprintf("%v on %q", c, cpu), got, want)
		}
	}
}

// guards is how many guards the products of a program have.
func guards(t *testing.T, src string) int {
	t.Helper()
	m, err := engine.Compile(src, engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	km, err := m.Kernels("f", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, k := range km.Kernels {
		if c := analysis.ContractionOf(k); c != nil {
			n += len(c.Guards())
		}
	}
	return n
}

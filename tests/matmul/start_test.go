package matmul

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/engine"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

// TestStart: chains that start at the elements of a matrix, of a row or of a transpose, which are of another type than
// the factors, are updated in place, or are longer than a piece of the chains. Sizes are small, because the interpreter
// goes from step to step here.
func TestStart(t *testing.T) {
	const each = `tabulate(M, N, |i, j| fold(c[i, j], |s, k| s + (a[i, k] as i32) * (b[k, j] as i32), 0..K))`
	const steps = `iterate(3, c, |m| tabulate(M, N, |i, j| fold(m[i, j], |s, k| fma(a[i, k], b[k, j], s), 0..K)))`
	const minus = `tabulate(M, N, |i, j| fold(c[i, j], |s, k| fma(-a[i, k], b[k, j], s), 0..K))`
	const row = `tabulate(M, N, |i, j| max(fold(c[0, j], |s, k| s + a[i, k] * b[k, j], 0..K), c[i, j]))`
	const turned = `tabulate(M, N, |i, j| fold(transpose(c)[j, i], |s, k| fma(a[i, k], b[k, j], s), 0..K))`
	rng := rand.New(rand.NewPCG(3, 4))
	day := sample.Today(t)
	cpus, turn := devices.Targets(t), day
	for i, c := range []struct{ elem, sum, body string }{
		{"i8", "i32", each}, {"u8", "i32", each}, {"i16", "i32", each}, {"f32", "f32", steps}, {"f64", "f64", minus},
		{"bf16", "bf16", minus}, {"i64", "i64", row}, {"i32", "i32", row}, {"f32", "f32", turned},
	} {
		src := strings.NewReplacer("T[", c.elem+"[", "S[", c.sum+"[").Replace(
			"fn f[M, K, N](a: T[M, K], b: T[K, N], c: S[M, N]) -> S[M, N] = " + c.body)
		for k, s := range [][3]int64{{2, 1, 1}, {7, 33, 19}, {19, 600, 37}, {5, 0, 9}} {
			if !sample.Has(day+i, k, 4) {
				continue
			}
			m, k, n := s[0], s[1], s[2]
			args := []*tensor.Tensor{randomTensor(t, rng, dtypes[c.elem], []int64{m, k}),
				randomTensor(t, rng, dtypes[c.elem], []int64{k, n}), randomTensor(t, rng, dtypes[c.sum], []int64{m, n})}
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
		}
		if text := kernels(t, src); !strings.Contains(text, "contract") {
			t.Errorf("%s is no product:\n%s", src, text)
		}
	}
}

// kernels is the text of the kernels of a program.
func kernels(t *testing.T, src string) string {
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
	return km.String()
}

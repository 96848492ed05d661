package stdlib_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/lang/format"
	"healc/runtime"
	"healc/runtime/tensor"
	"healc/stdlib"
	"healc/tests/devices"
	"healc/tests/sample"
	"healc/tests/ways"
)

// public are the names of the public functions of a module.
func public(name string) []string {
	text, _ := stdlib.Source(name)
	var out []string
	for _, m := range regexp.MustCompile(`(?m)^pub fn (\w+)`).FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// TestSpecialPoints runs what special/ says of every public function at 0, at infinities and NaN, with nothing to work
// on, with equal numbers, and at the ends of types: on the interpreter, compiled in one way on every fourth day, and
// some on a device. The title of a test begins with the functions that it is about.
func TestSpecialPoints(t *testing.T) {
	day := sample.Today(t)
	for k, name := range longestFirst() {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join("special", name+".heal")
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if want, list := format.Source(diag.NewFile(path, string(text))); want != string(text) || list.HasErrors() {
				t.Errorf("%s is not formatted: run healc fmt -w", path)
			}
			about := map[string]bool{}
			for _, m := range regexp.MustCompile(`(?m)^test "([\w, ]+)`).FindAllStringSubmatch(string(text), -1) {
				for _, f := range strings.Split(m[1], ", ") {
					about[f] = true
				}
			}
			for _, f := range public(name) {
				if !about[f] {
					t.Errorf("%s has no test of %s: what does it give at its special points, and what are its "+
						"derivatives there?", path, f)
				}
				delete(about, f)
			}
			for f := range about {
				t.Errorf("%s tests %s, which is no public function of %s", path, f, name)
			}
			module := "special/" + name
			o := engine.Options{Threads: 1, Tests: true, System: runtime.OS{}}
			judge := o
			judge.Backend = heal.Interp
			if err := blocks(module, string(text), judge, every); err != nil {
				t.Error(err)
			}
			if testing.Short() {
				return
			}
			for _, w := range ways.Drawn(module) {
				if !sample.Has(day, k+1, 4) { // never when TestModules has the same one
					break
				}
				err := w.Run(t, o, func(o engine.Options) error { return blocks(module, string(text), o, every) })
				if err != nil {
					t.Error(err)
				}
			}
			if devices.Takes(k, 1) {
				o := engine.Options{Backend: devices.Backend(), Tests: true}
				take := func(i int) bool { return devices.Takes(7*k+i+day, 12) }
				if err := blocks(module, string(text), o, take); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestManyRows: first weights of 16 bits with more rows than f16 can count, which the interpreter takes long to draw.
func TestManyRows(t *testing.T) {
	const src = `import nn
import random

fn f() -> (f64, f64) = {
    let k = random.key(1);
    (var(nn.he[f16, 66000, 1](k) as f64) * 66000.0, var(nn.xavier[f16, 66000, 1](k) as f64) * 66001.0)
}
`
	for _, w := range ways.Drawn(src) {
		if err := w.Run(t, engine.Options{Backend: heal.CPU, Threads: 1}, func(o engine.Options) error {
			m, err := engine.Compile(src, o)
			if err != nil {
				return err
			}
			defer m.Close()
			f, err := m.Func("f")
			if err != nil {
				return err
			}
			out, err := f.CallAll(context.Background())
			if err != nil {
				return err
			}
			for _, y := range out {
				defer y.Close()
				if v := math.Float64frombits(y.Bits()[0]); !(math.Abs(v-2) < 0.05) {
					return fmt.Errorf("the variance is %v times as large as 1 over the number of rows", v)
				}
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
}

// derivatives are vectors of f64 that functions of the library give for a vector x of 6 numbers, none of them special.
var derivatives = map[string]string{
	"linalg.dot":             "[linalg.dot(x[0..3], x[3..6])]",
	"linalg.norm":            "[linalg.norm(x)]",
	"linalg.norm1":           "[linalg.norm1(x)]",
	"linalg.norm_inf":        "[linalg.norm_inf(x)]",
	"linalg.frobenius":       "[linalg.frobenius(reshape(x, [2, 3]))]",
	"linalg.normalize":       "linalg.normalize(x)",
	"linalg.outer":           "flatten(linalg.outer(x[0..2], x[2..6]))",
	"linalg.cross":           "linalg.cross(x[0..3], x[3..6])",
	"linalg.diagonal":        "linalg.diagonal(square(x))",
	"linalg.diag":            "flatten(linalg.diag(x))",
	"linalg.trace":           "[linalg.trace(square(x))]",
	"linalg.tril":            "flatten(linalg.tril(square(x)))",
	"linalg.triu":            "flatten(linalg.triu(square(x)))",
	"linalg.kron":            "flatten(linalg.kron(reshape(x[0..2], [1, 2]), reshape(x[2..6], [2, 2])))",
	"linalg.matrix_power":    "flatten(linalg.matrix_power(square(x), 3))",
	"linalg.cholesky":        "flatten(linalg.cholesky(positive(x)))",
	"linalg.solve_lower":     "flatten(linalg.solve_lower(square(x), square(x * x)))",
	"linalg.solve_upper":     "flatten(linalg.solve_upper(square(x), square(x * x)))",
	"linalg.lu":              "{ let (m, _, _) = linalg.lu(square(x)); flatten(m) }",
	"linalg.solve":           "flatten(linalg.solve(square(x), reshape(x, [3, 2])))",
	"linalg.solve_vector":    "linalg.solve_vector(square(x), x[3..6])",
	"linalg.det":             "[linalg.det(square(x))]",
	"linalg.inverse":         "flatten(linalg.inverse(square(x)))",
	"linalg.qr":              "{ let (q, r) = linalg.qr(reshape(x, [3, 2])); concat((flatten(q), flatten(r)), 0) }",
	"linalg.power_iteration": "{ let (v, y) = linalg.power_iteration(square(x), x[3..6], 3); concat((y, [v]), 0) }",

	"math.square":     "map(math.square, x)",
	"math.cube":       "map(math.cube, x)",
	"math.lerp":       "map(|a, b| math.lerp(a, b, b * a), x[0..3], x[3..6])",
	"math.hypot":      "map(math.hypot, x[0..3], x[3..6])",
	"math.radians":    "map(math.radians, x)",
	"math.degrees":    "map(math.degrees, x)",
	"math.sinc":       "map(math.sinc, x)",
	"math.logit":      "map(|p| math.logit(p), abs(x))",
	"math.smoothstep": "map(|v| math.smoothstep(-1.0, 0.85, v), x)",
	"math.linspace":   "math.linspace[f64, 4](x[0], x[1])",
	"math.polyval":    "[math.polyval(x, x[2])]",
	"math.logsumexp":  "[math.logsumexp(x)]",
	"math.diff":       "math.diff(x)",
	"math.trapz":      "[math.trapz(x[0..3], x[3..6])]",

	"nn.softmax":     "flatten(nn.softmax(reshape(x, [2, 3])))",
	"nn.log_softmax": "flatten(nn.log_softmax(reshape(x, [2, 3])))",
	"nn.layer_norm":  "flatten(nn.layer_norm(reshape(x, [2, 3]), x[0..3], x[3..6], 0.1))",
	"nn.rms_norm":    "flatten(nn.rms_norm(reshape(x, [2, 3]), x[0..3], 0.1))",
	"nn.gelu":        "flatten(nn.gelu(reshape(x, [2, 3])))",
	"nn.gelu_tanh":   "flatten(nn.gelu_tanh(reshape(x, [2, 3])))",
	"nn.linear":      "flatten(nn.linear(reshape(x[0..2], [1, 2]), reshape(x[2..6], [2, 2]), x[1..3]))",
	"nn.embedding":   "flatten(nn.embedding(reshape(x * x, [3, 2]), [2, 0, 2]))",
	"nn.conv2d":      "flatten(nn.conv2d(reshape(x, [1, 2, 3, 1]), reshape(x[0..4], [1, 2, 1, 2]), x[4..6]))",
	"nn.pad2d":       "flatten(nn.pad2d(reshape(x * x, [1, 2, 3, 1])))",
	"nn.max_pool2d":  "flatten(nn.max_pool2d(reshape(x[0..4] * x[1..5], [1, 2, 2, 1])))",
	"nn.mean_pool2d": "flatten(nn.mean_pool2d(reshape(x[0..4] * x[1..5], [1, 2, 2, 1])))",
	"nn.dropout":     "flatten(nn.dropout(reshape(x * x, [2, 3]), 0.4 + 0.0 * x[0], random.key(1)))",
	"nn.attention": "flatten(nn.attention(reshape(x[0..2], [2, 1]), reshape(x[2..4], [2, 1]), " +
		"reshape(x[4..6], [2, 1])))",
	"nn.causal_attention": "flatten(nn.causal_attention(reshape(x[0..2], [2, 1]), reshape(x[2..4], [2, 1]), " +
		"reshape(x[4..6], [2, 1])))",
	"nn.softmax_cross_entropy": "[nn.softmax_cross_entropy(reshape(x, [2, 3]), [2, 0])]",
	"nn.binary_cross_entropy":  "[nn.binary_cross_entropy(reshape(x[0..3], [1, 3]), reshape(x[3..6], [1, 3]))]",
	"nn.mse":                   "[nn.mse(reshape(x[0..3], [1, 3]), reshape(x[3..6], [1, 3]))]",
	"nn.normal":                "flatten(nn.normal[f64, 2, 2](random.key(1), x[0] * x[0]))",
	"nn.uniform":               "flatten(nn.uniform[f64, 2, 2](random.key(1), x[0] * x[0]))",

	"optim.sgd":         "optim.sgd(x[0..2], x[2..4], x[4])",
	"optim.momentum":    "{ let (p, v) = optim.momentum(x[0..2], x[2..4], x[4..6], x[0], x[1]); concat((p, v), 0) }",
	"optim.adam":        "{ let (p, _) = optim.adam(x[0..2], x[2..4], (x[4..6], abs(x[4..6]), 3), x[0]); p }",
	"optim.adamw":       "{ let (p, _) = optim.adamw(x[0..2], x[2..4], (x[4..6], abs(x[4..6]), 3), x[0], x[1]); p }",
	"optim.adam_with":   "adam_step(x)",
	"optim.average":     "optim.average(x[0..2], x[2..4], x[4])",
	"optim.global_norm": "[optim.global_norm((x[0..2], x[2..6]))]",
	"optim.clip_value":  "optim.clip_value(x * x, 0.4)",
	"optim.clip_norm":   "optim.clip_norm(x, 0.5)",
	"optim.constant":    "[optim.constant(3, x[0] * x[1])]",
	"optim.stairs":      "[optim.stairs(7, x[0], 3, x[1])]",
	"optim.cosine":      "[optim.cosine(3, x[0], x[1] * x[1], 10)]",

	"random.uniform_in": "random.uniform_in[f64, 3](random.key(1), x[5], x[0] * x[0])",

	"signal.correlate":   "signal.correlate(x[0..4], x[4..6])",
	"signal.conv1d":      "signal.conv1d(x[0..4], x[4..6])",
	"signal.conv_full":   "signal.conv_full(x[0..4], x[4..6])",
	"signal.correlate2d": "flatten(signal.correlate2d(square(x), reshape(x[0..4], [2, 2])))",
	"signal.conv2d":      "flatten(signal.conv2d(square(x), reshape(x[0..4], [2, 2])))",
	"signal.conv":        "flatten(signal.conv(reshape(square(x), [1, 3, 3]), reshape(x[0..4], [1, 1, 2, 2])))",
	"signal.max_pool":    "flatten(signal.max_pool[f64, 1, 1, 2](reshape(x[0..4] * x[1..5], [2, 2])))",
	"signal.mean_pool":   "flatten(signal.mean_pool[f64, 1, 1, 2](reshape(x[0..4] * x[1..5], [2, 2])))",
	"signal.moving_mean": "signal.moving_mean[f64, 6, 3](x * x)",
	"signal.fft":         "{ let (a, b) = signal.fft(x[0..4] * x[0..4], x[2..6]); concat((a, b), 0) }",
	"signal.ifft":        "{ let (a, b) = signal.ifft(x[0..4] * x[0..4], x[2..6]); concat((a, b), 0) }",
	"signal.rfft":        "{ let (a, b) = signal.rfft[f64, 3](x * x); concat((a, b), 0) }",
	"signal.irfft":       "signal.irfft[f64, 2](x[0..3] * x[1..4], x[3..6])",
	"signal.fft2":        "{ let (a, b) = signal.fft2(square(x)[0..2], square(x)[1..3]); flatten(concat((a, b), 0)) }",
	"signal.ifft2":       "{ let (a, b) = signal.ifft2(square(x)[0..2], square(x)[1..3]); flatten(concat((a, b), 0)) }",
	"signal.fft3": "{ let (a, b) = signal.fft3(unsqueeze(square(x), 0), unsqueeze(square(x), 0)); " +
		"flatten(a + b) }",
	"signal.ifft3": "{ let (a, b) = signal.ifft3(unsqueeze(square(x), 0), unsqueeze(square(x), 0)); " +
		"flatten(a .* 2.0 + b) }",
	"signal.dft": "{ let (a, b) = signal.dft(x[0..3] * x[0..3], x[3..6]); concat((a, b), 0) }",

	"stats.std":                 "[stats.std(x)]",
	"stats.sample_var":          "[stats.sample_var(x)]",
	"stats.standardise":         "stats.standardise(x)",
	"stats.standardise_columns": "flatten(stats.standardise_columns(reshape(x, [3, 2])))",
	"stats.covariance":          "flatten(stats.covariance(reshape(x, [3, 2])))",
	"stats.correlation":         "flatten(stats.correlation(reshape(x, [3, 2])))",
	"stats.quantile":            "[stats.quantile(x, x[0])]",
	"stats.median":              "[stats.median(x * x)]",
	"stats.mae":                 "[stats.mae(x[0..3], x[3..6])]",
	"stats.mse":                 "[stats.mse(x[0..3], x[3..6])]",
	"stats.r2":                  "[stats.r2(x[0..3], x[3..6])]",
	"stats.linear_fit":          "{ let (a, b) = stats.linear_fit(x[0..3], x[3..6]); [a, b] }",
	"stats.normal_density":      "[stats.normal_density(x[0], x[1], x[3]), stats.normal_density(3.0, x[1], x[3])]",
	"stats.normal_below":        "[stats.normal_below(x[0], x[1], x[3]), stats.normal_below(-3.0, x[1], x[3])]",
}

// noDerivatives are the other functions of floats.
var noDerivatives = map[string]string{
	"linalg.least_square": constant, "linalg.unit_of": constant, "math.narrow": constant, "signal.hann": constant,
	"nn.he": constant, "nn.xavier": constant, "optim.adam_start": constant, "optim.zeros": constant,
	"optim.warm_up": constant, "random.uniform": constant, "random.normal": constant,
	"nn.accuracy": "gives a share", "stats.histogram": "gives integers",
}

// constant: nothing that it gives depends on a float that it takes.
const constant = "a constant"

const derivativeOperands = `import linalg
import math
import nn
import optim
import random
import signal
import stats

fn square(x: f64[6]) -> f64[3, 3] = [
    [x[0] + 1.0, x[1], x[2]],
    [x[3], x[4] * x[0], x[5]],
    [x[1] * x[2], x[0], 2.0 + x[3]],
]

fn positive(x: f64[6]) -> f64[3, 3] = square(x) @ transpose(square(x)) .+ eye[f64, 3]()

fn adam_step(x: f64[6]) -> f64[2] = {
    let (p, _) = optim.adam_with(x[0..2], x[2..4], (x[4..6], abs(x[4..6]), 3), x[0], x[1], x[3], 0.1, x[4]);
    p
}

fn weigh[N](y: f64[N]) -> f64 = sum(y * sin(iota[f64](N) + 1.0))

`

// TestDerivatives: the first and the second derivatives of every function of floats are what central differences of the
// function and of its gradient give.
func TestDerivatives(t *testing.T) {
	floats := regexp.MustCompile(`(?m)^pub fn (\w+)\[T: (?:num|float)`)
	for _, name := range stdlib.Names() {
		text, _ := stdlib.Source(name)
		for _, m := range floats.FindAllStringSubmatch(text, -1) {
			if f := name + "." + m[1]; (derivatives[f] == "") == (noDerivatives[f] == "") {
				t.Errorf("%s has to be in one of the two lists of this test", f)
			}
		}
	}
	names, src := slices.Sorted(maps.Keys(derivatives)), derivativeOperands
	for i, f := range names {
		src += fmt.Sprintf(`pub fn value_%[1]d(x: f64[6]) -> f64 = weigh(%[2]s)
pub fn first_%[1]d(x: f64[6]) -> f64[6] = grad(value_%[1]d)(x)
fn along_%[1]d(x: f64[6], d: f64[6]) -> f64 = sum(first_%[1]d(x) * d)
pub fn second_%[1]d(x: f64[6], d: f64[6]) -> f64[6] = grad(along_%[1]d, wrt = x)(x, d)
`, i, derivatives[f])
	}
	m, err := engine.CompileFile(diag.NewFile("derivatives.heal", src), engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	call := func(what string, i int, args ...[]float64) []float64 {
		t.Helper()
		f, err := m.Func(fmt.Sprintf("%s_%d", what, i))
		if err != nil {
			t.Fatal(err)
		}
		var in []*tensor.Tensor
		for _, a := range args {
			in = append(in, tensor.FromSlice(a))
		}
		y, err := f.Call(context.Background(), in...)
		if err != nil {
			t.Fatalf("%s: %v", names[i], err)
		}
		var out []float64
		for _, b := range y.Bits() {
			out = append(out, math.Float64frombits(b))
		}
		return out
	}
	const h = 1e-4
	for i, name := range names {
		for _, x := range [][]float64{{0.3, 0.7, -0.4, 0.9, 0.55, -0.8}, {0.81, 0.2, -0.66, 0.37, 0.12, -0.93}} {
			first, d := call("first", i, x), []float64{0.9, -0.3, 0.5, 0.2, -0.7, 0.4}
			at := func(by float64) []float64 {
				moved := slices.Clone(x)
				for k := range moved {
					moved[k] += by * d[k]
				}
				return moved
			}
			// Both along d; of the gradient, every component.
			slope := 0.0
			for k := range d {
				slope += first[k] * d[k]
			}
			value := func(by float64) []float64 { return call("value", i, at(by)) }
			gradient := func(by float64) []float64 { return call("first", i, at(by)) }
			compare(t, name+", first", x, []float64{slope}, differences(value, h))
			compare(t, name+", second", x, call("second", i, x, d), differences(gradient, h))
		}
	}
}

// differences are the derivatives of f at 0, by five points.
func differences(f func(float64) []float64, h float64) []float64 {
	a, b, c, d := f(-2*h), f(-h), f(h), f(2*h)
	out := make([]float64, len(a))
	for i := range out {
		out[i] = (8*(c[i]-b[i]) - (d[i] - a[i])) / (12 * h)
	}
	return out
}

// compare wants two vectors to be close, as parts of the largest element.
func compare(t *testing.T, what string, x, got, want []float64) {
	t.Helper()
	top := 1.0
	for _, v := range want {
		top = max(top, math.Abs(v))
	}
	for i := range want {
		if !(math.Abs(got[i]-want[i]) <= 1e-6*top) {
			t.Errorf("%s derivative at %v: %v, by differences %v", what, x, got, want)
			return
		}
	}
}

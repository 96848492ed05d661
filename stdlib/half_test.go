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
	"strconv"
	"strings"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/stdlib"
	"healc/tests/sample"
	"healc/tests/ways"
)

// halves are calls of every function of the library, and every reduction of the language, that gives floats of the type
// of its operands, `$T`. Operands are exact in 16 bits. Behind a bar stands what the error is measured by, if that is
// not the result.
var halves = map[string]string{
	"+/":            "+/(vec[$T, 5000]()) | +/(abs(vec[$T, 5000]()))",
	"+/[axis=0]":    "+/[axis=0](tall[$T, 5000, 2]()) | +/[axis=0](abs(tall[$T, 5000, 2]()))",
	"*/":            "*/(near[$T, 500]())",
	"sum":           "sum(pos[$T, 5000]())",
	"sum, axis = 0": "sum(tall[$T, 5000, 2]() .+ 2.0, axis = 0)",
	"prod":          "prod(near[$T, 500]())",
	"mean":          "mean(pos[$T, 100000]())",
	"mean, axis":    "mean(tall[$T, 5000, 2]() .+ 2.0, axis = 0)",
	"var":           "var(vec[$T, 5000]() * 512.0)",
	"var, axis":     "var(tall[$T, 5000, 2](), axis = 0)",
	"max/ min/":     "max/(vec[$T, 500]()) + min/(vec[$T, 500]())",

	"linalg.dot":          "linalg.dot(vec[$T, 999](), pos[$T, 999]()) | linalg.dot(pos[$T, 999](), pos[$T, 999]())",
	"linalg.norm":         "linalg.norm(vec[$T, 5000]() * 256.0)",
	"linalg.norm1":        "linalg.norm1(vec[$T, 5000]())",
	"linalg.norm_inf":     "linalg.norm_inf(vec[$T, 5000]())",
	"linalg.frobenius":    "linalg.frobenius(tall[$T, 2500, 2]() * 256.0)",
	"linalg.normalize":    "linalg.normalize(vec[$T, 500]() * 256.0)",
	"linalg.outer":        "linalg.outer(vec[$T, 50](), pos[$T, 20]())",
	"linalg.cross":        "linalg.cross(vec[$T, 3](), pos[$T, 3]()) | pos[$T, 3]()",
	"linalg.diagonal":     "linalg.diagonal(dominant[$T, 20]())",
	"linalg.diag":         "linalg.diag(vec[$T, 20]())",
	"linalg.trace":        "linalg.trace(dominant[$T, 200]())",
	"linalg.tril":         "linalg.tril(dominant[$T, 20]())",
	"linalg.triu":         "linalg.triu(dominant[$T, 20]())",
	"linalg.kron":         "linalg.kron(tall[$T, 3, 2](), tall[$T, 2, 2]())",
	"linalg.cholesky":     "linalg.cholesky(dominant[$T, 16]())",
	"linalg.solve_lower":  "linalg.solve_lower(linalg.tril(dominant[$T, 16]()), tall[$T, 16, 2]())",
	"linalg.solve_upper":  "linalg.solve_upper(linalg.triu(dominant[$T, 16]()), tall[$T, 16, 2]())",
	"linalg.lu":           "{ let (m, _, _) = linalg.lu(dominant[$T, 16]()); m }",
	"linalg.solve":        "linalg.solve(dominant[$T, 16](), tall[$T, 16, 2]())",
	"linalg.solve_vector": "linalg.solve_vector(dominant[$T, 16](), vec[$T, 16]())",
	"linalg.det":          "linalg.det(dominant[$T, 6]())",
	"linalg.inverse":      "linalg.inverse(dominant[$T, 16]())",

	"@":                      "tall[$T, 9, 5000]() @ tall[$T, 5000, 9]() | pos[$T, 5000]() @ pos[$T, 5000]()",
	"linalg.matrix_power":    "linalg.matrix_power(dominant[$T, 16]() / 8.0, 3)",
	"linalg.qr":              "{ let (q, _) = linalg.qr(dominant[$T, 16]()); q }",
	"linalg.power_iteration": "{ let (_, v) = linalg.power_iteration(dominant[$T, 16](), pos[$T, 16](), 5); v }",

	"math.narrow":     "where(math.narrow[$T](), vec[$T, 3](), vec[$T, 3]())",
	"math.square":     "map(math.square, vec[$T, 500]())",
	"math.cube":       "map(math.cube, vec[$T, 500]())",
	"math.lerp":       "map(|t| math.lerp(1.0, 3.0, t), vec[$T, 500]())",
	"math.hypot":      "map(math.hypot, vec[$T, 500](), pos[$T, 500]())",
	"math.radians":    "map(math.radians, vec[$T, 500]())",
	"math.degrees":    "map(math.degrees, vec[$T, 500]())",
	"math.sinc":       "map(math.sinc, vec[$T, 500]())",
	"math.logit":      "map(|p| math.logit(p), pos[$T, 500]() / 4.0) | 2.0 .+ pos[$T, 500]()",
	"math.smoothstep": "map(|x| math.smoothstep(0.0, 1.0, x), vec[$T, 500]())",
	"math.linspace":   "math.linspace[$T, 1000](-1.0, 3.0)",
	"math.polyval":    "math.polyval(vec[$T, 10](), 0.5)",
	"math.logsumexp":  "math.logsumexp(vec[$T, 5000]())",
	"math.diff":       "math.diff(vec[$T, 500]())",
	"math.trapz":      "math.trapz(pos[$T, 500](), tabulate(500, |i| (i / 4) as $T))",

	"nn.softmax":               "nn.softmax(tall[$T, 4, 2000]())",
	"nn.log_softmax":           "nn.log_softmax(tall[$T, 4, 2000]())",
	"nn.layer_norm":            "nn.layer_norm(tall[$T, 4, 2000](), pos[$T, 2000](), vec[$T, 2000](), 0.0078125)",
	"nn.rms_norm":              "nn.rms_norm(tall[$T, 4, 2000]() * 1024.0, pos[$T, 2000](), 0.0078125)",
	"nn.gelu":                  "nn.gelu(tall[$T, 20, 20]())",
	"nn.gelu_tanh":             "nn.gelu_tanh(tall[$T, 20, 20]())",
	"nn.embedding":             "nn.embedding(tall[$T, 20, 20](), [3, 4])",
	"nn.linear":                "nn.linear(tall[$T, 20, 2000]() .+ 1.0, tall[$T, 2000, 9]() .+ 1.0, vec[$T, 9]())",
	"nn.conv2d":                "nn.conv2d(image[$T, 20](), reshape(pos[$T, 432](), [12, 12, 3, 1]), vec[$T, 1]())",
	"nn.attention":             "nn.attention(tall[$T, 8, 64](), tall[$T, 500, 64](), tall[$T, 500, 16]())",
	"nn.causal_attention":      "nn.causal_attention(tall[$T, 99, 64](), tall[$T, 99, 64](), tall[$T, 99, 16]())",
	"nn.pad2d":                 "nn.pad2d(reshape(vec[$T, 36](), [1, 6, 6, 1]))",
	"nn.max_pool2d":            "nn.max_pool2d(reshape(vec[$T, 36](), [1, 6, 6, 1]))",
	"nn.mean_pool2d":           "nn.mean_pool2d(reshape(pos[$T, 36](), [1, 6, 6, 1]))",
	"nn.dropout":               "nn.dropout(tall[$T, 20, 20](), 0.25, random.key(1)) * 0.0",
	"nn.softmax_cross_entropy": "nn.softmax_cross_entropy(tall[$T, 2000, 4](), tabulate(2000, |i| i % 4))",
	"nn.binary_cross_entropy":  "nn.binary_cross_entropy(tall[$T, 2000, 4](), tall[$T, 2000, 4]() * 0.5 .+ 0.5)",
	"nn.mse":                   "nn.mse(tall[$T, 2000, 4](), tall[$T, 2000, 4]() * 0.5)",
	"nn.he":                    "nn.he[$T, 20, 20](random.key(1))",
	"nn.xavier":                "nn.xavier[$T, 20, 20](random.key(1))",
	"nn.normal":                "nn.normal[$T, 20, 20](random.key(1), 0.5)",
	"nn.uniform":               "nn.uniform[$T, 20, 20](random.key(1), 0.5)",

	"optim.sgd":         "optim.sgd(vec[$T, 500](), pos[$T, 500](), 0.125)",
	"optim.momentum":    "{ let (p, _) = optim.momentum(vec[$T, 99](), pos[$T, 99](), vec[$T, 99](), 0.125, 0.75); p }",
	"optim.adam_with":   "adam_step[$T]()",
	"optim.zeros":       "optim.zeros(vec[$T, 500]())",
	"optim.average":     "optim.average(pos[$T, 500](), pos[$T, 500]() * 2.0, 0.75)",
	"optim.global_norm": "optim.global_norm((vec[$T, 5000]() * 256.0, pos[$T, 3]()))",
	"optim.clip_value":  "optim.clip_value(vec[$T, 500](), 0.25)",
	"optim.clip_norm":   "optim.clip_norm(vec[$T, 5000]() * 256.0, 16.0)",
	"optim.constant":    "optim.constant(3, 0.5 as $T)",
	"optim.stairs":      "optim.stairs(20, 0.5 as $T, 10, 0.75)",
	"optim.cosine":      "optim.cosine(3, 0.5 as $T, 0.125, 10)",
	"optim.warm_up":     "optim.warm_up[$T](3, 10)",

	"random.uniform":    "random.uniform[$T, 500](random.key(1))",
	"random.uniform_in": "random.uniform_in[$T, 500](random.key(1), -1.0, 3.0)",
	"random.normal":     "random.normal[$T, 500](random.key(1))",

	"signal.correlate":   "signal.correlate(pos[$T, 5000](), pos[$T, 4000]())",
	"signal.conv1d":      "signal.conv1d(pos[$T, 5000](), pos[$T, 4500]())",
	"signal.conv_full":   "signal.conv_full(pos[$T, 300](), pos[$T, 300]())",
	"signal.correlate2d": "signal.correlate2d(tall[$T, 60, 60]() .+ 1.0, tall[$T, 50, 50]() .+ 1.0)",
	"signal.conv2d":      "signal.conv2d(tall[$T, 60, 60]() .+ 1.0, tall[$T, 50, 50]() .+ 1.0)",
	"signal.conv":        "signal.conv(reshape(pos[$T, 1200](), [3, 20, 20]), reshape(pos[$T, 432](), [1, 3, 12, 12]))",
	"signal.max_pool":    "signal.max_pool[$T, 4, 5, 3](tall[$T, 12, 15]())",
	"signal.mean_pool":   "signal.mean_pool[$T, 2, 2, 50](tall[$T, 100, 100]() .+ 1.0)",
	"signal.moving_mean": "signal.moving_mean[$T, 1000, 900](pos[$T, 1000]() * 128.0)",
	"signal.hann":        "signal.hann[$T, 65]()",
	"signal.dft":         "{ let (re, _) = signal.dft(vec[$T, 64](), pos[$T, 64]()); re }",
	"signal.fft":         "{ let (re, _) = signal.fft(vec[$T, 64](), pos[$T, 64]()); re }",
	"signal.rfft":        "{ let (re, _) = signal.rfft[$T, 32](vec[$T, 64]()); re }",
	"signal.irfft":       "signal.irfft[$T, 32](vec[$T, 33](), pos[$T, 33]())",
	"signal.fft2":        "{ let (re, _) = signal.fft2(tall[$T, 8, 8](), tall[$T, 8, 8]()); re }",
	"signal.ifft2":       "{ let (re, _) = signal.ifft2(tall[$T, 8, 8](), tall[$T, 8, 8]()); re }",
	"signal.fft3":        "{ let (re, _) = signal.fft3(unsqueeze(tall[$T, 8, 8](), 0), zeros[$T, 1, 8, 8]()); re }",
	"signal.ifft3":       "{ let (re, _) = signal.ifft3(unsqueeze(tall[$T, 8, 8](), 0), zeros[$T, 1, 8, 8]()); re }",
	"signal.ifft":        "{ let (re, _) = signal.ifft(vec[$T, 64](), pos[$T, 64]()); re }",

	"stats.std":                 "stats.std(vec[$T, 5000]() * 512.0)",
	"stats.sample_var":          "stats.sample_var(vec[$T, 100000]() * 64.0)",
	"stats.standardise":         "stats.standardise(vec[$T, 500]())",
	"stats.standardise_columns": "stats.standardise_columns(tall[$T, 5000, 2]())",
	"stats.covariance":          "stats.covariance(tall[$T, 5000, 2]())",
	"stats.correlation":         "stats.correlation(tall[$T, 5000, 2]())",
	"stats.quantile":            "stats.quantile(vec[$T, 5000](), 0.25)",
	"stats.median":              "stats.median(vec[$T, 5000]())",
	"stats.mae":                 "stats.mae(vec[$T, 5000](), pos[$T, 5000]())",
	"stats.mse":                 "stats.mse(vec[$T, 5000]() * 512.0, vec[$T, 5000]() * 256.0)",
	"stats.r2":                  "stats.r2(vec[$T, 5000](), vec[$T, 5000]() * 0.75)",
	"stats.linear_fit":          "{ let (s, _) = stats.linear_fit(vec[$T, 500]() * 64.0, pos[$T, 500]()); s }",
	"stats.normal_density":      "map(|x| stats.normal_density(x, 0.0, 1.0), vec[$T, 500]())",
	"stats.normal_below":        "map(|x| stats.normal_below(x, 0.0, 1.0), vec[$T, 500]())",
}

// noHalves are the other functions of the library with a type parameter.
var noHalves = map[string]string{
	"linalg.least_square": "a constant", "linalg.unit_of": "of f32 and f64",
	"math.gcd": "of integers", "math.lcm": "of integers", "math.factorial": "of integers",
	"math.binomial": "of integers",
	"nn.accuracy":   "gives f32", "stats.histogram": "gives integers",
	"optim.adam": "refuses 16 bits", "optim.adamw": "refuses 16 bits", "optim.adam_start": "gives zeros",
}

const halfOperands = `import linalg
import math
import nn
import optim
import random
import signal
import stats

# From -5/8 to 61/64.
fn vec[T: float, N]() -> T[N] = tabulate(N, |i| ((i % 1000 * 37 % 101 - 40) as T) / 64.0)

# From 5/16 to 29/16.
fn pos[T: float, N]() -> T[N] = tabulate(N, |i| ((i % 1000 * 53 % 97 + 20) as T) / 64.0)

# From 31/32 to 33/32, so that their product stays near 1.
fn near[T: float, N]() -> T[N] = tabulate(N, |i| 1.0 + ((i % 5 - 2) as T) / 64.0)

fn tall[T: float, M, N]() -> T[M, N] =
    tabulate(M, N, |i, j| ((i % 1000 * 37 + j % 1000 * 11) % 101 - 40) as T / 64.0)

fn image[T: float, N]() -> T[1, N, N, 3] = reshape(pos[T, 3 * N * N](), [1, N, N, 3])

# Symmetric, its diagonal larger than the rest of a row.
fn dominant[T: float, N]() -> T[N, N] =
    tabulate(N, N, |i, j| if i == j { 4.0 } else { ((i + j) % 7) as T / 64.0 })

fn adam_step[T: float]() -> T[500] = {
    let start = optim.adam_start(vec[T, 500]());
    let (p, _) = optim.adam_with(vec[T, 500](), pos[T, 500](), start, 0.125, 0.75, 0.875, 0.001953125, 0.0);
    p
}

`

// TestHalves: what the library computes in 16 bits is off from what it computes in f64 by no more than
// docs/numerics.md says, and every function with a type parameter is looked at.
// A seventh of them is computed on a day, which
// is no factor of the number of ways.
func TestHalves(t *testing.T) {
	for _, name := range stdlib.Names() {
		text, _ := stdlib.Source(name)
		for _, m := range regexp.MustCompile(`(?m)^pub fn (\w+)\[T: (?:num|float)`).FindAllStringSubmatch(text, -1) {
			if f := name + "." + m[1]; halves[f] == "" && noHalves[f] == "" {
				t.Errorf("%s is in no list of this test", f)
			}
		}
	}
	page, err := os.ReadFile(filepath.Join("..", "docs", "numerics.md"))
	if err != nil {
		t.Fatal(err)
	}
	bounds := map[string]float64{}
	for _, m := range regexp.MustCompile("(?m)^\\| (`.*`) \\| ([0-9.]+) \\|$").FindAllStringSubmatch(string(page), -1) {
		for _, f := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(m[1], -1) {
			bounds[f[1]], _ = strconv.ParseFloat(m[2], 64)
		}
	}
	day, names := sample.Today(t), []string(nil)
	for i, f := range slices.Sorted(maps.Keys(halves)) {
		if sample.Has(day, i, 7) {
			names = append(names, f)
		}
	}
	src := halfOperands
	for i, f := range names {
		for _, half := range []string{"f16", "bf16"} {
			src += halfCase(fmt.Sprintf("case_%d_%s", i, half), halves[f], half)
		}
	}
	for _, w := range ways.Each(day) {
		for _, o := range w.Options(t, engine.Options{Backend: heal.CPU, Threads: 1}) {
			measure(t, w, o, src, names, bounds)
		}
	}
}

// measure compares what the functions are off with the bounds.
func measure(t *testing.T, w ways.Way, o engine.Options, src string, names []string, bounds map[string]float64) {
	m, err := engine.CompileFile(diag.NewFile("halves.heal", src), o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for i, f := range names {
		for half, unit := range map[string]float64{"f16": 1.0 / 2048, "bf16": 1.0 / 256} {
			fn, err := m.Func(fmt.Sprintf("case_%d_%s", i, half))
			if err != nil {
				t.Fatal(err)
			}
			out, err := fn.CallAll(context.Background())
			if err != nil {
				t.Errorf("%s of %s, %s: %v", f, half, w, err)
				continue
			}
			bits, err := out[0].At()
			if err != nil {
				t.Fatal(err)
			}
			off := math.Float64frombits(bits) / unit
			t.Logf("%s of %s is off by %.2f", f, half, off)
			if bound, ok := bounds[f]; !ok || !(off <= bound) {
				t.Errorf("%s of %s is off by %.2f units, %s, docs/numerics.md says %v", f, half, off, w, bound)
			}
		}
	}
}

// halfCase is a function that gives how far a call in a type of 16 bits is off, as a part of the largest element of
// what it is measured by in f64.
func halfCase(name, call, half string) string {
	call, scale, measured := strings.Cut(call, " | ")
	if !measured {
		scale = call
	}
	in := func(e, t string) string { return strings.ReplaceAll(e, "$T", t) }
	return fmt.Sprintf("pub fn %s() -> f64 = {\n    let x = (%s) as f64;\n    let y = %s;\n    let z = %s;\n"+
		"    let off = max/(abs(x - y));\n    if off == 0.0 { 0.0 } else { off / max/(abs(z)) }\n}\n\n",
		name, in(call, half), in(call, "f64"), in(scale, "f64"))
}

// Package shardings runs programs whose tensors are sharded on several ranks of one process, and compares each with
// the interpreter, on one.
package shardings

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime/cluster"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

// sizes are the numbers of ranks.
var sizes = []int{1, 2, 3, 4, 7}

// program has a function f, whose parameters are f32 tensors of these shapes.
type program struct {
	name, source string
	shapes       [][]int64
}

// input is arguments for the function, the same ones each time.
func (p program) input() []*ir.Array {
	r := rand.New(rand.NewPCG(1, 2))
	var out []*ir.Array
	for _, s := range p.shapes {
		out = append(out, random.Data(r, types.F32, s))
	}
	return out
}

var programs = []program{
	{"sums", `pub fn f[N](x: f32[N] sharded(0)) -> (f32, f32, f32, f32) = (+/(x), */(x), max/(x), mean(x))`,
		[][]int64{{100003}}},
	{"sums of rows and columns", `pub fn f[N, M](x: f32[N, M] sharded(0)) -> (f32[M], f32[N] sharded(0), f32, f32[M]) =
    (sum(x, axis = 0), sum(x, axis = 1), +/(x), var(x, axis = 0))`, [][]int64{{3000, 5}}},
	{"sums along the last axis",
		`pub fn f[N, M](x: f32[N, M] sharded(1)) -> (f32[M] sharded(0), f32[N]) = (sum(x, axis = 0), sum(x, axis = 1))`,
		[][]int64{{3, 30011}}},
	{"sums of long rows", `pub fn f[N, M](x: f32[N, M] sharded(0)) -> f64[M] = sum(x as f64, axis = 0)`,
		[][]int64{{5250, 1000}}},
	{"products of columns", `pub fn f[K, N](x: f32[K, N] sharded(0), y: f32[K, N] sharded(0)) -> f32[N, N] =
    transpose(x) @[split = 32] y`, [][]int64{{1024, 64}, {1024, 64}}},
	{"16 bits", `pub fn f[N](x: f32[N] sharded(0)) -> (f16, bf16) = (+/(x as f16), mean(x as bf16))`,
		[][]int64{{9001}}},
	{"softmax", `pub fn f[N, M](x: f32[N, M] sharded(0)) -> f32[N, M] sharded(0) = {
    let e = exp(x .- max/[axis = 1, keep](x));
    e ./ sum(e, axis = 1, keep = true)
}`, [][]int64{{37, 100}}},
	{"positions", `pub fn f[N, M](x: f32[N, M] sharded(0)) -> (i32[M], i32[N] sharded(0), i32, i32) =
    (argmax(x, axis = 0), argmin(x, axis = 1), argmax(x), argmin(x))`, [][]int64{{211, 6}}},
	{"heat", `pub fn f[N, M](x: f32[N, M] sharded(0)) -> f32[N, M] sharded(0) = iterate(20, x, |u| {
    let mut next = u;
    next[1..N - 1, 1..M - 1] = 0.25 * (u[0..N - 2, 1..M - 1] + u[2..N, 1..M - 1] + u[1..N - 1, 0..M - 2]
        + u[1..N - 1, 2..M]);
    next
})`, [][]int64{{70, 33}}},
	{"shifts", `pub fn f[N](x: f32[N] sharded(0)) -> (f32[N] sharded(0), f32[N] sharded(0), f32[N] sharded(0)) =
    (concat([x[3..], x[..3]]), x[.. by -1], concat([x[..N - 7], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]]))`,
		[][]int64{{1000}}},
	{"products",
		`pub fn f[N, K, M](a: f32[N, K] sharded(0), b: f32[K, M] sharded(1)) -> (f32[N, M] sharded(0), f32[N, M] sharded(1)) =
    (a @ b, replicate(a) @ b)`, [][]int64{{50, 40}, {40, 30}}},
	{"products by pieces", `pub fn f[N, K, M](a: f32[N, K] sharded(0), b: f32[K, M] sharded(0), c: f32[M, K] sharded(1), d: f32[K, N] sharded(1))
    -> (f32[N, M] sharded(0), f32[N, M] sharded(0), f32[M, N] sharded(1), f16[N, M] sharded(0), i64[M, N] sharded(1)) = {
    let e = reshard(b, 1);
    let n = ((c * 100.0) as i64) @ ((d * 100.0) as i64);
    (relu(a @ b), a @ e .+ 1.0, c @ d, (a as f16) @ (b as f16), n)
}`, [][]int64{{12, 300}, {300, 801}, {801, 300}, {300, 12}}},
	{"products of batches by pieces", `pub fn f[B, N, K, M](a: f32[B, N, K] sharded(1), b: f32[B, K, M] sharded(2), c: f32[B, M, K] sharded(2))
    -> (f32[B, N, M] sharded(1), f32[B, M, M] sharded(2)) = (a @ b, c @ b)`,
		[][]int64{{197, 5, 30}, {197, 30, 41}, {197, 41, 30}}},
	{"a product by blocks", `pub fn f[N, K](a: f32[K, N] sharded(0), b: f32[K, 7] sharded(0)) -> f32[N, 7] =
    transpose(a) @[split = 32] b`, [][]int64{{3000, 4}, {3000, 7}}},
	{"power iteration", `pub fn f[N](a: f32[N, N] sharded(0), v: f32[N]) -> f32[N] sharded(0) = iterate(10, v, |v| {
    let w = a @ v;
    w / sqrt(+/(w .* w))
})`, [][]int64{{60, 60}, {60}}},
	{"scans of nothing", `pub fn f[N, M](x: f32[N, M] sharded(1)) -> f32[N, M] sharded(1) =
    cumsum(x, axis = 1) .- x .* sum(x, axis = 1, keep = true)`, [][]int64{{0, 9}}},
	{"another axis", `pub fn f[N, M](x: f32[N, M] sharded(0)) -> (f32[N, M] sharded(1), f32[M, N] sharded(0)) = {
    let y = cumsum(reshard(x, 1), axis = 0);
    (y, transpose(y))
}`, [][]int64{{130, 70}}},
	{"in order", `pub fn f[N, M](x: f32[N, M] sharded(0)) -> (f32[N, M] sharded(0), f32, f32[M], f32[N, M] sharded(0)) =
    (cumsum(x, axis = 0), (|a, b| 0.5 * a + b)/(x), (|a, b| 0.5 * a + b)/[axis = 0](x), cumsum(x, axis = 1))`,
		[][]int64{{101, 3}}},
	{"derivatives in order", `
fn running[N, M](x: f32[N, M] sharded(0)) -> f32 = {
    let y = cumsum(x, axis = 0);
    let z = transpose(scan(0.5, |a, b| 0.25 * a + b * b, transpose(y)));
    let last = (|a, b| 0.5 * a + b * b)/[axis = 0](x);
    sum(z .* y) + sum(cumsum(x, axis = 1) .* x) + sum(last .* last)
}

pub fn f[N, M](x: f32[N, M] sharded(0)) -> f32[N, M] sharded(0) = grad(running, wrt = x)(x)`, [][]int64{{101, 3}}},
	{"several states in order", `pub fn f[N, M](x: f32[M, N] sharded(1)) -> (
    f32[M, N] sharded(1), i32[M, N] sharded(1), f64, i32) = {
    let (y, n) = scan((0.5, 0), |(a, k), b| (
        if k % 3 == 0 { b } else { 0.25 * a + b }, if b > 0.0 { k + 1 } else { 0 }), x);
    (y, n, fold(0.25, |a, b| 0.5 * a + (b as f64), x[0]), fold(0, |k, b| if b > 0.0 { k + 1 } else { 0 }, x[1]))
}`, [][]int64{{3, 101}}},
	{"derivatives of scans and folds", `
fn loss[N, M](a: f32, w: f32[2], x: f32[M, N] sharded(1)) -> f32 = {
    let y = scan(a, |c, v| tanh(c * 0.5 + v), x);
    let (p, n) = scan((a, 0), |(p, n), v| (if n % 2 == 0 { p * v + w[1] } else { p - v * v }, n + 1), x[0]);
    let h = scan(0.5, |c, v| v + 0.125 * c * c, clamp(x as f16, -1.0, 1.0));
    let last = (|c, v| c * sin(v) + 0.5)/[axis = 1](x);
    sum(sum(y .* y, axis = 1)) + mean(p .* (n as f32)) + sum(sum(h as f32, axis = 1)) + sum(cumprod(cos(x[0])))
        + sum(last) + fold(a, |c, v| w[0] * c + c * v, x[1])
}

pub fn f[N, M](a: f32, w: f32[2], x: f32[M, N] sharded(1)) -> (f32, f32, f32[2], f32[M, N] sharded(1)) = {
    let (y, (da, dw, dx)) = value_and_grad(loss, wrt = (a, w, x))(a, w, x);
    (y, da, dw, dx)
}`, [][]int64{{}, {2}, {3, 101}}},
	{"derivatives of derivatives of scans", `
fn loss[N](x: f32[N] sharded(0)) -> f32 = {
    let y = scan(0.5, |c, v| tanh(c * 0.5 + v), x);
    +/(y .* y)
}

fn slope[N](x: f32[N] sharded(0)) -> f32 = {
    let d = grad(loss)(x);
    +/(d .* d)
}

pub fn f[N](x: f32[N] sharded(0)) -> (f32, f32[N] sharded(0)) = (jvp(loss)(x, x .* x), grad(slope)(x))`, [][]int64{{37}}},
	{"positions across parts", `pub fn f[N, M](x: f32[N, M] sharded(1), y: f32[N, M] sharded(0), z: f32[M] sharded(0)) -> (
    f32[M, M] sharded(1), f32[M, M] sharded(1), f32[N, M] sharded(1), f32[N, M] sharded(0), f32[N, M] sharded(1)) = {
    let rows = (abs(z) * 1000.0) as i32 % N;
    let places = (abs(y) * 1000.0) as i32;
    (x[rows], tabulate(M, M, |i, j| x[rows[j], j]), take_along_axis(x, places % N, axis = 0),
        take_along_axis(y, reshard(places, 1) % M, axis = 1), scatter_add(x, places % N, y, axis = 0))
}`, [][]int64{{29, 45}, {29, 45}, {45}}},
	{"derivatives at positions across parts", `
fn loss[N, M](x: f32[N, M] sharded(1), z: f32[M] sharded(0)) -> f32 = {
    let y = transpose(x[(abs(z) * 1000.0) as i32 % N]);
    sum(y .* y)
}

pub fn f[N, M](x: f32[N, M] sharded(1), z: f32[M] sharded(0)) -> f32[N, M] sharded(1) = grad(loss, wrt = x)(x, z)`,
		[][]int64{{29, 45}, {45}}},
	{"sorts",
		`pub fn f[N, M](x: f32[N, M] sharded(0)) -> (f32[N, M] sharded(0), f32[N, M] sharded(0), i32[N, M] sharded(0)) =
    (sort(x, axis = 0), sort(x, axis = 1), argsort(x, axis = 0))`, [][]int64{{90, 5}}},
	{"sorts of long rows", `pub fn f[N, M](x: f32[N] sharded(0), y: f32[2, M] sharded(1)) -> (
    f32[N] sharded(0), i32[2, M] sharded(1)
) = (sort(x), argsort(floor(y * 3.0)))`, [][]int64{{10007}, {2, 3001}}},
	{"the least and the greatest", `pub fn f[N, M](x: f32[N] sharded(0), y: f32[M, 3] sharded(0)) -> (
    f32[5] sharded(0), i32[7] sharded(0), f32, f32[2, 3] sharded(0), i32[2, 3] sharded(0), f32
) = {
    let s = sort(x);
    (s[..5], argsort(x)[-7..], s[N - 1], sort(y, axis = 0)[1..3], argsort(y, axis = 0)[-2..], s[N / 2])
}`, [][]int64{{1009}, {211, 3}}},
	{"how many differ", `pub fn f[N](x: f32[N] sharded(0)) -> (i32, i32[N] sharded(0)) = {
    let s = sort((x * 8.0) as i32);
    let first = concat([[true], s[1..] .!= s[..N - 1]]);
    (sum(first as i32), cumsum(first as i32))
}`, [][]int64{{3000}}},
	{"requests",
		`pub fn f[N, M](x: f32[N, M] sharded(0), k: f32[N] sharded(0)) -> (f32[N, M] sharded(0), f32[N] sharded(0)) = {
    let at = clamp(abs(k) * 10.0, 0.0, (N - 1) as f32) as i32;
    (x[at], replicate(x)[at, 0])
}`, [][]int64{{90, 5}, {90}}},
	{"requests on several axes",
		`pub fn f[N, M](x: f32[N, M] sharded(0), k: f32[N] sharded(0)) -> (f32[N] sharded(0), f32[2, M] sharded(0), f32[N, M] sharded(0), f32[N, 3]) = {
    let at = clamp(abs(k) * 10.0, 0.0, (N - 1) as f32) as i32;
    let all: i32[N, M] sharded(0) = reshape((0..N * M) * 7 % N, [N, M]);
    (x[at, at % 5], take_along_axis(x, tabulate(2, M, |i, j| i * 3 + j * 2 - 5), 0), take_along_axis(x, all, 0),
        x[.., 1..4][replicate(at)])
}`, [][]int64{{90, 5}, {90}}},
	{"histogram", `pub fn f[N](x: f32[N] sharded(0)) -> (f32[8], f32[20] sharded(0)) = {
    let at = clamp(abs(x) * 4.0, 0.0, 7.0) as i32;
    (scatter_add(zeros[f32, 8](), at, x, 0), scatter_add(reshard(zeros[f32, 20](), 0), at, x, 0))
}`, [][]int64{{1000}}},
	{"additions at positions", `
pub fn f[N, M](x: f32[N] sharded(0), y: f32[M, 4] sharded(0), k: f32[M] sharded(0)) -> (f32[N] sharded(0), f32[4, 3] sharded(1), f32[N] sharded(0), i32[3]) = {
    let at = clamp(abs(k) * 100.0, 0.0, (N - 1) as f32) as i32;
    let rows = zeros[i32, M, 4]() .+ unsqueeze(at % 3, 1);
    let few: f32[4, 3] sharded(1) = zeros[f32, 4, 3]();
    (
        scatter_add(x, at, k, 0),
        scatter_add(few, transpose(rows), transpose(y), 1),
        scatter_add(x, min(at, 5), k, 0),
        scatter_add([1, 2, 3], at % 3, at, 0),
    )
}`, [][]int64{{90}, {1000, 4}, {1000}}},
	{"derivatives at positions", `
fn chosen[N, M](x: f32[N, 3] sharded(0), k: f32[M] sharded(0)) -> f32 = {
    let at = clamp(abs(k) * 30.0, 0.0, (N - 1) as f32) as i32;
    let y = x[at];
    sum(y .* y) + sum(sort(x[.., 1]) .* x[.., 2])
}

pub fn f[N, M](x: f32[N, 3] sharded(0), k: f32[M] sharded(0)) -> f32[N, 3] sharded(0) = grad(chosen, wrt = x)(x, k)`,
		[][]int64{{90, 3}, {200}}},
	{"counts", `
import stats

pub fn f[N](x: f32[N] sharded(0)) -> (i32[6], i32[4], f32, i32[3, 2]) = (
    stats.histogram[f32, N - 2, 6](x[1..N - 1], -1.0, 1.0), stats.bincount[N, 4]((x * 2.0) as i32), stats.median(x),
    tabulate(3, 2, |i, j| +/(((x .> (i as f32)) as i32) .* (j + 1)))
)`, [][]int64{{1001}}},
	{"parts", `pub fn f[N, M](x: f32[3 * N, M] sharded(0), i: f32) -> (f32[M], f32[2, M], f32[3 * N, M] sharded(0)) = {
    let k = 3 + (i as i32) * 0;
    let mut y = x;
    y[k] = x[k + 1];
    y[k + 2..k + 4, 1] = [7.0, 8.0];
    y[0..3 * N by 3, 2] = x[0..3 * N by 3, 0];
    (x[k], x[k..k + 2], y)
}`, [][]int64{{42, 5}, {}}},
	{"by index", `pub fn f[N, M](x: f32[N, M] sharded(0)) -> (f32[N, M] sharded(0), f32[N] sharded(0)) =
    (map(|v| if v > 0.0 { sqrt(v) } else { v }, x), tabulate(N, |i| x[i, 1] * (i as f32)))`, [][]int64{{41, 5}}},
	{"rows by number", `pub fn f[N, M](x: f32[N, M] sharded(0)) -> (f32[N, M] sharded(0), f32[M], f32[N, M] sharded(0)) = {
    let mut y = x;
    y[0] = x[1] + x[2 - 2 + 7];
    (y, x[3] - x[N - 1], x .* x[5])
}`, [][]int64{{41, 5}}},
	{"near an index", `
pub fn f[N, M](x: f32[N, M] sharded(0)) -> (f32[N, M] sharded(0), f32[N - 3] sharded(0), f32[N] sharded(0)) = {
    let y = tabulate(N, M, |i, j| if i > 0 && i < N - 1 { x[i - 1, j] + x[i + 1, j] * x[i, 0] } else { x[i, j] });
    (y, tabulate(N - 3, |i| y[i + 3, 1] - x[i, 0]), tabulate(N, |i| if i > 4 { sum(x[i - 5, ..]) } else { 1.0 }))
}`, [][]int64{{41, 5}}},
	{"choices", `pub fn f[N](x: f32[N] sharded(0), y: f32[N]) -> f32[N] sharded(0) =
    if +/(x) > 0.0 { x .* 2.0 } else { y }`, [][]int64{{300}, {300}}},
	{"made on each rank", `pub fn f[N](x: f32[N] sharded(0)) -> (f32[N] sharded(0), f32[N, N] sharded(1)) = {
    let i = (0..N) as f32;
    (x + i, reshard(tabulate(N, N, |a, b| (a * 10 + b) as f32), 1))
}`, [][]int64{{77}}},
	{"reshapes",
		`pub fn f[N, M](x: f32[N, M] sharded(0)) -> (f32[N * M] sharded(0), f32[M, N] sharded(0), f32[N, 1, M] sharded(0)) =
    (reshape(x, [N * M]), reshape(x, [M, N]), reshape(x, [N, 1, M]))`, [][]int64{{50, 12}}},
	{"transforms", `pub fn f[N](x: f32[N, 60] sharded(0), y: f32[N, 60] sharded(0)) -> f32[2, N, 60] sharded(1) =
    fourier(x, y, 1)`, [][]int64{{9, 60}, {9, 60}}},
	{"transforms of rows that are cut", `pub fn f[N](x: f32[N, 60] sharded(1), y: f32[N, 60] sharded(1)) -> f32[2, N, 60] sharded(2) =
    fourier(x, y, 1)`, [][]int64{{9, 60}, {9, 60}}},
	{"training", `
fn loss[B, K](w: f32[K], x: f32[B, K] sharded(0), y: f32[B] sharded(0)) -> f32 = {
    let d = x @[split = 32] w - y;
    mean(d .* d)
}

pub fn f[B, K](w: f32[K], x: f32[B, K] sharded(0), y: f32[B] sharded(0)) -> f32[K] =
    iterate(5, w, |w| w - 0.01 * grad(loss, wrt = w)(w, x, y))`, [][]int64{{5}, {700, 5}, {700}}},
	{"empty", `pub fn f[N, M](x: f32[N, M] sharded(0)) -> (f32[M], f32[N] sharded(0), f32[N, M] sharded(0), f32) =
    (sum(x, axis = 0), sum(x, axis = 1), x + 1.0, +/(x))`, [][]int64{{0, 5}}},
	{"fewer rows than ranks",
		`pub fn f[N, M](x: f32[N, M] sharded(0)) -> (f32[M], f32[N] sharded(0), f32[N, M] sharded(0), f32) =
    (sum(x, axis = 0), max/[axis = 1](x), cumsum(x, axis = 0), +/(x))`, [][]int64{{2, 5}}},
}

// TestPrograms: a program gives on each number of ranks what the interpreter gives. Each number has two days of
// five.
func TestPrograms(t *testing.T) {
	for k, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			input := p.input()
			want, err := outcome(p.source, input, engine.Options{Backend: heal.Interp})
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range sizes {
				if !sample.All() && (sample.Today(t)+k+i)%len(sizes) > 1 {
					continue // each number has its days
				}
				for _, w := range ways.Usual(k+i, len(sizes)-1) { // on some of its days another way
					for _, o := range w.Options(t, engine.Options{Threads: 1}) {
						for rank, got := range onRanks(t, n, p.source, input, o) {
							if d := random.Diff(want, got); d != "" {
								t.Errorf("rank %d of %d, %s: %s", rank, n, w, d)
							}
						}
					}
				}
			}
		})
	}
}

func outcome(source string, input []*ir.Array, opts engine.Options) (*random.Outcome, error) {
	m, err := engine.Compile(source, opts)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	return random.Call(m, "f", input, 1)
}

// onRanks is what each of n ranks makes of a program.
func onRanks(t *testing.T, n int, source string, input []*ir.Array, o engine.Options) []*random.Outcome {
	t.Helper()
	return each(t, n, o, func(o engine.Options) (*random.Outcome, error) { return outcome(source, input, o) })
}

// each is what f makes of the options of each of n ranks.
func each(t *testing.T, n int, o engine.Options, f func(o engine.Options) (*random.Outcome, error)) []*random.Outcome {
	t.Helper()
	comms, err := heal.LocalCluster(n)
	if err != nil {
		t.Fatal(err)
	}
	return together(t, comms, o, f)
}

// together is each by these communicators.
func together(t *testing.T, comms []cluster.Comm, o engine.Options,
	f func(o engine.Options) (*random.Outcome, error)) []*random.Outcome {
	t.Helper()
	n := len(comms)
	out, errs := make([]*random.Outcome, n), make([]error, n)
	var all sync.WaitGroup
	for rank, c := range comms {
		all.Go(func() {
			o := o
			o.Cluster = c
			out[rank], errs[rank] = f(o)
			if errs[rank] == nil {
				errs[rank] = c.Close()
				return
			}
			c.Abort(1, errs[rank].Error())
			errs[rank] = fmt.Errorf("rank %d of %d: %w", rank, n, errs[rank])
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	return out
}

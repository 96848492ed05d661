package gpu_test

import (
	"errors"
	"flag"
	"math/rand/v2"
	"testing"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/passes"
	"healc/passes/bufferize"
	"healc/runtime/abi"
	"healc/tests/random"
	"healc/tests/sample"
)

// programCase is a function with sizes for it.
type programCase struct {
	name, source string
	sizes        [][]int64 // of the shape parameters, in order
}

// programs are functions of every kind of kernel, with the sizes at which each changes its form.
var programs = []programCase{
	{"chain", `fn f[N](a: f32[N], b: f32[N]) -> f32[N] = relu(a * b + a)`,
		[][]int64{{0}, {1}, {3}, {4}, {1000}, {1027}}},
	{"softmax",
		`fn f[M, N](x: f32[M, N]) -> f32[M, N] = { let e = exp(x .- max/[axis=1, keep](x)); e ./ +/[axis=1, keep](e) }`,
		[][]int64{{1, 1}, {3, 5}, {3, 100}, {5, 128}, {5, 1024}, {3, 1025}, {2, 4096}, {2, 5000}, {0, 5}, {3, 20000},
			{1, 132000}, {3, 131073}}},
	{"softmax_f64",
		`fn f[M, N](x: f64[M, N]) -> f64[M, N] = { let e = exp(x .- max/[axis=1, keep](x)); e ./ +/[axis=1, keep](e) }`,
		[][]int64{{5, 101}, {9, 135}, {3, 700}}},
	// Sums of sums, of which the inner ones keep lanes: one frame for all.
	{"nested_sums", `fn f[N](x: f64[N]) -> f32[5] = tabulate(5, |i| +/(tabulate(7, |a| +/(tabulate(5, |b| +/(tabulate(5,
	|c| (if a < 5 { (i * a + b * c) as f64 } else { +/(map(|v| v * ((i + a + b + c) as f64), x)) }) as f32)))))))`,
		[][]int64{{224}, {5}}},
	// Rows that the kernel keeps are too long for the local memory of the thread that says what failed.
	{"checked_rows", `fn f[M, N](x: f32[M, N], i: i32[M]) -> f32[M, N] = {
	let e = exp(x .- unsqueeze(x[0, i .+ 2000], 1));
	e ./ +/[axis=1, keep](e)
}`, [][]int64{{33, 2050}}},
	{"rowsum", `fn f[M, N](x: f32[M, N]) -> f32[M] = +/[axis=1](x)`,
		[][]int64{{3, 0}, {3, 1}, {7, 127}, {7, 129}, {2, 4097}, {1, 20000}, {300, 17}}},
	{"colsum", `fn f[M, N](x: f32[M, N]) -> f32[N] = +/[axis=0](x)`,
		[][]int64{{3, 5}, {300, 7}, {1000, 130}, {40000, 1}}},
	{"extremes",
		`fn f[M, N](x: f32[M, N], y: i16[M, N]) -> (f32[N], i32[N], i16[N], bool[N]) = (max/[axis=0](x), argmin(x, axis = 0), +/[axis=0](y), ||/[axis=0](x .> 1000.0))`,
		[][]int64{{300, 5}, {513, 40}, {70, 130}, {1, 33}, {9000, 3}}},
	{"columns", `fn f[A, M, N](x: f64[A, M, N]) -> (f64[A, N], f64[A, N], f64[N]) = (min/[axis=1](x) .* max/[axis=1](x), +/[axis=1](x * 0.5), max/[axis=0](min/[axis=0](x)))`,
		[][]int64{{2, 300, 33}, {3, 700, 64}, {80, 2, 3}, {2, 3000, 130}}},
	{"total", `fn f[N](x: f32[N]) -> f32 = +/(x)`, [][]int64{{0}, {1}, {200}, {5000}, {140000}}},
	{"argmax", `fn f[M, N](x: f32[M, N]) -> (i32[M], i32[N]) = (argmax(x, axis = 1), argmax(x, axis = 0))`,
		[][]int64{{3, 5}, {4, 1000}, {2, 5000}}},
	{"matmul", `fn f[M, K, N](a: f32[M, K], b: f32[K, N], c: f32[N]) -> f32[M, N] = relu((a @ b) .+ c)`,
		[][]int64{{1, 1, 1}, {3, 5, 7}, {64, 64, 64}, {65, 33, 70}, {130, 20, 129}}},
	{"factor_left", `fn f[M, K, N](a: f32[K, N], s: f32, u: f32[M], v: f32[K]) -> (f32[M, N], f32[M, N], f32[M, N], f32[M, N]) =
	((full[f32, M, K](1.5) @ a) .+ 1.5, (expand(s, [M, K]) @ a) .* s, tabulate(M, K, |i, k| u[i]) @ a, tabulate(M, K, |i, k| v[k]) @ a)`,
		[][]int64{{16, 33, 17}, {65, 40, 64}}},
	{"factor_right", `fn f[M, K, N](a: f64[M, K], s: f64, u: f64[N], v: f64[K]) -> (f64[M, N], f64[M, N], f64[M, N], f64[M, N]) =
	((a @ full[f64, K, N](1.5)) .+ 1.5, (a @ expand(s, [K, N])) .* s, a @ tabulate(K, N, |k, j| v[k]), a @ tabulate(K, N, |k, j| u[j]))`,
		[][]int64{{17, 33, 16}, {64, 40, 65}}},
	{"factor_both", `fn f[M, K, N](a: f16[K, N], b: bf16[K, N], c: i32[K, N], d: i64[M, K]) -> (f16[M, N], bf16[M, N], i32[M, N], i64[M, N], i64[M, N]) =
	(full[f16, M, K](1.5) @ a, full[bf16, M, K](0.5) @ b, full[i32, M, K](3) @ c, tabulate(M, K, |i, k| i as i64) @ tabulate(K, N, |k, j| k as i64), d @ full[i64, K, N](3))`,
		[][]int64{{16, 33, 17}}},
	{"transpose", `fn f[M, N](a: f32[M, N]) -> f32[N, M] = transpose(a) * 2.0`,
		[][]int64{{1, 1}, {3, 5}, {64, 64}, {33, 100}}},
	{"transposed",
		`fn f[B, M, N](a: i32[B, M, N], b: f64[N, M], c: bool[N, M]) -> f64[B, N, M] = where(c, permute_axes(a, [0, 2, 1]) as f64 .+ b, b .* 2.0) .+ 0.5`, [][]int64{{2, 33, 40}, {1, 16, 64}, {0, 40, 40}}},
	{"transposed3",
		`fn f[A, B, C](a: f32[A, B, C]) -> (f32[C, B, A], bool[C, A, B]) = (transpose(a), permute_axes(a, [2, 0, 1]) .> 0.0)`, [][]int64{{33, 3, 40}, {20, 20, 20}}},
	{"gather", `fn f[N, M](a: f32[N], i: i32[M]) -> f32[M] = a[i]`, [][]int64{{100, 10}, {200, 1000}}},
	{"cumsum", `fn f[M, N](a: f32[M, N]) -> f32[M, N] = cumsum(a)`,
		[][]int64{{3, 5}, {2, 300}, {70, 40}, {1, 1030}, {0, 40}, {1030, 33}, {16390, 17}}},
	{"scans", `fn f[A, N, B](a: bool[A, N, B], x: f64[B, N]) -> (i32[A, B, N], f64[B, N]) =
	(scan(0, |n, h| if h { n + 1 } else { 0 }, permute_axes(a, [0, 2, 1])), flip(scan(1.0, |p, v| p * 0.5 + v, flip(x, 1)), 1))`,
		[][]int64{{2, 40, 3}, {3, 100, 50}, {300, 20, 9}}},
	{"prefixes",
		`fn f[M, N](x: i16[M, N], y: f32[M, N], z: bool[N]) -> (i16[M, N], i32[M, N], f32[M, N], bool[N], i64[M, N]) =
	(cumsum(x), scan(7, |a, v| a + 100 / v, (x as i32) + 200), scan(0.0, |a, v| max(a, v * 0.5), y), scan(false, |a, v| a || v, z), flip(cumprod(flip((x as i64) * 2 + 1, 1)), 1))`,
		[][]int64{{3, 63}, {3, 64}, {2, 130}, {1, 1030}, {2, 700}, {0, 100}}},
	{"ranks",
		`fn f[M, N](x: f32[M, N]) -> f32[M, N] = { let k = cumsum((x .> 0.0) as i32); (k as f32) ./ max/[axis=1, keep](x) }`, [][]int64{{3, 100}, {2, 1500}}},
	// What a step adds is made before the loop, and used behind it, too.
	{"given", `fn f[M](n: i64[M]) -> (i64[M], i64[M, 303]) = {
	let sums = map(|k| fold(0_i64, |a, x| a + (k - 5), full[i64, 303](1)) * 1000 + (k - 5), n);
	(sums, tabulate(M, |i| scan(0_i64, |a, x| a + (n[i] - 5), full[i64, 303](1))))
}`, [][]int64{{2}, {9}}},
	{"given_products", `fn f[M](n: i64[M]) -> i64[M] = map(|k| (full[i64, 1, 189](1) @ full[i64, 189, 1](k))[0, 0] * 1000 + k, n)`,
		[][]int64{{2}, {7}}},
	{"failing", `fn f[N](x: i32[N]) -> i32[N] = scan(7, |a, v| a + 100 / (v - 50), x)`, [][]int64{{70}, {2000}}},
	{"divided", `fn f[M, N](x: i32[M, N]) -> i32[M, N] = scan(1000000, |a, v| a / (v - 50), x)`,
		[][]int64{{3, 20}, {40, 70}}},
	{"fold", `fn f[M, N](x: f32[M, N], y: f16[N, M]) -> (f32[M], f16[M]) = (-/[axis=1](x), -/[axis=1](transpose(y)))`,
		[][]int64{{3, 50}, {130, 300}, {40, 1}}},
	{"matvec", `fn f[M, K](a: f32[M, K], x: f32[K], b: f32[M]) -> f32[M] = relu(a @ x + b)`,
		[][]int64{{3, 16}, {100, 1025}, {2000, 33}, {5, 0}, {0, 40}, {16400, 16}}},
	{"scatter",
		`fn f[M, N, P](x: f32[M, N], i: i32[M, P], v: f32[M, P]) -> f32[M, N] = scatter_add(x, (i % (N as i32) + N as i32) % (N as i32), v * 0.5, 1)`,
		[][]int64{{3, 10, 20}, {2, 7, 100}, {1, 100, 3000}, {2, 5000, 2100}, {3, 1, 70}, {0, 3, 40}, {2, 4, 0},
			{300, 5, 130}, {1, 5, 9000}, {2, 700, 5000}}},
	{"histogram",
		`fn f[N](p: i32[N]) -> (i64[10], i16[16]) = (scatter_add(zeros[i64, 10](), (p % 10 + 10) % 10, 1, 0), scatter_add(zeros[i16, 16](), (p + 100) / 20, 3, 0))`,
		[][]int64{{20}, {3000}, {0}}},
	{"embedding",
		`fn f[N, D](t: f16[30, D], i: i32[N], v: f16[N, D]) -> f16[30, D] = scatter_add(t, (i + 100) / 7, v, 0)`,
		[][]int64{{40, 3}, {2500, 33}}},
	// Integers go in any order: to tables of blocks, to memory, rows by rows and row by row.
	{"bins",
		`fn f[N](p: i32[N]) -> (i32[10], u64[16]) = (scatter_add(zeros[i32, 10](), (p % 10 + 10) % 10, 1, 0), scatter_add(full[u64, 16](7), (p + 100) / 20, (p as u64), 0))`,
		[][]int64{{20}, {2500}, {9000}, {0}}},
	{"bags",
		`fn f[N, A, D](t: i32[A, 30, D], i: i32[N], v: i32[N, D]) -> i32[A, 30, D] = scatter_add(t, (i + 100) / 7, expand(v, [A, N, D]), 1)`,
		[][]int64{{40, 2, 3}, {300, 1, 33}, {2500, 1, 1}, {0, 2, 3}, {7, 0, 3}, {700, 2, 4}}},
	{"bags_in_rows",
		`fn f[M, N, P](x: i64[M, N], i: i32[M, P], v: i64[M, P]) -> i64[M, N] = scatter_add(x, (i % (N as i32) + N as i32) % (N as i32), v * 3, 1)`,
		[][]int64{{3, 10, 20}, {2, 7, 1100}, {1, 100, 3000}, {2, 5000, 2100}, {0, 3, 40}, {2, 4, 0}, {300, 5, 130}}},
	{"bags_in_place", `fn f[N](x: i32[100], i: i32[N]) -> i32[100] = scatter_add(sort(x), (i % 100 + 100) % 100, i, 0)`,
		[][]int64{{40}, {2100}}},
	{"misplaced_counts", `fn f[N](t: i32[30], i: i32[N]) -> i32[30] = scatter_add(t, i / 4, 1, 0)`,
		[][]int64{{2}, {40}, {2500}}},
	{"misplaced", `fn f[N](t: f32[30], i: i32[N]) -> f32[30] = scatter_add(t, i / 4, 1.0, 0)`,
		[][]int64{{2}, {40}, {2500}}},
	{"sort", `fn f[M, N](a: f32[M, N]) -> f32[M, N] = sort(a)`,
		[][]int64{{3, 5}, {2, 100}, {3, 32}, {3, 33}, {2, 64}, {1, 1024}, {2, 1025}, {1, 5000}, {0, 70}, {5, 1}}},
	{"argsort",
		`fn f[M, N](a: i8[M, N], b: bool[M, N], c: f64[N, M]) -> (i32[M, N], i32[M, N], i32[N, M], f64[N, M]) = (argsort(a, 1), argsort(b, 1), argsort(c, 0), sort(c, 0))`,
		[][]int64{{3, 70}, {2, 300}, {40, 35}, {1, 3000}}},
}

// TestPrograms compiles functions for literal extents and for any, and compares with the literal execution. Half of
// the sizes run a day.
func TestPrograms(t *testing.T) {
	day := sample.Today(t)
	for k, p := range programs {
		t.Run(p.name, func(t *testing.T) {
			m, err := engine.Compile(p.source, engine.Options{Target: codegen.Target{Kind: "gpu"}})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			fn := m.IR().Func("f")
			anyShape, err := m.Kernels("f", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			ptx, err := compiled(anyShape, "sm_80")
			if err != nil {
				t.Fatal(err)
			}
			for i, size := range p.sizes {
				if !sample.Has(day+k, i, 2) {
					continue
				}
				dims := map[string]int64{}
				for i, name := range fn.Dims {
					dims[name] = size[i]
				}
				r := rand.New(rand.NewPCG(1, uint64(size[0])))
				var args []*ir.Array
				for _, v := range fn.Body.Params {
					ty := v.Type
					var shape []int64
					for _, d := range ty.Shape {
						n, err := d.Eval(dims)
						if err != nil {
							t.Fatal(err)
						}
						shape = append(shape, n)
					}
					args = append(args, draw(r, ty.Elem, shape...))
				}
				km, err := m.Kernels("f", dims, nil)
				if err != nil {
					t.Fatal(err)
				}
				if err := agree(m.IR(), km, "sm_80", dims, nil, args); err != nil {
					t.Errorf("%v, compiled for these extents: %v", size, err)
				}
				if err := agreeOn(m.IR(), anyShape, ptx, dims, dims, args); err != nil {
					t.Errorf("%v, compiled for any extents: %v", size, err)
				}
			}
		})
	}
}

var (
	seeds = flag.Int("seeds", 40, "random programs that TestRandomPrograms runs")
	seed  = flag.Uint64("seed", 1, "the first of them")
)

// TestFirstFailure: the failure that is reported is that of the first iteration, whatever thread finds its own first.
func TestFirstFailure(t *testing.T) {
	m, err := engine.Compile(`fn f(a: f32[100], i: i32[5000]) -> f32[5000] = a[i] * 2.0`, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	km, err := m.Kernels("f", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(1, 1))
	args := []*ir.Array{draw(r, types.F32, 100), draw(r, types.I32, 5000)}
	for i := range args[1].Bits {
		args[1].Bits[i] = uint64(r.IntN(100))
	}
	for _, at := range []int{4999, 3000, 2999, 300, 7} {
		args[1].Bits[at] = uint64(1000 + at)
		_, failure, err := simulate(km, "sm_70", nil, args, at%2 == 0)
		if err != nil {
			t.Fatal(err)
		}
		if failure.Site == 0 || failure.Info != [2]int64{int64(1000 + at), 100} {
			t.Errorf("first wrong at %d: failure %+v", at, failure)
		}
	}
}

// TestFirstOfPieces: where several checks of several elements fail in the piece that a thread does at once, in the
// elements behind the last piece, and in rows, the first failure of the first element that has one is reported, and
// where nothing fails the results are right.
func TestFirstOfPieces(t *testing.T) {
	m, err := engine.Compile("fn f[M, N](a: i32[100], i: i32[M, N], b: i32[M, N]) -> i32[M, N] =\n   700 / b +\n  a[i]",
		engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	type bad struct{ at, index, divisor int } // an element with a wrong index, a divisor 0, or both
	for _, size := range [][2]int64{{1, 4}, {1, 1003}, {5, 64}, {3, 7}, {40, 100}} {
		n := int(size[0] * size[1])
		for _, wrong := range [][]bad{nil, {{at: n - 1, divisor: 1}}, {{at: 2, index: 1}, {at: 1, divisor: 1}},
			{{at: 0, index: 1, divisor: 1}},
			{{at: n / 2, divisor: 1}, {at: n/2 + 1, index: 1}},
			{{at: n - 2, index: 1}, {at: n - 3, divisor: 1}, {at: n - 1, divisor: 1}}} {
			r := rand.New(rand.NewPCG(uint64(n), 1))
			args := []*ir.Array{draw(r, types.I32, 100), draw(r, types.I32, size[:]...), draw(r, types.I32, size[:]...)}
			for k := range n {
				args[1].Bits[k], args[2].Bits[k] = uint64(1+r.IntN(99)), uint64(1+r.IntN(1000))
			}
			for _, w := range wrong {
				if w.index > 0 {
					args[1].Bits[w.at] = 1000
				}
				if w.divisor > 0 {
					args[2].Bits[w.at] = 0
				}
			}
			bind := map[string]int64{"M": size[0], "N": size[1]}
			first := bad{at: n}
			for _, w := range wrong {
				if w.at < first.at {
					first = w
				}
			}
			for _, known := range []map[string]int64{bind, nil} {
				km, err := m.Kernels("f", known, nil)
				if err != nil {
					t.Fatal(err)
				}
				free := bind
				if known != nil {
					free = nil
				}
				if first.at == n {
					if err := agree(m.IR(), km, "sm_80", bind, free, args); err != nil {
						t.Errorf("%v, compiled for these extents: %t: %v", size, known != nil, err)
					}
					continue
				}
				for _, smaller := range []bool{false, true} {
					_, failure, err := simulate(km, "sm_80", free, args, smaller)
					if err != nil || failure.Site == 0 {
						t.Fatalf("%v, wrong %v: it does not fail: %v", size, wrong, err)
					}
					site := km.Sites[failure.Site-1]
					at, message := [2]int{3, 3}, "index 1000 is out of range for an axis of extent 100"
					if first.divisor > 0 {
						at, message = [2]int{2, 4}, "integer division by zero"
					}
					if got := abi.Message(site, failure.Info); got != message || [2]int{site.Line, site.Col} != at {
						t.Errorf("%v, wrong %v, compiled for these extents: %t: %d:%d: %s, want %d:%d: %s", size, wrong,
							known != nil, site.Line, site.Col, got, at[0], at[1], message)
					}
				}
			}
		}
	}
}

// TestReversed: operands that lie backwards, whose pieces end where those of others begin.
func TestReversed(t *testing.T) {
	for _, elem := range []types.DType{types.F32, types.U8, types.I16, types.F64} {
		reversed(t, elem)
	}
}

func reversed(t *testing.T, elem types.DType) {
	e := elem.String()
	m, err := engine.Compile("fn f[N](a: "+e+"[N], b: "+e+"[N]) -> "+e+"[N] = flip(a, 0) .+ b", engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	for _, n := range []int64{1, 4, 64, 65, 67} {
		km, err := m.Kernels("f", map[string]int64{"N": n}, nil)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 1))
		bind := map[string]int64{"N": n}
		if err := agree(m.IR(), km, "sm_80", bind, nil, []*ir.Array{draw(r, elem, n), draw(r, elem, n)}); err != nil {
			t.Errorf("%d elements of %s: %v", n, e, err)
		}
	}
}

// TestRandomPrograms compares programs of all operations.
func TestRandomPrograms(t *testing.T) {
	compared := 0
	for i := range uint64(*seeds) {
		p := random.New(*seed+i, map[string]int{})
		pipeline, free := passes.Standard("", nil), p.Bind
		if i%2 == 0 {
			pipeline, free = passes.Standard("f", p.Bind), nil
		}
		c := p.IR.Clone()
		if passes.Run(c, pipeline, passes.Options{}) != nil {
			continue // shapes that the caller must not bind
		}
		km, err := bufferize.Lower(c, "f", bufferize.Options{Teams: i%4 < 3})
		if err != nil {
			t.Fatalf("seed %d: %v", p.Seed, err)
		}
		if len(km.Kernels) == 0 {
			continue
		}
		arch := gpu.Architectures[i%uint64(len(gpu.Architectures))].Name
		err = agree(p.IR, km, arch, p.Bind, free, p.Input)
		if errors.Is(err, errSkipped) {
			continue
		}
		compared++
		if err != nil {
			t.Errorf("seed %d, %s: %v\n%s\n%s", p.Seed, arch, err, p.IR, km)
		}
	}
	if compared < *seeds/3 {
		t.Errorf("only %d of %d programs were compared", compared, *seeds)
	}
}

// Package matmul compares matrix products of compiled code with the interpreter, bit for bit: every form of
// product, shapes around the edges of tiles, vectors, panels and pieces, views, processors and threads.
package matmul

import (
	"context"
	"flag"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/codegen"
	"healc/internal/cache"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/devices"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

// form is a way to write a product of [m, k] by [k, n]. T stands for the element type.
type form struct {
	name, src string
	args      func(m, k, n int64) [][]int64
	of        string // the types it is tried with; "" for all
}

func plain(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {k, n}} }

var forms = []form{
	{"plain", `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M, N] = a @ b`, plain, ""},
	{"right transposed", `fn f[M, K, N](a: T[M, K], b: T[N, K]) -> T[M, N] = a @ transpose(b)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {n, k}} }, ""},
	{"left transposed", `fn f[M, K, N](a: T[K, M], b: T[K, N]) -> T[M, N] = transpose(a) @ b`,
		func(m, k, n int64) [][]int64 { return [][]int64{{k, m}, {k, n}} }, ""},
	{"both transposed", `fn f[M, K, N](a: T[K, M], b: T[N, K]) -> T[M, N] = transpose(a) @ transpose(b)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{k, m}, {n, k}} }, ""},
	{"vector on the right", `fn f[M, K](a: T[M, K], b: T[K]) -> T[M] = a @ b`,
		func(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {k}} }, ""},
	{"vector on the left", `fn f[K, N](a: T[K], b: T[K, N]) -> T[N] = a @ b`,
		func(m, k, n int64) [][]int64 { return [][]int64{{k}, {k, n}} }, ""},
	{"vector on the left of a transpose", `fn f[K, N](a: T[K], b: T[N, K]) -> T[N] = a @ transpose(b)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{k}, {n, k}} }, ""},
	{"batch", `fn f[B, M, K, N](a: T[B, M, K], b: T[B, K, N]) -> T[B, M, N] = a @ b`,
		func(m, k, n int64) [][]int64 { return [][]int64{{3, m, k}, {3, k, n}} }, ""},
	{"batch of rows", `fn f[B, K, N](a: T[B, K], b: T[B, K, N]) -> T[B, 1, N] = reshape(a, [B, 1, K]) @ b`,
		func(m, k, n int64) [][]int64 { return [][]int64{{3, k}, {3, k, n}} }, "f32 i32"},
	{"batch of rows by transposes",
		`fn f[B, K, N](a: T[B, K], b: T[B, N, K]) -> T[B, 1, N] = reshape(a, [B, 1, K]) @ permute_axes(b, [0, 2, 1]) .+ 1`,
		func(m, k, n int64) [][]int64 { return [][]int64{{3, k}, {3, n, k}} }, "f32 i32"},
	{"vector on the right, and more", `fn f[M, K](a: T[M, K], b: T[K], c: T[M]) -> T[M] = max(a @ b .+ c, c)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {k}, {m}} }, "f32 i64"},
	{"one matrix for a batch", `fn f[B, M, K, N](a: T[B, M, K], b: T[K, N]) -> T[B, M, N] = a @ b`,
		func(m, k, n int64) [][]int64 { return [][]int64{{3, m, k}, {k, n}} }, ""},
	{"epilogue", `fn f[M, K, N](a: T[M, K], b: T[K, N], c: T[N], d: T[M, N]) -> T[M, N] = max(a @ b .+ c, d) .* d`,
		func(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {k, n}, {n}, {m, n}} }, ""},
	{"scaled rows", `fn f[M, K, N](a: T[M, K], b: T[K, N], c: T[M]) -> T[M, N] = (a .* reshape(c, [M, 1])) @ b`,
		func(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {k, n}, {m}} }, ""},
	{"scaled on both sides",
		`fn f[M, K, N](a: T[M, K], b: T[N, K], c: T[K], d: T[N]) -> T[M, N] = (a .* c .+ 1) @ transpose(b .* reshape(d, [N, 1]))`,
		func(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {n, k}, {k}, {n}} }, "f32 i64 bf16"},
	{"both transposed and computed",
		`fn f[M, K, N](a: T[K, M], b: T[N, K]) -> T[M, N] = transpose(a .* a) @ transpose(b .* 3)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{k, m}, {n, k}} }, "f32 i64 bf16"},
	{"sums of operands in other orders",
		`fn f[M, K, N](a: T[M, K], b: T[K, M], c: T[K, N], d: T[N, K]) -> T[M, N] = (a .+ transpose(b)) @ (c .- transpose(d))`,
		func(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {k, m}, {k, n}, {n, k}} }, "f32 i64 bf16"},
	{"computed matrix by vector", `fn f[M, K](a: T[M, K], b: T[K], c: T[K]) -> T[M] = (a .* b) @ c`,
		func(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {k}, {k}} }, "f32 i64 bf16"},
	{"vector by computed matrix", `fn f[K, N](a: T[K], b: T[K, N], c: T[N]) -> T[N] = (a .* a) @ (b .- c)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{k}, {k, n}, {n}} }, "f32 i64 bf16"},
	{"computed batch",
		`fn f[B, M, K, N](a: T[B, M, K], b: T[B, K, N], c: T[B]) -> T[B, M, N] = (a .* reshape(c, [B, 1, 1])) @ (b .* 2)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{3, m, k}, {3, k, n}, {3}} }, "f32 i64 bf16"},
	{"matrices of a batch", `fn f[B, M, K, N](a: T[B, M, K], b: T[B, K, N]) -> T[M, N] = a[B - 1] @ (b[0] .* 2)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{3, m, k}, {3, k, n}} }, "f32 i64 bf16"},
	{"gathered", `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M, N] = a[tabulate(M, |i| M - 1 - i)] @ b`, plain,
		"f32 i64 bf16"},
	{"epilogue of computed operands", `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M, N] = max((a .* 2) @ (b .* 3), 0)`,
		plain, "f32 i64 bf16"},
	{"wider", `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> i32[M, N] = (a as i32) @ (b as i32)`, plain, "i8 i16 u8"},
	{"wider and transposed",
		`fn f[M, K, N](a: T[K, M], b: T[N, K]) -> i32[M, N] = transpose(a as i32) @ transpose((b .* 3) as i32) .- 7`,
		func(m, k, n int64) [][]int64 { return [][]int64{{k, m}, {n, k}} }, "i8 i16 u8"},
	{"wider by bits", `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> f32[M, N] = (((a .> 1) as i32) @ (b as i32)) as f32`,
		plain, "i8 u8"},
	{"wider, with a sign by without one",
		`fn f[M, K, N](a: T[M, K], b: T[K, N]) -> i32[M, N] = ((a as i8) as i32) @ ((b as u8) as i32) .+ 1`, plain,
		"i8 u8"},
	{"wider, without a sign by with one",
		`fn f[M, K, N](a: T[K, M], b: T[N, K]) -> u32[M, N] = transpose((a as u8) as u32) @ transpose((b as i8) as u32)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{k, m}, {n, k}} }, "i8 u8"},
	{"wider batch", `fn f[B, M, K, N](a: T[B, M, K], b: T[K, N]) -> u32[B, M, N] = (a as u32) @ (b as u32)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{3, m, k}, {k, n}} }, "i8"},
	{"wider float", `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> f32[M, N] = (a as f32) @ (b as f32)`, plain,
		"f16 bf16 i8"},
	{"wider and scaled",
		`fn f[M, K, N](a: T[M, K], b: T[N, K], s: T[K]) -> bf16[M, N] = (((a as f32) .* (s as f32)) @ transpose(b as f32)) as bf16`,
		func(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {n, k}, {k}} }, "f16 bf16 i8"},
	{"wider matrix by vector", `fn f[M, K](a: T[M, K], b: T[K]) -> f32[M] = (a as f32) @ (b as f32)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {k}} }, "f16 bf16 i8"},
	{"vector by wider matrix", `fn f[K, N](a: T[K], b: T[K, N]) -> i32[N] = (a as i32) @ (b as i32)`,
		func(m, k, n int64) [][]int64 { return [][]int64{{k}, {k, n}} }, "i8 i16 u8"},
	{"activation of an operand", `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M, N] = exp(a) @ relu(b)`, plain,
		"f32 f64"},
	{"rounded", `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> bf16[M, N] = (a @ b) as bf16`, plain, "f32"},
	{"two products", `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M, N] = (a .* 2) @ b .+ a @ (b .* 3)`, plain, "i32"},
	{"in blocks of k", `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M, N] = matmul(a, b, split = 32)`, plain,
		"f32 f64 bf16 i32"},
	{"transposed, in blocks of k",
		`fn f[M, K, N](a: T[K, M], b: T[N, K], c: T[N]) -> T[M, N] = transpose(a) @[split=96] transpose(b) .+ c`,
		func(m, k, n int64) [][]int64 { return [][]int64{{k, m}, {n, k}, {n}} }, "f32 f16"},
	{"batch, in blocks of k", `fn f[B, M, K, N](a: T[B, M, K], b: T[K, N]) -> T[B, M, N] = (a .* 2) @[split=32] b`,
		func(m, k, n int64) [][]int64 { return [][]int64{{3, m, k}, {k, n}} }, "f64 bf16"},
	{"vector on the right, in blocks of k", `fn f[M, K](a: T[M, K], b: T[K]) -> T[M] = a @[split=64] b`,
		func(m, k, n int64) [][]int64 { return [][]int64{{m, k}, {k}} }, "f32 f64"},
	{"sum of rows", `fn f[M, K, N](a: T[M, K], b: T[K, N]) -> T[M] = +/[axis=1](a @ b)`, plain, "f32"},
}

// only restricts the tests to one form.
var only = flag.String("form", "", "the only form to try")

func chosen(t *testing.T) []form {
	if *only == "" {
		return forms
	}
	for _, f := range forms {
		if f.name == *only {
			return []form{f}
		}
	}
	t.Fatalf("there is no form %q", *only)
	return nil
}

var dtypes = map[string]types.DType{
	"f32": types.F32, "f64": types.F64, "i32": types.I32, "i64": types.I64, "f16": types.F16, "bf16": types.BF16,
	"i8": types.I8, "i16": types.I16, "u8": types.U8, "u32": types.U32,
}

// common are the types that every form is tried with.
var common = []string{"f32", "f64", "i32", "i64", "f16", "bf16", "i8", "u32"}

var sizes = [][3]int64{
	{1, 1, 1}, {2, 3, 5}, {1, 40, 33}, {5, 33, 101}, {13, 4, 16}, {14, 16, 17}, {26, 17, 31}, {27, 33, 32}, {12, 1, 33},
	{16, 16, 16}, {53, 300, 65}, {130, 100, 100}, {29, 5, 300}, {3, 2048, 40}, {140, 1030, 70}, {50, 101, 30},
	{31, 0, 7}, {0, 5, 6}, {7, 6, 0}, {300, 20, 3}, {25, 7, 10}, {270, 129, 48}, {9, 5000, 37},
}

// everything runs code for its shape for every form, type and size, which takes eight times as long.
var everything = flag.Bool("all", sample.All(),
	"code for its shape for each form, type and size, not for each two of them")

// try is one product: a form, a type and a size, with the code that is made for it.
type try struct {
	form, elem, size int // positions
	own              bool
	cpu, threads     int // of the code that knows its shape and strides, where there is some
	any              bool
}

func (f form) elems() []string {
	if f.of != "" {
		return strings.Fields(f.of)
	}
	return common
}

// design is what TestProducts runs. Code for any shape meets each form, type and size. Code for its shape meets each
// two of them, a form and a size with one of the form's types, because most of the time would go into libLLVM else:
// another one every day, so that all of them meet within eight, and another one for each form of the same types.
// Processors and threads go round, so that each meets every form, type and size. TestDesign counts. With -short it is a
// sample.
func design(forms []form, short bool, cpus, day int) []try {
	var out []try
	n, rows, same := 0, 0, map[string]int{}
	for i, f := range forms {
		elems := f.elems()
		turn := same[f.of] + day
		same[f.of]++
		for e := range elems {
			rows++
			for s := range sizes {
				c := try{form: i, elem: e, size: s, any: !short || rows%11 == 0, own: *everything ||
					(turn+e+s)%len(elems) == 0}
				if c.own {
					n++
					c.own = !short || n%19 == 0
					way := n
					if short {
						way /= 19
					}
					c.cpu, c.threads = way%cpus, way/cpus%len(threads)
				}
				if c.own || c.any {
					out = append(out, c)
				}
			}
		}
	}
	return out
}

// TestDesign: each two of form, type, size, processor and number of threads meet in code that knows its shape.
func TestDesign(t *testing.T) {
	for turn := range 3 * len(common) {
		cpus, day := 2+turn%3, turn/3
		met := map[[4]any]bool{}
		every := [5]map[any]bool{{}, {}, {}, {}, {}}
		whole := map[[3]any]bool{}
		for _, c := range design(forms, false, cpus, day) {
			f := forms[c.form]
			if c.any {
				whole[[3]any{f.name, f.elems()[c.elem], c.size}] = true
			}
			if !c.own {
				continue
			}
			of := [5]any{f.name, f.elems()[c.elem], c.size, c.cpu, c.threads}
			for i, x := range of {
				every[i][x] = true
				for k, y := range of {
					met[[4]any{i, x, k, y}] = true
				}
			}
		}
		for _, f := range forms {
			for _, elem := range f.elems() {
				if !met[[4]any{0, f.name, 1, elem}] {
					t.Errorf("%s never meets %s", f.name, elem)
				}
				for s := range sizes {
					if !whole[[3]any{f.name, elem, s}] {
						t.Errorf("%s of %s never has size %v", f.name, elem, sizes[s])
					}
				}
			}
		}
		for i, xs := range every {
			for k, ys := range every {
				if i+k == 1 || i == k {
					continue // forms and types, of which some do not belong together, are above
				}
				for x := range xs {
					for y := range ys {
						if !met[[4]any{i, x, k, y}] {
							t.Errorf("on day %d, with %d processors %v never meets %v (%d and %d)", day, cpus, x, y, i,
								k)
						}
					}
				}
			}
		}
		if len(every[2]) != len(sizes) || len(every[3]) != cpus || len(every[4]) != len(threads) {
			t.Errorf("of sizes, %d processors and threads there are %d, %d and %d", cpus, len(every[2]), len(every[3]),
				len(every[4]))
		}
	}
}

var threads = []int{1, 2, 3, 7}

// TestProducts runs the design: every result of the interpreter is compared with that of code for this shape and these
// strides, and with that of code for any shape.
func TestProducts(t *testing.T) {
	forms, cpus := chosen(t), devices.Targets(t)
	rows := map[[2]int][]try{}
	day := sample.Today(t)
	for _, c := range design(forms, testing.Short(), len(cpus), day) {
		rows[[2]int{c.form, c.elem}] = append(rows[[2]int{c.form, c.elem}], c)
	}
	for i, f := range forms {
		t.Run(strings.ReplaceAll(f.name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			for e, elem := range f.elems() {
				if cases := rows[[2]int{i, e}]; len(cases) > 0 {
					f.run(t, rand.New(rand.NewPCG(uint64(i), uint64(e))), elem, cpus, i+e, cases)
				}
			}
		})
	}
}

// run tries a form on one type.
func (f form) run(t *testing.T, rng *rand.Rand, elem string, cpus []string, n int, cases []try) {
	src := strings.ReplaceAll(f.src, "T[", elem+"[")
	var free *anyShape
	if cases[0].any {
		free = newAnyShape(t, src, cpus[n%len(cpus)], threads[n/len(cpus)%len(threads)])
		defer free.close()
	}
	for _, c := range cases {
		s := sizes[c.size]
		name := fmt.Sprintf("%s of %s %v", f.name, elem, s)
		var args []*tensor.Tensor
		for _, shape := range f.args(s[0], s[1], s[2]) {
			args = append(args, randomTensor(t, rng, dtypes[elem], shape))
		}
		want := call(t, name, src, engine.Options{Backend: heal.Interp, Threads: 1}, args)
		if c.own {
			cpu, th := cpus[c.cpu], threads[c.threads]
			for _, w := range ways.Thorough(drawn(name), 3) {
				for _, o := range w.Options(t, engine.Options{Threads: th, SplitAll: true,
					Target: codegen.Target{Kind: "cpu", CPU: cpu}}) {
					got := call(t, name, src, o, args)
					differ(t, fmt.Sprintf("%s on %q with %d threads, %s", name, cpu, th, w), got, want)
				}
			}
		}
		if c.any {
			differ(t, fmt.Sprintf("%s for any shape on %q with %d threads", name, free.cpu, free.threads),
				free.call(t, name, s, args), want)
		}
		for _, a := range args {
			a.Close()
		}
	}
}

// drawn is a number that belongs to a name, and is independent of the design.
func drawn(name string) int {
	h := fnv.New32a()
	io.WriteString(h, name)
	return int(h.Sum32() >> 1)
}

func differ(t *testing.T, name string, got, want []uint64) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d elements, want %d", name, len(got), len(want))
		return
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: element %d is %#x, want %#x", name, i, got[i], want[i])
			return
		}
	}
}

// TestShares: whoever computes which part of a product, the bits are those of one thread. These are large enough that
// parts are cut in both directions (Note [Units of products] in codegen/llvm), with and without copies of the operands.
func TestShares(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	shapes := [][3]int64{{150, 260, 330}, {330, 260, 150}, {96, 300, 520}, {520, 64, 97}, {37, 600, 700}, {700, 90, 37},
		{256, 256, 256}}
	names := map[string]bool{"plain": true, "right transposed": true, "left transposed": true, "batch": true,
		"epilogue":                     true,
		"both transposed and computed": true, "matrices of a batch": true, "vector on the right": true,
		"vector on the left": true}
	cpus := devices.Targets(t)
	cache := &cache.Cache{Dir: t.TempDir()} // the code is the same for any number of threads
	n := 0
	for _, f := range chosen(t) {
		if !names[f.name] {
			continue
		}
		for _, elem := range []string{"f32", "i64"} {
			if elem != "f32" && f.name != "plain" {
				continue
			}
			src := strings.ReplaceAll(f.src, "T[", elem+"[")
			for i, s := range shapes {
				if testing.Short() && (i+n)%3 != 0 {
					continue
				}
				var args []*tensor.Tensor
				for _, shape := range f.args(s[0], s[1], s[2]) {
					args = append(args, randomTensor(t, rng, dtypes[elem], shape))
				}
				target := codegen.Target{Kind: "cpu", CPU: cpus[(i+n)%len(cpus)]}
				want := call(t, f.name, src, engine.Options{Threads: 1, Target: target, Cache: cache}, args)
				for _, threads := range []int{2, 7} {
					got := call(t, f.name, src, engine.Options{Threads: threads, SplitAll: true, Target: target,
						Cache: cache}, args)
					if !slices.Equal(got, want) {
						t.Errorf("%s of %s %v on %q with %d threads is not what one gives", f.name, elem, s, target.CPU,
							threads)
					}
				}
				for _, a := range args {
					a.Close()
				}
			}
			n++
		}
	}
}

// TestSideBySide: products whose left operand is copied with what a step needs side by side (Note [Side by side] in
// codegen/llvm), with tiles and squares that are not whole.
func TestSideBySide(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	cases := []struct {
		src   string
		elem  string
		shape [3]int64
	}{
		{`fn f(a: f32[97, 1024], b: f32[1024, 261]) -> f32[97, 261] = a @ b`, "f32", [3]int64{97, 1024, 261}},
		{`fn f(a: f64[98, 515], b: f64[515, 259]) -> f64[98, 259] = -(a @ b)`, "f64", [3]int64{98, 515, 259}},
		{`fn f(a: f64[100, 512], b: f64[131, 512]) -> f64[100, 131] = (a .* 0.5) @ transpose(b)`, "f64",
			[3]int64{100, 512, 131}},
		{`fn f(a: i64[99, 512], b: i64[512, 133]) -> i64[99, 133] = a @ b`, "i64", [3]int64{99, 512, 133}},
		{`fn f(a: i16[97, 2048], b: i16[2048, 259]) -> i32[97, 259] = (a as i32) @ (b as i32)`, "i16",
			[3]int64{97, 2048, 259}},
	}
	for _, c := range cases {
		m, k, n := c.shape[0], c.shape[1], c.shape[2]
		right := []int64{k, n}
		if strings.Contains(c.src, "transpose") {
			right = []int64{n, k}
		}
		args := []*tensor.Tensor{randomTensor(t, rng, dtypes[c.elem], []int64{m, k}),
			randomTensor(t, rng, dtypes[c.elem], right)}
		want := call(t, c.src, c.src, engine.Options{Backend: heal.Interp, Threads: 1}, args)
		for i, cpu := range devices.Targets(t) {
			threads := threads[i%len(threads)]
			got := call(t, c.src, c.src, engine.Options{Threads: threads, SplitAll: true,
				Target: codegen.Target{Kind: "cpu", CPU: cpu}}, args)
			differ(t, fmt.Sprintf("%s on %q with %d threads", c.src, cpu, threads), got, want)
		}
		for _, a := range args {
			a.Close()
		}
	}
}

// TestSmallest: the sum of two products of -32768 is the only one that does not fit 32 bits (Note [Pairs] in
// codegen/llvm).
func TestSmallest(t *testing.T) {
	const m, k, n = 9, 6, 19
	fill := func(shape []int64) *tensor.Tensor {
		bits := make([]uint64, shape[0]*shape[1])
		for i := range bits {
			bits[i] = 0x8000
		}
		x, err := tensor.FromBits(types.I16, shape, bits)
		if err != nil {
			t.Fatal(err)
		}
		return x
	}
	a, b := fill([]int64{m, k}), fill([]int64{k, n})
	defer a.Close()
	defer b.Close()
	for _, cpu := range devices.Targets(t) {
		src := `fn f[M, K, N](a: i16[M, K], b: i16[K, N]) -> i32[M, N] = (a as i32) @ (b as i32)`
		for i, got := range call(t, cpu, src, engine.Options{Target: codegen.Target{Kind: "cpu", CPU: cpu}},
			[]*tensor.Tensor{a, b}) {
			if want := uint64(k << 30 & 0xffffffff); got != want {
				t.Fatalf("%q: element %d is %#x, want %#x", cpu, i, got, want)
			}
		}
	}
}

// TestLookedUpRows: rows of the left operand are looked up, and checked, while they are packed.
func TestLookedUpRows(t *testing.T) {
	const src = `fn f[M, T](a: f32[T, 40], p: i32[M], b: f32[40, 100]) -> f32[M, 100] = a[p] @ b .+ unsqueeze(a[.., 3][p], 1)`
	const n = 150
	rng := rand.New(rand.NewPCG(5, 6))
	cache := &cache.Cache{Dir: t.TempDir()}
	for wrong := -50; wrong < n; wrong += 50 {
		where := make([]uint64, n)
		for i := range where {
			where[i] = uint64(rng.IntN(30))
			if wrong >= 0 && i >= wrong && i%3 == wrong%3 {
				where[i] = uint64(30 + i)
			}
		}
		p, err := tensor.FromBits(types.I32, []int64{n}, where)
		if err != nil {
			t.Fatal(err)
		}
		args := []*tensor.Tensor{randomTensor(t, rng, types.F32, []int64{30, 40}), p,
			randomTensor(t, rng, types.F32, []int64{40, 100})}
		result := func(opts engine.Options) string {
			bits, err := tryCall(t, src, opts, args)
			if err != nil {
				return err.Error()
			}
			return fmt.Sprint(bits)
		}
		want := result(engine.Options{Backend: heal.Interp, Threads: 1})
		if failed := strings.Contains(want, "out of range"); failed != (wrong >= 0) {
			t.Fatalf("with a wrong position at %d the interpreter gives %.100s", wrong, want)
		}
		for _, cpu := range devices.Targets(t) {
			for _, threads := range []int{1, 2, 3} {
				got := result(engine.Options{Threads: threads, SplitAll: true,
					Target: codegen.Target{Kind: "cpu", CPU: cpu}, Cache: cache})
				if got != want {
					t.Errorf("wrong position at %d, %q, %d threads: %.100s, want %.100s", wrong, cpu, threads, got,
						want)
				}
			}
		}
		for _, a := range args {
			a.Close()
		}
	}
}

func call(t *testing.T, name, src string, opts engine.Options, args []*tensor.Tensor) []uint64 {
	t.Helper()
	bits, err := tryCall(t, src, opts, args)
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return bits
}

// tryCall is what f gives, or its error.
func tryCall(t *testing.T, src string, opts engine.Options, args []*tensor.Tensor) ([]uint64, error) {
	t.Helper()
	m, err := engine.Compile(src, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("f")
	if err != nil {
		t.Fatal(err)
	}
	y, err := f.Call(context.Background(), args...)
	if err != nil {
		return nil, err
	}
	defer y.Close()
	return y.Bits(), nil
}

// randomTensor makes a tensor of random numbers whose products and sums round: whole, or a view with gaps, other
// orders of axes and an offset.
func randomTensor(t *testing.T, rng *rand.Rand, elem types.DType, shape []int64) *tensor.Tensor {
	t.Helper()
	a := &ir.Array{DType: elem, Shape: shape, Bits: []uint64{}}
	size := int64(1)
	for _, n := range shape {
		size *= n
	}
	for range size {
		if elem.IsFloat() {
			a.Bits = append(a.Bits, scalar.FloatBits(elem, rng.NormFloat64()))
		} else {
			a.Bits = append(a.Bits, rng.Uint64()>>(64-elem.Bits()))
		}
	}
	var x *tensor.Tensor
	var err error
	if rng.IntN(2) == 0 {
		x, err = random.Strided(a, rng.Uint64())
	} else {
		x, err = tensor.FromBits(elem, shape, a.Bits)
	}
	if err != nil {
		t.Fatal(err)
	}
	return x
}

package fusion_test

import (
	"fmt"
	"strings"
	"testing"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/passes/fusion"
)

func fuse(t *testing.T, text string) (*ir.Module, string) {
	t.Helper()
	m, errs := ir.Parse(diag.NewFile("in.ir", "module \"m\"\n"+text))
	if errs.HasErrors() {
		t.Fatal(errs.Error())
	}
	var remarks strings.Builder
	if err := fusion.Fuse(m, func(format string, args ...any) {
		fmt.Fprintf(&remarks, format+"\n", args...)
	}); err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	return m, remarks.String()
}

// doubling adds to a vector itself moved by 1, 2, 4, ...: each step would double the number of elements that
// one result needs.
func doubling(steps int) string {
	var s strings.Builder
	s.WriteString("func @f(%x0: f32[4000000]) -> f32[2951425] {\n")
	n := 4000000
	for i := range steps {
		d := 1 << i
		n -= d
		for k, start := range []int{0, d} {
			fmt.Fprintf(&s, "  %%s%d_%d: f32[%d] = slice %%x%d {starts = [%d], steps = [1], shape = [%d]}\n", i, k, n,
				i, start, n)
		}
		fmt.Fprintf(&s, "  %%x%d: f32[%d] = add %%s%d_0, %%s%d_1\n", i+1, n, i, i)
	}
	fmt.Fprintf(&s, "  return %%x%d\n}", steps)
	return s.String()
}

// TestKernels counts the kernels, and the operations that stay outside, of programs that fuse in part.
func TestKernels(t *testing.T) {
	for _, c := range []struct {
		name, text string
		kernels    int
		outside    string // operations outside of kernels, in order
		remark     string // a line that must be there
	}{
		{"a value that two far kernels want is written once", `
func @f(%x: f32[1000, 1000]) -> (f32[1000, 1000], f32[1000]) {
  %0: f32[1000, 1000] = sin %x
  %1: f32[1000, 1000] = tanh %0
  %2: f32[1000, 1000] = permute %1 {perm = [1, 0]}
  %3: f32[1000] = reduce_sum %1 {axes = [0]}
  return %2, %3
}`, 3, "",
			"kept %1 (tanh, line 5): 2 kernels want it; computing it again takes 70M operations, storing it as long " +
				"as 40M"},
		{"a cheap value that two kernels want is computed twice", `
func @f(%x: f32[1000, 1000]) -> (f32[1000, 1000], f32[1000]) {
  %0: f32[1000, 1000] = neg %x
  %1: f32[1000, 1000] = permute %0 {perm = [1, 0]}
  %2: f32[1000] = reduce_sum %0 {axes = [0]}
  return %1, %2
}`, 2, "", ""},
		{"the operand of a product is computed while it is packed", `
func @f(%x: f32[200, 200], %y: f32[200, 200]) -> f32[200, 200] {
  %0: f32[200, 200] = exp %x
  %1: f32[200, 200] = matmul %0, %y
  return %1
}`, 1, "", "fused %0 into %1: same iteration space"},
		{"what is long is not computed for every block of columns", `
func @f(%x: f32[200, 200], %y: f32[200, 2000]) -> f32[200, 2000] {
  %0: f32[200, 200] = exp %x
  %1: f32[200, 2000] = matmul %0, %y
  return %1
}`, 2, "", "kept %0 (exp, line 4): it is wanted at more indices than it has; computing it again takes"},
		{"what is no straight-line code is not packed", `
func @f(%x: f32[200, 100], %y: f32[200, 200]) -> f32[200, 200] {
  %0: f32[200, 200] = concat %x, %x {axis = 1}
  %1: f32[200, 200] = matmul %0, %y
  return %1
}`, 2, "", "kept %0 (concat, line 4): the product `matmul` in line 5 packs what straight-line code computes"},
		{"nor is what a reduction of each row is part of", `
func @f(%x: f32[200, 200], %y: f32[200, 200]) -> f32[200, 200] {
  %0: f32[200] = reduce_max %x {axes = [1]}
  %1: f32[200, 1] = reshape %0 {shape = [200, 1]}
  %2: f32[200, 200] = broadcast %1 {shape = [200, 200]}
  %3: f32[200, 200] = sub %x, %2
  %4: f32[200, 200] = matmul %3, %y
  return %4
}`, 2, "", "kept %0 (reduce_max, line 4): the product `matmul` in line 8 packs what straight-line code computes"},
		{"a full reduction that is broadcast back gets all threads", `
func @f(%x: f32[100000]) -> f32[100000] {
  %0: f32 = reduce_max %x {axes = [0]}
  %1: f32[100000] = broadcast %0 {shape = [100000]}
  %2: f32[100000] = sub %x, %1
  return %2
}`, 2, "", "kept %0 (reduce_max, line 4): a kernel of its own can use all threads"},
		{"rows that are not cut gain nothing from a kernel of their own", `
func @f(%x: f32[16, 4096]) -> f32[16, 4096] {
  %0: f32[16] = reduce_max %x {axes = [1]}
  %1: f32[16, 1] = reshape %0 {shape = [16, 1]}
  %2: f32[16, 4096] = broadcast %1 {shape = [16, 4096]}
  %3: f32[16, 4096] = sub %x, %2
  return %3
}`, 1, "", ""},
		{"the same in the small is one kernel", `
func @f(%x: f32[16]) -> f32[16] {
  %0: f32 = reduce_max %x {axes = [0]}
  %1: f32[16] = broadcast %0 {shape = [16]}
  %2: f32[16] = sub %x, %1
  return %2
}`, 1, "", ""},
		{"products do not share a kernel", `
func @f(%x: f32[64, 64], %y: f32[64, 64], %z: f32[64, 64]) -> (f32[64, 64], f32[64, 64]) {
  %0: f32[64, 64] = matmul %x, %y
  %1: f32[64, 64] = matmul %x, %z
  return %0, %1
}`, 2, "", ""},
		{"chains that each wait alone beside vectors are written", `
func @f(%x: f32[32, 50], %y: f32[50, 1]) -> f32[32, 50] {
  %0: f32[32, 1] = matmul %x, %y
  %1: f32[32, 50] = broadcast %0 {shape = [32, 50]}
  %2: f32[32, 50] = add %x, %1
  return %2
}`, 2, "", "kept %0 (matmul, line 4): as a product in tiles it saves 25.6k operations"},
		{"short ones are not", `
func @f(%x: f32[8, 8], %y: f32[8, 1]) -> f32[8, 8] {
  %0: f32[8, 1] = matmul %x, %y
  %1: f32[8, 8] = broadcast %0 {shape = [8, 8]}
  %2: f32[8, 8] = add %x, %1
  return %2
}`, 1, "", ""},
		{"a kernel cannot wait for itself", `
func @f(%x: f32[64, 64]) -> (f32[64], f32[64, 64], f32[64]) {
  %0: f32[64] = reduce_sum %x {axes = [0]}
  %1: f32[64, 1] = reshape %0 {shape = [64, 1]}
  %2: f32[64, 64] = broadcast %1 {shape = [64, 64]}
  %3: f32[64, 64] = matmul %x, %2
  %4: f32[64, 64] = add %x, %3
  %5: f32[64] = reduce_sum %4 {axes = [0]}
  return %0, %3, %5
}`, 3, "", ""},
		{"sums over growing distances do not double the code", doubling(20), 5, "", ""},
		{"a value for each row shares the kernel of the rows", `
func @f(%x: f32[640, 1000]) -> (f32[640, 1000], f32[640]) {
  %0: f32[640] = reduce_sum %x {axes = [1]}
  %1: f32[640, 1] = reshape %0 {shape = [640, 1]}
  %2: f32[640, 1000] = broadcast %1 {shape = [640, 1000]}
  %3: f32[640, 1000] = div %x, %2
  return %3, %0
}`, 1, "", "fused %3 into %0: it reads that value in the same row"},
		{"few rows do not, because their elements keep the threads busy", `
func @f(%x: f32[4, 100000]) -> (f32[4, 100000], f32[4]) {
  %0: f32[4] = reduce_sum %x {axes = [1]}
  %1: f32[4, 1] = reshape %0 {shape = [4, 1]}
  %2: f32[4, 100000] = broadcast %1 {shape = [4, 100000]}
  %3: f32[4, 100000] = div %x, %2
  return %3, %0
}`, 2, "", ""},
		{"a tabulate reads the value of its row by its own index", `
func @f(%x: f32[640, 1000]) -> (f32[640, 1000], f32[640]) {
  %0: f32[640] = reduce_sum %x {axes = [1]}
  %1: f32[640, 1000] = tabulate {shape = [640, 1000]} ^(%i: i32, %j: i32) {
    %2: f32 = index %x, %i, %j {axes = [0, 1]}
    %3: f32 = index %0, %i {axes = [0]}
    %4: f32 = sub %2, %3
    yield %4
  }
  return %1, %0
}`, 1, "", "fused %1 into %0: it reads that value in the same row"},
		{"small scalars share a kernel", `
func @f(%x: f32, %y: f32) -> (f32, f32) {
  %0: f32 = add %x, %y
  %1: f32 = mul %x, %y
  return %0, %1
}`, 1, "", "fused %1 into %0: same iteration space, and both are small"},
		{"views of inputs and constants stay outside", `
io func @f(%x: f32[4, 5]) -> f32[5, 4] {
  %0: f32[5, 4] = permute %x {perm = [1, 0]}
  %1: i32[2] = const {value = i32[2] [1, 2]}
  print %1
  return %0
}`, 0, "permute const print", ""},
		{"a choice between short element-wise arms is made in the kernel", `
func @f(%c: bool, %x: f32[8]) -> f32[8] {
  %0: f32[8] = if %c ^() {
    %1: f32[8] = neg %x
    yield %1
  } ^() {
    yield %x
  }
  %2: f32[8] = add %0, %x
  return %2
}`, 1, "", ""},
		{"arms with effects are steps", `
io func @f(%c: bool, %x: f32[8]) -> f32[8] {
  %0: f32[8] = sin %x
  %1: f32[8] = if %c ^() {
    print %0
    %2: f32[8] = cos %0
    yield %2
  } ^() {
    yield %x
  }
  return %1
}`, 2, "if print", ""},
		{"a division stays on its side of an effect", `
io func @f(%x: i32[8], %y: i32[8]) -> i32[8] {
  %0: i32[8] = div %x, %y
  print %x
  %1: i32[8] = neg %0
  return %1
}`, 2, "print", "kept %0 (div, line 4): it can fail, and nothing reads all of it at once"},
		{"a division that is read in full fuses", `
func @f(%x: i32[8], %y: i32[8]) -> i32 {
  %0: i32[8] = div %x, %y
  %1: i32[8] = neg %0
  %2: i32 = reduce_sum %1 {axes = [0]}
  return %2
}`, 1, "", ""},
		{"a division that is read in part does not", `
func @f(%x: i32[8], %y: i32[8]) -> i32[4] {
  %0: i32[8] = div %x, %y
  %1: i32[4] = slice %0 {starts = [0], steps = [2], shape = [4]}
  return %1
}`, 2, "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, remarks := fuse(t, c.text)
			kernels := 0
			var outside []string
			ir.WalkBlocks(m.Funcs[0].Body, func(b *ir.Block) {
				for _, op := range b.Ops {
					if op.Def == ops.Fusion {
						kernels++
					}
				}
			})
			var visit func(b *ir.Block)
			visit = func(b *ir.Block) {
				for _, op := range b.Ops {
					if op.Def == ops.Fusion {
						continue
					}
					outside = append(outside, op.Def.Name)
					for _, r := range op.Regions {
						visit(r)
					}
				}
			}
			visit(m.Funcs[0].Body)
			if kernels != c.kernels {
				t.Errorf("%d kernels, not %d\n%s%s", kernels, c.kernels, remarks, m)
			}
			if got := strings.Join(outside, " "); got != c.outside {
				t.Errorf("outside are %q, not %q\n%s", got, c.outside, m)
			}
			if !strings.Contains(remarks, c.remark) {
				t.Errorf("no remark %q in\n%s", c.remark, remarks)
			}
		})
	}
}

// TestFuseTwice: what is fused stays as it is.
func TestFuseTwice(t *testing.T) {
	m, _ := fuse(t, `
func @f[N](%x: f32[N]) -> f32[N] {
  %0: f32[N] = exp %x
  return %0
}`)
	before := m.String()
	if err := fusion.Fuse(m, nil); err != nil {
		t.Fatal(err)
	}
	if m.String() != before {
		t.Errorf("it was\n%s\nand became\n%s", before, m)
	}
}

func TestExplain(t *testing.T) {
	m, _ := fuse(t, `
func @f[M, N](%a: f32[N], %x: f32[M, N], %w: f64[N, 7]) -> (f32[M, N], f64[7]) {
  %0: f32[M, N] = broadcast %a {shape = [M, N]}
  %1: f32[M, N] = mul %0, %x
  %2: f32[M, N] = neg %1
  %3: f64[7] = reduce_sum %w {axes = [0]}
  return %2, %3
}`)
	var got strings.Builder
	for _, k := range fusion.Explain(m.Funcs[0]) {
		fmt.Fprintf(&got, "%s over %s: reads %s, writes %s, work %s:", k.Name, k, k.Read, k.Written, k.Work)
		for _, f := range k.Ops {
			fmt.Fprintf(&got, " %s@%d", f.Op, f.Line)
		}
		got.WriteString("\n")
	}
	want := `%0 over [M, N]: reads 4*M*N+4*N, writes 4*M*N, work 2*M*N: broadcast@4 mul@5 neg@6
%6 over [7], reducing N: reads 56*N, writes 56, work 7*N: reduce_sum@7
`
	if got.String() != want {
		t.Errorf("got\n%s", got.String())
	}
}

// elementUpdates replaces elements of a computed tensor one after the other, each by one that depends on another.
func elementUpdates(n int, result string) string {
	var s strings.Builder
	s.WriteString("func @f() -> f32 {\n" +
		"  %x0: f32[100] = tabulate {shape = [100]} ^(%i: i32) {\n" +
		"    %v: f32 = cast %i {to = f32}\n    yield %v\n  }\n")
	for k := range n {
		fmt.Fprintf(&s, "  %%s%d: f32[1] = slice %%x%d {starts = [%d], steps = [1], shape = [1]}\n", k, k, k*7%100)
		fmt.Fprintf(&s, "  %%t%d: f32[1] = sin %%s%d\n", k, k)
		fmt.Fprintf(&s, "  %%x%d: f32[100] = update %%x%d, %%t%d {axes = [], sizes = [], starts = [%d], steps = [1], "+
			"shape = [1]}\n", k+1, k, k, k%100)
	}
	fmt.Fprintf(&s, result+"\n  return %%y\n}", n)
	return s.String()
}

// TestElementUpdatesGrow: fusing four times as many updates takes less than 16 times as long, as far as allocations say
// that, and about four times where one element is read.
func TestElementUpdatesGrow(t *testing.T) {
	for _, c := range []struct {
		result string
		most   float64
	}{
		{"  %%z: f32[1] = slice %%x%d {starts = [0], steps = [1], shape = [1]}\n" +
			"  %%y: f32 = reshape %%z {shape = []}", 6},
		{"  %%y: f32 = reduce_sum %%x%d {axes = [0]}", 14},
	} {
		fused := func(n int) float64 {
			text := elementUpdates(n, c.result)
			return testing.AllocsPerRun(1, func() { fuse(t, text) })
		}
		few, many := fused(30), fused(120)
		t.Logf("%.0f and %.0f allocations", few, many)
		if many > c.most*few {
			t.Errorf("%.0f allocations for 30 updates, %.0f for 120:%s", few, many, c.result)
		}
	}
}

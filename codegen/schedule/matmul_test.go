package schedule

import (
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/lang/diag"
)

// productOf is the text of a kernel of M rows, N columns and chains of K steps, each of which is a number or a shape
// parameter. x and y are where the factors are read.
func productOf(t *testing.T, dtype, m, n, k, x, y string) *kernel.Kernel {
	t.Helper()
	replace := strings.NewReplacer("TYPE", dtype, "XX", x, "YY", y, "(M)", m, "(N)", n, "(K)", k)
	text := replace.Replace(`kernels "t"[M, N, K]
kernel @k(in x: TYPE[(M), (K)], in y: TYPE[(K), (N)], out z: TYPE[(M), (N)]) over %0 in 0..(M), %1 in 0..(N) {
  %2: TYPE = const 0
  %3: TYPE = loop %4 in 0..(K) carry %5: TYPE = %2 {
    %6: TYPE = load x[XX]
    %7: TYPE = load y[YY]
    STEP
  }
  store z[(N)*%0 + %1], %3
}`)
	step := "%8: TYPE = fma %6, %7, %5\n    next %8"
	if dtype == "i8" { // summed in i32
		text = strings.NewReplacer("%2: i8", "%2: i32", "%3: i8", "%3: i32", "%5: i8", "%5: i32",
			"out z: i8", "out z: i32").Replace(text)
		step = "%8: i32 = cast %6\n    %9: i32 = cast %7\n    %10: i32 = mul %8, %9\n" +
			"    %11: i32 = add %10, %5\n    next %11"
	} else if dtype[0] == 'i' {
		step = "%8: TYPE = mul %6, %7\n    %9: TYPE = add %8, %5\n    next %9"
	}
	text = strings.ReplaceAll(text, "STEP", strings.ReplaceAll(step, "TYPE", dtype))
	km, errs := kernel.Parse(diag.NewFile("test.kernels", text))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	k0 := km.Kernels[0]
	if k0.Contract = analysis.FindContract(k0); k0.Contract == nil {
		t.Fatalf("no product: %s", text)
	}
	return k0
}

var products = []struct{ name, dtype, m, n, k, x, y string }{
	{"small enough for the first-level cache", "f32", "64", "64", "64", "64*%0 + %4", "64*%4 + %1"},
	{"large", "f32", "1024", "1024", "1024", "1024*%0 + %4", "1024*%4 + %1"},
	{"few rows", "f64", "7", "500", "300", "300*%0 + %4", "500*%4 + %1"},
	{"transposed factors", "f32", "200", "500", "300", "200*%4 + %0", "300*%1 + %4"},
	{"integers", "i32", "100", "100", "100", "100*%0 + %4", "100*%4 + %1"},
	{"bytes", "i8", "300", "200", "100", "100*%0 + %4", "200*%4 + %1"},
	{"one row, along the columns", "f32", "1", "500", "300", "%4", "500*%4 + %1"},
	{"one row, along the chains", "f32", "1", "500", "300", "%4", "300*%1 + %4"},
	{"one row, short chains", "f32", "1", "500", "5", "%4", "5*%1 + %4"},
	{"any shape", "f32", "M", "N", "K", "K*%0 + %4", "N*%4 + %1"},
}

// TestProducts: what is decided about products for three processors and for devices, with the reasons. Each schedule is
// accepted, and read from its text it says the same.
func TestProducts(t *testing.T) {
	var out strings.Builder
	show := func(k *kernel.Kernel, what string) {
		fmt.Fprintf(&out, "%s\n", what)
		for _, line := range k.ScheduleLines() {
			fmt.Fprintf(&out, "    %s\n", line)
		}
	}
	for _, p := range products {
		fmt.Fprintf(&out, "%s: %s[%s, %s] from %s steps\n", p.name, p.dtype, p.m, p.n, p.k)
		for _, cpu := range []string{"x86-64", "x86-64-v3", "x86-64-v4", "icelake-server", "sapphirerapids"} {
			if p.dtype != "i8" && cpu != "x86-64" && cpu != "x86-64-v3" && cpu != "x86-64-v4" {
				continue // as x86-64-v4
			}
			machine := target.MachineOf(codegen.Target{CPU: cpu})
			k := productOf(t, p.dtype, p.m, p.n, p.k, p.x, p.y)
			k.Schedule = For(k, machine, Options{Launched: true})
			show(k, "  "+cpu)
			if err := Check(k, machine, k.Schedule); err != nil {
				t.Errorf("%s, for %s: %v", p.name, cpu, err)
			}
			again := readBack(t, k)
			plan := func(k *kernel.Kernel) MatmulPlan {
				one := *MatmulOf(analysis.ContractionOf(k), MatmulForm(k.Schedule))
				one.Contraction = nil
				return one
			}
			if !reflect.DeepEqual(plan(again), plan(k)) {
				t.Errorf("%s, for %s: planned as %+v, read as %+v", p.name, cpu, plan(k), plan(again))
			}
		}
		k := productOf(t, p.dtype, p.m, p.n, p.k, p.x, p.y)
		c := analysis.ContractionOf(k)
		d, rejected := MatmulBlocks(c, &profile.Base().GPU)
		k.Schedule = &kernel.Schedule{Rejected: rejected}
		if d != nil {
			k.Schedule.Directives = []*kernel.Directive{d}
			if err := CheckMatmulBlocks(c, d); err != nil {
				t.Errorf("%s, for devices: %v", p.name, err)
			}
		}
		show(k, "  a device")
	}
	const file = "testdata/products.txt"
	if *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if out.String() != string(want) {
		t.Errorf("%s differs (go test -update rewrites it):\n%s", file, out.String())
	}
}

// halves is a product of bf16 of 60 rows, 60 columns and chains of so many steps.
func halves(t *testing.T, steps int) *kernel.Kernel {
	t.Helper()
	text := strings.ReplaceAll(`kernels "t"
kernel @k(in x: bf16[60, (K)], in y: bf16[(K), 60], out z: bf16[60, 60]) over %0 in 0..60, %1 in 0..60 {
  contract %21 by %22 rows %0 columns %1 along %8
  %2: f32 = const 0.0
  %3: i64 = const 31
  %4: i64 = const 0
  %5: f32, %6: f32, %7: f32 = loop %8 in 0..(K) carry %9: f32 = %2, %10: f32 = %2, %11: f32 = %2 {
    %12: i64 = and %8, %3
    %13: bool = eq %12, %4
    %14: f32 = add %10, %11
    %15: f32 = add %9, %14
    %16: f32 = select %13, %15, %9
    %17: f32 = select %13, %2, %10
    %18: f32 = select %13, %2, %11
    %19: bf16 = load x[(K)*%0 + %8]
    %20: bf16 = load y[%1 + 60*%8]
    %21: f32 = cast %19
    %22: f32 = cast %20
    %23: f32 = fma %21, %22, %17
    next %16, %18, %23
  }
  %24: f32 = add %6, %7
  %25: f32 = add %5, %24
  %26: bf16 = cast %25
  store z[60*%0 + %1], %26
}`, "(K)", fmt.Sprint(steps))
	km, errs := kernel.Parse(diag.NewFile("test.kernels", text))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	return km.Kernels[0]
}

// TestPieces: the pieces that are decided fit the chains, whatever their length and that of the pieces of a profile.
func TestPieces(t *testing.T) {
	tiles := 0
	for _, cpu := range []string{"x86-64-v3", "x86-64-v4", "sapphirerapids"} {
		for _, long := range []int{16, 100, 300, 512} {
			machine := target.MachineOf(codegen.Target{CPU: cpu})
			machine.Profile = machine.Profile.Clone()
			machine.Profile.Matmul.PieceSteps, machine.Profile.Matmul.BesideSteps = long, long
			for steps := 1; steps < 1000; steps += 31 {
				n := fmt.Sprint(steps)
				for _, k := range []*kernel.Kernel{halves(t, steps),
					productOf(t, "f32", "60", "60", n, n+"*%0 + %4", "60*%4 + %1"),
					productOf(t, "i8", "60", "60", n, n+"*%0 + %4", "60*%4 + %1")} {
					k.Schedule = For(k, machine, Options{Launched: true})
					if err := Check(k, machine, k.Schedule); err != nil {
						t.Errorf("%d steps in pieces of %d for %s: %v", steps, long, cpu, err)
					}
					if d := MatmulForm(k.Schedule); d != nil && d.Get("amx") != 0 && d.Get("fours") == 0 {
						tiles++
					}
				}
			}
		}
	}
	if tiles < 100 {
		t.Errorf("%d of the products of bf16 are in tile registers", tiles)
	}
}

// TestUnitWork: what the units of a product are estimated to take goes by the elements that an instruction takes.
func TestUnitWork(t *testing.T) {
	work := func(k *kernel.Kernel, cpu string) int64 {
		s := For(k, target.MachineOf(codegen.Target{CPU: cpu}), Options{Launched: true})
		p := MatmulOf(ProductOf(k, Options{Launched: true}), MatmulForm(s))
		return p.Units() * p.UnitWork()
	}
	bytes := productOf(t, "i8", "512", "512", "512", "512*%0 + %4", "512*%4 + %1")
	plain := work(bytes, "x86-64-v4")
	for cpu, times := range map[string]int64{"icelake-server": 4, "sapphirerapids": 16} {
		if got := work(bytes, cpu); got < plain/times-plain/100 || got > plain/times+plain/100 {
			t.Errorf("%s: %d, and %d without products of bytes: not %d times as fast", cpu, got, plain, times)
		}
	}
	bf16 := halves(t, 512)
	if plain, got := work(bf16, "x86-64-v4"), work(bf16, "sapphirerapids"); got < plain/9 || got > plain/7 {
		t.Errorf("%d with tile registers for bf16, %d without", got, plain)
	}
}

// TestUnitAlign: calls of a product get so many units that copies take no more than half as long.
func TestUnitAlign(t *testing.T) {
	for _, c := range []struct {
		dtype, n, cpu string
		want          int64
	}{
		{"i8", "256", "sapphirerapids", 8}, // half of the columns, for which all rows are read
		{"i8", "1024", "sapphirerapids", 2},
		{"f32", "128", "x86-64-v4", 1}, // nothing is copied
		{"f32", "256", "x86-64-v4", 1},
		{"f32", "1024", "x86-64-v3", 1},
	} {
		k := productOf(t, c.dtype, c.n, c.n, c.n, c.n+"*%0 + %4", c.n+"*%4 + %1")
		s := For(k, target.MachineOf(codegen.Target{CPU: c.cpu}), Options{Launched: true})
		p := MatmulOf(ProductOf(k, Options{Launched: true}), MatmulForm(s))
		if got := p.UnitAlign(); got != c.want || p.Units()%got != 0 {
			t.Errorf("%s %s: calls begin at multiples of %d of %d units, not of %d", c.dtype, c.n, got, p.Units(),
				c.want)
		}
	}
}

// readBack is a kernel as its text says.
func readBack(t *testing.T, k *kernel.Kernel) *kernel.Kernel {
	t.Helper()
	m := &kernel.Module{Name: "t", Dims: []string{"M", "N", "K"}, Kernels: []*kernel.Kernel{k}}
	again, errs := kernel.Parse(diag.NewFile("again.kernels", m.String()))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	if err := kernel.Verify(again); err != nil {
		t.Fatal(err)
	}
	return again.Kernels[0]
}

// TestWrongProducts: what does not fit is refused, with what is wrong.
func TestWrongProducts(t *testing.T) {
	avx2 := target.MachineOf(codegen.Target{CPU: "x86-64-v3"})
	plain := func() *kernel.Kernel {
		return productOf(t, "f32", "64", "96", "128", "128*%0 + %4", "96*%4 + %1")
	}
	across := func() *kernel.Kernel {
		return productOf(t, "f32", "64", "96", "128", "64*%4 + %0", "128*%1 + %4")
	}
	row := func() *kernel.Kernel { return productOf(t, "f32", "1", "96", "128", "%4", "96*%4 + %1") }
	bytes := func() *kernel.Kernel {
		return productOf(t, "i8", "64", "96", "128", "128*%0 + %4", "96*%4 + %1")
	}
	const good = "matmul %4 rows 4 vectors 2 width 8 piece 128 block 96 chunk 64"
	for _, c := range []struct {
		k       func() *kernel.Kernel
		text    string
		machine target.Machine
		want    string
	}{
		{plain, good, avx2, ""},
		{plain, good + " { packrows band 16 beside 1 packcolumns along 1 }", avx2, ""},
		{plain, "matmul %0 rows 4 vectors 2 width 8 piece 128 block 96 chunk 64", avx2, "speaks of another loop"},
		{plain, good, target.MachineOf(codegen.Target{CPU: "x86-64"}), "no fused multiply-add"},
		{plain, "matmul %4 rows 4 vectors 2 width 16 piece 128 block 96 chunk 64", avx2, "power of two from 2 to 8"},
		{plain, "matmul %4 rows 64 vectors 2 width 8 piece 128 block 96 chunk 64", avx2, "a tile of 64 rows by 2"},
		{plain, "matmul %4 rows 4 vectors 2 width 8 piece 129 block 96 chunk 64", avx2, "from 1 to the 128 steps"},
		{plain, "matmul %4 rows 4 vectors 2 width 8 piece 128 block 100 chunk 64", avx2, "whole panels of 16 columns"},
		{plain, "matmul %4 rows 4 vectors 2 width 8 piece 128 block 96 chunk 65", avx2, "whole tiles of 4 rows"},
		{plain, good + " { packrows band 6 }", avx2, "band is 6"},
		{plain, "matmul %4 rows 4 vectors 2 width 8 piece 128 block 16000 chunk 64 { packcolumns }", avx2, "KiB"},
		{plain, "matmul %4 rows 4 vectors 2 width 8 piece 64 block 96 chunk 64 pairs 1 { packrows packcolumns }", avx2,
			"not cast from integers"},
		{plain, "matmul %4 rows 4 vectors 2 width 8 piece 32 block 96 chunk 64 fours 1 { packrows packcolumns }",
			target.MachineOf(codegen.Target{CPU: "alderlake"}), "not cast from integers of 8 bits"},
		{bytes, "matmul %4 rows 4 vectors 2 width 8 piece 32 block 96 chunk 64 fours 1 { packrows packcolumns }", avx2,
			"the processor has none"},
		{bytes, "matmul %4 rows 4 vectors 2 width 8 piece 33 block 96 chunk 64 fours 1 { packrows packcolumns }",
			target.MachineOf(codegen.Target{CPU: "alderlake"}), "from 1 to the 32 steps"},
		{bytes, "matmul %4 rows 4 vectors 2 width 4 piece 32 block 96 chunk 64 fours 1 { packrows packcolumns }",
			target.MachineOf(codegen.Target{CPU: "alderlake"}), "in vectors of 8"},
		{bytes, "matmul %4 rows 4 vectors 2 width 8 piece 32 block 96 chunk 64 pairs 1 fours 1 " +
			"{ packrows packcolumns }", target.MachineOf(codegen.Target{CPU: "alderlake"}), "pairs or fours"},
		{bytes, "matmul %4 rows 4 vectors 2 width 8 piece 32 block 96 chunk 64 fours 1 { packrows packcolumns }",
			target.MachineOf(codegen.Target{CPU: "alderlake"}), ""},
		{bytes, "matmul %4 rows 32 vectors 2 width 16 piece 32 block 96 chunk 64 fours 1 amx 1 " +
			"{ packrows packcolumns }",
			target.MachineOf(codegen.Target{CPU: "sapphirerapids"}), ""},
		{bytes, "matmul %4 rows 32 vectors 2 width 16 piece 32 block 96 chunk 64 fours 1 amx 1 " +
			"{ packrows packcolumns }",
			target.MachineOf(codegen.Target{CPU: "znver5"}), "no tile registers"},
		{bytes, "matmul %4 rows 33 vectors 2 width 16 piece 32 block 96 chunk 66 fours 1 amx 1 " +
			"{ packrows packcolumns }",
			target.MachineOf(codegen.Target{CPU: "sapphirerapids"}), "32 rows by 2 vectors"},
		{bytes, "matmul %4 rows 32 vectors 2 width 16 piece 8 block 96 chunk 64 fours 1 amx 1 " +
			"{ packrows packcolumns }",
			target.MachineOf(codegen.Target{CPU: "sapphirerapids"}), "chains go by 16 steps"},
		{bytes, "matmul %4 rows 32 vectors 2 width 16 piece 32 block 96 chunk 64 fours 1 amx 1 " +
			"{ packrows beside 1 packcolumns }", target.MachineOf(codegen.Target{CPU: "sapphirerapids"}),
			"rows along the chains"},
		{plain, "matmul %4 rows 4 vectors 2 width 8 piece 128 block 96 chunk 64 together 1", avx2,
			"for products of integers"},
		{plain, "axpy %4 width 8 block 96 rows 8", avx2, "64 rows, not one"},
		{plain, "threads tasks 3", avx2, "shared out in"},
		{across, good + " { packrows }", avx2, "packcolumns is missing"},
		{row, "axpy %4 width 8 block 96 rows 8", avx2, ""},
		{row, "axpy %4 width 8 block 96 rows 8 { packcolumns }", avx2, "is not packed"},
		{row, "axpy %4 width 8 block 1000000 rows 8", avx2, "block is 1000000"},
		{row, "dot %4 width 8 vectors 1", avx2, "does not lie along the chains"},
		{row, good, avx2, "one row has no tiles"},
	} {
		text := strings.TrimSuffix(c.k().String(), "}\n") + "  schedule { " + c.text + " }\n}\n"
		km, errs := kernel.Parse(diag.NewFile("test.kernels", "kernels \"t\"\n"+text))
		if errs.Err() != nil {
			t.Fatal(errs)
		}
		if err := kernel.Verify(km); err != nil {
			t.Fatal(err)
		}
		k := km.Kernels[0]
		err := Check(k, c.machine, k.Schedule)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, and not %q", c.text, err, c.want)
		}
	}
}

package llvm

import (
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/lang/diag"
)

// TestDigits: processors with IFMA multiply digits of 52 bits, others take the other arm.
func TestDigits(t *testing.T) {
	m, errs := kernel.Parse(diag.NewFile("t.kernels", `kernels "t"
kernel @k(in p: u64[], in x: u64[1000], out y: u64[1000]) over %0 in 0..1000 {
  %1: u64 = load p[0]
  %2: u64 = const 1125899906842624
  %3: u64 = const 0
  %4: bool = lt %1, %2
  %5: bool = digits52 %4
  %6: u64 = load x[%0]
  %7: u64 = if %5 {
    %8: u64 = mul52hi %6, %1, %3
    yield %8
  } else {
    %9: u64 = sub %6, %1
    yield %9
  }
  %10: bool = const true
  %11: bool = digits52 %10
  %12: u64 = if %11 {
    %13: u64 = mul52hi %7, %7, %3
    yield %13
  } else {
    %14: u64 = sub %7, %1
    yield %14
  }
  store y[%0], %12
}`))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	if !transform.HasDigits(m.Kernels[0]) {
		t.Error("no digits")
	}
	for _, c := range []struct {
		cpu, features string
		fast          bool
	}{{"x86-64", "", false}, {"x86-64-v3", "", false}, {"x86-64-v4", "", false}, {"x86-64-v4", "+avx512ifma", true},
		{"icelake-server", "", true}} {
		target := codegen.Target{Kind: "cpu", Triple: "x86_64-linux-gnu", CPU: c.cpu, Features: c.features}
		asm, err := Compile(m, target, libllvm.Assembly)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(asm), "vpmadd52huq"); got != c.fast {
			t.Errorf("%s %s: multiply-adds of 52 bits: %v\n%s", c.cpu, c.features, got, asm)
		}
		if got := strings.Contains(string(asm), "mul"); got && !c.fast {
			t.Errorf("%s %s multiplies digits by other products:\n%s", c.cpu, c.features, asm)
		}
	}
}

// TestDoubles: processors with fused multiply-adds and without IFMA multiply residues below 2^50 as doubles, others go
// the other way, and a constant modulus that is too large rules it out.
func TestDoubles(t *testing.T) {
	text := `kernels "t"
kernel @k(in p: u64[], in x: f64[1000], out y: f64[1000]) over %0 in 0..1000 {
  %1: u64 = load p[0]
  %2: u64 = const 1125899906842624
  %3: bool = CONDITION
  %4: bool = doubles %3
  %5: f64 = load x[%0]
  %6: f64 = if %4 {
    %7: f64 = fma %5, %5, %5
    yield %7
  } else {
    %8: f64 = sub %5, %5
    yield %8
  }
  store y[%0], %6
}`
	for _, c := range []struct {
		cpu, features, condition string
		doubles                  bool
	}{
		{"x86-64", "", "lt %1, %2", false}, {"x86-64-v3", "", "lt %1, %2", true},
		{"x86-64-v3", "", "const false", false}, {"x86-64-v4", "", "lt %1, %2", true},
		{"x86-64-v4", "+avx512ifma", "lt %1, %2", false}, {"x86-64-v3", "-fma", "lt %1, %2", false},
	} {
		m, errs := kernel.Parse(diag.NewFile("t.kernels", strings.ReplaceAll(text, "CONDITION", c.condition)))
		if errs.Err() != nil {
			t.Fatal(errs)
		}
		asm, err := Compile(m, codegen.Target{Kind: "cpu", Triple: "x86_64-linux-gnu", CPU: c.cpu,
			Features: c.features}, libllvm.Assembly)
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(asm), "vfmadd"); got != c.doubles {
			t.Errorf("%s %s, %s: fused multiply-adds: %v\n%s", c.cpu, c.features, c.condition, got, asm)
		}
	}
}

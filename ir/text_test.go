package ir_test

import (
	"strings"
	"testing"

	"healc/ir"
	"healc/lang/diag"
	"healc/tests/claims"
)

// parse reads IR text that has to be right.
func parse(t testing.TB, text string) *ir.Module {
	t.Helper()
	m, list := ir.Parse(diag.NewFile("test.ir", text))
	if list.HasErrors() {
		t.Fatalf("%s", list.Error())
	}
	return m
}

// canonical holds every construct of the text form, as Print writes it.
const canonical = `module "every construct"

func @poly[M, N](%x: f32[M, N+1], %y: f32[2*M*N-3]) -> (f32[M, N+1], f32[2*M*N-3]) {
  return %x, %y
}

func @scalars(%0: i32) -> f32 {
  %1: f32[2, 3] = const {value = f32[2, 3] [[1.0, -0.0, nan], [inf, -inf, 1e-45]]}
  %2: f64 = const {value = f64 0.1}
  %3: f16[3] = const {value = f16[3] [6.55e+04, 6e-08, 0.1]}
  %4: bf16[1] = const {value = bf16[1] [3.39e+38]}
  %5: bool[2] = const {value = bool[2] [true, false]}
  %6: i8 = const {value = i8 -128}
  %7: u64 = const {value = u64 18446744073709551615}
  %8: f32[0, 3] = const {value = f32[0, 3] []}
  %9: f32[2, 0] = const {value = f32[2, 0] []}
  %10: string = const {value = string "a \"b\"\n"}
  %11: f32 = index %1, %0, %0 {axes = [0, 1]}
  return %11
}

pub func @row_sums[M, N](%x: f32[M, N]) -> f32[M] {
  %0: f32[M, 1] = reduce_sum %x {axes = [1], keep = true}
  %1: f32[M] = reshape %0 {shape = [M]}
  %2: f32[M] = tabulate {shape = [M]} ^(%i: i32) {
    %3: f32 = index %1, %i {axes = [0]}
    yield %3
  }
  %4: f32[M] = tabulate {shape = [M]} ^(%i: i32) {
    %5: f32 = index %2, %i {axes = [0]}
    %6: f32[2] = tabulate {shape = [2]} ^(%7: i32) {
      yield %5
    }
    %8: f32 = reduce_sum %6 {axes = [0]}
    yield %8
  }
  return %4
}

pub io func @main(%c: bool, %x.0: i32, %x.1: i32) -> () {
  %0: i32, %1: i32 = if %c ^() {
    yield %x.0, %x.1
  } ^() {
    yield %x.1, %x.0
  }
  print %0
  %2: f32[5] = call %0 {callee = "odd name()", dims = [5, 7], results = [f32[5]]}
  if %c ^() {
    yield
  } ^() {
    print %2
    yield
  }
  return
}

func @"odd name()"[A, B](%x: i32) -> f32[A] {
  %0: f32 = cast %x {to = f32}
  %1: f32[A] = broadcast %0 {shape = [A]}
  return %1
}
`

func TestPrintParse(t *testing.T) {
	m := parse(t, canonical)
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	if got := m.String(); got != canonical {
		t.Errorf("printing what was parsed gives other text:\n%s", got)
	}
	if got := m.Clone().String(); got != canonical {
		t.Errorf("printing a clone gives other text:\n%s", got)
	}
}

// Ids and blanks of the text are free; printing numbers values anew.
func TestParseFree(t *testing.T) {
	m := parse(t, `module "m" func @f(%7:f32,%b:f32[ ])->(f32){%q:f32=add %7,%b // a comment
		return %q}`)
	want := "module \"m\"\n\nfunc @f(%0: f32, %b: f32) -> f32 {\n  %1: f32 = add %0, %b\n  return %1\n}\n"
	if got := m.String(); got != want {
		t.Errorf("got:\n%s", got)
	}
}

func TestPrintLoc(t *testing.T) {
	m := parse(t, "module \"m\"\nfunc @f(%a: f32) -> f32 {\n  %b: f32 = neg %a\n  return %b\n}\n")
	var b strings.Builder
	if err := ir.Print(&b, m, ir.PrintOptions{Loc: true}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"%0: f32 = neg %a // test.ir:3:3\n", "{ // test.ir:2:1\n"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
	if got := parse(t, b.String()).String(); got != m.String() {
		t.Errorf("positions change what is parsed:\n%s", got)
	}
}

func TestParseErrors(t *testing.T) {
	fn := func(body string) string { return "module \"m\"\nfunc @f(%a: f32, %n: i32) -> f32 {\n" + body + "\n}\n" }
	for _, c := range []struct{ text, want string }{
		{"", "expected `module`"},
		{"module", "expected a string"},
		{"module \"m\" func f", `expected "@"`},
		{fn("%0: f32 = frob %a return %0"), `there is no operation "frob"`},
		{fn("%0: f32 = add %a, %b return %0"), "%b is not defined here"},
		{fn("%0: f32 = neg %a %0: f32 = neg %a return %0"), "%0 is already defined"},
		{fn("%0: f64 = neg %a return %0"), "neg gives (f32), not (f64)"},
		{fn("%0: f32 = add %a, %n return %0"), "add: "},
		{fn("%0: f32 = add %a return %0"), "2 operands"},
		{fn("%0: f32 = neg %a {axis = 1} return %0"), `neg has no attribute "axis"`},
		{fn("%0: f32[2] = broadcast %a return %0"), "attribute shape"},
		{fn("%0: f32[2] = broadcast %a {shape = [2], shape = [2]} return %0"), `attribute "shape" is given twice`},
		{fn("%0: i8 = const {value = i8 200} return %a"), "200"},
		{fn("%0: i8[2] = const {value = i8[2] [1]} return %a"), "has 1 elements, not 2"},
		{fn("%0: f32[N*] = neg %a return %0"), "bad extent"},
		{fn("%0: f32[4000000000] = broadcast %a {shape = [4000000000]} return %0"), "broadcast: "},
		{fn("return %a"), "expected"},
		{fn("%0: f32 = tabulate {shape = []} ^() { yield %a } %1: f32 = neg %z return %0") + "x",
			"%z is not defined here"},
	} {
		if strings.HasSuffix(c.text, "return %a\n}\n") && c.want == "expected" {
			c.text = strings.TrimSuffix(c.text, "}\n")
		}
		_, list := ir.Parse(diag.NewFile("test.ir", c.text))
		if !list.HasErrors() {
			t.Errorf("no error for:\n%s", c.text)
		} else if !strings.Contains(list.Error(), c.want) {
			t.Errorf("no %q in the errors of:\n%s\n%s", c.want, c.text, list.Error())
		}
	}
}

// FuzzParseIR: the parser never panics, and a module that parses and verifies prints and parses as itself.
func FuzzParseIR(f *testing.F) {
	f.Add(canonical)
	for _, fn := range strings.Split(canonical, "\n\n")[1:] {
		f.Add("module \"m\"\n" + fn)
	}
	f.Add(`module "m" func @f(%x: f32[N]) -> f32 { %a: f32 = reduce_sum %x {axes=[0]} return %a }`)
	f.Fuzz(func(t *testing.T, text string) {
		enough := claims.Within(t, len(text), 16<<20, 1000)
		m, list := ir.Parse(diag.NewFile("fuzz.ir", text))
		enough()
		if list.HasErrors() || ir.Verify(m) != nil {
			return
		}
		once := m.String()
		again := parse(t, once)
		if err := ir.Verify(again); err != nil {
			t.Fatalf("%v\nfrom:\n%s", err, once)
		}
		if twice := again.String(); twice != once {
			t.Fatalf("printed:\n%s\nand again:\n%s", once, twice)
		}
	})
}

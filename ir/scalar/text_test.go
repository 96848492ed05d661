package scalar_test

import (
	"math"
	"strings"
	"testing"

	"healc/ir/scalar"
	"healc/ir/scalar/scalartest"
	"healc/lang/types"
	"healc/tests/claims"
)

func TestFormatBits(t *testing.T) {
	for _, c := range []struct {
		dtype types.DType
		bits  uint64
		want  string
	}{
		{types.Bool, 1, "true"}, {types.I8, 0xff, "-1"}, {types.U8, 0xff, "255"},
		{types.I64, 1 << 63, "-9223372036854775808"},
		{types.F32, scalar.FloatBits(types.F32, 0.1), "0.1"}, {types.F64, scalar.FloatBits(types.F64, 0.1), "0.1"},
		{types.F16, scalar.FloatBits(types.F16, 0.1), "0.1"},
		{types.F32, scalar.FloatBits(types.F32, 3), "3.0"}, {types.F32, scalar.FloatBits(types.F32, 1e30), "1e+30"},
		{types.F64, 1 << 63, "-0.0"},
		{types.F32, 0x7fc00000, "nan"}, {types.F32, 0xffc00001, "nan(0xffc00001)"}, {types.BF16, 0x7f80, "inf"},
		{types.F64, scalar.FloatBits(types.F64, math.Inf(-1)), "-inf"},
	} {
		if got := scalar.FormatBits(c.dtype, c.bits); got != c.want {
			t.Errorf("%s %#x: %q, want %q", c.dtype, c.bits, got, c.want)
		}
	}
}

func TestBitsRoundTrip(t *testing.T) {
	check := func(d types.DType, b uint64) {
		s := scalar.FormatBits(d, b)
		if got, err := scalar.ParseBits(d, s); err != nil || got != b {
			t.Errorf("%s %#x prints as %q, which reads as %#x, %v", d, b, s, got, err)
		}
	}
	for _, d := range types.DTypes {
		for _, b := range scalartest.Edges(d) {
			check(d, b)
		}
		if d.Bits() == 16 {
			for b := range uint64(1 << 16) {
				check(d, b)
			}
		}
	}
}

func TestParseBitsErrors(t *testing.T) {
	for _, c := range []struct {
		dtype types.DType
		text  string
	}{
		{types.I8, "128"}, {types.U8, "-1"}, {types.Bool, "1"}, {types.F32, "1e99"}, {types.F32, "x"},
		{types.F32, "nan(3)x"},
		{types.F16, "nan(0x12345)"}, {types.F32, "nan(0x3f800000)"}, {types.F16, "65520"}, {types.F16, "-65520"},
		{types.String, "a"}, {types.I32, ""}, {types.F64, ""},
	} {
		if b, err := scalar.ParseBits(c.dtype, c.text); err == nil {
			t.Errorf("%s %q reads as %#x", c.dtype, c.text, b)
		}
	}
}

const sample = `func(f32, i32) {
  %0: f32 = param 0
  %1: i32 = param 1
  %2: f32 = const 1.5
  %3: f32 = cast %1
  %4: f32 = fma %0, %2, %3
  %5: bool = lt %4, %0
  check index %5
  %7: f32 = select %5, %4, %0
  return %7
}
`

func TestSample(t *testing.T) {
	f, err := scalar.ParseFunc("// blanks and comments do not count\n" + strings.ReplaceAll(sample, "  ", "\t") + "\n")
	if err != nil {
		t.Fatal(err)
	}
	if got := f.String(); got != sample {
		t.Errorf("got\n%s", got)
	}
	out, cerr := scalar.Eval(f, scalar.FloatBits(types.F32, -2), scalar.IntBits(types.I32, -3))
	if cerr != nil || out[0] != scalar.FloatBits(types.F32, -6) {
		t.Errorf("got %v, %v", out, cerr)
	}
}

// TestParseErrors: each change of the sample is an error that says so.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct{ old, new, want string }{
		{"func(f32, i32) {", "func f32", "line 1: expected func"},
		{"func(f32, i32)", "func(f32, int)", `line 1: "int" is not a type`},
		{"fma", "mad", `line 6: "mad" is not an instruction`},
		{"fma %0, %2, %3", "fma %0, %2", "line 6: fma has 3 operands, not 2"},
		{"fma %0, %2, %3", "fma %0, %2, %9", `line 6: "%9" is not a value`},
		{"%3: f32 = cast", "%2: f32 = cast", "line 5: %2 is defined twice"},
		{"%3: f32 = cast", "3: f32 = cast", "line 5: expected %name"},
		{"const 1.5", "const x", `line 4: "x" is not a value of type f32`},
		{"param 1", "param -1", `line 3: "-1" is not the position`},
		{"param 1", "param 7", "%1 (param): there is no parameter 7"},
		{"check index", "check indices", `line 8: "indices" is not a kind of check`},
		{"check index", "%6: bool = check index", "line 8: check: a check has no result"},
		{"%3: f32 = cast", "cast", "line 5: cast: a check has no result"},
		{"}", "} more", `line 11: unexpected "} more"`},
		{"}\n", "", "the text ends before"},
		{"lt %4, %0", "lt %4, %1", "%5 (lt): an operand is i32, not f32"},
		{"%5: bool = lt", "%5: f32 = lt", "%5 (lt): the result is f32, not bool"},
		{"%7: f32 = select %5", "%7: f32 = select %0", "%7 (select): the condition is f32"},
		{"%3: f32 = cast", "%3: f64 = cast", "%4 (fma): an operand is f64"},
		{"%3: f32 = cast", "%3: string = cast", "%3 (cast): a result cannot be string"},
		{"%3: f32 = cast", "%3: u16 = bitcast", "%3 (bitcast): i32 and u16 differ in width"},
		{"%3: f32 = cast %1", "%3: f32 = and %0, %0", "%3 (and): it is not defined on f32"},
	} {
		text := strings.Replace(sample, c.old, c.new, 1)
		if text == sample {
			t.Fatalf("%q does not occur", c.old)
		}
		if _, err := scalar.ParseFunc(text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("with %q: got %v, want %q", c.new, err, c.want)
		}
	}
}

// TestVerifyStructure has what the text form cannot express.
func TestVerifyStructure(t *testing.T) {
	none := [3]scalar.Ref{scalar.None, scalar.None, scalar.None}
	first := [3]scalar.Ref{0, scalar.None, scalar.None}
	one := scalar.Instr{Op: scalar.Const, Type: types.I8, Args: none, Imm: 1}
	for _, c := range []struct {
		f    scalar.Func
		want string
	}{
		{scalar.Func{Instrs: []scalar.Instr{{Op: scalar.Neg, Type: types.I8, Args: first}}},
			"operand %0 is not a value"},
		{scalar.Func{Instrs: []scalar.Instr{one,
			{Op: scalar.Add, Type: types.I8, Args: [3]scalar.Ref{0, scalar.None, 0}}}},
			"operand 1 is missing"},
		{scalar.Func{Instrs: []scalar.Instr{{Op: scalar.Const, Type: types.I8, Args: none, Imm: 256}}},
			"the bits 0x100 do not fit i8"},
		{scalar.Func{Instrs: []scalar.Instr{one}, Results: []scalar.Ref{3}}, "result %3 is not a value"},
		{scalar.Func{Instrs: []scalar.Instr{one, {Op: scalar.Nop, Args: none}}, Results: []scalar.Ref{1}},
			"result %1 is not a value"},
		{scalar.Func{Instrs: []scalar.Instr{{Op: scalar.NumOps, Type: types.I8, Args: none}}},
			"there is no instruction"},
		{scalar.Func{Instrs: []scalar.Instr{{Op: scalar.Const, Type: types.Bool, Args: none},
			{Op: scalar.Check, Args: first}}},
			"there is no check kind 0"},
		{scalar.Func{Instrs: []scalar.Instr{{Op: scalar.Const, Type: types.Bool, Args: none},
			{Op: scalar.Check, Type: types.I8, Args: first, Imm: 1}}}, "it has no result"},
	} {
		if err := scalar.Verify(&c.f); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %q", err, c.want)
		}
	}
}

func FuzzParseFunc(f *testing.F) {
	f.Add(sample)
	f.Add("func() {\n%a: f16 = const nan(0x7e01)\nreturn %a, %a\n}")
	f.Fuzz(func(t *testing.T, text string) {
		enough := claims.Within(t, len(text), 16<<20, 1000)
		fn, err := scalar.ParseFunc(text)
		enough()
		if err != nil {
			return
		}
		again, err := scalar.ParseFunc(fn.String())
		if err != nil || again.String() != fn.String() {
			t.Errorf("%q prints as\n%s\n%v", text, fn, err)
		}
	})
}

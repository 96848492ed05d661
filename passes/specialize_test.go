package passes

import (
	"errors"
	"fmt"
	"math/rand"
	"strings"
	"testing"

	"healc/ir"
)

const polymorphic = `module "m"

pub func @f[M, N](%x: f32[M, N]) -> (f32[N, M], f32[M*N-1]) {
  %0: f32[M*N] = reshape %x {shape = [M*N]}
  %1: f32[M*N-1] = slice %0 {starts = [1], steps = [1], shape = [M*N-1]}
  %2: f32[N, M] = permute %x {perm = [1, 0]}
  return %2, %1
}
`

func TestSpecialize(t *testing.T) {
	m := parse(t, "test.ir", polymorphic)
	before := m.Clone()
	if err := Specialize(m, "f", map[string]int64{"M": 2, "N": 3}); err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	want := `module "m"

pub func @f(%x: f32[2, 3]) -> (f32[3, 2], f32[5]) {
  %0: f32[6] = reshape %x {shape = [6]}
  %1: f32[5] = slice %0 {starts = [1], steps = [1], shape = [5]}
  %2: f32[3, 2] = permute %x {perm = [1, 0]}
  return %2, %1
}
`
	if m.String() != want {
		t.Errorf("got:\n%s", m)
	}
	sameMeaning(t, rand.New(rand.NewSource(1)), before, m, "f", map[string]int64{"M": 2, "N": 3})
}

// Parameters that are not bound stay.
func TestSpecializePartly(t *testing.T) {
	m := parse(t, "test.ir", polymorphic)
	if err := Specialize(m, "f", map[string]int64{"M": 2}); err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	if got := m.String(); !strings.Contains(got, "pub func @f[N](%x: f32[2, N]) -> (f32[N, 2], f32[2*N-1])") {
		t.Errorf("got:\n%s", got)
	}
}

// A recursive function that stays a call gets one instance for each list of extents, also of its own calls.
func TestSpecializeCalls(t *testing.T) {
	m := parse(t, "test.ir", `module "m"

func @down[K](%n: i32) -> i32 {
  %0: i32 = dim {dim = K}
  %1: bool = lt %n, %0
  %2: i32 = if %1 ^() {
    yield %n
  } ^() {
    %3: i32 = sub %n, %0
    %4: i32 = call %3 {callee = "down", dims = [K], results = [i32]}
    yield %4
  }
  return %2
}

func @unused() -> i32 {
  %0: i32 = const {value = i32 0}
  return %0
}

func @f[N](%x: f32[N], %n: i32) -> i32 {
  %0: i32 = call %n {callee = "down", dims = [N+1], results = [i32]}
  %1: i32 = call %0 {callee = "down", dims = [2], results = [i32]}
  return %1
}
`)
	if err := Specialize(m, "f", map[string]int64{"N": 4}); err != nil {
		t.Fatal(err)
	}
	if err := ir.Verify(m); err != nil {
		t.Fatal(err)
	}
	var heads []string
	for _, line := range strings.Split(m.String(), "\n") {
		if strings.HasPrefix(line, "func ") || strings.Contains(line, "call") {
			heads = append(heads, strings.TrimSpace(line))
		}
	}
	want := `func @f(%x: f32[4], %n: i32) -> i32 {
%0: i32 = call %n {callee = "down$5", dims = [], results = [i32]}
%1: i32 = call %0 {callee = "down$2", dims = [], results = [i32]}
func @down$5(%n: i32) -> i32 {
%4: i32 = call %3 {callee = "down$5", dims = [], results = [i32]}
func @down$2(%n: i32) -> i32 {
%4: i32 = call %3 {callee = "down$2", dims = [], results = [i32]}`
	if got := strings.Join(heads, "\n"); got != want {
		t.Errorf("got:\n%s", got)
	}
}

func TestBindErrors(t *testing.T) {
	slice := `module "m"
func @f[N](%x: f32[N]) -> f32[5] {
  %0: f32[5] = slice %x {starts = [0], steps = [1], shape = [5]}
  return %0
}
`
	cases := []struct {
		name, text string
		bind       map[string]int64
		want       string
		line       int
	}{
		{"slice", slice, map[string]int64{"N": 3}, "slice is out of range", 3},
		{"negative result", polymorphic, map[string]int64{"M": 0, "N": 3}, "(with M = 0, N = 3)", 5},
		{"negative parameter", "module \"m\"\nfunc @f[N](%x: f32[N-2]) -> () {\n  return\n}\n",
			map[string]int64{"N": 1}, "N = 1", 2},
		{"too large", "module \"m\"\nfunc @f[N](%x: f32[N*N]) -> () {\n  return\n}\n", map[string]int64{"N": 1 << 20},
			"N = 1048576", 2},
		{"overflow", "module \"m\"\nfunc @f[N](%x: f32[N*N*N*N]) -> () {\n  return\n}\n",
			map[string]int64{"N": 1 << 20}, "overflows 64 bits", 2},
		{"unknown parameter", slice, map[string]int64{"K": 3}, "K is no shape parameter of f", 2},
		{"out of bounds", slice, map[string]int64{"N": -1}, "the extent N = -1 is not from 0", 2},
		{"endless", `module "m"
func @g[K](%n: i32) -> i32 {
  %0: i32 = call %n {callee = "g", dims = [K+1], results = [i32]}
  return %0
}
func @f[N](%n: i32) -> i32 {
  %0: i32 = call %n {callee = "g", dims = [N], results = [i32]}
  return %0
}
`, map[string]int64{"N": 0}, "more than 1000 different shapes", 3},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			err := Specialize(parse(t, "test.ir", c.text), "f", c.bind)
			var b *BindError
			if !errors.As(err, &b) {
				t.Fatalf("got %v", err)
			}
			if !strings.Contains(err.Error(), c.want) {
				t.Errorf("no %q in %q", c.want, err)
			}
			if got := b.Span.Pos().Line; got != c.line {
				t.Errorf("the error is in line %d, not %d", got, c.line)
			}
		})
	}
}

// A rule that breaks under the shape parameters of a call is found when the call is inlined.
func TestInlineBindError(t *testing.T) {
	m := parse(t, "test.ir", `module "m"
func @first[N](%x: f32[N]) -> f32[5] {
  %0: f32[5] = slice %x {starts = [0], steps = [1], shape = [5]}
  return %0
}
func @f(%x: f32[3]) -> f32[5] {
  %0: f32[5] = call %x {callee = "first", dims = [3], results = [f32[5]]}
  return %0
}
`)
	err := Inline(m, "f", func(string, ...any) {})
	var b *BindError
	if !errors.As(err, &b) || !strings.Contains(err.Error(), "(with N = 3)") || b.Span.Pos().Line != 3 {
		t.Errorf("got %v", err)
	}
}

func TestInlineEntry(t *testing.T) {
	text := "module \"m\"\n"
	for i := range 30 { // each calls the next one twice: 2^30 operations
		text += fmt.Sprintf(
			"func @f%d(%%x: f32) -> f32 {\n  %%0: f32 = call %%x {callee = \"f%d\", dims = [], results = [f32]}\n"+
				"  %%1: f32 = call %%0 {callee = \"f%d\", dims = [], results = [f32]}\n  return %%1\n}\n", i, i+1, i+1)
	}
	text += "func @f30(%x: f32) -> f32 {\n  %0: f32 = neg %x\n  return %0\n}\n"
	var large *TooLargeError
	if err := Inline(parse(t, "test.ir", text), "f0", func(string, ...any) {}); !errors.As(err, &large) {
		t.Errorf("got %v", err)
	}
	m := parse(t, "test.ir", strings.Replace(text, `callee = "f20"`, `callee = "f30"`, -1))
	var unknown *UnknownFuncError
	if err := Inline(m.Clone(), "g", func(string, ...any) {}); !errors.As(err, &unknown) {
		t.Errorf("got %v", err)
	}
	m = parse(t, "test.ir", strings.Replace(text, `callee = "f5"`, `callee = "f30"`, -1))
	if err := Inline(m, "f3", func(string, ...any) {}); err != nil || len(m.Funcs) != 1 ||
		len(m.Funcs[0].Body.Ops) != 4 {
		t.Errorf("%v, got:\n%s", err, m)
	}
}

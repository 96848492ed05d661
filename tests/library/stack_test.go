package library

import (
	"fmt"
	"strings"
	"testing"

	"healc/codegen/llvm/aot"
	"healc/tests/sample"
)

// stackSource has kernels that keep copies and sums on the stack, and functions that nest deep: small ones, ones whose
// frames have kilobytes, and ones that ask on every level.
var stackSource = wideFunction(150) + `fn down(n: i32) -> i32 = if n == 0 { 0 } else { 1 + down(n - 1) % 1000 }
pub fn prod[M, K, N](a: f32[M, K], b: f32[K, N]) -> f32[M, N] = a @ b
pub fn sums[M, N](x: f32[M, N]) -> f32[N] = +/[axis=0](x)
pub fn nested(n: i32) -> i32 = down(n)
pub fn broad(n: i32) -> i32 = wide(n)
@io fn ask(n: i32, x: i32) -> i32 = { assert(x < 5); if n == 0 { x } else { 1 + ask(n - 1, mod(x + n, 5)) } }
@io pub fn asking(n: i32) -> i32 = ask(n, 1)
`

// wideFunction is a function `wide` of a depth that keeps so many numbers while it calls itself.
func wideFunction(numbers int) string {
	var params, next, all, first strings.Builder
	for i := range numbers {
		fmt.Fprintf(&params, ", a%d: i32", i)
		fmt.Fprintf(&next, ", a%d * 3 + a%d", i, (i+1)%numbers)
		fmt.Fprintf(&all, " + a%d * (y + %d)", i, i)
		fmt.Fprintf(&first, ", %d", i)
	}
	return fmt.Sprintf(`fn many(n: i32%s) -> i32 = if n < 1 { a0 } else { let y = many(n - 1%s) in y%s }
fn wide(n: i32) -> i32 = many(n%s)
`, &params, &next, &all, &first)
}

// TestSmallStacks: threads of a host with stacks of 128 KiB, which is what musl gives them, may call everything.
func TestSmallStacks(t *testing.T) {
	if !sample.Has(sample.Today(t), 3, 4) {
		t.Skip("it compiles for every level, and has a day of four")
	}
	program := inC(t, "stack", stackSource, []string{"prod", "sums", "nested", "broad", "asking"}, ".so")[0]
	command := []string{program, "generic", "native"}
	for _, level := range aot.Levels {
		command = append(command, level.Name)
	}
	silent(t, command...)
}

package llvm

import (
	"fmt"
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/lang/diag"
)

// TestBranchInBlock: the vectors of a block stand side by side, but not those with a branch that all of a row take the
// same way where there are registers for a loop.
func TestBranchInBlock(t *testing.T) {
	generated := func(cpu string, branch bool) int {
		machine := target.MachineOf(codegen.Target{Kind: "cpu", Triple: "x86_64-linux-gnu", CPU: cpu})
		next := 10
		var b strings.Builder
		chain := func(from int, op string, n int) int {
			for range n {
				next++
				fmt.Fprintf(&b, "%%%d: u64 = %s %%%d\n", next, op, from)
				from = next
			}
			return from
		}
		fmt.Fprint(&b, "kernels \"t\"\nkernel @k(in p: u64[8], in x: u64[8, 4096], out y: u64[8, 4096]) "+
			"over %0 in 0..8 {\n%2: u64 = load p[%0]\n%3: u64 = const 1125899906842624\n%4: bool = lt %2, %3\n"+
			"parallel %1 in 0..4096 {\n%5: u64 = load x[4096*%0 + %1]\n%6: bool = le %2, %5\n%7: u64 = if %6 {\n")
		fmt.Fprintf(&b, "yield %%%d\n} else {\nyield %%5\n}\n", chain(5, "clz", 20))
		result := 7
		if branch {
			fmt.Fprint(&b, "%8: u64 = if %4 {\n")
			fmt.Fprintf(&b, "yield %%%d\n} else {\n", chain(7, "popcnt", 20))
			fmt.Fprintf(&b, "yield %%%d\n}\n", chain(7, "clz", 20))
			result = 8
		} else {
			result = chain(7, "popcnt", 20)
		}
		fmt.Fprintf(&b, "store y[4096*%%0 + %%1], %%%d\n}\n}\n", result)
		m, errs := kernel.Parse(diag.NewFile("t.kernels", b.String()))
		if errs.Err() != nil {
			t.Fatal(errs)
		}
		text, err := Generate(m, Options{Machine: machine})
		if err != nil {
			t.Fatal(err)
		}
		return strings.Count(text, "@llvm.ctpop.v") / 20
	}
	for _, cpu := range []string{"x86-64-v3", "x86-64-v4"} {
		if n := generated(cpu, false); n < 5 {
			t.Errorf("%s: %d vectors, and it should be a block of them and one more", cpu, n)
		}
	}
	if n := generated("x86-64-v3", true); n < 5 {
		t.Errorf("a branch is written for %d vectors, and there are no registers for a loop", n)
	}
	if n := generated("x86-64-v4", true); n < 1 || n > 3 {
		t.Errorf("a branch is written for %d vectors", n)
	}
}

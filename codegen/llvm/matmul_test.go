package llvm

import (
	"fmt"
	"reflect"
	"testing"

	"healc/codegen/schedule"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/lang/diag"
)

// TestContractions says which kernels are scheduled as matrix products, and how: a form that is no longer found
// still gives the right result, many times slower.
func TestContractions(t *testing.T) {
	const product = `kernel @k(in a: f32[64, 96], in b: f32[96, 80], out c: f32[64, 80]) over %0 in 0..64, %1 in 0..80 {
  contract %6 by %7 rows %0 columns %1 along %4
  %2: f32 = const 0.0
  %3: f32 = loop %4 in 0..96 carry %5: f32 = %2 {
    %6: f32 = load a[96*%0 + %4]
    %7: f32 = load b[80*%4 + %1]
    %8: f32 = fma %6, %7, %5
    next %8
  }
  store c[80*%0 + %1], %3
}`
	cases := []struct {
		name, text string
		found      bool
		is         func(c *schedule.MatmulPlan) bool
	}{
		{"both operands in place", product, true, func(c *schedule.MatmulPlan) bool {
			return !c.PackX && !c.PackY && c.PlainStore
		}},
		{"a transposed right operand is turned while it is copied",
			`kernel @k(in a: f32[64, 96], in b: f32[80, 96], out c: f32[64, 80]) over %0 in 0..64, %1 in 0..80 {
  contract %6 by %7 rows %0 columns %1 along %4
  %2: f32 = const 0.0
  %3: f32 = loop %4 in 0..96 carry %5: f32 = %2 {
    %6: f32 = load a[96*%0 + %4]
    %7: f32 = load b[96*%1 + %4]
    %8: f32 = fma %6, %7, %5
    next %8
  }
  store c[80*%0 + %1], %3
}`, true, func(c *schedule.MatmulPlan) bool { return c.PackY && c.YAlong }},
		{"a long chain waits in the result",
			`kernel @k(in a: f32[64, 4096], in b: f32[4096, 80], out c: f32[64, 80]) over %0 in 0..64, %1 in 0..80 {
  contract %6 by %7 rows %0 columns %1 along %4
  %2: f32 = const 0.0
  %3: f32 = loop %4 in 0..4096 carry %5: f32 = %2 {
    %6: f32 = load a[4096*%0 + %4]
    %7: f32 = load b[80*%4 + %1]
    %8: f32 = fma %6, %7, %5
    next %8
  }
  %9: f32 = neg %3
  store c[80*%0 + %1], %9
}`, true, func(c *schedule.MatmulPlan) bool { return !c.PlainStore && c.Carry != nil && c.Piece < c.Size.K }},
		{"an update in place asks for what it changes, not for what all rows read",
			`kernel @k(in a: f32[64, 96], in b: f32[96, 80], in d: f32[80], inplace c: f32[64, 80]) over %0 in 0..64, %1 in 0..80 {
  contract %6 by %7 rows %0 columns %1 along %4
  %2: f32 = const 0.0
  %3: f32 = loop %4 in 0..96 carry %5: f32 = %2 {
    %6: f32 = load a[96*%0 + %4]
    %7: f32 = load b[80*%4 + %1]
    %8: f32 = fma %6, %7, %5
    next %8
  }
  %9: f32 = load d[%1]
  %10: f32 = load c[80*%0 + %1]
  %11: f32 = mul %3, %9
  %12: f32 = sub %10, %11
  store c[80*%0 + %1], %12
}`, true, func(c *schedule.MatmulPlan) bool { return len(c.ReadAtTile()) == 1 && c.Carry == nil }},
		{"casts stand between the memory and the product",
			`kernel @k(in a: i8[64, 96], in b: i8[96, 80], out c: i32[64, 80]) over %0 in 0..64, %1 in 0..80 {
  contract %7 by %9 rows %0 columns %1 along %4
  %2: i32 = const 0
  %3: i32 = loop %4 in 0..96 carry %5: i32 = %2 {
    %6: i8 = load a[96*%0 + %4]
    %7: i32 = cast %6
    %8: i8 = load b[80*%4 + %1]
    %9: i32 = cast %8
    %10: i32 = mul %7, %9
    %11: i32 = add %10, %5
    next %11
  }
  store c[80*%0 + %1], %3
}`, true, func(c *schedule.MatmulPlan) bool { return c.PackX && c.PackY }},
		{"a matrix times a vector", `kernel @k(in a: f32[64, 96], in b: f32[96], out c: f32[64]) over %0 in 0..64 {
  contract %6 by %5 columns %0 along %3
  %1: f32 = const 0.0
  %2: f32 = loop %3 in 0..96 carry %4: f32 = %1 {
    %5: f32 = load a[96*%0 + %3]
    %6: f32 = load b[%3]
    %7: f32 = fma %5, %6, %4
    next %7
  }
  store c[%0], %2
}`, true, func(c *schedule.MatmulPlan) bool { return c.Dot && c.Swap }},
		{"a matrix of any shape times a vector",
			`kernel @k(in a: f32[M, K], in b: f32[K], out c: f32[M]) over %0 in 0..M {
  contract %6 by %5 columns %0 along %3
  %1: f32 = const 0.0
  %2: f32 = loop %3 in 0..K carry %4: f32 = %1 {
    %5: f32 = load a[K*%0 + %3]
    %6: f32 = load b[%3]
    %7: f32 = fma %5, %6, %4
    next %7
  }
  store c[%0], %2
}`, true, func(c *schedule.MatmulPlan) bool { return c.Free && c.Dot && !c.PackX && c.Chunk == c.Panel }},
		{"a vector times a matrix of any shape",
			`kernel @k(in a: f32[K], in b: f32[K, N], out c: f32[N]) over %0 in 0..N {
  contract %5 by %6 columns %0 along %3
  %1: f32 = const 0.0
  %2: f32 = loop %3 in 0..K carry %4: f32 = %1 {
    %5: f32 = load a[%3]
    %6: f32 = load b[N*%3 + %0]
    %7: f32 = fma %5, %6, %4
    next %7
  }
  store c[%0], %2
}`, true, func(c *schedule.MatmulPlan) bool { return c.Free && c.ByRows && c.Chunk > 1 }},
		{"a batch of vectors times matrices",
			`kernel @k(in a: f32[3, 96], in b: f32[3, 96, 80], out c: f32[3, 80]) over %0 in 0..3, %1 in 0..80 {
  contract %6 by %7 columns %1 along %4
  %2: f32 = const 0.0
  %3: f32 = loop %4 in 0..96 carry %5: f32 = %2 {
    %6: f32 = load a[96*%0 + %4]
    %7: f32 = load b[7680*%0 + 80*%4 + %1]
    %8: f32 = fma %6, %7, %5
    next %8
  }
  store c[80*%0 + %1], %3
}`, true, func(c *schedule.MatmulPlan) bool { return c.ByRows && len(c.Batches) == 1 }},
		{"a factor of both axes is no product",
			`kernel @k(in a: f32[64, 80, 96], in b: f32[96, 80], out c: f32[64, 80]) over %0 in 0..64, %1 in 0..80 {
  %2: f32 = const 0.0
  %3: f32 = loop %4 in 0..96 carry %5: f32 = %2 {
    %6: f32 = load a[7680*%0 + 96*%1 + %4]
    %7: f32 = load b[80*%4 + %1]
    %8: f32 = fma %6, %7, %5
    next %8
  }
  store c[80*%0 + %1], %3
}`, false, nil},
		{"a chain that starts elsewhere is none",
			`kernel @k(in a: f32[64, 96], in b: f32[96, 80], out c: f32[64, 80]) over %0 in 0..64, %1 in 0..80 {
  %2: f32 = const 1.0
  %3: f32 = loop %4 in 0..96 carry %5: f32 = %2 {
    %6: f32 = load a[96*%0 + %4]
    %7: f32 = load b[80*%4 + %1]
    %8: f32 = fma %6, %7, %5
    next %8
  }
  store c[80*%0 + %1], %3
}`, false, nil},
	}
	machines := []target.Machine{{}, {VectorBits: 256, Registers: 16}, {IntSums: true},
		{VectorBits: 256, Registers: 16, IntSums: true}}
	for _, c := range cases {
		m, errs := kernel.Parse(diag.NewFile("test.kernels", "kernels \"t\"\n"+c.text))
		if errs.Err() != nil {
			t.Fatalf("%s: %v", c.name, errs)
		}
		k := m.Kernels[0]
		if found := analysis.FindContract(k); !reflect.DeepEqual(found, k.Contract) {
			t.Errorf("%s: found %+v, not %+v", c.name, found, k.Contract)
		}
		for _, mach := range machines {
			got := analysis.ContractionOf(k)
			if (got != nil) != c.found {
				t.Fatalf("%s: found is %v", c.name, got != nil)
			}
			if got == nil {
				continue
			}
			if p := planOf(t, got, mach); !p.Planned || !c.is(p) {
				t.Errorf("%s, vectors of %d bits: planned as %+v", c.name, mach.WithDefaults().VectorBits, *p)
			}
		}
	}
}

// planOf is what the schedule of a product says, which has to be one that is accepted.
func planOf(t *testing.T, c *analysis.Contraction, mach target.Machine) *schedule.MatmulPlan {
	t.Helper()
	d, _ := schedule.Matmul(c, mach)
	if d != nil {
		if err := schedule.CheckMatmul(c, d, mach); err != nil {
			t.Error(err)
		}
	}
	return schedule.MatmulOf(c, d)
}

// TestSideBySide: which left operands are copied with what a step needs side by side, and how much memory the copies of
// the right ones take.
func TestSideBySide(t *testing.T) {
	narrow := target.Machine{VectorBits: 256, Registers: 16}
	for _, c := range []struct {
		m, n, k, row int64
		mach         target.Machine
		want         bool
	}{
		{1024, 1024, 1024, 1024, narrow, true},
		{1024, 1024, 1024, 1024, target.Machine{}, false},
		{1024, 1024, 1024, 1040, narrow, true},
		{1024, 256, 1024, 1024, narrow, true},
		{1024, 256, 1024, 1040, narrow, false}, // few panels
		{1024, 128, 1024, 1024, narrow, false},
		{48, 1024, 1024, 1024, narrow, false}, // few rows
		{512, 512, 512, 512, narrow, false},   // short ones
	} {
		p := planOf(t, productOf(t, c.m, c.n, c.k, c.row), c.mach)
		if !p.Planned || p.SideBySide != c.want || p.SideBySide != p.PackX {
			t.Errorf("%+v: planned as %+v", c, p)
		} else if bytes := p.BlockCols * p.Piece * 4; bytes > int64(profile.Base().Matmul.BesideBlock) {
			t.Errorf("%+v: a block has %d bytes", c, bytes)
		}
	}
}

// TestLowTiles: which products have tiles of 3 by 4.
func TestLowTiles(t *testing.T) {
	narrow := target.Machine{VectorBits: 256, Registers: 16}
	for _, c := range []struct {
		m, n, k int64
		mach    target.Machine
		want    bool
	}{
		{64, 64, 64, narrow, true},
		{50, 30, 101, narrow, true},
		{64, 64, 64, target.Machine{}, false},
		{32, 64, 64, narrow, false}, // few rows
		{64, 64, 32, narrow, false}, // short chains
		{64, 48, 64, narrow, false}, // a panel of two vectors would be left
		{96, 96, 96, narrow, false}, // too large for the first-level cache
	} {
		p := planOf(t, productOf(t, c.m, c.n, c.k, c.k), c.mach)
		if !p.Planned || p.Low != c.want || p.Low &&
			(p.Rows != schedule.LowRows || p.Vecs != schedule.LowVecs) {
			t.Errorf("%+v: planned as %+v", c, p)
		}
	}
}

// productOf is f32 [m, k] by [k, n], with rows of the left operand that are row elements apart.
func productOf(t *testing.T, m, n, k, row int64) *analysis.Contraction {
	t.Helper()
	text := fmt.Sprintf(`kernels "t"
kernel @k(in a: f32[%[1]d, %[4]d], in b: f32[%[3]d, %[2]d], out c: f32[%[1]d, %[2]d]) over %%0 in 0..%[1]d, %%1 in 0..%[2]d {
  contract %%6 by %%7 rows %%0 columns %%1 along %%4
  %%2: f32 = const 0.0
  %%3: f32 = loop %%4 in 0..%[3]d carry %%5: f32 = %%2 {
    %%6: f32 = load a[%[4]d*%%0 + %%4]
    %%7: f32 = load b[%[2]d*%%4 + %%1]
    %%8: f32 = fma %%6, %%7, %%5
    next %%8
  }
  store c[%[2]d*%%0 + %%1], %%3
}`, m, n, k, row)
	mod, errs := kernel.Parse(diag.NewFile("test.kernels", text))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	return analysis.ContractionOf(mod.Kernels[0])
}

package explain

import (
	"testing"

	heal "healc"
	"healc/internal/engine"
	"healc/ir/kernel"
	"healc/lang/types"
	"healc/runtime/abi"
)

func dim(t *testing.T, s string) types.Dim {
	t.Helper()
	d, err := types.ParseDim(s)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestCost(t *testing.T) {
	n, m := dimCost(dim(t, "N")), dimCost(dim(t, "M - 1"))
	for _, c := range []struct {
		c    cost
		want string
		at   float64
	}{
		{cost{}, "0", 0},
		{number(12), "12", 12},
		{n, "N", 1024},
		{n.times(m).times(number(4)), "4*M*N - 4*N", 4 * 1023 * 1024},
		{n.plus(m), "M + N - 1", 2047},
		{n.plus(n.times(number(-1))), "0", 0},
		{extentCost(abi.Extent{Dim: dim(t, "N"), Div: 4096}), "0.0002441*N", 0.25},
		{extentCost(abi.Extent{Dim: dim(t, "4097"), Div: 4096}), "2", 2},
		{most(number(5), n), "N", 1024},
		{least(number(5), n), "5", 5},
	} {
		if c.c.String() != c.want || c.c.at() != c.at {
			t.Errorf("%s at the sample is %v; want %s and %v", c.c, c.c.at(), c.want, c.at)
		}
	}
	if got := number(12000000).inBytes(); got != "12000000 bytes (11.4 MiB)" {
		t.Errorf("12e6 bytes print as %s", got)
	}
}

// lowered compiles one function to kernels.
func lowered(t *testing.T, source string) *kernel.Module {
	t.Helper()
	m, err := engine.Compile(source, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	km, err := m.Kernels("f", nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return km
}

// TestMeasure: bytes and operations of kernels that one can count by hand.
func TestMeasure(t *testing.T) {
	for _, c := range []struct{ source, ops, reads, writes string }{
		{"fn f[N](a: f32[N], b: f32[N]) -> f32[N] = a * b + a", "2*N", "8*N", "4*N"},
		{"fn f[N](a: f64[N]) -> f64[N] = fma(a, a, a)", "2*N", "8*N", "8*N"},
		{"fn f[M, N](a: f32[M, N], b: f32[N]) -> f32[M, N] = a .* b", "M*N", "4*M*N + 4*N", "4*M*N"},
		{"fn f(a: u8[100]) -> u8[10] = a[0..10] * 3_u8", "10", "10", "10"},
		{"fn f[M, K, N](a: f32[M, K], b: f32[K, N]) -> f32[M, N] = a @ b", "2*K*M*N", "4*K*M + 4*K*N", "4*M*N"},
	} {
		km := lowered(t, c.source)
		if len(km.Kernels) != 1 {
			t.Errorf("%s: %d kernels\n%s", c.source, len(km.Kernels), km)
			continue
		}
		got := measureKernel(km.Kernels[0])
		reads, writes := cost{}, cost{}
		for i := range got.reads {
			reads, writes = reads.plus(got.reads[i]), writes.plus(got.writes[i])
		}
		if got.ops.String() != c.ops || reads.String() != c.reads || writes.String() != c.writes {
			t.Errorf("%s:\n%s operations, %s bytes read, %s written; want %s, %s, %s\n%s", c.source, got.ops, reads,
				writes, c.ops, c.reads, c.writes, km.Kernels[0])
		}
	}
}

// TestChunks: chunks of a reduction read each element once together, whether there are less than in a chunk or more.
func TestChunks(t *testing.T) {
	for _, c := range []struct{ source, ops, reads string }{
		{"fn f[N](a: f32[N]) -> f32 = +/(a)", "N", "4*N"},
		{"fn f[N](a: f32[N, N]) -> f32 = +/(a)", "N*N", "4*N*N"},
		{"fn f[N](a: f32[N, 3]) -> f32[3] = sum(a, axis = 0)", "3*N", "12*N"},
		{"fn f[N](a: f32[N]) -> i32 = argmax(a)", "N", "4*N"},
		{"fn f(a: f32[5000000]) -> f32 = +/(a)", "5000000", "20000000"},
		{"fn f(a: f32[4097, 1001]) -> f32 = +/(a)", "4101097", "16404388"},
	} {
		km := lowered(t, c.source)
		got := measureKernel(km.Kernels[0])
		if len(km.Kernels) != 2 || got.ops.String() != c.ops || got.reads[0].String() != c.reads {
			t.Errorf("%s: %s operations, %s bytes read; want %s and %s\n%s", c.source, got.ops, got.reads[0], c.ops,
				c.reads, km)
		}
	}
}

// TestTransformCost: a transform writes its row, and keeps factors in half a row that all rows share. What runs in its
// place where operands are no residues is not counted.
func TestTransformCost(t *testing.T) {
	k := lowered(t,
		"fn f[L](a: i64[L, 1, 1024], w: i64[1, 1024]) -> i64[L, 1, 1024] = ntt(a, 12289, w, 0..1024, axis = -1, "+
			"skip_perm = true)").Kernels[0]
	writes := cost{}
	for _, c := range measureKernel(k).writes {
		writes = writes.plus(c)
	}
	if writes.String() != "8192*L + 4096" {
		t.Errorf("%s bytes are written\n%s", writes, k)
	}
	const stages = 4 * 1024 * 10
	if ops := measureKernel(k).ops.at() / sample; ops < stages || ops > 1.1*stages {
		t.Errorf("%v operations a row, and the stages have %d\n%s", ops, stages, k)
	}
}

// TestArena: buffers that are not alive together share their place.
func TestArena(t *testing.T) {
	n := []abi.Extent{{Dim: types.Param("N")}}
	f := &abi.Function{Buffers: []abi.Buffer{
		{Kind: abi.Input, DType: types.F32, Shape: n},
		{Kind: abi.Temp, DType: types.F32, Shape: n, First: 0, Last: 1},
		{Kind: abi.Temp, DType: types.F32, Shape: n, First: 1, Last: 2},
		{Kind: abi.Temp, DType: types.F32, Shape: n, First: 2, Last: 3},
		{Kind: abi.Temp, DType: types.I8, First: 3, Last: 3},
	}}
	if got := arena(f).String(); got != "8*N" {
		t.Errorf("the arena is %s", got)
	}
}

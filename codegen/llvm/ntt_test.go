package llvm

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"healc/codegen"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/llvm/ntt"
	"healc/codegen/target"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/objload"
	"healc/tests/sample"
)

// transformKernels has a forward and an inverse transform of a row, and of products of two rows, which say whether the
// code took the row.
func transformKernels(t *testing.T, n int) *kernel.Module {
	t.Helper()
	text := `kernels "t"
`
	for k := range 4 {
		name, word, scale, times := "forward", "transform", "", ""
		if k&1 != 0 {
			name, word, scale = "inverse", "transform inverse", " scale %4"
		}
		if k&2 != 0 {
			name, times = name+"_product", " times v[0]"
		}
		text += fmt.Sprintf(
			`kernel @%[1]s(in x: i64[1, %[2]d], in v: i64[1, %[2]d], in w: i64[1, %[2]d], in p: i64[1], in s: i64[1], work y: i64[1, %[2]d], work t: i64[1, %[3]d], out z: i64[1, %[2]d], out fit: bool[1]) over %%0 in 0..1 {
  %%1: i64 = load p[%%0]
  %%4: i64 = load s[%%0]
  %%2: bool = %[4]s %[2]d to y[0] of x[0]%[6]s by w[0] with t[0] modulo %%1%[5]s
  store fit[%%0], %%2
  loop %%5 in 0..%[2]d {
    %%6: i64 = load y[%%5]
    store z[%[2]d*%%0 + %%5], %%6
  }
}
`, name, n, n/2, word, scale, times)
	}
	m, errs := kernel.Parse(diag.NewFile("t.kernels", text))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	return m
}

// TestTransformKinds: which arithmetic a processor gets.
func TestTransformKinds(t *testing.T) {
	lib, err := libllvm.Open()
	if err != nil {
		t.Skip(err)
	}
	for _, c := range []struct{ triple, cpu, features, kinds string }{
		{"x86_64-linux-gnu", "x86-64", "", "p60"},
		{"x86_64-linux-gnu", "x86-64-v3", "", "d50 h60"},
		{"x86_64-linux-gnu", "x86-64-v3", "-fma", "p60"},
		{"x86_64-linux-gnu", "x86-64-v4", "", "d50 p60"},
		{"x86_64-linux-gnu", "x86-64-v4", "+avx512ifma", "p49 p50 p60"},
		{"aarch64-linux-gnu", "generic", "", "d50 h60"},
	} {
		if !lib.HasTarget(c.triple) {
			continue
		}
		asm, err := Compile(transformKernels(t, 64), codegen.Target{Kind: "cpu", Triple: c.triple, CPU: c.cpu,
			Features: c.features}, libllvm.Assembly)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"ntt", "intt"} {
			var got []string
			for _, kind := range []string{"p49", "p50", "d50", "h60", "p60"} {
				if strings.Contains(string(asm), "\n"+name+".64."+kind+":") {
					got = append(got, kind)
				}
			}
			if strings.Join(got, " ") != c.kinds {
				t.Errorf("%s %s %s: %s of %v, want %s", c.triple, c.cpu, c.features, name, got, c.kinds)
			}
		}
	}
}

// stages is the transform of a row, one stage after the other.
func stages(x, w []uint64, p, scale uint64, inverse bool) []uint64 {
	mul := func(x, y uint64) uint64 {
		hi, lo := bits.Mul64(x, y)
		return bits.Rem64(hi, lo, p)
	}
	y := append([]uint64{}, x...)
	n := len(x)
	for l := 1; l < n; l *= 2 {
		h := l
		if inverse {
			h = n / 2 / l
		}
		t := n / 2 / h
		for i := range h {
			for j := 2 * i * t; j < 2*i*t+t; j++ {
				a, b := y[j], y[j+t]
				if inverse {
					y[j], y[j+t] = (a+b)%p, mul(a+p-b, w[h+i])
				} else {
					b = mul(b, w[h+i])
					y[j], y[j+t] = (a+b)%p, (a+p-b)%p
				}
			}
		}
	}
	for i := range y {
		if inverse {
			y[i] = mul(y[i], scale)
		}
	}
	return y
}

// TestTransformTakes: the code takes every row of residues, also where all numbers grow as fast as they can, and no
// other row. A short transform runs every day, and one of the longer ones.
func TestTransformTakes(t *testing.T) {
	sizes := []int{64, 128, 512, 4096}
	if testing.Short() {
		sizes = sizes[:3]
	}
	r := rand.New(rand.NewPCG(1, 50))
	day := sample.Today(t)
	for i, n := range sizes {
		if i > 0 && !sample.Has(day, i, len(sizes)-1) {
			continue
		}
		m := transformKernels(t, n)
		ways := []profile.Profile{*target.MachineOf(codegen.Target{Kind: "cpu"}).Profile}
		ways = append(ways, ways[0])
		for alike := range ways {
			ways[alike].NTT.Alike, ways[alike].NTT.ShortBack = alike, 0
		}
		for i, cpu := range []string{"", "", "x86-64"} {
			if cpu != "" && codegenHostIsNotX86 {
				continue
			}
			var opts Options
			if i < len(ways) {
				opts.Profile = &ways[i]
			}
			obj, err := CompileWith(m, codegen.Target{Kind: "cpu", CPU: cpu}, libllvm.Object, opts)
			if err != nil {
				t.Fatal(err)
			}
			img, err := objload.Load(obj, objload.Options{})
			if err != nil {
				t.Fatal(err)
			}
			// run transforms x, or unless v is nil the products of x and v.
			run := func(inverse bool, x, v, w []uint64, p, scale uint64) ([]uint64, bool) {
				name := "forward"
				if inverse {
					name = "inverse"
				}
				if v != nil {
					name += "_product"
				} else {
					v = make([]uint64, n)
				}
				fn, ok := img.Symbol(name)
				if !ok {
					t.Fatalf("no %s", name)
				}
				out, fit := make([]byte, 8*n+64), make([]byte, 64)
				keep := [][]byte{bytesOf(types.I64, x), bytesOf(types.I64, v), bytesOf(types.I64, w),
					bytesOf(types.I64, []uint64{p}), bytesOf(types.I64, []uint64{scale}),
					make([]byte, 8*n+64), make([]byte, 4*n+64), out, fit}
				var bufs []unsafe.Pointer
				for _, k := range keep {
					bufs = append(bufs, ptr(k))
				}
				var e abi.Error
				objload.CallKernel(fn, &bufs[0], nil, 0, 1, &e)
				return bitsOf(types.I64, out, n), fit[0] != 0
			}
			const d50 = 1 << 50
			for _, p := range []uint64{1, 2, 3, 17, 12289, 1<<31 - 1, 1<<48 - 1, 1<<49 - 1, 1 << 49, 1<<49 + 1,
				d50 - 27, d50 - 2, d50 - 1, d50, d50 + 1, 1<<52 - 1, 1 << 52, 1<<59 - 1, 1 << 59, 1<<60 - 1<<43,
				1<<60 - 1} {
				any := func() uint64 { return r.Uint64N(p) }
				top := func() uint64 { return p - 1 }
				ends := func() uint64 { return []uint64{0, 1 % p, p - 1, p / 2, p - p/2 - 1}[r.IntN(5)] }
				for _, from := range [][2]func() uint64{{any, any}, {top, top}, {ends, ends}, {top, func() uint64 {
					return p / 2
				}}, {ends, any}, {top, func() uint64 { return 1 % p }}} {
					x, v, w := make([]uint64, n), make([]uint64, n), make([]uint64, n)
					for i := range x {
						x[i], v[i], w[i] = from[0](), from[0](), from[1]()
					}
					source := func(v []uint64) []uint64 {
						y := slices.Clone(x)
						for i := range v {
							hi, lo := bits.Mul64(x[i], v[i])
							y[i] = bits.Rem64(hi, lo, p)
						}
						return y
					}
					scale := from[1]()
					for k := range 4 {
						if n > 512 && r.IntN(2) == 0 {
							continue
						}
						inverse, v := k&1 != 0, v
						if k < 2 {
							v = nil
						}
						got, fit := run(inverse, x, v, w, p, scale)
						if !fit {
							t.Fatalf("%d elements modulo %d on %q, inverse %v, product %v: not taken", n, p, cpu,
								inverse, v != nil)
						}
						for i, want := range stages(source(v), w, p, scale, inverse) {
							if got[i] != want {
								t.Fatalf(
									"%d elements modulo %d on %q, inverse %v, product %v: element %d is %d, want %d", n,
									p, cpu, inverse, v != nil, i, int64(got[i]), want)
							}
						}
						// One element that is no residue, of the source, what it is multiplied by, or the table. If the
						// row is taken, it is as if it were reduced.
						for _, bad := range []uint64{p, p + 1, (p-1)>>32<<32 + 1<<32 - 1, (p-1)>>32<<32 + 1<<32,
							1 << 50, 1 << 52, 1<<52 + 1, 1<<62 + 1, 0x7ff << 52, 0x7ff<<52 + 1, 1<<63 - 1, 1 << 63,
							0xfff<<52 + 1, math.MaxUint64} {
							if bad < p || r.IntN(4) > 0 {
								continue
							}
							row := [][]uint64{x, w, v}[r.IntN(2+k/2)]
							i := 1 + r.IntN(n-1) // factor 0 is not used
							old := row[i]
							row[i] = bad
							got, fit := run(inverse, x, v, w, p, scale)
							row[i] = bad % p
							if fit && (bad >= math.MaxInt64 ||
								!slices.Equal(got, stages(source(v), w, p, scale, inverse))) {
								t.Fatalf("%d elements modulo %d on %q, inverse %v, product %v: taken with %#x at %d", n,
									p, cpu, inverse, v != nil, bad, i)
							}
							row[i] = old
						}
					}
				}
				if _, fit := run(false, make([]uint64, n), nil, make([]uint64, n), 1<<60, 0); fit {
					t.Fatal("taken modulo 2^60")
				}
			}
			img.Close()
		}
	}
}

// TestTransformRows: rows of one kernel keep the quotients of the row before where they have its table and modulus, and
// no others.
func TestTransformRows(t *testing.T) {
	const n, rows = 128, 8
	m, errs := kernel.Parse(diag.NewFile("t.kernels", fmt.Sprintf(`kernels "t"
kernel @rows(in x: i64[%[1]d, %[2]d], in w: i64[2, %[2]d], in c: i64[%[1]d], in p: i64[%[1]d], work z: i64[%[1]d, %[2]d], out fit: bool[%[1]d], work local t: i64[%[3]d]) over %%0 in 0..%[1]d {
  %%1: i64 = load p[%%0]
  %%2: i64 = load c[%%0]
  %%3: bool = transform %[2]d to z[%[2]d*%%0] of x[%[2]d*%%0] by w[%[2]d*%%2] with t[0] modulo %%1
  store fit[%%0], %%3
}
`, rows, n, n/2)))
	if errs.Err() != nil {
		t.Fatal(errs)
	}
	asks := *target.MachineOf(codegen.Target{Kind: "cpu"}).Profile // which asks for the next row
	asks.NTT.Next, asks.NTT.NextResult = 8*n, 8*n
	r := rand.New(rand.NewPCG(2, 50))
	for i, cpu := range []string{"", "", "x86-64", "x86-64-v3"} {
		if cpu != "" && codegenHostIsNotX86 {
			continue
		}
		var opts Options
		if i == 1 {
			opts.Profile = &asks
		}
		obj, err := CompileWith(m, codegen.Target{Kind: "cpu", CPU: cpu}, libllvm.Object, opts)
		if err != nil {
			t.Fatal(err)
		}
		img, err := objload.Load(obj, objload.Options{})
		if err != nil {
			t.Fatal(err)
		}
		fn, ok := img.Symbol("rows")
		if !ok {
			t.Fatal("no kernel")
		}
		for _, p := range []uint64{12289, 1<<48 - 1, 1<<50 - 27, 1<<59 - 1} {
			x, w := make([]uint64, rows*n), make([]uint64, 2*n)
			for i := range x {
				x[i] = r.Uint64N(p - 2)
			}
			for i := range w {
				w[i] = r.Uint64N(p - 2)
			}
			tables := []uint64{0, 0, 0, 1, 0, 0, 1, 1}
			moduli := []uint64{p, p, p - 1, p, p, p, p, p}
			x[4*n+3] = math.MaxUint64 // a row that is not fit
			check := func(what string, unfit ...int) {
				t.Helper()
				out, fit := make([]byte, 8*rows*n+64), make([]byte, 64)
				keep := [][]byte{bytesOf(types.I64, x), bytesOf(types.I64, w), bytesOf(types.I64, tables),
					bytesOf(types.I64, moduli), out, fit}
				var bufs []unsafe.Pointer
				for _, k := range keep {
					bufs = append(bufs, ptr(k))
				}
				var e abi.Error
				objload.CallKernel(fn, &bufs[0], nil, 0, rows, &e)
				got := bitsOf(types.I64, out, rows*n)
				for i := range rows {
					if yes := !slices.Contains(unfit, i); yes != (fit[i] != 0) {
						t.Fatalf("modulo %d on %q, %s: row %d is taken: %v", p, cpu, what, i, !yes)
					} else if yes && !slices.Equal(got[i*n:(i+1)*n],
						stages(x[i*n:(i+1)*n], w[tables[i]*n:(tables[i]+1)*n], moduli[i], 0, false)) {
						t.Fatalf("modulo %d on %q, %s: row %d differs", p, cpu, what, i)
					}
				}
			}
			check("two tables", 4)
			w[n+1] = math.MaxUint64
			check("a factor that is no residue", 3, 4, 6, 7)
		}
		img.Close()
	}
}

// TestDoubleProducts holds a product of doubles to its bound, for the largest moduli and numbers.
func TestDoubleProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 50))
	n := &ntt.NttDoubles{Ntt: &ntt.Ntt{NttKind: ntt.NttKind{One: ntt.NttOne, Grow: 8 * ntt.NttOne}}}
	worst := map[bool]float64{}
	for range 300000 {
		p := float64(1<<50 - 1 - r.Int64N(1<<uint(1+r.IntN(49))))
		by := 1 / p
		bound := 1 + r.IntN(n.Grow)
		x := math.Floor(float64(bound) / ntt.NttOne * p)
		if r.IntN(2) == 0 {
			x -= float64(r.Int64N(1 + int64(x)/1000))
		}
		exact := r.IntN(2) == 0
		f := ntt.Factor{Exact: exact, Most: ntt.NttOne}
		w := p - 1 - float64(r.Int64N(int64(p)/1000+1))
		q := w * by
		if exact {
			f.Most = ntt.NttOne / 2
			w = math.Floor(w / 2)
			q = w * by
			q = math.FMA(math.FMA(-q, p, w), by, q)
		}
		if r.IntN(2) == 0 {
			w, q = -w, -q
		}
		high := x * w
		k := math.RoundToEven(x * q)
		rest := math.FMA(-k, p, high) + math.FMA(x, w, -high)
		want := new(big.Int).Mul(big.NewInt(int64(x)), big.NewInt(int64(w)))
		want.Sub(want, new(big.Int).Mul(big.NewInt(int64(k)), big.NewInt(int64(p))))
		if !want.IsInt64() || rest != float64(want.Int64()) ||
			math.Abs(rest) > float64(n.Slack(f, bound))/ntt.NttOne*p {
			t.Fatalf("%v * %v modulo %v: %v, exactly %v, and at most %v moduli", x, w, p, rest, want,
				float64(n.Slack(f, bound))/ntt.NttOne)
		}
		worst[exact] = max(worst[exact], math.Abs(rest)/p)
	}
	if worst[true] < 0.9 || worst[false] < 1.5 { // else the operands are not those that the bounds are for
		t.Errorf("no product is larger than %v moduli", worst)
	}
}

// TestHalfProducts holds a product of halves to its bound, with the numbers and the quotients that the code computes.
func TestHalfProducts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 60))
	const low = 1<<32 - 1
	least, most := 0.0, 0.0
	for i := range 300000 {
		p := uint64(1<<60 - 1 - r.Int64N(1<<uint(1+r.IntN(60))))
		if p < 1<<50 || i%8 == 0 {
			p = 1<<50 + r.Uint64N(1<<20)
		}
		by := (1<<40 - 1.0/1024) / float64(p)
		units := by * ntt.NttUnits
		whole := math.Floor(units) + 2
		begin := math.Float64bits(ntt.NttUnits) + uint64((whole-units)/by) - 1
		quotient := func(x uint64, times, units float64) float64 {
			return math.FMA(math.Float64frombits(x>>9+begin), by*times, units-whole*times)
		}
		w := []uint64{0, 1, p - 1, p / 2, p/2 + 1, 1 << 28, r.Uint64N(p)}[r.IntN(7)]
		down := math.Float64bits(max(quotient(w, 2, ntt.NttUnits-0.5), ntt.NttUnits))
		if down>>32 != math.Float64bits(ntt.NttUnits)>>32 {
			t.Fatalf("%d modulo %d: the quotient is %#x", w, p, down)
		}
		next := (w-down&low*(p>>32))<<32 - down&low*(p&low)
		if float64(next) > (1+1.0/128)*float64(p) {
			t.Fatalf("%d modulo %d: the next factor is %d", w, p, next)
		}
		for _, bad := range []uint64{p + p>>30, p + r.Uint64N(1<<63), 1 << 61, 1 << 63, math.MaxUint64 - r.Uint64N(p)} {
			if bad >= p+p>>30 && math.Float64bits(quotient(bad, 2, ntt.NttUnits-0.5))>>32 <=
				math.Float64bits(ntt.NttUnits)>>32 {
				t.Fatalf("%d passes for a residue modulo %d", bad, p)
			}
		}
		q0, q1 := (down>>1+1)&low, math.Float64bits(quotient(next, 1, ntt.NttUnits))&low
		y := uint64(15)<<60 - 1
		switch r.IntN(4) {
		case 0:
			y = r.Uint64N(y)
		case 1:
			y = y>>32<<32 | r.Uint64N(1<<32)
		case 2:
			y = r.Uint64N(15<<28)<<32 | low
		}
		y0, y1 := y&low, y>>32
		sum := new(big.Int).Add(product(y0, q0), product(y1, q1))
		if !sum.IsUint64() {
			t.Fatalf("%d * %d modulo %d: the sum for the quotient is %v", y, w, p, sum)
		}
		rest := new(big.Int).Add(product(y0, w), product(y1, next))
		rest.Sub(rest, product(sum.Uint64()>>32, 2*p))
		left, _ := new(big.Rat).SetFrac(rest, new(big.Int).SetUint64(p)).Float64()
		if left <= -ntt.NttHalvesProduct || left >= ntt.NttHalvesProduct {
			t.Fatalf("%d * %d modulo %d: %v moduli are left", y, w, p, left)
		}
		if d := new(big.Int).Sub(rest, product(y, w)); d.Mod(d, new(big.Int).SetUint64(p)).Sign() != 0 {
			t.Fatalf("%d * %d modulo %d: %v", y, w, p, rest)
		}
		least, most = min(least, left), max(most, left)
	}
	if least > -2.5 || most < 2.5 { // else the operands are not those that the bounds are for
		t.Errorf("from %v to %v moduli are left", least, most)
	}
}

// product is x * y.
func product(x, y uint64) *big.Int {
	return new(big.Int).Mul(new(big.Int).SetUint64(x), new(big.Int).SetUint64(y))
}

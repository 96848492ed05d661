package llvm

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"strings"
	"testing"
	"unsafe"

	"healc/codegen"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target"
	"healc/runtime/abi"
	"healc/runtime/objload"
)

// TestSplit compares the meanings of instructions in split.ll with Go's own arithmetic, on vectors of any bits.
func TestSplit(t *testing.T) {
	type words = []uint64
	const low52 = 1<<52 - 1
	f32 := func(b uint64) float32 { return math.Float32frombits(uint32(b)) }
	floats := func(f func(x ...float32) float32) func(x ...uint64) uint64 {
		return func(x ...uint64) uint64 {
			var v []float32
			for _, b := range x {
				v = append(v, f32(b))
			}
			return uint64(math.Float32bits(f(v...)))
		}
	}
	nan32, inf32 := float32(math.NaN()), float32(math.Inf(1))
	each := func(f func(x ...uint64) uint64) func(args []words) words {
		return func(args []words) (out words) {
			for i := range args[0] {
				var x words
				for _, a := range args {
					x = append(x, a[i])
				}
				out = append(out, f(x...))
			}
			return out
		}
	}
	const table = 0x03530422
	const chosen = 0b1011_0010_0110_1101 // lanes, by the bits from the lowest
	together := func(lanes int) func(args []words) words {
		return func(args []words) (out words) {
			for i := range lanes {
				if chosen>>i&1 != 0 {
					out = append(out, args[0][i])
				}
			}
			return append(out, args[1][len(out):]...)
		}
	}
	for _, c := range []struct {
		name, args string // %0, %1 ... are vectors from memory
		out        string
		in         []string
		want       func(args []words) words
	}{
		{"vpmadd52l.uq.512", "<8 x i64> %0, <8 x i64> %1, <8 x i64> %2", "<8 x i64>",
			[]string{"<8 x i64>", "<8 x i64>", "<8 x i64>"}, each(func(x ...uint64) uint64 {
				return x[0] + (x[1]&low52)*(x[2]&low52)&low52
			})},
		{"vpmadd52h.uq.512", "<8 x i64> %0, <8 x i64> %1, <8 x i64> %2", "<8 x i64>",
			[]string{"<8 x i64>", "<8 x i64>", "<8 x i64>"}, each(func(x ...uint64) uint64 {
				hi, lo := bits.Mul64(x[1]&low52, x[2]&low52)
				return x[0] + (hi<<12 | lo>>52)
			})},
		{"pmaddw.d.512", "<32 x i16> %0, <32 x i16> %1", "<16 x i32>", []string{"<32 x i16>", "<32 x i16>"},
			func(args []words) (out words) {
				for i := range 16 {
					sum := int32(int16(args[0][2*i]))*int32(int16(args[1][2*i])) +
						int32(int16(args[0][2*i+1]))*int32(int16(args[1][2*i+1]))
					out = append(out, uint64(uint32(sum)))
				}
				return out
			}},
		{"vpdpbusd.512", "<16 x i32> %0, <16 x i32> %1, <16 x i32> %2", "<16 x i32>",
			[]string{"<16 x i32>", "<16 x i32>", "<16 x i32>"}, each(func(x ...uint64) uint64 {
				sum := int32(x[0])
				for i := range 4 {
					sum += int32(uint8(x[1]>>(8*i))) * int32(int8(x[2]>>(8*i)))
				}
				return uint64(uint32(sum))
			})},
		{"vpermi2var.q.512", "<8 x i64> %0, <8 x i64> %1, <8 x i64> %2", "<8 x i64>",
			[]string{"<8 x i64>", "<8 x i64>", "<8 x i64>"}, func(args []words) (out words) {
				for _, i := range args[1] {
					out = append(out, append(args[0][:8:8], args[2]...)[i&15])
				}
				return out
			}},
		{"mask.compress.v16i32", "<16 x i32> %0, <16 x i32> %1, <16 x i1> " + maskOf(16, chosen), "<16 x i32>",
			[]string{"<16 x i32>", "<16 x i32>"}, together(16)},
		{"mask.compress.v8i64", "<8 x i64> %0, <8 x i64> %1, <8 x i1> " + maskOf(8, chosen), "<8 x i64>",
			[]string{"<8 x i64>", "<8 x i64>"}, together(8)},
		{"mask.getexp.ps.512", "<16 x float> %0, <16 x float> zeroinitializer, i16 -1, i32 4", "<16 x float>",
			[]string{"<16 x float>"}, each(floats(func(x ...float32) float32 {
				return float32(math.Logb(float64(x[0])))
			}))},
		{"mask.getmant.ps.512", "<16 x float> %0, i32 3, <16 x float> zeroinitializer, i16 -1, i32 4", "<16 x float>",
			[]string{"<16 x float>"}, each(floats(func(x ...float32) float32 {
				if x[0] == 0 || math.IsInf(float64(x[0]), 0) {
					return float32(math.Copysign(1, float64(x[0])))
				}
				m, _ := math.Frexp(float64(x[0])) // in [1/2, 1)
				if math.Abs(m) < 0.75 {
					m *= 2
				}
				return float32(m)
			}))},
		{"mask.fixupimm.ps.512",
			fmt.Sprintf("<16 x float> %%0, <16 x float> %%1, <16 x i32> <%s>, i32 0, i16 -1, i32 4",
				strings.Repeat(fmt.Sprint("i32 ", table, ", "), 15)+fmt.Sprint("i32 ", table)),
			"<16 x float>", []string{"<16 x float>", "<16 x float>"}, each(floats(func(x ...float32) float32 {
				switch {
				case x[1] != x[1] || x[1] < 0:
					return nan32
				case x[1] == 0:
					return -inf32
				case x[1] == inf32:
					return inf32
				}
				return x[0]
			}))},
		{"mask.scalef.ps.512", "<16 x float> %0, <16 x float> %1, <16 x float> zeroinitializer, i16 -1, i32 4",
			"<16 x float>", []string{"<16 x float>", "<16 x float>"}, each(floats(func(x ...float32) float32 {
				return float32(scaled(float64(x[0]), float64(x[1])))
			}))},
		{"mask.scalef.pd.512", "<8 x double> %0, <8 x double> %1, <8 x double> zeroinitializer, i8 -1, i32 4",
			"<8 x double>", []string{"<8 x double>", "<8 x double>"}, each(func(x ...uint64) uint64 {
				return math.Float64bits(scaled(math.Float64frombits(x[0]), math.Float64frombits(x[1])))
			})},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 2))
			run := meaning(t, c.name, c.args, c.out, c.in)
			for range 4000 {
				var args []words
				for _, in := range c.in {
					args = append(args, lanesOf(r, in))
				}
				got, want := run(args), c.want(args)
				for i := range want {
					x, y := got[i], want[i]
					if strings.Contains(c.out, "float") && f32(x) != f32(x) && f32(y) != f32(y) ||
						strings.Contains(c.out, "double") && math.IsNaN(math.Float64frombits(x)) &&
							math.IsNaN(math.Float64frombits(y)) {
						continue
					}
					if x != y {
						t.Fatalf("lane %d of %#x is %#x, not %#x", i, args, x, y)
					}
				}
			}
		})
	}
}

// scaled is x * 2^floor(n).
func scaled(x, n float64) float64 {
	switch {
	case math.IsNaN(n):
		return n
	case math.IsInf(n, 1):
		return x * n
	case math.IsInf(n, -1):
		return x * 0
	}
	return math.Ldexp(x, int(max(-3000, min(3000, math.Floor(n)))))
}

// vectorShape is what a vector type says.
func vectorShape(vector string) (lanes, size int) {
	var elem string
	if _, err := fmt.Sscanf(strings.TrimSuffix(vector, ">"), "<%d x %s", &lanes, &elem); err != nil {
		panic(err)
	}
	return lanes, map[string]int{"i16": 2, "i32": 4, "float": 4, "i64": 8, "double": 8}[elem]
}

// lanesOf draws elements of a vector: any bits, small numbers, and special ones.
func lanesOf(r *rand.Rand, vector string) (out []uint64) {
	lanes, size := vectorShape(vector)
	special := []float64{0, math.Copysign(0, -1), 1, -1, 1.5, 0.75, math.Inf(1), math.Inf(-1), math.NaN(), 1e-40,
		-1e-45, 5e-324, 3e38, 1.7e308, -150, -1075, 127, 1024}
	for range lanes {
		x := math.Round(r.NormFloat64()*1000) / 4
		if r.IntN(3) == 0 {
			x = special[r.IntN(len(special))]
		}
		b := math.Float64bits(x)
		if size == 4 {
			b = uint64(math.Float32bits(float32(x)))
		}
		if r.IntN(3) == 0 {
			b = r.Uint64()
		}
		if size < 8 {
			b &= 1<<(8*size) - 1
		}
		out = append(out, b)
	}
	return out
}

// meaning compiles a call of an instruction.
func meaning(t *testing.T, name, args, result string, in []string) func(args [][]uint64) []uint64 {
	t.Helper()
	var body strings.Builder
	for i, v := range append(in[:len(in):len(in)], result) {
		fmt.Fprintf(&body,
			"%%q%d = getelementptr i8*, i8** %%bufs, i64 %d\n%%r%d = load i8*, i8** %%q%d\n"+
				"%%s%d = bitcast i8* %%r%d to %s*\n", i, i, i, i, i, i, v)
		if i < len(in) {
			fmt.Fprintf(&body, "%%v%d = load %s, %s* %%s%d, align 1\n", i, v, v, i)
		}
	}
	full := emit.SplitPrefix + name
	text := fmt.Sprintf(
		"declare %s @%s()\ndefine void @k(i8** %%bufs, i64* %%dims, i64 %%begin, i64 %%end, i64* %%err) {\n"+
			"%s%%y = call %s @%s(%s)\nstore %s %%y, %s* %%s%d, align 1\nret void\n}\n",
		result, full, body.String(), result, full, strings.ReplaceAll(args, "%", "%v"), result, result, len(in))
	text, err := withMeanings(text)
	if err != nil {
		t.Fatal(err)
	}
	lib, err := libllvm.Open()
	if err != nil {
		t.Fatal(err)
	}
	obj, err := lib.Compile(text, libllvm.Options{OptLevel: 1, Emit: libllvm.Object,
		Passes: libllvm.Spell(Pipeline, lib.Version())})
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	img, err := objload.Load(obj, objload.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { img.Close() })
	fn, _ := img.Symbol("k")
	return func(args [][]uint64) (out []uint64) {
		var bufs []unsafe.Pointer
		for i, a := range args {
			_, size := vectorShape(in[i])
			var raw []byte
			for _, b := range a {
				raw = append(raw, binary.LittleEndian.AppendUint64(nil, b)[:size]...)
			}
			bufs = append(bufs, ptr(raw))
		}
		memory := make([]byte, 64)
		bufs = append(bufs, ptr(memory))
		var e abi.Error
		objload.CallKernel(fn, &bufs[0], nil, 0, 1, &e)
		lanes, size := vectorShape(result)
		for i := range lanes {
			out = append(out, binary.LittleEndian.Uint64(append(memory[i*size:(i+1)*size:(i+1)*size],
				make([]byte, 8)...)))
		}
		return out
	}
}

// maskOf is a mask as LLVM writes it.
func maskOf(lanes, bits int) string {
	var all []string
	for i := range lanes {
		all = append(all, fmt.Sprintf("i1 %d", bits>>i&1))
	}
	return "<" + strings.Join(all, ", ") + ">"
}

// TestSplitTarget says what code for two processors is: the choices of the first, and instructions of the second.
func TestSplitTarget(t *testing.T) {
	whole := target.MachineOf(codegen.Target{Triple: "x86_64-linux-gnu", CPU: "icelake-client"})
	got := target.MachineOf(codegen.Target{Triple: "x86_64-linux-gnu", CPU: "icelake-client/x86-64-v3"})
	whole.Split = true
	if got != whole || !got.IFMA || got.VectorBits != 512 {
		t.Errorf("%+v\nis not\n%+v", got, whole)
	}
}

package stdlib_test

import (
	"context"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/ways"
)

// The layouts of module quant, written again from their descriptions: those of ggml (block_q8_0, block_q4_0 and
// block_mxfp4 of ggml-common.h, and what its reference makes of f32), and the OCP Microscaling specification.

const quantRows, quantBlocks = 3, 5

// quantInput has rows of all magnitudes, with a block of zeros, one of equal numbers, and ties.
func quantInput() []float32 {
	r := rand.New(rand.NewPCG(5, 6))
	x := make([]float32, quantRows*quantBlocks*32)
	for i := range x {
		block := i / 32
		size := math.Ldexp(1, 3*block-20)
		x[i] = float32((r.Float64()*2 - 1) * size)
		switch block {
		case 1:
			x[i] = 0
		case 2:
			x[i] = -3
		case 3:
			x[i] = float32(i%17-8) / 2
		case 4:
			x[i] = float32(i%32) - 15.5
		}
	}
	x[5*32] = 0x1p-140
	return x
}

func float16(x float32) []byte { return binary.LittleEndian.AppendUint16(nil, types.F16Bits(x)) }

// scaleOf is the exponent of a block's scale, for elements whose largest number has the exponent top.
func scaleOf(block []float32, top int) byte {
	most := 0.0
	for _, x := range block {
		most = max(most, math.Abs(float64(x)))
	}
	if most == 0 {
		return 0
	}
	return byte(max(math.Ilogb(most)-top+127, 0))
}

var quantFormats = []struct {
	name  string
	block func(x []float32) []byte              // the bytes of a block
	value func(b []byte, i int) (value float32) // of element i
}{
	{"q8_0", func(x []float32) []byte {
		most := float32(0)
		for _, v := range x {
			most = max(most, float32(math.Abs(float64(v))))
		}
		d, inverse := most/127, float32(0)
		if d != 0 {
			inverse = 1 / d
		}
		out := float16(d)
		for _, v := range x {
			out = append(out, byte(int8(math.Round(float64(v*inverse)))))
		}
		return out
	}, func(b []byte, i int) float32 {
		return float32(int8(b[2+i])) * types.F16Value(binary.LittleEndian.Uint16(b))
	}},
	{"q4_0", func(x []float32) []byte {
		most, size := float32(0), float32(0)
		for _, v := range x {
			if a := float32(math.Abs(float64(v))); size < a {
				most, size = v, a
			}
		}
		d, inverse := most/-8, float32(0)
		if d != 0 {
			inverse = 1 / d
		}
		code := func(v float32) byte {
			steps := v * inverse
			return byte(min(int8(steps+8.5), 15))
		}
		out := float16(d)
		for j := range 16 {
			out = append(out, code(x[j])|code(x[j+16])<<4)
		}
		return out
	}, func(b []byte, i int) float32 {
		return float32(int(b[2+i%16]>>(i/16*4)&15)-8) * types.F16Value(binary.LittleEndian.Uint16(b))
	}},
	{"mxfp4", func(x []float32) []byte {
		e := scaleOf(x, 2)
		code := func(v float32) byte {
			best, least := byte(0), math.Inf(1)
			for c := range byte(8) {
				off := math.Abs(math.Abs(math.Ldexp(float64(v), 127-int(e))) - e2m1[c])
				if off < least || off == least && c%2 == 0 {
					best, least = c, off
				}
			}
			if math.Signbit(float64(v)) {
				best |= 8
			}
			return best
		}
		out := []byte{e}
		for j := range 16 {
			out = append(out, code(x[j])|code(x[j+16])<<4)
		}
		return out
	}, func(b []byte, i int) float32 {
		c := b[1+i%16] >> (i / 16 * 4) & 15
		v := math.Ldexp(e2m1[c&7], int(b[0])-127)
		if c&8 != 0 {
			v = -v
		}
		return float32(v)
	}},
	{"mxfp8", func(x []float32) []byte { return mxfp8(types.F8E4M3, 8, 448, x) },
		func(b []byte, i int) float32 { return mxfp8Value(types.F8E4M3, b, i) }},
	{"mxfp8_e5m2", func(x []float32) []byte { return mxfp8(types.F8E5M2, 15, 57344, x) },
		func(b []byte, i int) float32 { return mxfp8Value(types.F8E5M2, b, i) }},
}

var e2m1 = [8]float64{0, 0.5, 1, 1.5, 2, 3, 4, 6}

func mxfp8(d types.DType, top int, largest float32, x []float32) []byte {
	e := scaleOf(x, top)
	out := []byte{e}
	for _, v := range x {
		v = float32(math.Ldexp(float64(v), 127-int(e)))
		out = append(out, types.StoredBits(d, max(min(v, largest), -largest)))
	}
	return out
}

func mxfp8Value(d types.DType, b []byte, i int) float32 {
	return float32(math.Ldexp(float64(types.StoredValue(d, b[1+i])), int(b[0])-127))
}

const quantSource = `import quant

fn q8_0(x: f32[3, 160]) -> u8[3, 5, 34] = quant.blocks_q8_0(quant.to_q8_0(x))
fn q4_0(x: f32[3, 160]) -> u8[3, 5, 18] = quant.blocks_q4_0(quant.to_q4_0(x))
fn mxfp4(x: f32[3, 160]) -> u8[3, 5, 17] = quant.blocks_mxfp4(quant.to_mxfp4(x))
fn mxfp8(x: f32[3, 160]) -> u8[3, 5, 33] = {
    let (q, scale) = quant.to_mxfp8(x);
    concat((unsqueeze(bitcast[u8](scale), 2), reshape(bitcast[u8](q), [3, 5, 32])), axis = 2)
}
fn mxfp8_e5m2(x: f32[3, 160]) -> u8[3, 5, 33] = {
    let (q, scale) = quant.to_mxfp8_e5m2(x);
    concat((unsqueeze(bitcast[u8](scale), 2), reshape(bitcast[u8](q), [3, 5, 32])), axis = 2)
}

fn from_q8_0(b: u8[3, 5, 34]) -> f32[3, 160] = quant.from_q8_0(quant.of_blocks_q8_0(b))
fn from_q4_0(b: u8[3, 5, 18]) -> f32[3, 160] = quant.from_q4_0(quant.of_blocks_q4_0(b))
fn from_mxfp4(b: u8[3, 5, 17]) -> f32[3, 160] = quant.from_mxfp4(quant.of_blocks_mxfp4(b))
fn of_mxfp8(b: u8[3, 5, 33]) -> (f8e4m3[3, 160], e8m0[3, 5]) =
    (bitcast[f8e4m3](reshape(b[.., .., 1..33], [3, 160])), bitcast[e8m0](b[.., .., 0]))
fn of_mxfp8_e5m2(b: u8[3, 5, 33]) -> (f8e5m2[3, 160], e8m0[3, 5]) =
    (bitcast[f8e5m2](reshape(b[.., .., 1..33], [3, 160])), bitcast[e8m0](b[.., .., 0]))
fn from_mxfp8(b: u8[3, 5, 33]) -> f32[3, 160] = quant.from_mxfp8(of_mxfp8(b))
fn from_mxfp8_e5m2(b: u8[3, 5, 33]) -> f32[3, 160] = quant.from_mxfp8_e5m2(of_mxfp8_e5m2(b))

fn product_q8_0(x: f32[7, 160], b: u8[3, 5, 34]) -> f32[7, 3] = quant.matmul_q8_0(x, quant.of_blocks_q8_0(b))
fn product_q4_0(x: f32[7, 160], b: u8[3, 5, 18]) -> f32[7, 3] = quant.matmul_q4_0(x, quant.of_blocks_q4_0(b))
fn product_mxfp4(x: f32[7, 160], b: u8[3, 5, 17]) -> f32[7, 3] = quant.matmul_mxfp4(x, quant.of_blocks_mxfp4(b))
fn product_mxfp8(x: f32[7, 160], b: u8[3, 5, 33]) -> f32[7, 3] = quant.matmul_mxfp8(x, of_mxfp8(b))
fn product_mxfp8_e5m2(x: f32[7, 160], b: u8[3, 5, 33]) -> f32[7, 3] =
    quant.matmul_mxfp8_e5m2(x, of_mxfp8_e5m2(b))

fn round_trips(b: u8[3, 5, 18]) -> (u8[3, 5, 18], u8[3, 80], u8[3, 80]) = {
    let (q, scale) = quant.of_blocks_q4_0(b);
    (quant.blocks_q4_0((q, scale)), quant.pairs(q), quant.of_pairs(quant.pairs(q)))
}

fn unpacked(q: u8[2, 128]) -> (i4[2, 256], f4e2m1[2, 256], f32[2, 256]) =
    (quant.unpack_i4(q), quant.unpack_f4e2m1(q), quant.unpack_f4e2m1(q) as f32)
fn packed(x: i4[2, 256], y: f4e2m1[2, 256]) -> (u8[2, 128], u8[2, 128]) = (quant.pack_i4(x), quant.pack_f4e2m1(y))
`

// TestQuantLayouts: blocks have the bytes that their formats say, of numbers and of bytes drawn from all patterns, and
// the elements of blocks have their values, alone and in a product.
func TestQuantLayouts(t *testing.T) {
	x := quantInput()
	for _, w := range ways.Drawn("quant") {
		if err := w.Run(t, engine.Options{Threads: 1}, func(o engine.Options) error {
			testQuant(t, o, x)
			return nil
		}); err != nil {
			t.Error(err)
		}
	}
	testQuant(t, engine.Options{Backend: heal.Interp}, x)
}

func testQuant(t *testing.T, o engine.Options, x []float32) {
	t.Helper()
	m, err := engine.Compile(quantSource, o)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	call := func(name string, args ...*tensor.Tensor) []*tensor.Tensor {
		t.Helper()
		f, err := m.Func(name)
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.CallAll(context.Background(), args...)
		if err != nil {
			t.Fatal(name, err)
		}
		return out
	}
	r := rand.New(rand.NewPCG(7, 8))
	for _, f := range quantFormats {
		var want []byte
		for i := 0; i < len(x); i += 32 {
			want = append(want, f.block(x[i:i+32])...)
		}
		size := len(want) / quantRows / quantBlocks
		got := call(f.name, tensor.FromSlice(x, quantRows, 32*quantBlocks))[0].Bits()
		for i, b := range want {
			if got[i] != uint64(b) {
				t.Errorf("%s: byte %d of block %d is %#x, want %#x", f.name, i%size, i/size, got[i], b)
			}
		}
		for i := range want { // any bytes; a scale is no NaN
			if want[i] = byte(r.Uint32()); i%size == 1 && size != 33 && size != 17 {
				want[i] &^= 0x40
			}
		}
		blocks := tensor.FromSlice(want, quantRows, quantBlocks, size)
		elems := call("from_"+f.name, blocks)[0].Bits()
		values := make([]float32, len(x))
		for i := range values {
			block := want[i/32*size:][:size]
			values[i] = f.value(block, i%32)
			if block[0] == 0xff && (size == 33 || size == 17) {
				values[i] = float32(math.NaN())
			}
			if v := math.Float32frombits(uint32(elems[i])); v != values[i] && (v == v || values[i] == values[i]) {
				t.Errorf("%s: element %d is %v, want %v", f.name, i, v, values[i])
			}
		}
		left := make([]float32, 7*32*quantBlocks)
		for i := range left {
			left[i] = float32(r.IntN(17)-8) / 4
		}
		product := call("product_"+f.name, tensor.FromSlice(left, 7, 32*quantBlocks), blocks)[0].Bits()
		for i := range product {
			var chains [2]float32 // of lower and upper halves of bytes, where elements have 4 bits
			for k := range 32 * quantBlocks {
				chain := &chains[0]
				if size < 32 {
					chain = &chains[k/16%2]
				}
				y := values[i%quantRows*32*quantBlocks+k]
				*chain = float32(math.FMA(float64(left[i/quantRows*32*quantBlocks+k]), float64(y), float64(*chain)))
			}
			sum := chains[0]
			if size < 32 {
				sum += chains[1]
			}
			if v := math.Float32frombits(uint32(product[i])); v != sum && (v == v || sum == sum) {
				t.Errorf("%s: element %d of the product is %v, want %v", f.name, i, v, sum)
			}
		}
	}
	testPairs(t, call)
	b := make([]byte, quantRows*quantBlocks*18)
	for i := range b {
		b[i] = byte(r.Uint32())
		if i%18 == 1 {
			b[i] &^= 0x40 // no NaN, of which no bits are promised
		}
	}
	out := call("round_trips", tensor.FromSlice(b, quantRows, quantBlocks, 18))
	for i, v := range out[0].Bits() {
		if v != uint64(b[i]) {
			t.Errorf("byte %d comes back as %#x, and was %#x", i, v, b[i])
		}
	}
	for i, v := range out[1].Bits() {
		code := func(k int) byte { return b[i/16*18+2+k%16] >> (k / 16 * 4) & 15 }
		k := i % 16 * 2
		if want := code(k) | code(k+1)<<4; v != uint64(want) {
			t.Errorf("byte %d of the pairs is %#x, want %#x", i, v, want)
		}
	}
	for i, v := range out[2].Bits() {
		if want := b[i/16*18+2+i%16]; v != uint64(want) {
			t.Errorf("byte %d of the codes comes back as %#x, and was %#x", i, v, want)
		}
	}
}

// testPairs: two elements of a byte are those of its halves, the lower first; what stands above 4 bits is not packed.
func testPairs(t *testing.T, call func(name string, args ...*tensor.Tensor) []*tensor.Tensor) {
	t.Helper()
	q := make([]byte, 256)
	ints, floats := make([]uint64, 512), make([]uint64, 512)
	for i := range q {
		q[i] = byte(i)
		for k, half := range []byte{q[i] & 15, q[i] >> 4} {
			ints[2*i+k] = uint64(byte(int8(half<<4) >> 4))
			floats[2*i+k] = uint64(half)
		}
	}
	out := call("unpacked", tensor.FromSlice(q, 2, 128))
	for i := range ints {
		if got := out[0].Bits()[i]; got != ints[i] {
			t.Errorf("i4 %d is %#x, want %#x", i, got, ints[i])
		}
		if got := out[1].Bits()[i]; got != floats[i] {
			t.Errorf("f4e2m1 %d is %#x, want %#x", i, got, floats[i])
		}
		want := float32(e2m1[floats[i]&7])
		if floats[i]&8 != 0 {
			want = -want
		}
		if got := uint32(out[2].Bits()[i]); got != math.Float32bits(want) {
			t.Errorf("f4e2m1 %d is %v, want %v", i, math.Float32frombits(got), want)
		}
		ints[i], floats[i] = ints[i]^uint64(i<<4&0xf0), floats[i]|uint64(i<<4&0xf0)
	}
	x, err := tensor.FromBits(types.I4, []int64{2, 256}, ints)
	if err != nil {
		t.Fatal(err)
	}
	y, err := tensor.FromBits(types.F4E2M1, []int64{2, 256}, floats)
	if err != nil {
		t.Fatal(err)
	}
	for n, x := range call("packed", x, y) {
		for i, got := range x.Bits() {
			if got != uint64(q[i]) {
				t.Errorf("packed %d: byte %d is %#x, want %#x", n, i, got, q[i])
			}
		}
	}
}

package ptxsim

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strings"
	"testing"

	"healc/codegen/gpu/ptxsim/machine"
)

// header begins every module that is written in a test.
const header = ".version 7.0\n.target sm_80\n.address_size 64\n"

// parse parses a module that has to be right.
func parse(t testing.TB, text string) *machine.Module {
	t.Helper()
	m, err := Parse("test.ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// parseFile parses a file of testdata.
func parseFile(t testing.TB, name string) *machine.Module {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, string(text))
}

// words makes the .param space of kernels whose parameters are all of 8 bytes.
func words(args ...uint64) []byte {
	var b []byte
	for _, a := range args {
		b = binary.LittleEndian.AppendUint64(b, a)
	}
	return b
}

// upload allocates memory with 32-bit words in it.
func upload(t testing.TB, d *machine.Device, values []uint32) uint64 {
	t.Helper()
	var b []byte
	for _, v := range values {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	addr := alloc(t, d, len(b))
	if err := d.Write(addr, b); err != nil {
		t.Fatal(err)
	}
	return addr
}

func alloc(t testing.TB, d *machine.Device, n int) uint64 {
	t.Helper()
	addr, err := d.Alloc(int64(n))
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// download reads n 32-bit words.
func download(t testing.TB, d *machine.Device, addr uint64, n int) []uint32 {
	t.Helper()
	b := make([]byte, 4*n)
	if err := d.Read(addr, b); err != nil {
		t.Fatal(err)
	}
	v := make([]uint32, n)
	for i := range v {
		v[i] = binary.LittleEndian.Uint32(b[4*i:])
	}
	return v
}

func floatWords(n int, f func(i int) float32) []uint32 {
	v := make([]uint32, n)
	for i := range v {
		v[i] = math.Float32bits(f(i))
	}
	return v
}

// dim is a grid or block of one dimension.
func dim(n int) [3]int { return [3]int{n, 1, 1} }

// wantFault is the fault of a launch, which has to be of a kind.
func wantFault(t testing.TB, err error, kind machine.Kind) *machine.Fault {
	t.Helper()
	var f *machine.Fault
	if !errors.As(err, &f) {
		t.Fatalf("the error is %v, and not a fault: %s", err, kind)
	}
	if f.Kind != kind {
		t.Fatalf("the fault is not a %s:\n%v", kind, f)
	}
	return f
}

// The kernels of llvm19.ptx were compiled by LLVM 19 from IR written by hand.
func TestElementwise(t *testing.T) {
	m := parseFile(t, "llvm19.ptx")
	if got := strings.Join(m.Entries(), " "); got != "ints red saxpy" {
		t.Fatalf("entries %s", got)
	}
	for _, n := range []int{0, 1, 31, 1000} {
		d := machine.NewDevice(machine.Options{})
		x := upload(t, d, floatWords(n, func(i int) float32 { return float32(i) + 0.5 }))
		y := upload(t, d, floatWords(n, func(i int) float32 { return float32(3 * i) }))
		params := append(words(x, y, uint64(n)), 0, 0, 0x20, 0x41) // a = 10
		if err := d.Launch(m, "saxpy", dim(3), dim(100), 0, params); err != nil {
			t.Fatal(err)
		}
		for i, got := range download(t, d, y, n) {
			x, y := float64(i)+0.5, 3*float64(i)
			q := math.Sqrt(float64(float32(10*x+y))) / x
			want := float32(math.Floor(max(min(float64(float32(q)), 10), x)))
			if math.Float32frombits(got) != want {
				t.Errorf("n %d, %d: %v, want %v", n, i, math.Float32frombits(got), want)
			}
		}
	}
}

func TestSharedAndShuffle(t *testing.T) {
	m := parseFile(t, "llvm19.ptx")
	d := machine.NewDevice(machine.Options{})
	const n = 128
	x := upload(t, d, floatWords(n, func(i int) float32 { return float32(i) }))
	y := alloc(t, d, 4*n)
	if err := d.Launch(m, "red", dim(1), dim(n), 4*n, words(x, y)); err != nil {
		t.Fatal(err)
	}
	for i, got := range download(t, d, y, n) {
		j := i
		if i%32 < 16 {
			j += 16
		}
		if want := float32(j^1) + 2*float32(i%4+1); math.Float32frombits(got) != want {
			t.Errorf("%d: %v, want %v", i, math.Float32frombits(got), want)
		}
	}
}

// Recursion with an array on the stack.
func TestRecursion(t *testing.T) {
	m := parseFile(t, "llvm19.ptx")
	d := machine.NewDevice(machine.Options{})
	x := alloc(t, d, 64)
	params := make([]byte, m.ParamBytes("ints"))
	copy(params, words(x, 4|1<<32, 1))
	if err := d.Launch(m, "ints", dim(1), dim(1), 0, params); err != nil {
		t.Fatal(err)
	}
	if got := download(t, d, x, 1)[0]; got != 24 {
		t.Errorf("4! = %d", got)
	}
}

// Variables of a module may hold addresses of each other, and go when it is unloaded.
func TestModuleVariables(t *testing.T) {
	m := parse(t, header+`
.global .align 8 .u64 list[3] = {a, generic(b)+4, 7};
.global .align 4 .b32 a = 11;
.const .align 4 .b32 b[2] = {1, -22};
.global .align 8 .f64 x = 0d3FF8000000000000;
.visible .entry f(.param .u64 p) {
	.reg .b64 %rd<9>; .reg .b32 %r<9>; .reg .f64 %d<3>; .reg .f32 %f<3>;
	ld.param.u64 %rd1, [p];
	mov.u64 %rd2, list;
	ld.global.u64 %rd3, [%rd2]; ld.u32 %r1, [%rd3]; st.global.u32 [%rd1], %r1;
	ld.global.u64 %rd3, [%rd2+8]; ld.u32 %r1, [%rd3]; st.global.u32 [%rd1+4], %r1;
	ld.global.u64 %rd3, [list+16]; st.global.u32 [%rd1+8], %rd3;
	ld.global.f64 %d1, [x]; cvt.rn.f32.f64 %f1, %d1; st.global.f32 [%rd1+12], %f1;
	mov.u32 %r1, 12; st.global.u32 [a], %r1;
	ret;
}`)
	d := machine.NewDevice(machine.Options{Bytes: 100})
	p := alloc(t, d, 16)
	want := []uint32{11, 1<<32 - 22, 7, math.Float32bits(1.5)}
	for i := range 3 {
		if err := d.Launch(m, "f", dim(1), dim(1), 0, words(p)); err != nil {
			t.Fatal(err)
		}
		for k, got := range download(t, d, p, 4) {
			if got != want[k] {
				t.Errorf("launch %d: word %d is %#x, want %#x", i, k, got, want[k])
			}
		}
		want[0] = 12 // what the launch before left
		if i == 1 {
			d.Unload(m)
			want[0] = 11
		}
	}
	large := parse(t, header+".global .b8 x[100];\n.visible .entry f() { ret; }")
	if err := d.Launch(large, "f", dim(1), dim(1), 0, nil); err == nil ||
		!strings.Contains(err.Error(), "out of memory: the variables of module test.ptx have 100 bytes") {
		t.Error(err)
	}
}

// Without the search for races everything else is still checked.
func TestNoRaces(t *testing.T) {
	m := parse(t, kernel("st.global.u32 [%rd2], 1; ld.global.u32 %r3, [%rd5+4]; // here"))
	d := machine.NewDevice(machine.Options{NoRaces: true})
	p := alloc(t, d, 1024)
	wantFault(t, d.Launch(m, "f", dim(1), dim(2), 0, words(p, p)), machine.Uninitialised)
}

package ptxsim

import (
	"encoding/binary"
	"errors"
	"math"
	"os"
	"strings"
	"testing"
)

// header begins every module that is written in a test.
const header = ".version 7.0\n.target sm_80\n.address_size 64\n"

// parse parses a module that has to be right.
func parse(t testing.TB, text string) *Module {
	t.Helper()
	m, err := Parse("test.ptx", text)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// parseFile parses a file of testdata.
func parseFile(t testing.TB, name string) *Module {
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
func upload(t testing.TB, d *Device, values []uint32) uint64 {
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

func alloc(t testing.TB, d *Device, n int) uint64 {
	t.Helper()
	addr, err := d.Alloc(int64(n))
	if err != nil {
		t.Fatal(err)
	}
	return addr
}

// download reads n 32-bit words.
func download(t testing.TB, d *Device, addr uint64, n int) []uint32 {
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
func wantFault(t testing.TB, err error, kind Kind) *Fault {
	t.Helper()
	var f *Fault
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
		d := NewDevice(Options{})
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
	d := NewDevice(Options{})
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
	d := NewDevice(Options{})
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

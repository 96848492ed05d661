package gpu_test

import (
	"encoding/binary"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/gpu/ptxsim"
	"healc/codegen/gpu/ptxsim/machine"
	"healc/codegen/llvm/libllvm"
	"healc/internal/engine"
	"healc/ir"
	"healc/ir/interp"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/runtime/abi"
	"healc/runtime/device/ptxas"
)

// recursions are functions of a depth, or of depths.
var recursions = map[string]string{
	"direct": `fn down(n: i32) -> i32 = if n < 1 { 0 } else { 1 + down(n - 1) }
fn f(n: i32[300]) -> i32[300] = map(|x| down(x), n)`,
	"narrow": `fn down(n: i8, m: i32) -> i8 = if m < 1 { n } else { 1 + down(n, m - 1) }
fn f(n: i32[300]) -> i8[300] = map(|x| down(x as i8, x), n)`,
	"mutual": `fn even(n: i32, x: f64) -> bool = if n < 1 { x < 1e300 } else { odd(n - 1, exp(x) * 0.5) }
fn odd(n: i32, x: f64) -> bool = if n < 1 { x > 0.5 } else { even(n - 1, x) }
fn f(n: i32[300]) -> bool[300] = map(|x| even(x, 0.25), n)`,
	"tuples": `fn two(n: i32, a: i64, b: f32) -> (i64, f32, i64, bool) = if n < 1 { (a, b, a, true) } else {
	let (p, q, r, s) = two(n - 1, a * 3, b + 1.0);
	(p + a, q * b, r - p, s && n > 2)
}
fn f(n: i32[300]) -> i64[300] = map(|x| { let (p, q, r, s) = two(x, 7, 1.5); p + r + (q as i64) }, n)`,
	"tree": `fn tree(n: i32, d: i32) -> i32 = if n < 1 { d } else {
	tree(n - 1, d + 1) + (if n % 512 == 5 { tree(n - 2, d) } else { 1 })
}
fn f(n: i32[300]) -> i32[300] = map(|x| tree(x, 0), n)`,
	"two functions": `fn down(n: i32) -> i32 = if n < 1 { 0 } else { 1 + down(n - 1) }
fn turn(n: i32, x: f64) -> f64 = if n < 1 { x } else { sin(turn(n - 1, x * x + 1.0)) }
fn f(n: i32[300]) -> (i32[300], f64[300]) = (map(|x| down(x) * 2, n), map(|x| turn(x, 0.25), n))`,
	"a sum": `fn down(n: i32) -> i32 = if n < 1 { 0 } else { 1 + down(n - 1) }
fn f(n: i32[300]) -> i32 = +/(map(|x| down(x), n))`,
	"steps": `fn down(n: i32) -> i32 = if n < 1 { 0 } else { 1 + down(n - 1) }
fn f(n: i32[300]) -> i32[300] = scan(1, |a, x| a + down(x), n)`,
	"rows": `fn loops(n: i32) -> i32 = if n < 1 { 0 } else { +/(iterate(2, ones[i32, 5](), |s| s .* 2 .+ n)) + loops(n - 1) }
fn f(n: i32[300]) -> i32[300] = map(|x| loops(x), n)`,
}

// TestStackOfRecursion: on a device with any stack, and with frames of any size that a compiler may make of the
// functions, calls end with the failure of the language before the stack does; calls that it has room for give results.
func TestStackOfRecursion(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(recursions)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m, err := engine.Compile(recursions[name], engine.Options{Target: codegen.Target{Kind: "gpu"}})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			km, err := m.Kernels("f", nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			ptx, err := compiled(km, "sm_70")
			if err != nil {
				t.Fatal(err)
			}
			largest := int64(0) // of the frames of scalar functions
			for name, bytes := range gpu.Frames(ptx) {
				if strings.HasPrefix(name, "fn_$_") {
					largest = max(largest, bytes)
				}
			}
			reserve := km.Plan.Device.Reserve
			if reserve < 3*largest || largest < 32 {
				t.Fatalf("frames have up to %d bytes, and %d are reserved", largest, reserve)
			}
			ended, ran := 0, 0
			for i, room := range []int64{-500, 1, 100, 1000, 5000, 20000, 60000} {
				if testing.Short() && i%3 != 1 {
					continue
				}
				for _, call := range []int64{0, 16, largest / 32 * 16, largest / 16 * 16} {
					for _, depth := range []int64{0, 3, 100, 3000, 1 << 20} {
						opts := machine.Options{StackBytes: int(reserve + room), CallBytes: int(call)}
						failed, err := recursed(m.IR(), km, ptx, opts, depth)
						switch {
						case err != nil:
							t.Fatalf("a stack of %d, of which %d are reserved, calls of %d, depth %d: %v",
								opts.StackBytes, reserve, call, depth, err)
						case failed:
							ended++
						default:
							ran++
						}
					}
				}
			}
			if ended < 20 || ran < 5 {
				t.Errorf("%d calls end for want of stack, %d run", ended, ran)
			}
		})
	}
}

// recursed runs a function of recursions where one element goes deep, and others half as deep, and reports whether the
// stack ended it. The error says that something else happened than that, or than what the interpreter does.
func recursed(m *ir.Module, km *kernel.Module, ptx string, opts machine.Options, depth int64) (failed bool, err error) {
	n := &ir.Array{DType: types.I32, Shape: []int64{300}, Bits: make([]uint64, 300)}
	n.Bits[77], n.Bits[299], n.Bits[12] = uint64(depth), uint64(depth), uint64(depth/2)
	got, failure, err := executeOn(opts, km, ptx, nil, []*ir.Array{n}, false)
	if err != nil {
		return false, err
	}
	if failure.Site != 0 {
		site := km.Sites[failure.Site-1]
		room := max(int64(opts.StackBytes)-km.Plan.Device.Reserve, 1)
		if site.Kind != abi.KindRecursion || failure.Info[0] != 0 && failure.Info[0] != room {
			return false, fmt.Errorf("it fails: %s %d", abi.Message(site, failure.Info), failure.Info)
		}
		if least := room / (int64(opts.CallBytes) + 600); depth < least {
			return false, fmt.Errorf("it fails, where at least %d calls have room", least)
		}
		return true, nil
	}
	want, err := interp.RunDims(m, "f", nil, []*ir.Array{n}, &interp.MemSystem{})
	if err != nil {
		return false, fmt.Errorf("it does not fail: %v", err)
	}
	for i := range got {
		if at := differ(got[i], want[i]); at != "" {
			return false, fmt.Errorf("result %d: %s", i, at)
		}
	}
	return false, nil
}

// TestStackOfEntries: entries whose frames differ, so that the one that reports a failure goes deeper than the one that
// failed, or a kernel in place less deep than the one that did its checks, report that the stack failed.
func TestStackOfEntries(t *testing.T) {
	const text = `kernels "t"
site 0 "recursion" at "f.heal":1:2 op "down" text "down"
func @down(%%0: i64) -> (i64) site 0 {
  %%1: i64 = const 1
  %%2: bool = lt %%0, %%1
  %%3: i64 = if %%2 {
    yield %%1
  } else {
    %%4: i64 = sub %%0, %%1
    %%5: i64 = call @down %%4
    yield %%5
  }
  return %%3
}
kernel @k(%s) over %%0 in 0..4 {
  %%1: i64 = const 0
  %%2: i64 = loop %%3 in 0..8 carry %%4: i64 = %%1 {
    %%5: i64 = load y[8*%%0 + %%3]
    %%6: i64 = call @down %%5
    store %s[8*%%0 + %%3], %%6
    next %%6
  }
}`
	for params, want := range map[string]string{
		"inplace y: i64[4, 8]":              "k$checks k$report k k$stack",
		"in y: i64[4, 8], out z: i64[4, 8]": "k k$report",
	} {
		inPlace, to := !strings.Contains(params, "out"), "z"
		if inPlace {
			to = "y"
		}
		m, errs := kernel.Parse(diag.NewFile("t.kernels", fmt.Sprintf(text, params, to)))
		if errs.Err() != nil {
			t.Fatal(errs)
		}
		m.Plan = &abi.Program{Name: m.Name, Sites: m.Sites}
		ptx, err := compiled(m, "sm_70")
		if err != nil {
			t.Fatal(err)
		}
		mod, err := ptxsim.Parse("t.ptx", ptx)
		if err != nil {
			t.Fatal(err)
		}
		for _, depth := range []uint64{10, 1000} {
			d := machine.NewDevice(machine.Options{StackBytes: 200 << 10})
			word := func(words []uint64) (at uint64) {
				var b []byte
				for _, w := range words {
					b = binary.LittleEndian.AppendUint64(b, w)
				}
				at, err := d.Alloc(int64(len(b)))
				if err == nil {
					err = d.Write(at, b)
				}
				if err != nil {
					t.Fatal(err)
				}
				return at
			}
			y := make([]uint64, 32)
			y[5] = depth
			args := []uint64{word(y)}
			if !inPlace {
				args = append(args, word(make([]uint64, 32)))
			}
			cell := word(make([]uint64, abi.CellBytes/8))
			var params []byte
			for _, a := range append(args, 0, cell) {
				params = binary.LittleEndian.AppendUint64(params, a)
			}
			var launched []string
			for _, l := range m.Plan.Device.Kernels["k"].Launches {
				launched = append(launched, l.Entry)
				room := uint64(100 << 10)
				if l.Entry == "k" {
					room = 10 << 10
				}
				if err := d.Write(cell+abi.StackRoom, binary.LittleEndian.AppendUint64(nil, room)); err != nil {
					t.Fatal(err)
				}
				if err := d.Launch(mod, l.Entry, [3]int{1, 1, 1}, [3]int{l.Threads, 1, 1}, 0, params); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.Join(launched, " "); got != want {
				t.Errorf("the entries are %s, want %s", got, want)
			}
			record := make([]byte, 16)
			if err := d.Read(cell, record); err != nil {
				t.Fatal(err)
			}
			site, room := binary.LittleEndian.Uint64(record), binary.LittleEndian.Uint64(record[8:])
			if failed := depth > 300; failed != (site == 1 && room == 100<<10) || !failed && site != 0 {
				t.Errorf("%s: calls %d deep leave site %d, %d bytes", want, depth, site, room)
			}
		}
	}
}

var (
	properties = regexp.MustCompile(`Function properties for (\S+)\n\s*(\d+) bytes stack frame`)
	newest     = []string{"sm_70", "sm_90"}
)

// TestFrames: the frames that NVIDIA's assembler makes take no more than is thought, which is what is reserved.
func TestFrames(t *testing.T) {
	assembler := ptxas.Find(t)
	for _, name := range slices.Sorted(maps.Keys(recursions)) {
		for _, quick := range []bool{false, true} {
			for _, arch := range newest {
				km, done := standardKernels(t, recursions[name], "")
				done()
				ptx, err := gpu.CompileWith(km, codegen.Target{Kind: "gpu", CPU: arch}, libllvm.Assembly,
					gpu.Options{Quick: quick})
				if err != nil {
					t.Fatal(err)
				}
				out, err := ptxas.Run(t, assembler, string(ptx), arch, "-v")
				if err != nil {
					t.Fatalf("ptxas: %v\n%s\n%s", err, out, ptx)
				}
				frames, found := gpu.Frames(string(ptx)), 0
				for _, f := range properties.FindAllStringSubmatch(out, -1) {
					bytes, err := strconv.ParseInt(f[2], 10, 64)
					if err != nil {
						t.Fatal(err)
					}
					if most, known := frames[f[1]]; !known || bytes > most {
						t.Errorf("%s, %s, quick %v: %s has a frame of %d bytes, thought to be %d at most", name,
							arch, quick, f[1], bytes, most)
					}
					found++
				}
				if found < 2 {
					t.Errorf("%s, %s: ptxas says nothing of frames: %s", name, arch, out)
				}
			}
		}
	}
}

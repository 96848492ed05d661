package heal

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"healc/codegen/llvm/libllvm"
	"healc/runtime"
	"healc/runtime/abi"
	"healc/runtime/device/sim"
	"healc/runtime/tensor"
)

// TestStackOnDevices: on a device whose threads have less stack than 10000 calls take, recursion that goes deeper ends
// with the error and at the position that every backend has for recursion that is too deep, in all kernels: in
// reductions, in scans, in loops that one block does, behind another check. The device works on afterwards.
func TestStackOnDevices(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	src := `
fn down(n: i32) -> i32 = if n < 1 { 0 } else { 1 + down(n - 1) }
fn even(n: i32, x: f64) -> bool = if n < 1 { true } else { !even(n - 1, x * 0.5) }
pub fn each(n: i32[300]) -> i32[300] = map(|x| down(x), n)
pub fn total(n: i32[300]) -> i64 = +/(map(|x| down(x) as i64, n))
pub fn pairs(n: i32[300]) -> bool[300, 3] = tabulate(300, 3, |i, j| even(n[i] - j, 1.0))
pub fn steps(n: i32[300]) -> i32[300] = scan(0, |a, x| a + down(x), n)
pub fn again(n: i32[300]) -> i32[300] = iterate(3, n, |y| { let d = down(y[0]); cumsum(y .* 0 .+ 1) .+ d })
pub fn behind(n: i32[300]) -> i32[300] = map(|x| 100 / (x - 5) + down(x), n)
`
	judge, err := Compile(src, Options{Backend: Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	small, _ := behindDriver(t, &sim.Driver{Memory: 512 << 20}) // a stack of 128 KiB for each thread
	ways := map[string]Options{"driver": {Backend: GPU, Device: small}}
	if os.Getenv("HEAL_TEST_DEVICE") == GPU {
		ways["gpu"] = Options{Backend: GPU}
	}
	call := func(m *Module, name string, deep map[int]int32) ([]uint64, error) {
		f, err := m.Func(name)
		if err != nil {
			t.Fatal(err)
		}
		n := make([]int32, 300)
		for at, d := range deep {
			n[at] = d
		}
		x := tensor.FromSlice(n)
		defer x.Close()
		y, err := f.Call(context.Background(), x)
		if err != nil {
			return nil, err
		}
		defer y.Close()
		return slices.Clone(y.Bits()), nil
	}
	depths := []map[int]int32{nil, {3: 20, 299: 400}, {0: 1 << 20}, {299: 1 << 20, 15: 1 << 20}, {100: 5000, 101: 300}}
	for way, opts := range ways {
		t.Run(way, func(t *testing.T) {
			m, err := Compile(src, opts)
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			ended := 0
			for _, name := range []string{"each", "total", "pairs", "steps", "again", "behind"} {
				for _, deep := range depths {
					got, err := call(m, name, deep)
					want, wrong := call(judge, name, deep)
					if err == nil {
						if wrong != nil || !slices.Equal(got, want) {
							t.Errorf("%s of %v: %v, want %v, %v", name, deep, got, want, wrong)
						}
						continue
					}
					var failed, expected *runtime.RuntimeError
					if !errors.As(err, &failed) || failed.Site.Kind != abi.KindRecursion {
						t.Errorf("%s of %v: %v", name, deep, err)
						continue
					}
					if ended++; len(deep) == 0 || slices.Max(slices.Collect(maps.Values(deep))) < 1000 {
						t.Errorf("%s of %v: %v, which is not deep", name, deep, err)
					}
					if errors.As(wrong, &expected) && (failed.Site.Line != expected.Site.Line ||
						failed.Site.Col != expected.Site.Col) {
						t.Errorf("%s of %v: %v, want the position of %v", name, deep, err, wrong)
					}
				}
			}
			if ended < 12 {
				t.Errorf("%d calls end for want of stack", ended)
			}
			// Which failure is first is that of the iterations, whatever the stack of another one has room for.
			if _, err := call(m, "behind", map[int]int32{7: 5, 8: 1 << 20}); err == nil ||
				!strings.Contains(err.Error(), "integer division by zero") {
				t.Errorf("a division by zero before recursion: %v", err)
			}
			if _, err := call(m, "behind", map[int]int32{7: 1 << 20, 8: 5}); err == nil ||
				!strings.Contains(err.Error(), "nested") {
				t.Errorf("recursion before a division by zero: %v", err)
			}
		})
	}
}

package heal

import (
	"context"
	"slices"
	"testing"

	"healc/codegen/llvm/libllvm"
	"healc/runtime/tensor"
)

// little are loops whose steps are small kernels: element-wise ones, rows and reductions by teams, checks that fail, in
// place, with the number of the step, several states, a state that is handed on, and in another loop.
const little = `
pub fn power(a: f32[48, 48], x: f32[48], n: i32) -> f32[48] = iterate_until(x, |y| { let z = a @ y; z ./ (1.0 + max/(z * z)) }, |y| +/(y) < 0.5, n)
pub fn fixed(a: f32[48, 48], x: f32[48], n: i32) -> f32[48] = iterate(n, x, |y| { let z = a @ y; z ./ (1.0 + max/(z * z)) })
pub fn rows(x: f32[20, 50], n: i32) -> f32[20, 50] = iterate(n, x, |y| { let e = exp(y .- max/[axis=1, keep](y)); e ./ +/[axis=1, keep](e) .+ +/[axis=0](e) })
pub fn states(x: f32[70], n: i32) -> (f32[70], f32[70], i32) =
    iterate_until((x, x * 0.5, 0), |(a, b, k)| (b ./ (1.0 + +/(a)), a + max/(b), k + 1), |(a, b, k)| +/(b) > 40.0, n)
pub fn checked(x: i32[300], n: i32, d: i32) -> (i32[300], i32) =
    iterate(n, (x, d), |(y, k)| (y + +/(y) % 1000 /
        k, k - 1))
pub fn places(x: i32[3], m: i32) -> i32[3, 3] = tabulate(3, |i| { let mut z = x; z[[i, 0]] = [5, i + m]; z })
pub fn nested(x: f32[64], m: i32, n: i32) -> f32[64] = iterate(m, x, |z| sort(iterate_until(z, |y| y ./ (1.0 + +/(y * y)), |y| max/(y) < 0.01, n) + 1.0))
`

// TestLoopsInBlock: a loop of small steps is one launch, with the results and the errors of the interpreter.
func TestLoopsInBlock(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	src := little
	judge, err := Compile(src, Options{Backend: Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	gpu, l := fakeGPU(t)
	square, err := vector[float32](48*48, 0.1).Reshape(48, 48)
	if err != nil {
		t.Fatal(err)
	}
	grid, err := vector[float32](1000, 3).Reshape(20, 50)
	if err != nil {
		t.Fatal(err)
	}
	x, y, z, ints := vector[float32](48, 2), vector[float32](70, 1), vector[float32](64, 8), vector[int32](300, 300)
	for _, opts := range []Options{{Backend: GPU, Device: gpu}, {Backend: PTXSim}} {
		m, err := Compile(src, opts)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name string
			args []*tensor.Tensor
			last [][]int32
		}{
			{"power", []*tensor.Tensor{square, x}, [][]int32{{-3}, {0}, {1}, {2}, {50}}},
			{"fixed", []*tensor.Tensor{square, x}, [][]int32{{0}, {1}, {2}, {9}}},
			{"rows", []*tensor.Tensor{grid}, [][]int32{{1}, {4}, {5}}},
			{"states", []*tensor.Tensor{y}, [][]int32{{1}, {2}, {3}, {40}}},
			{"checked", []*tensor.Tensor{ints}, [][]int32{{3, 9}, {5, 3}, {8, 1}, {1, 0}}},
			{"places", []*tensor.Tensor{tensor.FromSlice([]int32{7, 8, 9})}, [][]int32{{4}}},
			{"nested", []*tensor.Tensor{z}, [][]int32{{1, 20}, {3, 7}}},
		} {
			for _, last := range c.last {
				args := slices.Clone(c.args)
				for _, n := range last {
					args = append(args, tensor.Scalar(n))
				}
				want, failed := callFunc(judge, c.name, args)
				for range 2 {
					launches := l.Calls("cuLaunchKernel")
					got, err := callFunc(m, c.name, args)
					if !sameFailure(err, failed) {
						t.Fatalf("%s %v: %v, the interpreter says %v", c.name, last, err, failed)
					}
					if failed == nil && !slices.EqualFunc(got, want, slices.Equal) {
						t.Errorf("%s %v: %v, want %v", c.name, last, got[0][:5], want[0][:5])
					}
					if n := l.Calls("cuLaunchKernel") - launches; c.name != "nested" && opts.Backend == GPU && n > 8 {
						t.Errorf("%s %v takes %d launches", c.name, last, n)
					}
				}
			}
		}
		m.Close()
	}
	if gpu.LiveBytes() != 0 {
		t.Errorf("%d bytes of the device are not given back", gpu.LiveBytes())
	}
	// Long loops are several launches, of which each goes on where the one before has ended.
	long :=
		`pub fn f(x: u32[3, 40], n: i32) -> (u32[3, 40], u32[3]) = iterate(n, (x, +/[axis=1](x)), |(y, s)| (y * 1664525 .+ 1013904223, s + +/[axis=1](y)))`
	want := [2]uint64{}
	for i, opts := range []Options{{Backend: CPU, Threads: 1}, {Backend: GPU, Device: gpu}} {
		if testing.Short() {
			break
		}
		m, err := Compile(long, opts)
		if err != nil {
			t.Fatal(err)
		}
		f, _ := m.Func("f")
		v, err := tensor.FromSlice(make([]uint32, 120), 3, 40).View()
		if err != nil {
			t.Fatal(err)
		}
		out, err := f.CallAll(context.Background(), v, tensor.Scalar(int32(16384+11)))
		if err != nil {
			t.Fatal(err)
		}
		if want[i] = out[1].Bits()[2]; want[i] != want[0] || out[0].Bits()[7] == 0 {
			t.Errorf("a long loop gives %d, want %d", want[i], want[0])
		}
		m.Close()
	}
}

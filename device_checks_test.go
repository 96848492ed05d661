package heal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"healc/runtime"
	"healc/runtime/tensor"
)

// TestChecksOnDevices: indices out of range and divisions by zero stop a program on a device with their position,
// message and details, in kernels that do several elements at once, in rows, in place and in loops; without one the
// results are those of the interpreter.
func TestChecksOnDevices(t *testing.T) {
	src := `
pub fn pick(a: f32[50], i: i32[1003]) -> f32[1003] =
    a[i]
pub fn divide(x: i32[1003], i: i32[1003]) -> i32[1003] =
    x / i + 1
pub fn rest(x: i64[1003], i: i64[1003]) -> i64[1003] =
    x % i
pub fn rows(x: i32[17, 59], i: i32[17, 59]) -> i32[17] =
    +/[axis=1](x / i)
pub fn here(x: &mut i32[1003], i: i32[1003]) -> i32[1003] = {
    x = x + 2000;
    x = x / i;
    x
}
pub fn again(x: i32[1003], i: i32[1003], n: i32) -> i32[1003] = iterate(n, x, |y| sort(y +
    x / i))
`
	judge, err := Compile(src, Options{Backend: Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer judge.Close()
	type program struct {
		name    string
		rest    []*tensor.Tensor
		line    int
		message string
	}
	programs := []program{
		{"pick", nil, 3, "index 0 is out of range"}, // of an index of 1000 + the place
		{"divide", nil, 5, "integer division by zero"},
		{"rest", nil, 7, "integer division by zero"},
		{"rows", nil, 9, "integer division by zero"},
		{"here", nil, 12, "integer division by zero"},
		{"again", []*tensor.Tensor{tensor.Scalar(int32(2))}, 16, "integer division by zero"},
	}
	onDevices(t, src, func(t *testing.T, m *Module, _ *strings.Builder) {
		for _, p := range programs {
			for _, wrong := range [][]int{nil, {0}, {1002}, {513}, {6, 5, 900}} {
				first := 2000
				index, x := make([]int32, 1003), make([]int32, 1003)
				for k := range index {
					index[k], x[k] = int32(1+k%49), int32(k*7919%1000)
				}
				for _, at := range wrong {
					first = min(first, at)
					if index[at] = 0; p.name == "pick" {
						index[at] = int32(1000 + at)
					}
				}
				call := func(m *Module) ([]uint64, error) {
					f, err := m.Func(p.name)
					if err != nil {
						t.Fatal(err)
					}
					var a, b *tensor.Tensor
					switch p.name {
					case "pick":
						a, b = vector[float32](50, 9), tensor.FromSlice(index)
					case "rest":
						long := func(v []int32) (out []int64) {
							for _, n := range v {
								out = append(out, int64(n))
							}
							return out
						}
						a, b = tensor.FromSlice(long(x)), tensor.FromSlice(long(index))
					case "rows":
						a, b = tensor.FromSlice(x, 17, 59), tensor.FromSlice(index, 17, 59)
					default:
						a, b = tensor.FromSlice(x), tensor.FromSlice(index)
					}
					defer a.Close()
					defer b.Close()
					y, err := f.Call(context.Background(), append([]*tensor.Tensor{a, b}, p.rest...)...)
					if err != nil {
						return nil, err
					}
					defer y.Close()
					return slices.Clone(y.Bits()), nil
				}
				got, err := call(m)
				if wrong == nil {
					if want, _ := call(judge); err != nil || !slices.Equal(got, want) {
						t.Errorf("%s: %v", p.name, err)
					}
					continue
				}
				message := p.message
				if p.name == "pick" {
					message = "index " + strconv.Itoa(1000+first) + " is out of range for an axis of extent 50"
				}
				var failed *runtime.RuntimeError
				if !errors.As(err, &failed) || failed.Site.Line != p.line || failed.Site.Col == 0 ||
					!strings.Contains(failed.Message, message) {
					t.Errorf("%s, wrong at %d: %v, want line %d: %s", p.name, wrong, err, p.line, message)
				}
			}
		}
	})
}

// TestManyBuffersOnDevices: a kernel that reads more tensors than entries have parameters for in the versions of PTX
// that all drivers know.
func TestManyBuffersOnDevices(t *testing.T) {
	const n = 600
	var params, names []string
	var args []*tensor.Tensor
	var want []int32
	for i := range n {
		names = append(names, fmt.Sprintf("x%d", i))
		params = append(params, names[i]+": i32[2]")
		x := tensor.FromSlice([]int32{int32(i), int32(-i)})
		defer x.Close()
		args, want = append(args, x), append(want, int32(3*i), int32(-3*i))
	}
	src := fmt.Sprintf("pub fn all(%s) -> i32[%d] = concat((%s), 0) * 3", strings.Join(params, ", "), 2*n,
		strings.Join(names, ", "))
	onDevices(t, src, func(t *testing.T, m *Module, _ *strings.Builder) {
		got, err := tensor.Slice[int32](callOne(t, m, "all", args...))
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%v, %v", got, err)
		}
	})
}

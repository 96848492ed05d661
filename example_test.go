package heal_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"math"
	"os"
	"time"

	heal "healc"
	"healc/lang/diag"
	"healc/runtime/arrow"
	"healc/transcript"
)

// A program is compiled once, and its functions are called with tensors of any shape that they are declared for.
func Example() {
	m, err := heal.Compile("fn double[N](x: f32[N]) -> f32[N] = x * 2.0", heal.Options{})
	if err != nil {
		log.Fatal(err) // all that is wrong with the program
	}
	defer m.Close()
	f, err := m.Func("double")
	if err != nil {
		log.Fatal(err)
	}
	x := heal.FromSlice([]float32{1, 2, 3})
	defer x.Close()
	y, err := f.Call(context.Background(), x)
	if err != nil {
		log.Fatal(err)
	}
	defer y.Close()
	v, err := heal.Slice[float32](y)
	fmt.Println(v, err)
	// Output: [2 4 6] <nil>
}

// An array of another library of the process, which Arrow's C Data Interface describes, is an argument without a copy,
// and so is a result to it. Here both come from Heal.
func Example_arrow() {
	m, err := heal.Compile("fn double[M, N](x: f32[M, N]) -> f32[M, N] = x * 2.0", heal.Options{Backend: heal.Interp})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("double")
	if err != nil {
		log.Fatal(err)
	}
	x := heal.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	defer x.Close()
	var schema arrow.Schema
	var array arrow.Array
	if err := arrow.Export(x, &schema, &array); err != nil {
		log.Fatal(err)
	}
	y, err := arrow.Import(&schema, &array) // as the other library would
	if err != nil {
		log.Fatal(err)
	}
	defer y.Close() // releases the array
	z, err := f.Call(context.Background(), y)
	if err != nil {
		log.Fatal(err)
	}
	defer z.Close()
	fmt.Println(z, z.Bits()[5] == uint64(math.Float32bits(12)))
	// Output: f32[2,3] true
}

// A tensor on a slice of Go: nothing is copied, neither the argument nor the result.
func ExampleOf() {
	f := function("fn f[M, N](x: f32[M, N]) -> f32[N] = +/[axis=0](x)")
	x, sums := heal.Of([]float32{1, 2, 3, 4, 5, 6}, 2, 3), make([]float32, 3)
	y := heal.Of(sums)
	defer x.Close()
	defer y.Close()
	if err := x.Set(10, 0, 0); err != nil {
		log.Fatal(err)
	}
	err := f.CallInto(context.Background(), []*heal.Tensor{y.Tensor}, x.Tensor)
	fmt.Println(sums, err)
	// Output: [14 7 9] <nil>
}

// A result whose elements are read as what they are; another type is an error.
func ExampleAs() {
	f := function("fn f[N](x: i64[N]) -> i64[N] = cumsum(x)")
	x := heal.Of([]int64{1, 2, 3})
	defer x.Close()
	y, err := f.Call(context.Background(), x.Tensor)
	if err != nil {
		log.Fatal(err)
	}
	defer y.Close()
	sums, err := heal.As[int64](y)
	if err != nil {
		log.Fatal(err)
	}
	last, err := sums.At(2)
	fmt.Println(last, err)
	_, err = heal.As[float32](y)
	fmt.Println(err)
	// Output:
	// 6 <nil>
	// i64[3] is no tensor of f32
}

// function compiles a source for the interpreter, which needs no libLLVM, and returns its function f.
func function(source string) *heal.Func {
	m, err := heal.Compile(source, heal.Options{Backend: heal.Interp})
	if err != nil {
		log.Fatal(err)
	}
	f, err := m.Func("f")
	if err != nil {
		log.Fatal(err)
	}
	return f
}

// values are the elements of a tensor.
func values[T heal.Elem](t *heal.Tensor) []T {
	v, err := heal.Slice[T](t)
	if err != nil {
		log.Fatal(err)
	}
	return v
}

// What is wrong with a source are diagnostics, each with a code, a place and help; `healc explain CODE` says more.
func ExampleCompile() {
	_, err := heal.Compile("fn f(x: f32[3], y: f32[4]) -> f32[3] = x + y", heal.Options{})
	var list *heal.Diagnostics
	if errors.As(err, &list) {
		for _, d := range list.Items {
			fmt.Printf("%s at %s: %s\n", d.Code, d.Primary.Span.Pos(), d.Message)
		}
	}
	// Output: E0204 at <source>:1:40: `+` takes operands of one shape
}

// The file has a name, which messages show.
func ExampleCompileFile() {
	_, err := heal.CompileFile(diag.NewFile("net.heal", "fn f(x: f32) -> f32 = y\n"), heal.Options{})
	fmt.Println(err)
	// Output:
	// error[E0301]: unknown name `y`
	//   --> net.heal:1:23
	//    |
	//  1 | fn f(x: f32) -> f32 = y
	//    |                       ^
}

// Files that are imported may come from anywhere.
func ExampleOptions() {
	files := map[string]string{"scale.heal": "pub fn by(x: f32) -> f32 = x * 10.0\n"}
	m, err := heal.CompileFile(diag.NewFile("main.heal", "import \"./scale\"\nfn f(x: f32) -> f32 = scale.by(x)\n"),
		heal.Options{
			Backend: heal.Interp,
			ReadFile: func(path string) ([]byte, error) {
				text, ok := files[path]
				if !ok {
					return nil, fs.ErrNotExist
				}
				return []byte(text), nil
			},
		})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	fmt.Println(m.Names())
	// Output: [f scale.by]
}

// A program prints to the System of its options.
func ExampleSystem() {
	m, err := heal.Compile("@io fn main() = print(\"hello\")", heal.Options{Backend: heal.Interp})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("main")
	if err != nil {
		log.Fatal(err)
	}
	if _, err := f.CallAll(context.Background()); err != nil {
		log.Fatal(err)
	}
	// Output: hello
}

// A second process that runs the program finds its machine code in the folder.
func ExampleCache() {
	dir, err := os.MkdirTemp("", "cache")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for range 2 {
		m, err := heal.Compile("fn f(x: f64) -> f64 = x * x", heal.Options{Cache: &heal.Cache{Dir: dir}})
		if err != nil {
			log.Fatal(err)
		}
		f, err := m.Func("f")
		if err != nil {
			log.Fatal(err)
		}
		y, err := f.Call(context.Background(), heal.Scalar(3.0))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(values[float64](y))
		m.Close()
	}
	// Output:
	// [9]
	// [9]
}

// Func finds public functions and others, and says which there are.
func ExampleModule_Func() {
	m, err := heal.Compile("fn norm[T: float, N](x: T[N]) -> T = sqrt(+/(x * x))",
		heal.Options{Backend: heal.Interp, Entry: "norm[f32]"})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("norm[f32]")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(f.Signature())
	_, err = m.Func("nrom")
	fmt.Println(err)
	// Output:
	// norm.f32[N](x: f32[N]) -> f32
	// there is no function "nrom"; there are norm.f32
}

// Params says what a function is called with.
func ExampleFunc_Params() {
	f := function("fn f[N](w: &mut f32[N], p: (f32[N], i32)) -> f32 = " +
		"{ w = w * 2.0; let (x, n) = p; +/(x) * (n as f32) }")
	for _, p := range f.Params() {
		fmt.Println(p.Name, p.Type, p.Updated)
	}
	fmt.Println(f.Results())
	// Output:
	// w f32[N] true
	// p.0 f32[N] false
	// p.1 i32 false
	// [f32]
}

// Call is for functions of one result.
func ExampleFunc_Call() {
	f := function("fn f[M, N](x: f32[M, N]) -> f32[N] = +/[axis=0](x)")
	x := heal.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 2, 3)
	defer x.Close()
	y, err := f.Call(context.Background(), x)
	if err != nil {
		log.Fatal(err)
	}
	defer y.Close()
	fmt.Println(y)
	fmt.Println(values[float32](y))
	// Output:
	// f32[3]
	// [5 7 9]
}

// CallAll returns the tensors of a tuple one by one, and the arguments of `&mut` parameters are written.
func ExampleFunc_CallAll() {
	f := function("fn f[N](count: &mut i32, x: f32[N]) -> (f32, f32) = { count = count + 1; (min/(x), max/(x)) }")
	count, x := heal.Scalar(int32(7)), heal.FromSlice([]float32{2, 9, 4})
	defer count.Close()
	defer x.Close()
	out, err := f.CallAll(context.Background(), count, x)
	if err != nil {
		log.Fatal(err)
	}
	for _, y := range out {
		defer y.Close()
	}
	fmt.Println(values[float32](out[0]), values[float32](out[1]), values[int32](count))
	// Output: [2] [9] [8]
}

// CallInto writes into tensors that are there, so that a second call allocates nothing.
func ExampleFunc_CallInto() {
	f := function("fn f[N](x: f32[N]) -> f32[N] = x * x")
	x, y := heal.FromSlice([]float32{1, 2, 3}), heal.FromSlice(make([]float32, 3))
	defer x.Close()
	defer y.Close()
	for range 2 {
		if err := f.CallInto(context.Background(), []*heal.Tensor{y}, x); err != nil {
			log.Fatal(err)
		}
		if err := y.CopyTo(x); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(values[float32](y))
	// Output: [1 16 81]
}

// The derivative of a function that the source does not differentiate itself.
func ExampleModule_Gradient() {
	m, err := heal.Compile("fn f(x: f32[3], a: f32) -> f32 = a * +/(x * x)", heal.Options{Backend: heal.Interp})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	g, err := m.Gradient("f", "x")
	if err != nil {
		log.Fatal(err)
	}
	x, a := heal.FromSlice([]float32{1, 2, 3}), heal.Scalar(float32(0.5))
	out, err := g.CallAll(context.Background(), x, a)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(values[float32](out[0]), values[float32](out[1]))
	// Output: [7] [1 2 3]
}

// Derivatives that accumulate, as over the parts of a batch.
func ExampleModule_AddGradient() {
	m, err := heal.Compile("fn f(x: f32[2]) -> f32 = +/(x * x)", heal.Options{Backend: heal.Interp})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	g, err := m.AddGradient("f")
	if err != nil {
		log.Fatal(err)
	}
	sum := heal.FromSlice([]float32{0, 0})
	for _, part := range [][]float32{{1, 2}, {10, 20}} {
		if _, err := g.Call(context.Background(), heal.FromSlice(part), sum); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(values[float32](sum))
	// Output: [22 44]
}

// An argument that does not fit is an error, and nothing runs.
func ExampleArgumentError() {
	f := function("fn f[N](x: f32[N], y: f32[N]) -> f32[N] = x + y")
	_, err := f.Call(context.Background(), heal.FromSlice([]float32{1, 2}), heal.FromSlice([]float32{1, 2, 3}))
	var bad *heal.ArgumentError
	fmt.Println(errors.As(err, &bad))
	fmt.Println(err)
	// Output:
	// true
	// f[N](x: f32[N], y: f32[N]) -> f32[N]: the shape parameter N is 2 by axis 0 of x, but 3 by axis 0 of y
}

// A program that fails says where.
func ExampleRuntimeError() {
	f := function("fn f(x: f32[3], i: i32) -> f32 = x[i]")
	_, err := f.Call(context.Background(), heal.FromSlice([]float32{1, 2, 3}), heal.Scalar(int32(3)))
	var failed *heal.RuntimeError
	if errors.As(err, &failed) {
		fmt.Println(failed.Message)
	}
	fmt.Println(err)
	// Output:
	// index 3 is out of range for an axis of extent 3
	// <source>:1:34: index 3 is out of range for an axis of extent 3
}

// Tensors that are declared `on device` stay there from call to call. The simulator executes the code for a GPU.
func ExampleOpenDevice() {
	d, err := heal.OpenDevice(heal.PTXSim, 0)
	if err != nil {
		log.Fatal(err) // a *heal.MissingDeviceError
	}
	m, err := heal.Compile("fn f(x: f32[3] on device) -> f32[3] on device = x + 1.0",
		heal.Options{Backend: heal.PTXSim, Device: d})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("f")
	if err != nil {
		log.Fatal(err)
	}
	x, err := heal.FromSlice([]float32{1, 2, 3}).ToDevice(d)
	for range 3 {
		if err != nil {
			log.Fatal(err)
		}
		x, err = f.Call(context.Background(), x)
	}
	y, err := x.ToHost()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(values[float32](y))
	// Output: [4 5 6]
}

// Devices says which there are, without opening one.
func ExampleDevices() {
	version, devices, err := heal.Devices(heal.PTXSim)
	fmt.Println(version, len(devices), err)
	// Output: PTX simulator 1 <nil>
}

// A transcript has the values that its recording gave.
func ExampleCompileTranscript() {
	t, err := transcript.ReadFile("examples/transcripts/product.json")
	if err != nil {
		log.Fatal(err)
	}
	defer t.Close()
	x, err := heal.CompileTranscript(t, heal.TranscriptOptions{Options: heal.Options{Backend: heal.Interp}})
	if err != nil {
		log.Fatal(err)
	}
	defer x.Close()
	res, err := x.Run(context.Background())
	if err != nil {
		log.Fatal(err)
	}
	defer res.Close()
	fmt.Println(len(res.Outputs), res.Outputs[0].Tensor, res.Verify())
	// Output: 1 i64[1,8,1,2] <nil>
}

// A program of a stranger runs in a process that opens no files, no sockets, and starts no programs. What it prints
// comes here, and its errors are those that it has without a sandbox.
func ExampleSandbox() {
	const source = `@io fn f(x: f64[3], i: i32) -> f64 = {
    print(x);
    save_npy("/tmp/loot.npy", x);
    x[i]
}
fn g(x: f64[3], i: i32) -> f64 = x[i]`
	m, err := heal.Compile(source, heal.Options{Backend: heal.Interp, Sandbox: &heal.Sandbox{
		Memory:     4 << 30,
		CPU:        time.Minute,
		BestEffort: true, // leave it out, and there is an error where the system cannot do all of it
	}})
	if err != nil {
		log.Fatal(err)
	}
	defer m.Close() // ends the process
	for _, name := range []string{"f", "g"} {
		f, err := m.Func(name)
		if err != nil {
			log.Fatal(err)
		}
		_, err = f.Call(context.Background(), heal.FromSlice([]float64{1, 2, 3}), heal.Scalar(int32(7)))
		fmt.Println(err)
	}
	// Output:
	// [1. 2. 3.]
	// <source>:3:5: /tmp/loot.npy may not be written: it is in no folder of Write of the Sandbox
	// <source>:6:34: index 7 is out of range for an axis of extent 3
}

// Command gpu measures programs on a GPU, as ratios of what was measured beside them in the same run: the bandwidth of
// a copy within the device, PyTorch's product of matrices where there is PyTorch, the CPU. `make bench-gpu` runs it.
//
// What is measured is a call of the program, from its start to the end of its work: arguments and results are on the
// device. It was written without a device at hand; docs/performance.md says where it has run.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"

	heal "healc"
	"healc/runtime/device"
)

func main() {
	backend := flag.String("backend", heal.GPU, "gpu, or ptxsim to see that it runs")
	scale := flag.Int("scale", 1, "divide the sizes by this")
	python := flag.String("python", "python3", "the Python that may have PyTorch")
	tuning := flag.Bool("tune", false, "try other numbers of the profile of devices, one at a time, on many programs")
	of := flag.String("codes", "", "print what identifies the code of each of these programs for a processor")
	number := flag.String("set", "", "with -codes: a number of the profile, as `field = value`")
	flag.Parse()
	var err error
	switch {
	case *of != "":
		if err = set(devices(*of), *number); err == nil {
			err = codes(os.Stdout, *of, *scale)
		}
	case *tuning:
		err = tune(os.Stdout, *backend, *scale)
	default:
		err = bench(os.Stdout, *backend, *scale, *python)
	}
	var missing *device.MissingError
	if errors.As(err, &missing) {
		fmt.Println("skipped: no device:", strings.TrimPrefix(err.Error(), "no GPU: "))
		return
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

// bench measures every row and prints it.
func bench(w io.Writer, backend string, scale int, python string) error {
	d, err := heal.OpenDevice(backend, 0)
	if err != nil {
		return err
	}
	version, _, err := heal.Devices(backend)
	if err != nil {
		return err
	}
	info := d.Info()
	fmt.Fprintf(w, "%s, %s, compute capability %d.%d, %s\n\n", info.Name, device.FormatBytes(info.Memory), info.Major,
		info.Minor, version)
	b := &bencher{w: w, backend: backend, d: d}
	n := 1 << 28 / scale
	rows, columns := max(8192/scale, 1), max(4096/min(scale, 64), 1)
	side := max(4096/scale, 1)
	length := max(65536/scale, 64)
	if err := b.copying(n); err != nil {
		return err
	}
	fmt.Fprintf(w, "%-44s %10s %10s %10s\n", "", "us", "GB/s", "of copy")
	f32 := func(shape ...int) operand { return operand{"f32", shape} }
	added, tall := max(n/4, 1), max((1<<18)/scale, 1)
	places := "tabulate(N, |i| ((i % 100003) * 7919 + p[i]) % 1048576)"
	for _, r := range []row{
		{fmt.Sprintf("x * 2.0 + 1.0, f32[%d]", n), "fn f[N](x: f32[N] on device) -> f32[N] on device = x * 2.0 + 1.0",
			[]operand{f32(n)}, 8 * n},
		{fmt.Sprintf("exp(x) * tanh(x) + 1.0, f32[%d]", n),
			"fn f[N](x: f32[N] on device) -> f32[N] on device = exp(x) * tanh(x) + 1.0", []operand{f32(n)}, 8 * n},
		{fmt.Sprintf("+/ x, f32[%d]", n), "fn f[N](x: f32[N] on device) -> f32 = +/ x", []operand{f32(n)}, 4 * n},
		{fmt.Sprintf("max/ along axis 0, f32[%d, %d]", rows, columns),
			"fn f[M, N](x: f32[M, N] on device) -> f32[N] on device = max/[axis=0](x)", []operand{f32(rows, columns)},
			4 * rows * columns},
		{fmt.Sprintf("max/ along axis 0, f32[%d, 64]", tall),
			"fn f[M, N](x: f32[M, N] on device) -> f32[N] on device = max/[axis=0](x)", []operand{f32(tall, 64)},
			4 * tall * 64},
		{fmt.Sprintf("+/ along axis 0, f32[%d, %d]", rows, columns),
			"fn f[M, N](x: f32[M, N] on device) -> f32[N] on device = +/[axis=0](x)", []operand{f32(rows, columns)},
			4 * rows * columns},
		{fmt.Sprintf("a histogram of 256, i32[%d]", added),
			"fn f[N](p: i32[N] on device) -> i32[256] on device = scatter_add(zeros[i32, 256](), p, 1, 0)",
			[]operand{{"i32", []int{added}}}, 4 * added},
		{fmt.Sprintf("i32 sums at 2^20 places, i32[%d]", added),
			"fn f[N](p: i32[N] on device) -> i32[1048576] on device = scatter_add(zeros[i32, 1048576](), " + places +
				", 1, 0)", []operand{{"i32", []int{added}}}, 4*added + 4<<20},
		{fmt.Sprintf("f32 sums at 2^20 places, i32[%d]", added),
			"fn f[N](p: i32[N] on device) -> f32[1048576] on device = scatter_add(zeros[f32, 1048576](), " + places +
				", 0.5, 0)", []operand{{"i32", []int{added}}}, 4*added + 4<<20},
		{fmt.Sprintf("softmax, f32[%d, %d]", rows, columns),
			"import nn\nfn f[M, N](x: f32[M, N] on device) -> f32[M, N] on device = to_device(nn.softmax(to_host(x)))",
			[]operand{f32(rows, columns)}, 8 * rows * columns},
		{fmt.Sprintf("layer norm, f32[%d, %d]", rows, columns),
			"import nn\n" +
				"fn f[M, N](x: f32[M, N] on device, a: f32[N] on device, b: f32[N] on device) -> f32[M, N] on device " +
				"=\n" +
				"    to_device(nn.layer_norm(to_host(x), to_host(a), to_host(b), 1e-5))",
			[]operand{f32(rows, columns), f32(columns), f32(columns)}, 8 * rows * columns},
		{fmt.Sprintf("transpose, f32[%d, %d]", rows, columns),
			"fn f[M, N](x: f32[M, N] on device) -> f32[N, M] on device = transpose(x) + 0.0",
			[]operand{f32(rows, columns)}, 8 * rows * columns},
	} {
		if err := b.bandwidth(r); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	fmt.Fprintln(w)
	for _, p := range []struct{ elem, src, torch string }{
		{"f32", "fn f[N](x: f32[N, N] on device, y: f32[N, N] on device) -> f32[N, N] on device = x @ y",
			`x, y = torch.rand(n, n, device="cuda"), torch.rand(n, n, device="cuda"); f = lambda: x @ y`},
		{"i8", "fn f[N](x: i8[N, N] on device, y: i8[N, N] on device) -> i32[N, N] on device = (x as i32) @ (y as i32)",
			`x, y = (torch.randint(-9, 9, (n, n), dtype=torch.int8, device="cuda") for _ in "xy"); ` +
				`f = lambda: torch._int_mm(x, y)`},
	} {
		if err := b.product(p.elem, p.src, side, python, p.torch); err != nil {
			return err
		}
	}
	for _, channels := range []int{32, max(1<<21/1024/scale, 4)} { // the second are short rows
		if err := b.transforms(length, channels); err != nil {
			return err
		}
		length = max(1024/scale, 64)
	}
	return b.launches(max(200/scale, 4))
}

// product measures a product of square matrices, and PyTorch's at the same precision where it is there.
func (b *bencher) product(elem, src string, n int, python, peerOf string) error {
	took, err := b.time(src, []operand{{elem, []int{n, n}}, {elem, []int{n, n}}})
	if err != nil {
		return err
	}
	ops := 2 * float64(n) * float64(n) * float64(n)
	line := fmt.Sprintf("x @ y, %s[%d, %d]: %.1f us, %.0f G operations/s", elem, n, n, took*1e6, ops/took/1e9)
	peer, why := torchProduct(python, peerOf, n)
	if why != "" {
		line += "; " + why
	} else {
		line += fmt.Sprintf("; PyTorch %.1f us, ratio %.2f", peer*1e6, peer/took)
	}
	_, err = fmt.Fprintln(b.w, line)
	return err
}

// torch is the peer: the same product, of floats without tensor cores, timed by events of the device. PEER makes f.
const torch = `
import sys, torch
n = int(sys.argv[1])
torch.backends.cuda.matmul.allow_tf32 = False
PEER
best = 1e9
for i in range(13):
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    a.record(); f(); b.record(); torch.cuda.synchronize()
    if i > 2: best = min(best, a.elapsed_time(b) / 1000)
print(best)
`

// torchProduct is the seconds that PyTorch takes, or why that is not known.
func torchProduct(python, peer string, n int) (seconds float64, why string) {
	out, err := exec.Command(python, "-c", strings.Replace(torch, "PEER", peer, 1), strconv.Itoa(n)).Output()
	if err != nil {
		return 0, "no PyTorch with a GPU beside it"
	}
	seconds, err = strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
	if err != nil || seconds <= 0 {
		return 0, "PyTorch printed no time"
	}
	return seconds, ""
}

package tests

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"healc"
	"healc/lang/diag"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
	"healc/tests/sample"
)

// trainer compiles one of the examples that train, and calls a function of it.
func trainer(t *testing.T, name, entry string, opts heal.Options, args ...*tensor.Tensor) []*tensor.Tensor {
	t.Helper()
	path := "../examples/" + name
	src, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := heal.CompileFile(diag.NewFile(path, string(src)), opts)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func(entry)
	if err != nil {
		t.Fatal(err)
	}
	out, err := f.CallAll(context.Background(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// firstDigits are n images from the start of the digits, as rows of numbers from 0 to 1, and their labels.
func firstDigits(t *testing.T, from, n int64) (*tensor.Tensor, *tensor.Tensor) {
	t.Helper()
	var parts []*tensor.Tensor
	for _, name := range []string{"images", "labels"} {
		all, err := tensorfile.ReadNpyFile("../examples/data/digits/" + name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		defer all.Close()
		part, err := all.Slice(tensor.Range{Start: from, Stop: from + n})
		if err != nil {
			t.Fatal(err)
		}
		parts = append(parts, part)
	}
	defer parts[0].Close()
	pixels := make([]float32, 0, n*64)
	for _, b := range parts[0].Bits() {
		pixels = append(pixels, float32(b)/16)
	}
	return tensor.FromSlice(pixels, int(n), 64), parts[1]
}

// TestTrainFirstSteps: the first steps of the training are the same on the interpreter and on the CPU with one and two
// threads, bit for bit: the loss of two epochs of two batches each, and the accuracy after each. One of the networks
// takes these steps on a day, the other one is trained whole.
func TestTrainFirstSteps(t *testing.T) {
	day := sample.Today(t)
	for i, example := range []struct {
		name string
		n    int64
	}{{"train_digits.heal", 70}, {"train_digits_conv.heal", 32}} {
		t.Run(example.name, func(t *testing.T) {
			if testing.Short() && strings.Contains(example.name, "conv") {
				t.Skip("the interpreter takes several seconds for a convolution")
			}
			if !testing.Short() && !sample.Has(day, i+1, 2) {
				t.Skip("its turn is on another day")
			}
			x, y := firstDigits(t, 0, example.n)
			testX, testY := firstDigits(t, 1437, 4)
			rates := tensor.FromSlice([]float32{0.003, 0.002})
			run := func(opts heal.Options) string {
				text := ""
				for _, r := range trainer(t, example.name, "train", opts, x, y, testX, testY, rates) {
					text += fmt.Sprintf("%x\n", r.Bits())
					r.Close()
				}
				return text
			}
			want := run(heal.Options{Backend: heal.Interp})
			cache := &heal.Cache{Dir: t.TempDir()} // code is the same for any number of threads
			for threads := 1; threads <= 2; threads++ {
				if got := run(heal.Options{Backend: heal.CPU, Threads: threads, Cache: cache}); got != want {
					t.Errorf("%d threads give\n%sthe interpreter gives\n%s", threads, got, want)
				}
			}
			for _, z := range []*tensor.Tensor{x, y, testX, testY, rates} {
				z.Close()
			}
		})
	}
}

// TestTrainDigits: the whole training reaches its accuracy on the images that it has not seen, with the same bits for
// one and two threads.
func TestTrainDigits(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for seconds")
	}
	day := sample.Today(t)
	for i, example := range []struct {
		name  string
		least float64
	}{{"train_digits.heal", 0.95}, {"train_digits_conv.heal", 0.97}} {
		t.Run(example.name, func(t *testing.T) {
			if !sample.Has(day, i, 2) {
				t.Skip("its turn is on another day")
			}
			var texts []string
			cache := &heal.Cache{Dir: t.TempDir()}
			for threads := 1; threads <= 2; threads++ {
				out := &strings.Builder{}
				start := time.Now()
				opts := heal.Options{Backend: heal.CPU, Threads: threads,
					System: digitsSystem{dir: "../examples/data/digits", out: out}, Cache: cache}
				for _, r := range trainer(t, example.name, "main", opts) {
					r.Close()
				}
				t.Logf("%d threads: compiled and trained in %.1f s", threads, time.Since(start).Seconds())
				texts = append(texts, out.String())
			}
			if texts[0] != texts[1] {
				t.Errorf("one thread prints\n%stwo print\n%s", texts[0], texts[1])
			}
			lines := strings.Split(strings.TrimSpace(texts[0]), "\n")
			var epoch int
			var loss, accuracy float64
			if _, err := fmt.Sscanf(lines[len(lines)-1], "(%d, %g, %g)", &epoch, &loss, &accuracy); err != nil {
				t.Fatalf("the last line is %q: %v", lines[len(lines)-1], err)
			}
			if accuracy < example.least {
				t.Errorf("the accuracy is %g after %d epochs, and %g is wanted", accuracy, epoch, example.least)
			}
		})
	}
}

// Command draw runs the programs train_digits.heal and train_digits_conv.heal of the folder examples and draws how
// their losses and accuracies went, as an SVG file:
//
//	go run ./draw -out curves.svg
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"healc"
	"healc/lang/diag"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// network is one of the programs.
type network struct{ file, name string }

var networks = []network{
	{"train_digits.heal", "64-128-10"},
	{"train_digits_conv.heal", "two convolutions"},
}

// history is what a training gives for each epoch.
type history struct {
	name             string
	losses, accuracy []float32
}

func main() {
	examples := flag.String("examples", "..", "the folder of the programs")
	out := flag.String("out", "curves.svg", "the file to draw")
	threads := flag.Int("threads", 0, "the number of threads; 0 for all")
	flag.Parse()
	if err := run(*examples, *out, *threads); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(examples, out string, threads int) error {
	data := filepath.Join(examples, "data", "digits")
	images, err := tensorfile.ReadNpyFile(filepath.Join(data, "images.npy"))
	if err != nil {
		return err
	}
	defer images.Close()
	labels, err := tensorfile.ReadNpyFile(filepath.Join(data, "labels.npy"))
	if err != nil {
		return err
	}
	defer labels.Close()
	var all []history
	for _, n := range networks {
		start := time.Now()
		h, err := n.train(examples, threads, images, labels)
		if err != nil {
			return err
		}
		last := len(h.losses) - 1
		fmt.Printf("%s: %d epochs, compiled and run in %.2f s; loss %.4f, accuracy %.4f\n",
			n.name, last+1, time.Since(start).Seconds(), h.losses[last], h.accuracy[last])
		all = append(all, h)
	}
	return drawCurves(all, out)
}

// train calls the function `history` of the program: the whole training.
func (n network) train(examples string, threads int, images, labels *tensor.Tensor) (history, error) {
	path := filepath.Join(examples, n.file)
	src, err := os.ReadFile(path)
	if err != nil {
		return history{}, err
	}
	m, err := heal.CompileFile(diag.NewFile(path, string(src)), heal.Options{Threads: threads})
	if err != nil {
		return history{}, err
	}
	defer m.Close()
	f, err := m.Func("history")
	if err != nil {
		return history{}, err
	}
	results, err := f.CallAll(context.Background(), images, labels)
	if err != nil {
		return history{}, err
	}
	defer results[0].Close()
	defer results[1].Close()
	h := history{name: n.name}
	for i, to := range []*[]float32{&h.losses, &h.accuracy} {
		values, err := tensor.Slice[float32](results[i])
		if err != nil {
			return history{}, err
		}
		*to = append(*to, values...) // a copy: values ends with the tensor
	}
	return h, nil
}

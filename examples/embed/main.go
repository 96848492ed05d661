// Command embed is a Go program of a module of its own that has a Heal program in it: it fits a line to points.
// Everything that it needs is in the root package.
//
//	go run .
package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"

	heal "healc"
)

//go:embed line.heal
var source string

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	ctx := context.Background()
	m, err := heal.Compile(source, heal.Options{Cache: heal.DefaultCache()})
	if err != nil {
		return err
	}
	defer m.Close()
	gradient, err := m.Gradient("loss", "line")
	if err != nil {
		return err
	}
	step, err := m.Func("step")
	if err != nil {
		return err
	}

	line, rate := heal.FromSlice([]float32{0, 0}), heal.Scalar[float32](0.1)
	defer line.Close()
	defer rate.Close()
	x, y := heal.FromSlice([]float32{0, 1, 2, 3}), heal.FromSlice([]float32{1, 3, 5, 7})
	defer x.Close()
	defer y.Close()
	loss, slope := heal.Scalar[float32](0), heal.FromSlice([]float32{0, 0})
	defer loss.Close()
	defer slope.Close()
	for range 200 { // nothing is allocated in a step
		if err := gradient.CallInto(ctx, []*heal.Tensor{loss, slope}, line, x, y); err != nil {
			return err
		}
		if err := step.CallInto(ctx, nil, line, slope, rate); err != nil {
			return err
		}
	}
	v, err := heal.Slice[float32](line)
	if err != nil {
		return err
	}
	fmt.Printf("y = %.3f x + %.3f\n", v[0], v[1])

	// Points without a y are an error of the call, and nothing runs.
	more := heal.FromSlice([]float32{0, 1, 2, 3, 4})
	defer more.Close()
	_, err = gradient.CallAll(ctx, line, more, y)
	var bad *heal.ArgumentError
	if !errors.As(err, &bad) {
		return fmt.Errorf("five points with four values: %v", err)
	}
	fmt.Println(bad.Message)
	return nil
}

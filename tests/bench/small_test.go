package main

import (
	"context"
	"testing"

	"healc"
	"healc/runtime/tensor"
)

// BenchmarkSmallCall is what a call on 64 elements costs from Go: a * x + y in f32, as in tests/bench/peers/calls.py.
func BenchmarkSmallCall(b *testing.B) {
	m, err := heal.Compile("pub fn axpy[N](a: f32, x: f32[N], y: f32[N]) -> f32[N] = a .* x .+ y\n", heal.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("axpy")
	if err != nil {
		b.Fatal(err)
	}
	const n = 64
	x, y, z := make([]float32, n), make([]float32, n), make([]float32, n)
	for i := range n {
		x[i], y[i] = float32(i), 1
	}
	var args []*tensor.Tensor
	for _, t := range []*tensor.Tensor{tensor.Scalar(float32(2)), tensor.FromSlice(x, n), tensor.FromSlice(y, n)} {
		if t.Err() != nil {
			b.Fatal(t.Err())
		}
		defer t.Close()
		args = append(args, t)
	}
	out := []*tensor.Tensor{tensor.FromSlice(z, n)}
	defer out[0].Close()
	ctx := context.Background()
	b.Run("a loop in Go", func(b *testing.B) {
		for b.Loop() {
			byHand(2, x, y, z)
		}
	})
	b.Run("CallInto", func(b *testing.B) {
		for b.Loop() {
			if err := f.CallInto(ctx, out, args...); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("Call", func(b *testing.B) {
		for b.Loop() {
			t, err := f.Call(ctx, args...)
			if err != nil {
				b.Fatal(err)
			}
			t.Close()
		}
	})
}

//go:noinline
func byHand(a float32, x, y, z []float32) {
	for i := range x {
		z[i] = a*x[i] + y[i]
	}
}

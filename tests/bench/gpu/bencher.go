package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	heal "healc"
	"healc/lang/types"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// bencher measures programs on one device.
type bencher struct {
	w       io.Writer
	backend string
	d       *memory.Device
	copy    float64 // bytes a second that are read and written by a copy within the device
}

// row is a program that is bound by memory.
type row struct {
	name, src string
	args      []operand
	bytes     int // that it reads and writes
}

// operand is an argument.
type operand struct {
	elem  string
	shape []int
}

const (
	warmups = 3
	repeats = 10
)

// median is the median time of a call, in seconds, after some that do not count.
func median(call func() error) (float64, error) {
	var times []float64
	for i := range warmups + repeats {
		start := time.Now()
		if err := call(); err != nil {
			return 0, err
		}
		if i >= warmups {
			times = append(times, time.Since(start).Seconds())
		}
	}
	slices.Sort(times)
	return times[len(times)/2], nil
}

// copying measures the bandwidth of a copy.
func (b *bencher) copying(n int) error {
	x, err := tensor.NewOn(b.d, types.F32, int64(n))
	if err != nil {
		return err
	}
	defer x.Close()
	zeros, err := tensor.Zeros(types.F32, int64(n))
	if err != nil {
		return err
	}
	defer zeros.Close()
	if err := zeros.CopyTo(x); err != nil {
		return err
	}
	took, err := median(func() error {
		y, err := x.Clone()
		y.Close()
		return err
	})
	b.copy = 8 * float64(n) / took
	fmt.Fprintf(b.w, "a copy within the device of f32[%d]: %.1f us, %.1f GB/s read and written\n\n", n, took*1e6,
		b.copy/1e9)
	return err
}

// bandwidth measures a row and compares it with a copy.
func (b *bencher) bandwidth(r row) error {
	took, err := b.time(r.src, r.args)
	if err != nil {
		return err
	}
	rate := float64(r.bytes) / took
	_, err = fmt.Fprintf(b.w, "%-44s %10.1f %10.1f %10.2f\n", r.name, took*1e6, rate/1e9, rate/b.copy)
	return err
}

// time is the median time of the function f of a program, with its arguments on the device where it wants them there.
func (b *bencher) time(src string, operands []operand) (float64, error) {
	return timed(heal.Options{Backend: b.backend, Device: b.d}, src, operands)
}

func timed(opts heal.Options, src string, operands []operand) (float64, error) {
	m, err := heal.Compile(src, opts)
	if err != nil {
		return 0, err
	}
	defer m.Close()
	f, err := m.Func("f")
	if err != nil {
		return 0, err
	}
	args, err := there(m, f, operands)
	defer func() {
		for _, t := range args {
			t.Close()
		}
	}()
	if err != nil {
		return 0, err
	}
	ctx := context.Background()
	return median(func() error {
		out, err := f.CallAll(ctx, args...)
		for _, t := range out {
			t.Close()
		}
		return err
	})
}

// there are arguments of a function, where it wants them.
func there(m *heal.Module, f *heal.Func, operands []operand) (args []*tensor.Tensor, err error) {
	for i, o := range operands {
		t, err := o.tensor()
		if err != nil {
			return args, err
		}
		args = append(args, t)
		place := f.Params()[i].Type.Place
		if place == types.OnHost || m.Device() == nil {
			continue
		}
		move := t.ToDevice
		if place == types.OnUnified {
			move = t.ToUnified
		}
		moved, err := move(m.Device())
		if err != nil {
			return args, err
		}
		t.Close()
		args[i] = moved
	}
	return args, nil
}

// tensor makes an argument: small numbers that are not all the same; of i64, residues of modulus, it alone, or
// positions.
func (o operand) tensor() (*tensor.Tensor, error) {
	n := 1
	shape := make([]int64, len(o.shape))
	for i, d := range o.shape {
		n, shape[i] = n*d, int64(d)
	}
	if o.elem == "i8" {
		v := make([]int8, n)
		for i := range v {
			v[i] = int8(i * 7919)
		}
		t := tensor.FromSlice(v, o.shape...)
		return t, t.Err()
	}
	if o.elem == "i32" {
		v := make([]int32, n)
		for i := range v {
			v[i] = int32(i * 7919 % 101)
		}
		t := tensor.FromSlice(v, o.shape...)
		return t, t.Err()
	}
	if o.elem == "f32" {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i%1021) / 1024
		}
		t := tensor.FromSlice(v, o.shape...)
		return t, t.Err()
	}
	v := make([]int64, n)
	for i := range v {
		v[i] = int64(uint64(i+1) * 0x9e3779b97f4a7c15 % modulus)
		switch o.elem {
		case "modulus":
			v[i] = modulus
		case "counting":
			v[i] = int64(i)
		case "scattered": // of a power of two, each position once
			v[i] = int64(i * 40503 & (n - 1))
		}
	}
	t := tensor.FromSlice(v, o.shape...)
	return t, t.Err()
}

// modulus is a prime of 50 bits that is 1 modulo 2^17.
const modulus = 1125899904679937

// transforms measures number theoretic transforms, on the device and on the CPU. The tables are residues and no powers
// of a root: the time does not depend on it.
func (b *bencher) transforms(length, channels int) error {
	for _, program := range []struct{ name, call, perm string }{
		{"ntt", "ntt(a, p, w, perm, axis = -1, skip_perm = true)", "counting"},
		{"ntt with a permutation", "ntt(a, p, w, perm, axis = -1)", "scattered"},
		{"intt", "intt(a, p, w, s, perm, axis = -1)", "counting"},
	} {
		if err := b.transform(program.name, program.call, program.perm, length, channels); err != nil {
			return err
		}
	}
	return nil
}

func (b *bencher) transform(name, call, perm string, length, channels int) error {
	src := fmt.Sprintf(
		"fn f(a: i64[%[1]d, %[2]d]%[3]s, p: i64[%[1]d]%[3]s, w: i64[%[1]d, %[2]d]%[3]s, perm: i64[%[2]d]%[3]s, "+
			"s: i64[%[1]d]%[3]s) -> i64[%[1]d, %[2]d]%[3]s =\n    %[4]s", channels, length, " on device", call)
	operands := []operand{{"i64", []int{channels, length}}, {"modulus", []int{channels}},
		{"i64", []int{channels, length}}, {perm, []int{length}}, {"i64", []int{channels}}}
	there, err := b.time(src, operands)
	if err != nil {
		return err
	}
	here, err := timed(heal.Options{}, strings.ReplaceAll(src, " on device", ""), operands)
	if err != nil {
		return err
	}
	bytes := 3 * 8 * float64(length) * float64(channels)
	_, err = fmt.Fprintf(b.w, "%s, i64[%d, %d]: %.1f us, %.1f GB/s; the CPU %.1f us, ratio %.2f\n", name, channels,
		length, there*1e6, bytes/there/1e9, here*1e6, here/there)
	return err
}

// launches measures what a kernel costs when there is nothing to compute, by loops of many small ones, with and without
// graphs.
func (b *bencher) launches(steps int) error {
	const kernels = 3
	src := fmt.Sprintf(
		"fn f(x: i32[64] on device) -> i32[64] on device = iterate(%d, x, |y| sort(flip(sort(flip(sort(y * 3), 0) * "+
			"7), 0) - x))", steps)
	defer b.d.UseGraphs(true)
	for _, graphs := range []bool{false, true} {
		b.d.UseGraphs(graphs)
		took, err := b.time(src, []operand{{"i32", []int{64}}})
		if err != nil {
			return err
		}
		with := map[bool]string{false: "without", true: "with"}[graphs]
		if _, err := fmt.Fprintf(b.w, "a small kernel of %d, %s graphs: %.2f us\n", steps*kernels, with,
			took*1e6/float64(steps*kernels)); err != nil {
			return err
		}
	}
	return nil
}

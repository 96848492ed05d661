package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"healc"
	"healc/cmd/healc/measure"
	"healc/runtime/tensor"
)

// The cases beside kernels.
const (
	smallCall = "call"
	processes = "process"
)

// calls times warm calls on 16 elements, where nothing but the way into the machine code counts.
func (b *bench) calls() error {
	m, err := heal.Compile("fn f[N](x: f32[N]) -> f32[N] = x .* 2.0 .+ 1.0\n", heal.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	f, err := m.Func("f")
	if err != nil {
		return err
	}
	data := make([]float32, 16)
	for i := range data {
		data[i] = float32(i)
	}
	x := tensor.FromSlice(data, 16)
	defer x.Close()
	ctx := context.Background()
	y, err := f.Call(ctx, x)
	if err != nil {
		return err
	}
	for i, b := range y.Bits() {
		if got := math.Float32frombits(uint32(b)); got != data[i]*2+1 {
			return fmt.Errorf("element %d is %v", i, got)
		}
	}
	defer y.Close()
	out := []*tensor.Tensor{y}
	race := []contender{
		{Contender: measure.Contender{Name: "healc", Threads: 1, Time: measure.Repeat(func() error {
			y, err := f.Call(ctx, x)
			if err == nil {
				y.Close()
			}
			return err
		})}},
		{Contender: measure.Contender{Name: "healc, result given", Threads: 1, Time: measure.Repeat(func() error {
			return f.CallInto(ctx, out, x)
		})}},
	}
	if b.peer != nil {
		race = append(race, contender{Contender: measure.Contender{Name: "numpy", Threads: 1,
			Time: func(n int) (time.Duration, error) {
				var seconds float64
				err := b.peer.ask(map[string]any{"do": "small", "calls": n}, &seconds)
				return time.Duration(seconds * 1e9), err
			}}})
	}
	return b.race(smallCall, race, 0, 0)
}

// tenLines is what a small program looks like: two functions, a reduction, output.
const tenLines = `# mean and spread of a small table
fn center[M, N](x: f32[M, N]) -> f32[M, N] = x .- mean(x, axis = 0, keep = true)
fn spread[M, N](x: f32[M, N]) -> f32[N] = sqrt(mean(center(x) .* center(x), axis = 0))

@io fn main() -> i32 = {
    let x = tabulate(8, 4, |i, j| (i * j) as f32 * 0.5 + 1.0);
    print(center(x)[1]);
    print(spread(x));
    0
}
`

// hundred is a program of a hundred kernels that each take optimised code.
func hundred() string {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "fn f%d(x: f32[400000]) -> f32[400000] = x .* %d.5 .+ x .* %d.25 .+ x\n", i, i+1, i+2)
	}
	b.WriteString("@io fn main() -> i32 = {\n    let x = tabulate(400000, |i| i as f32);\n")
	for i := range 100 {
		fmt.Fprintf(&b, "    print(max/(f%d(x)));\n", i)
	}
	b.WriteString("    0\n}\n")
	return b.String()
}

// processes times whole processes: starting, compiling and running the ten lines, and a hundred kernels.
func (b *bench) processes(healc string) error {
	dir, err := os.MkdirTemp("", "heal-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "ten.heal")
	if err := os.WriteFile(file, []byte(tenLines), 0o644); err != nil {
		return err
	}
	many := filepath.Join(dir, "hundred.heal")
	if err := os.WriteFile(many, []byte(hundred()), 0o644); err != nil {
		return err
	}
	run := func(cache string, args ...string) (time.Duration, []byte, error) {
		cmd := exec.Command(healc, args...)
		cmd.Env = append(os.Environ(), "HEAL_CACHE="+cache)
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		start := time.Now()
		if err := cmd.Run(); err != nil {
			return 0, nil, fmt.Errorf("%s: %w\n%s", cmd, err, errs.Bytes())
		}
		return time.Since(start), out.Bytes(), nil
	}
	_, want, err := run("off", "run", "--backend", "interp", file)
	if err != nil {
		return err
	}
	warm := filepath.Join(dir, "warm")
	if _, _, err := run(warm, "run", file); err != nil { // fills the cache
		return err
	}
	fresh := 0
	empty := func() string { fresh++; return filepath.Join(dir, fmt.Sprint("cold", fresh)) }
	var race []contender
	for _, w := range []struct {
		name  string
		cache func() string
		args  []string
		want  []byte
	}{
		{"healc version", func() string { return "off" }, []string{"version"}, nil},
		{"healc run, no cache", func() string { return "off" }, []string{"run", file}, want},
		{"healc run, empty cache", empty, []string{"run", file}, want},
		{"healc run, cached", func() string { return warm }, []string{"run", file}, want},
		{"healc run, 100 kernels, no cache", func() string { return "off" }, []string{"run", many}, nil},
	} {
		race = append(race, contender{Contender: measure.Contender{Name: w.name,
			Time: func(n int) (sum time.Duration, err error) {
				for range n {
					d, out, err := run(w.cache(), w.args...)
					if err != nil {
						return 0, err
					}
					if w.want != nil && !bytes.Equal(out, w.want) {
						return 0, fmt.Errorf("%s printed\n%s\nand the interpreter\n%s", w.name, out, w.want)
					}
					sum += d
				}
				return sum, nil
			}}})
	}
	return b.race(processes, race, 0, 0)
}

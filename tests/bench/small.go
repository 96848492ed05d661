package main

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"healc"
	"healc/runtime"
)

// The cases beside kernels.
const (
	smallCall = "call"
	processes = "process"
)

// measureCalls times warm calls on 16 elements, where nothing but the way into the machine code counts.
func measureCalls(p *peer, rounds int, r *report) error {
	const calls = 20000
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
	x := runtime.FromSlice(data, 16)
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
	y.Close()
	var ours, theirs []time.Duration
	for range rounds {
		start := time.Now()
		for range calls {
			y, err := f.Call(ctx, x)
			if err != nil {
				return err
			}
			y.Close()
		}
		ours = append(ours, time.Since(start)/calls)
		var seconds float64
		if err := p.ask(map[string]any{"do": "small", "calls": calls}, &seconds); err != nil {
			return err
		}
		theirs = append(theirs, time.Duration(seconds*1e9))
	}
	r.add(smallCall, "healc", 1, ours, 0)
	r.add(smallCall, "numpy", 1, theirs, 0)
	return nil
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

// measureProcesses times whole processes: starting, compiling and running the ten lines.
func measureProcesses(healc string, rounds int, r *report) error {
	dir, err := os.MkdirTemp("", "heal-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "ten.heal")
	if err := os.WriteFile(file, []byte(tenLines), 0o644); err != nil {
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
	ways := []struct {
		name  string
		cache func(round int) string
		args  []string
	}{
		{"healc version", func(int) string { return "off" }, []string{"version"}},
		{"healc run, no cache", func(int) string { return "off" }, []string{"run", file}},
		{"healc run, empty cache", func(i int) string { return filepath.Join(dir, fmt.Sprint("cold", i)) }, []string{"run", file}},
		{"healc run, cached", func(int) string { return warm }, []string{"run", file}},
	}
	times := make([][]time.Duration, len(ways))
	for round := range rounds {
		for i, w := range ways {
			d, out, err := run(w.cache(round), w.args...)
			if err != nil {
				return err
			}
			if w.args[0] == "run" && !bytes.Equal(out, want) {
				return fmt.Errorf("%s printed\n%s\nand the interpreter\n%s", w.name, out, want)
			}
			times[i] = append(times[i], d)
		}
	}
	for i, w := range ways {
		r.add(processes, w.name, 0, times[i], 0)
	}
	return nil
}

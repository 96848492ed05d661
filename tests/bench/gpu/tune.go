package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	heal "healc"
	"healc/codegen"
	"healc/codegen/gpu"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/profile"
	"healc/internal/engine"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// tuned are the programs for which other numbers of the profile of devices are tried: each form of kernel, with much to
// do and with little.
func tuned(scale int) []row {
	var rows []row
	add := func(what, signature, body string, args ...operand) {
		for i, a := range args {
			args[i].shape = divided(a.shape, scale)
		}
		rows = append(rows, row{name: fmt.Sprintf("%s, %s%v", what, args[0].elem, args[0].shape), args: args,
			src: onDevice(signature, body)})
	}
	for _, n := range []int{1 << 26, 1 << 18} {
		add("x * 2.0 + 1.0", "[N](x: f32[N]) -> f32[N]", "x * 2.0 + 1.0", operand{"f32", []int{n}})
		add("exp, tanh, sin", "[N](x: f32[N]) -> f32[N]", "exp(x) * tanh(x) + sin(x)", operand{"f32", []int{n}})
		add("+/ x", "[N](x: f32[N]) -> f32[1]", "[+/(x)]", operand{"f32", []int{n}})
		add("a histogram of 256", "[N](x: i32[N]) -> i32[256]", "scatter_add(zeros[i32, 256](), x, 1, 0)",
			operand{"i32", []int{n}})
		add("sums at 2^20 places", "[N](x: i32[N]) -> f32[1048576]",
			"scatter_add(zeros[f32, 1048576](), (x * 7919) % 1048576, 1.5, 0)", operand{"i32", []int{n}})
	}
	for _, s := range [][]int{{16, 1 << 20}, {4096, 4096}, {1 << 14, 1024}, {1 << 18, 64}, {64, 4096}} {
		m := func(what, result, body string) { add(what, "[M, N](x: f32[M, N]) -> "+result, body, operand{"f32", s}) }
		m("sums of rows", "f32[M]", "+/[axis=1](x)")
		m("max of columns", "f32[N]", "max/[axis=0](x)")
		m("argmax of rows", "i32[M]", "argmax(x, 1)")
		m("softmax", "f32[M, N]", "nn.softmax(x)")
		m("variance of rows", "f32[M]", "{ let c = x .- mean(x, axis=1, keep=true); mean(c .* c, axis=1) }")
		m("transpose", "f32[N, M]", "transpose(x) + 0.0")
		if s[0] > 16 {
			m("cumsum", "f32[M, N]", "cumsum(x, axis=1)")
			m("sort", "f32[M, N]", "sort(x)")
			m("-/ of rows", "f32[M]", "-/[axis=1](x)")
			add("cumsum", "[M, N](x: i32[M, N]) -> i32[M, N]", "cumsum(x, axis=1)", operand{"i32", s})
			add("matrix by vector", "[M, N](x: f32[M, N], v: f32[N]) -> f32[M]", "x @ v", operand{"f32", s},
				operand{"f32", s[1:]})
		}
	}
	for _, n := range []int{256, 1024, 4096} {
		square := operand{"f32", []int{n, n}}
		add("x @ y", "[N](x: f32[N, N], y: f32[N, N]) -> f32[N, N]", "x @ y", square, square)
	}
	add("1000 steps", "[N](x: f32[N]) -> f32[N]", "iterate(1000, x, |y| y * 0.5 + sum(y) * 0.001)",
		operand{"f32", []int{1024}})
	add("100 products", "[N](x: f32[N, N]) -> f32[N, N]", "iterate(100, x, |y| (y @ x) * 0.01)",
		operand{"f32", []int{64, 64}})
	add("rows at places", "[M, N, K](x: f32[M, N], i: i32[K]) -> f32[K, N]", "x[i]", operand{"f32", []int{4096, 1024}},
		operand{"i32", []int{65536}})
	add("sums of rows modulo", "[M, N](x: i64[M, N]) -> i64[M]", "+/[axis=1](x % 65537)",
		operand{"i64", []int{4096, 4096}})
	return rows
}

// onDevice is the function f with its parameters and its result on the device.
func onDevice(signature, body string) string {
	params, result, _ := strings.Cut(signature, ") -> ")
	dims, params, _ := strings.Cut(params, "(")
	lets := ""
	for p := range strings.SplitSeq(strings.ReplaceAll(params, "], ", "];"), ";") {
		name, _, _ := strings.Cut(p, ":")
		lets += fmt.Sprintf("    let %s = to_host(%[1]s);\n", name)
	}
	return fmt.Sprintf("import nn\nfn f%s(%s on device) -> %s on device = {\n%s    to_device(%s)\n}\n", dims,
		strings.ReplaceAll(params, "], ", "] on device, "), result, lets, body)
}

// divided are the extents for a scale: none gets less than 4, and small ones stay.
func divided(shape []int, scale int) []int {
	out := slices.Clone(shape)
	for i, n := range out {
		for s := scale; s > 1 && n > 64; s /= 2 {
			n = max(n/2, 64)
		}
		out[i] = n
	}
	return out
}

// devices is the profile of a processor. It is the one of this process, so a number that is set there is in force.
func devices(arch string) *profile.Profile {
	p, _ := profile.For(profile.Processor{Name: arch})
	return p
}

// codes prints, for each row, what identifies its code and its launches with the numbers that the profile has now.
func codes(w io.Writer, arch string, scale int) error {
	for _, r := range tuned(scale) {
		m, err := engine.Compile(r.src, engine.Options{Target: codegen.Target{Kind: "gpu", CPU: arch}})
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		f := m.IR().Func("f")
		dims := map[string]int64{}
		for i, p := range f.Body.Params {
			for k, d := range p.Type.Shape {
				if name := d.String(); slices.Contains(f.Dims, name) {
					dims[name] = int64(r.args[i].shape[k])
				}
			}
		}
		km, err := m.Kernels("f", dims, nil)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		ptx, err := gpu.Compile(km, codegen.Target{CPU: arch, NoLines: true}, libllvm.Assembly)
		if err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
		plan, err := json.Marshal(km.Plan.Device)
		if err != nil {
			return err
		}
		h := fnv.New64a()
		h.Write(ptx)
		h.Write(plan)
		fmt.Fprintf(w, "%x\n", h.Sum64())
		m.Close()
	}
	return nil
}

// variant is another value of a number.
type variant struct {
	field profile.Field
	value int
	codes []string // of each row
}

// variants are the values that are tried: a quarter, a half, twice and four times the present one, within the range.
func variants(p *profile.Profile) []*variant {
	var out []*variant
	for _, f := range profile.Fields() {
		if f.Group() != "gpu" {
			continue
		}
		x, seen := f.Get(p), []int{f.Get(p)}
		for _, v := range []int{x / 4, x / 2, x * 2, x * 4} {
			v = min(max(v, f.Low), f.High)
			if !slices.Contains(seen, v) {
				seen, out = append(seen, v), append(out, &variant{field: f, value: v})
			}
		}
	}
	return out
}

// tune measures other values of the numbers of devices, one at a time, on each program whose code they change: in turns
// with the code of the present ones. It prints those that differ by more than 3 %.
func tune(w io.Writer, backend string, scale int) error {
	d, err := heal.OpenDevice(backend, 0)
	if err != nil {
		return err
	}
	arch := gpu.ArchFor(d.Info().Major, d.Info().Minor)
	p := devices(arch)
	fmt.Fprintf(w, "%s, code for %s, profile %s\n", d.Info().Name, arch, p.Name)
	usual := &variant{}
	all := variants(p)
	if err := identify(append(slices.Clone(all), usual), arch, scale); err != nil {
		return err
	}
	for i, r := range tuned(scale) {
		if err := tuneRow(w, d, backend, p, r, i, usual, all); err != nil {
			return fmt.Errorf("%s: %w", r.name, err)
		}
	}
	return nil
}

// identify fills in the codes of variants, each by a process of its own.
func identify(all []*variant, arch string, scale int) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	free := make(chan bool, runtime.NumCPU())
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, v := range all {
		wait.Add(1)
		go func() {
			defer wait.Done()
			free <- true
			defer func() { <-free }()
			args := []string{"-codes", arch, "-scale", strconv.Itoa(scale)}
			if v.field.Name != "" {
				args = append(args, "-set", v.field.Line(v.value))
			}
			var said bytes.Buffer
			cmd := exec.Command(self, args...)
			cmd.Stderr = &said
			out, err := cmd.Output()
			if err != nil {
				errs[i] = fmt.Errorf("%v: %w: %s", args, err, said.String())
			}
			v.codes = strings.Fields(string(out))
		}()
	}
	wait.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// tuneRow measures one program.
func tuneRow(w io.Writer, d *memory.Device, backend string, p *profile.Profile, r row, i int, usual *variant,
	all []*variant) error {
	base, err := newCall(d, backend, r)
	if err != nil {
		return err
	}
	defer base.close()
	least := []float64{}
	known := map[string]float64{usual.codes[i]: 1}
	var lines []string
	for _, v := range all {
		ratio, ok := known[v.codes[i]]
		if !ok {
			old := v.field.Get(p)
			if err := v.field.Set(p, v.value); err != nil {
				return err
			}
			other, err := newCall(d, backend, r)
			if err := v.field.Set(p, old); err != nil {
				return err
			}
			if err != nil {
				return err
			}
			a, b, err := inTurns(base, other)
			other.close()
			if err != nil {
				return err
			}
			least, ratio = append(least, a), b/a
		}
		known[v.codes[i]] = ratio
		if ratio < 0.97 || ratio > 1.03 {
			lines = append(lines, fmt.Sprintf("    %-32s %6.2f", v.field.Line(v.value), ratio))
		}
	}
	if len(least) == 0 {
		least = append(least, 0)
	}
	fmt.Fprintf(w, "%-48s %10.1f us, %d codes\n", r.name, slices.Min(least)*1e6, len(known))
	for _, l := range lines {
		fmt.Fprintln(w, l)
	}
	return nil
}

// call is a program with its arguments on the device.
type call struct {
	m    *heal.Module
	f    *heal.Func
	args []*tensor.Tensor
}

func newCall(d *memory.Device, backend string, r row) (*call, error) {
	m, err := heal.Compile(r.src, heal.Options{Backend: backend, Device: d})
	if err != nil {
		return nil, err
	}
	c := &call{m: m}
	if c.f, err = m.Func("f"); err == nil {
		c.args, err = there(m, c.f, r.args)
	}
	for range 2 {
		if err == nil {
			err = c.once()
		}
	}
	if err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *call) once() error {
	out, err := c.f.CallAll(context.Background(), c.args...)
	for _, t := range out {
		t.Close()
	}
	return err
}

func (c *call) close() {
	for _, t := range c.args {
		t.Close()
	}
	c.m.Close()
}

const (
	leastTurns, mostTurns = 5, 200
	racing                = 60 * time.Millisecond
)

// inTurns is the least time of a call of two programs, in seconds, that are called in turns for as long as racing says.
func inTurns(a, b *call) (float64, float64, error) {
	var times [2]float64
	began := time.Now()
	for turn := 0; turn < leastTurns || turn < mostTurns && time.Since(began) < racing; turn++ {
		for i, c := range []*call{a, b} {
			start := time.Now()
			if err := c.once(); err != nil {
				return 0, 0, err
			}
			if took := time.Since(start).Seconds(); turn == 0 || took < times[i] {
				times[i] = took
			}
		}
	}
	return times[0], times[1], nil
}

// set sets a number of a profile: `field = value`, or nothing.
func set(p *profile.Profile, line string) error {
	name, value, ok := strings.Cut(line, " = ")
	if !ok {
		return nil
	}
	x, err := strconv.Atoi(value)
	if err != nil {
		return err
	}
	return profile.FieldNamed(name).Set(p, x)
}

package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	heal "healc"
	"healc/cmd/healc/measure"
	"healc/codegen/llvm/aot"
	"healc/internal/engine"
	"healc/internal/modules"
	"healc/lang/diag"
	"healc/runtime/tensor"
)

// compiles are the rows about programs that grow: how long until the first result is there, in a process that has
// compiled before.
const compiles = "compile"

// growing is a program of a size, a function f of an argument.
type growing struct {
	name   string
	source func(n int) string
	shape  []int64
	sizes  []int
}

var growingPrograms = []growing{
	{"updates", updatesSource, []int64{100}, []int{50, 200}},
	{"products", productsSource, []int64{100, 100}, []int{10, 100}},
	{"ring", ringSource, []int64{1}, []int{50, 400}},
	{"branches", branchesSource, []int64{100}, []int{20, 100}},
	{"others", othersSource, []int64{1}, []int{100, 1000}},
}

// updatesSource assigns n elements of a computed tensor, each from another one, and reads one of them.
func updatesSource(n int) string {
	var s strings.Builder
	s.WriteString("fn f(x: f32[100]) -> f32 = {\n    let mut y = x .+ 1.0;\n")
	for k := range n {
		fmt.Fprintf(&s, "    y[%d] = y[%d] + 1.0;\n", k%100, k*7%100)
	}
	s.WriteString("    y[0]\n}\n")
	return s.String()
}

// productsSource is a chain of n products, all but the first of which are the same kernel.
func productsSource(n int) string {
	return "fn f(x: f32[100, 100]) -> f32[100, 100] = x" + strings.Repeat(" @ x", n) + "\n"
}

// ringSource is n functions of which each calls the next.
func ringSource(n int) string {
	var s strings.Builder
	for k := range n {
		fmt.Fprintf(&s, "fn f%d(k: i32) -> i32 = if k < 1 { %d } else { f%d(k - 1) }\n", k, k, (k+1)%n)
	}
	s.WriteString("fn f(x: f32[1]) -> i32 = f0(x[0] as i32)\n")
	return s.String()
}

// branchesSource assigns n elements of a tensor, each where another one is large.
func branchesSource(n int) string {
	var s strings.Builder
	s.WriteString("fn f(x: f32[100]) -> f32[100] = {\n    let mut y = x;\n")
	for k := range n {
		fmt.Fprintf(&s, "    if x[%d] > 0.5 { y[%d] = y[%d] + 1.0; }\n", k*7%100, k%100, (k+1)%100)
	}
	s.WriteString("    y\n}\n")
	return s.String()
}

// othersSource is a function beside n others.
func othersSource(n int) string {
	var s strings.Builder
	s.WriteString("fn f(x: f32[1]) -> f32[1] = x .+ 1.0\n")
	for k := range n {
		fmt.Fprintf(&s, "fn f%d(x: f32[1]) -> f32[1] = x .* %d.0\n", k, k)
	}
	return s.String()
}

// keySwitchSource is a switch of keys: the digits of 4 residues for each coefficient are transformed modulo these 4
// primes and a fifth, by which the sum of their products with the keys is divided.
const keySwitchSource = `
import ring

const M: nat = 4096

pub fn key_switch(
    a: i64[1, 4, M],
    key: i64[4, 1, 2, 5, M],
    plan: (i64[5], i64[5, M], i64[5, M], i64[5]),
) -> i64[2, 4, M] = {
    let (p, table, inv_table, m_inv) = plan;
    let x = ring.inverse(a, (p[0..4], table[0..4], inv_table[0..4], m_inv[0..4]));
    let y = ring.gadget_product[1, 4, 1, 2, 5, M](x, key, 60, plan);
    ring.mod_switch_values(y[0], plan)
}
`

// library times a switch of keys from its text to the objects of a library for all levels of the processor.
func (b *bench) library() error {
	var samples measure.Samples
	for range 3 {
		start := time.Now()
		file := diag.NewFile("switch.heal", keySwitchSource)
		imports := modules.For(file, &modules.Importer{})
		m, err := engine.CompileFile(file, engine.Options{Imports: imports, Threads: 1})
		if err != nil {
			return err
		}
		l, err := m.Library("bench", []string{"key_switch"}, func(string) map[string]int64 { return nil })
		m.Close()
		if err != nil {
			return err
		}
		if _, err := aot.Objects(l); err != nil {
			return err
		}
		samples = append(samples, time.Since(start).Seconds())
	}
	b.report.add("library_key_switch", "healc", 0, samples, 0, 0)
	return nil
}

// compiling times programs from their text to their first result.
func (b *bench) compiling() error {
	for _, p := range growingPrograms {
		x, err := f32(p.shape...).make(1)
		if err != nil {
			return err
		}
		defer x.Close()
		for _, n := range p.sizes {
			var samples measure.Samples
			for range 4 { // the first one opens libLLVM
				start := time.Now()
				if err := firstResult(p.source(n), x); err != nil {
					return fmt.Errorf("%s of %d: %w", p.name, n, err)
				}
				samples = append(samples, time.Since(start).Seconds())
			}
			b.report.add(fmt.Sprintf("%s_%s_%d", compiles, p.name, n), "healc", 0, samples[1:], 0, 0)
		}
	}
	return b.library()
}

// firstResult compiles a program and calls it once.
func firstResult(source string, x *tensor.Tensor) error {
	m, err := heal.Compile(source, heal.Options{})
	if err != nil {
		return err
	}
	defer m.Close()
	f, err := m.Func("f")
	if err != nil {
		return err
	}
	y, err := f.Call(context.Background(), x)
	if err != nil {
		return err
	}
	y.Close()
	return nil
}

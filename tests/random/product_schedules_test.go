package random

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"healc"
	"healc/codegen"
	"healc/codegen/llvm"
	"healc/codegen/schedule"
	"healc/codegen/target"
	"healc/internal/engine"
	"healc/internal/pipeline"
	"healc/ir"
	"healc/ir/kernel"
	"healc/lang/diag"
	"healc/lang/types"
	"healc/tests/sample"
)

// productSources are matrix products of all forms, with their prologue and epilogue.
// %[1]d stands for rows, %[2]d for columns and %[3]d for steps.
var productSources = []string{
	"fn f(a: f32[%[1]d, %[3]d], b: f32[%[3]d, %[2]d]) -> f32[%[1]d, %[2]d] = a @ b",
	"fn f(a: f64[%[1]d, %[3]d], b: f64[%[2]d, %[3]d]) -> f64[%[1]d, %[2]d] = relu(a @ transpose(b) .+ 0.5)",
	"fn f(a: f32[%[3]d, %[1]d], b: f32[%[3]d, %[2]d]) -> f32[%[1]d, %[2]d] = transpose(a) @ b",
	"fn f(a: f16[%[1]d, %[3]d], b: f32[%[3]d, %[2]d]) -> f32[%[1]d, %[2]d] = (a as f32) @ (b .* 2.0)",
	"fn f(a: bf16[%[1]d, %[3]d], b: bf16[%[3]d, %[2]d]) -> bf16[%[1]d, %[2]d] = a @ b",
	"fn f(a: f16[%[3]d, %[1]d], b: f16[%[2]d, %[3]d]) -> f32[%[1]d, %[2]d] = (transpose(a) @ transpose(b)) as f32",
	"fn f(a: bf16[%[3]d], b: bf16[%[3]d, %[2]d]) -> bf16[%[2]d] = a @ b",
	"fn f(a: f16[%[2]d, %[3]d], b: f16[%[3]d]) -> f16[%[2]d] = a @ b",
	"fn f(a: i8[%[1]d, %[3]d], b: i8[%[3]d, %[2]d]) -> i32[%[1]d, %[2]d] = (a as i32) @ (b as i32)",
	"fn f(a: u8[%[3]d, %[1]d], b: i8[%[2]d, %[3]d]) -> u32[%[1]d, %[2]d] = " +
		"transpose(a as u32) @ transpose(b as u32) .+ 1",
	"fn f(a: i64[%[1]d, %[3]d], b: i64[%[3]d, %[2]d]) -> i64[%[1]d, %[2]d] = a @ b",
	"fn f(a: f32[3, %[1]d, %[3]d], b: f32[3, %[3]d, %[2]d]) -> f32[3, %[1]d, %[2]d] = a @ b",
	"fn f(a: f32[%[1]d, %[3]d], b: f32[%[3]d, %[2]d]) -> bool[%[1]d, %[2]d] = a @ b .> 0.0",
	"fn f(a: f32[%[3]d], b: f32[%[3]d, %[2]d]) -> f32[%[2]d] = a @ b",
	"fn f(a: f32[%[2]d, %[3]d], b: f32[%[3]d]) -> f32[%[2]d] = a @ b",
	"fn f(a: f64[%[2]d, %[3]d], b: f64[%[3]d]) -> f64[%[2]d] = a @ (b .* 3.0) .- 1.0",
}

// TestProductSchedules compares the interpreter with the CPU, bit for bit, on matrix products whose tiles, pieces,
// blocks and copies are drawn at random.
func TestProductSchedules(t *testing.T) {
	n := 600 / sample.Part(10)
	first := uint64(sample.Today(t)) << 20
	forms := map[string]int{}
	for i := range n {
		seed := first + uint64(i)
		r := rand.New(rand.NewPCG(seed, 7))
		source := productSources[i%len(productSources)]
		rows, columns, steps := 2+r.IntN(70), 1+r.IntN(150), 1+r.IntN(200)
		text := fmt.Sprintf(source, rows, columns, steps)
		opts := engine.Options{Backend: heal.CPU, Threads: 1 + r.IntN(3), Debug: pipeline.Debug{Vectors: true}}
		opts.Target = drawTarget(t, r, "", "x86-64-v3")
		var mu sync.Mutex
		opts.Debug.Reschedule = func(k *kernel.Kernel, s *kernel.Schedule) {
			mu.Lock()
			defer mu.Unlock()
			if d := schedule.MatmulForm(s); d != nil {
				changeProduct(r, d)
				forms[d.Kind]++
				text += fmt.Sprintf("\n# %s", d.Text(func(kernel.Ref) string { return "" }, nil))
			}
		}
		if msg := sameProduct(t, text, opts, seed); msg != "" {
			t.Fatalf("seed %d, for %q: %s\n%s", seed, opts.Target.CPU, msg, text)
		}
	}
	for _, form := range []string{"matmul", "axpy", "dot"} {
		if forms[form] == 0 {
			t.Errorf("no product took the form %s: %v", form, forms)
		}
	}
}

// TestSchedulesFromText: code that is made by a schedule which was printed and read is the code that is made without.
func TestSchedulesFromText(t *testing.T) {
	for i, source := range productSources {
		m, err := engine.Compile(fmt.Sprintf(source, 30+i, 70, 300), engine.Options{Threads: 1})
		if err != nil {
			t.Fatal(err)
		}
		km, err := m.Kernels("f", nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, cpu := range []string{"x86-64", "x86-64-v3", "x86-64-v4"} {
			machine := target.MachineOf(codegen.Target{CPU: cpu})
			read, errs := kernel.Parse(diag.NewFile("f.kernels", llvm.Scheduled(km, machine, nil).String()))
			if errs.Err() != nil {
				t.Fatal(errs)
			}
			read.Plan = km.Plan
			want, err1 := llvm.Generate(km, llvm.Options{Machine: machine})
			got, err2 := llvm.Generate(read, llvm.Options{Machine: machine})
			if err1 != nil || err2 != nil || got != want {
				t.Errorf("for %s, %s: %v, %v, or other code", cpu, source, err1, err2)
			}
		}
		m.Close()
	}
}

// sameProduct runs a function f, and says in what its results differ from the interpreter's.
func sameProduct(t *testing.T, text string, opts engine.Options, seed uint64) string {
	file := diag.NewFile("f.heal", text)
	interp, err := engine.CompileFile(file, engine.Options{Backend: heal.Interp})
	if err != nil {
		t.Fatal(err)
	}
	defer interp.Close()
	m, err := engine.CompileFile(file, opts)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	g := &Gen{r: rand.New(rand.NewPCG(seed, 8))}
	var input []*ir.Array
	for _, p := range m.IR().Func("f").Params() {
		input = append(input, g.data(types.Tensor{Elem: p.Type.Elem, Shape: p.Type.Shape}))
	}
	want, err := Call(interp, "f", input, seed)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Call(m, "f", input, seed)
	if err != nil {
		return err.Error()
	}
	return Diff(want, got)
}

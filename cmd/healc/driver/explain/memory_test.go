package explain

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"healc/cmd/healc/driver"
	"healc/internal/engine"
	"healc/lang/diag"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

var peakLine = regexp.MustCompile(`memory: (\d+) bytes`)

// TestPeakIsWhatRuns: the bytes that `healc explain` names before the program runs are those that the runtime has
// handed out when it has run, first in one piece for a chain, then with buffers between kernels, loops, arms,
// several results and constants; and for gradients.
func TestPeakIsWhatRuns(t *testing.T) {
	for _, c := range []struct {
		name, source string
		args         []string
		grad         bool
	}{
		{name: "chain", source: "fn f(x: f32[100]) -> f32[100] = exp(x) .* 2.0", args: []string{"f32[100]:rand(1)"}},
		{name: "large", source: "fn f(x: f32[1000, 700]) -> f32[1000, 700] = exp(x) .* 2.0",
			args: []string{"f32[1000,700]:rand(1)"}},
		{name: "between kernels",
			source: "fn f(x: f32[300, 200]) -> f32[300, 200] = { let s = sort(x); let c = +/[axis=0](s); sort(s ./ " +
				"c) .- c }", args: []string{"f32[300,200]:rand(1)"}},
		{name: "two results",
			source: "fn f(x: f32[5000]) -> (f32[5000], f32, i32[5000]) = (sort(x), +/(x), argsort(x))",
			args:   []string{"f32[5000]:rand(1)"}},
		{name: "constant", source: "fn f(i: i32) -> f32 = [1.0, 4.0, 9.0, 16.0, 25.0][i]", args: []string{"2"}},
		{name: "loop", source: "fn f(x: f32[400, 50]) -> f32[400, 50] = iterate(3, x, |s| sort(s .* 0.5))",
			args: []string{"f32[400,50]:rand(1)"}},
		{name: "arms",
			source: "fn f(x: f32[400, 50], c: bool) -> f32[400, 50] = if c { sort(x) .- sort(-x) } else { x }",
			args:   []string{"f32[400,50]:rand(1)", "true"}},
		{name: "matmul",
			source: "fn f(a: f32[300, 200], b: f32[200, 100]) -> f32[300, 100] = relu(a @ b) @ (transpose(b) @ b)",
			args:   []string{"f32[300,200]:rand(1)", "f32[200,100]:rand(2)"}},
		{"gradient of a chain", "fn f(x: f32[5000]) -> f32 = mean(exp(x) .* tanh(x))", []string{"f32[5000]:rand(1)"},
			true},
		{"gradient of a network",
			"fn f(w: f32[64, 128], v: f32[128, 10], x: f32[32, 64]) -> f32 = mean(exp(relu(x @ w) @ v))",
			[]string{"f32[64,128]:randn(1)", "f32[128,10]:randn(2)", "f32[32,64]:rand(3)"}, true},
		{"gradient of a loop", "fn f(x: f32[400, 50]) -> f32 = mean(iterate(5, x, |s| tanh(s .* 0.5)))",
			[]string{"f32[400,50]:rand(1)"}, true},
		{"gradient of a sort", "fn f(x: f32[300, 200]) -> f32 = mean(sort(x) .* x)", []string{"f32[300,200]:rand(1)"},
			true},
	} {
		t.Run(c.name, func(t *testing.T) {
			file := diag.NewFile("f.heal", c.source)
			e := &driver.Emit{File: file, Entry: "f"}
			var text bytes.Buffer
			explain := func(w io.Writer) error { return Program(e, w) }
			if c.grad {
				explain = func(w io.Writer) error { return Gradient(e, w, "f", nil) }
			}
			if err := explain(&text); err != nil {
				t.Fatal(err)
			}
			found := peakLine.FindStringSubmatch(text.String())
			if found == nil {
				t.Fatalf("no peak in\n%s", text.String())
			}
			want, err := strconv.ParseInt(found[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			m, err := engine.CompileFile(file, engine.Options{Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			defer m.Close()
			f, err := m.Func("f")
			if err == nil && c.grad {
				f, err = m.Gradient("f")
			}
			if err != nil {
				t.Fatal(err)
			}
			var args []*tensor.Tensor
			for i, a := range c.args {
				x, err := driver.Value(f.IR().Params()[i], a, "")
				if err != nil {
					t.Fatal(err)
				}
				defer x.Close()
				args = append(args, x)
			}
			memory.ReleaseUnused() // a block that is free is taken where it is somewhat larger
			before := memory.LiveBytes()
			memory.ResetPeak()
			out, err := f.CallAll(context.Background(), args...)
			if err != nil {
				t.Fatal(err)
			}
			if got := memory.PeakBytes() - before; got != want {
				t.Errorf("the call took %d bytes, and explain says %d:\n%s", got, want, text.String())
			}
			for _, x := range out {
				x.Close()
			}
		})
	}
}

// TestStreamedIsExplained: explain says which results go past the caches: large ones, and none that is read.
func TestStreamedIsExplained(t *testing.T) {
	for source, want := range map[string]bool{
		"fn f(x: f32[8000000]) -> f32[8000000] = x .* 2.0":       true,
		"fn f(x: f32[8000]) -> f32[8000] = x .* 2.0":             false,
		"fn f(x: &mut f32[8000000]) = { x .+= 1.0; }":            false,
		"fn f(x: f32[8000000]) -> f32 = +/(x .* 2.0)":            false,
		"fn f(x: f32[8000000]) -> f32[8000] = x[0..8000] .* 2.0": false,
	} {
		e := &driver.Emit{File: diag.NewFile("f.heal", source), Entry: "f"}
		var text bytes.Buffer
		if err := Program(e, &text); err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(text.String(), "past the caches"); got != want {
			t.Errorf("%s: past the caches: %v\n%s", source, got, text.String())
		}
	}
}

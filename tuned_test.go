package heal_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	heal "healc"
	"healc/codegen"
	"healc/codegen/target/tuned"
	"healc/internal/engine"
)

const shifted = "fn f[N](x: f32[N]) -> f32[N] = exp(x .* 0.5) .+ 1.0\n"

// tuneFile is a file with numbers for the kernels of f with n elements.
func tuneFile(t *testing.T, n int64) []byte {
	t.Helper()
	m, err := engine.Compile(shifted, engine.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	km, err := m.Kernels("f", map[string]int64{"N": n}, nil)
	if err != nil {
		t.Fatal(err)
	}
	file := &tuned.File{}
	for _, k := range km.Kernels {
		file.Put(tuned.Entry{Key: tuned.KeyOf(k, tuned.ProcessorOf(codegen.Target{})), Name: k.Name,
			Set: tuned.Set{"loops.paired_most": 0, "loops.short_body": 0}})
	}
	return file.Text()
}

// TestTuned: a tune file changes no bit; where one has to have all kernels, one that it has not is an error of the
// call; and text that is no such file is one of Compile. In a sandbox it is the same.
func TestTuned(t *testing.T) {
	file := tuneFile(t, 1000)
	call := func(n int, o heal.Options) ([]float32, error) {
		m, err := heal.Compile(shifted, o)
		if err != nil {
			return nil, err
		}
		defer m.Close()
		f, err := m.Func("f")
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(i)/100 - 5
		}
		in := heal.FromSlice(x)
		defer in.Close()
		y, err := f.Call(context.Background(), in)
		if err != nil {
			return nil, err
		}
		defer y.Close()
		v, err := heal.Slice[float32](y)
		return append([]float32(nil), v...), err
	}
	want, err := call(1000, heal.Options{})
	if err != nil {
		t.Fatal(err)
	}
	boxes := []*heal.Sandbox{nil}
	if heal.SandboxMissing() == "" {
		boxes = append(boxes, &heal.Sandbox{})
	}
	for _, box := range boxes {
		got, err := call(1000, heal.Options{Tuned: file, RequireTuned: true, Sandbox: box})
		if err != nil {
			t.Fatal(err)
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("element %d is %v, not %v", i, got[i], want[i])
			}
		}
		if _, err := call(70, heal.Options{Tuned: file, Sandbox: box}); err != nil {
			t.Error(err)
		}
		var missing *heal.MissingTunedError
		if _, err := call(70, heal.Options{Tuned: file, RequireTuned: true, Sandbox: box}); !errors.As(err, &missing) ||
			len(missing.Missing) != 1 || missing.Missing[0].Shape != "64 64" || missing.File != "Options.Tuned" {
			t.Errorf("%v", err)
		}
		if _, err := call(70, heal.Options{RequireTuned: true, Sandbox: box}); !errors.As(err, &missing) ||
			missing.File != "" {
			t.Errorf("%v", err)
		}
		if _, err := call(70, heal.Options{RequireTuned: true, Backend: heal.Interp, Sandbox: box}); err != nil {
			t.Error(err)
		}
		for _, text := range []string{"", "like = base"} {
			if _, err := call(70, heal.Options{Tuned: []byte(text), Sandbox: box}); err == nil ||
				!strings.HasPrefix(err.Error(), "Options.Tuned is no tune file: ") {
				t.Errorf("%q: %v", text, err)
			}
		}
	}
	if _, err := heal.CompileTranscript(nil, heal.TranscriptOptions{Options: heal.Options{
		Tuned: []byte("{")}}); err == nil || !strings.Contains(err.Error(), "is no tune file") {
		t.Error(err)
	}
}

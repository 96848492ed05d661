package cli_test

import (
	"context"
	"slices"
	"testing"

	heal "healc"
	"healc/codegen/llvm/libllvm"
	"healc/runtime"
)

// TestReadmeCode runs the Go code of README.md, which stands in it word for word.
func TestReadmeCode(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Fatal(err)
	}
	if err := readmeCode(t); err != nil {
		t.Fatal(err)
	}
}

func readmeCode(t *testing.T) error {
	m, err := heal.Compile("fn twice[N](x: f32[N]) -> f32[N] = x * 2.0", heal.Options{})
	if err != nil {
		return err // a *diag.List: what is wrong with the program
	}
	defer m.Close()
	f, err := m.Func("twice")
	if err != nil {
		return err
	}
	y, err := f.Call(context.Background(), runtime.FromSlice([]float32{1, 2, 3}))
	if err != nil {
		return err
	}
	defer y.Close()
	v, err := runtime.Slice[float32](y)
	if err == nil && !slices.Equal(v, []float32{2, 4, 6}) {
		t.Errorf("twice 1, 2, 3 is %v", v)
	}
	return err
}

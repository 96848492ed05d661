package heal_test

import (
	"context"
	"testing"

	heal "healc"
)

func TestSandboxFirst(t *testing.T) {
	m, err := heal.Compile("fn double[N](x: f32[N]) -> f32[N] = x * 2.0", heal.Options{Sandbox: &heal.Sandbox{}})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func("double")
	if err != nil {
		t.Fatal(err)
	}
	y, err := f.Call(context.Background(), heal.FromSlice([]float32{1, 2, 3}))
	if err != nil {
		t.Fatal(err)
	}
	v, err := heal.Slice[float32](y)
	t.Log(v, err)
}

package nn_test

import (
	"slices"
	"testing"

	heal "healc"
	"healc/nn"
)

// TestSandboxTrains: the program of a loss may be in a sandbox, and training has the same bits.
func TestSandboxTrains(t *testing.T) {
	if missing := heal.SandboxMissing(); missing != "" {
		t.Skip(missing)
	}
	const source = `fn loss[N](w: f32[2], b: f32, x: f32[N, 2], y: f32[N]) -> f32 = {
    let d = x @ w .+ b .- y;
    mean(d .* d)
}`
	var losses [2][]float64
	for i, is := range []*heal.Sandbox{nil, {}} {
		m := module(t, compile(t, source, heal.Options{Sandbox: is}), "loss", map[string]*heal.Tensor{
			"w": f32s(t, []float32{0, 0}, 2), "b": heal.Scalar(float32(0))})
		opt, err := nn.NewSGD(m, nn.SGD{Rate: 0.01, Momentum: 0.5})
		if err != nil {
			t.Fatal(err)
		}
		defer opt.Close()
		losses[i] = train(t, m, opt, 10, f32s(t, []float32{1, 2, 3, 4, 5, 6}, 3, 2), f32s(t, []float32{1, 2, 4}, 3))
	}
	if !slices.Equal(losses[0], losses[1]) || losses[0][9] >= losses[0][0] {
		t.Errorf("%v in the sandbox, %v without", losses[1], losses[0])
	}
}

package cli_test

import (
	"context"
	"expvar"
	"math"
	"slices"
	"strings"
	"testing"

	heal "healc"
	"healc/codegen/llvm/libllvm"
	"healc/nn"
	"healc/runtime/tensor"
)

// TestReadmeCode runs the Go code of README.md, which stands in it word for word.
func TestReadmeCode(t *testing.T) {
	if _, err := libllvm.Open(); err != nil {
		t.Fatal(err)
	}
	if err := readmeCode(t); err != nil {
		t.Fatal(err)
	}
	if err := gpuTensors(t); err != nil {
		t.Error(err)
	}
	if err := readmeTraining(t); err != nil {
		t.Fatal(err)
	}
	if err := counting(t, "fn twice[N](x: f32[N]) -> f32[N] = x * 2.0"); err != nil {
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
	y, err := f.Call(context.Background(), heal.FromSlice([]float32{1, 2, 3}))
	if err != nil {
		return err
	}
	defer y.Close()
	v, err := heal.Slice[float32](y)
	if err == nil && !slices.Equal(v, []float32{2, 4, 6}) {
		t.Errorf("twice 1, 2, 3 is %v", v)
	}
	return err
}

// counting publishes what calls take.
func counting(t *testing.T, source string) error {
	counts := heal.NewCounts()
	m, err := heal.Compile(source, heal.Options{Counts: counts})
	if err != nil {
		return err
	}
	defer m.Close()
	var shown expvar.Var = counts // JSON; expvar.Publish("heal", shown) puts it at /debug/vars
	report := func(set func(metric, function, kernel string, value float64)) {
		for n := range counts.All() { // for a collector of Prometheus, say
			set("calls", n.Function, n.Kernel, float64(n.Calls))
			set("seconds", n.Function, n.Kernel, n.Time.Seconds())
			set("bytes", n.Function, n.Kernel, float64(n.Bytes))
		}
	}
	f, err := m.Func("twice")
	if err != nil {
		return err
	}
	y, err := f.Call(context.Background(), heal.FromSlice(make([]float32, 1000)))
	if err != nil {
		return err
	}
	defer y.Close()
	got := map[string]float64{}
	report(func(metric, function, kernel string, value float64) { got[metric+" "+function+" "+kernel] += value })
	if got["calls twice "] != 1 || got["seconds twice "] <= 0 || got["calls twice k0_twice"] != 1 ||
		got["bytes twice k0_twice"] != 8000 || !strings.Contains(shown.String(), `"kernel":"k0_twice"`) {
		t.Errorf("%v", got)
	}
	return nil
}

// readmeTraining fits the line 2x + 1.
func readmeTraining(t *testing.T) error {
	ctx := context.Background()
	prog, err := heal.Compile("fn line[N](slope: f32, shift: f32, x: f32[N]) -> f32[N] = slope .* x .+ shift\n"+
		"fn loss[N](slope: f32, shift: f32, x: f32[N], y: f32[N]) -> f32 = { let d = line(slope, shift, x) - y; "+
		"mean(d * d) }\n", heal.Options{})
	if err != nil {
		return err
	}
	defer prog.Close()
	zero, x, y := tensor.Scalar[float32](0), tensor.FromSlice([]float32{0, 1, 2, 3}),
		tensor.FromSlice([]float32{1, 3, 5, 7})
	model, err := nn.New(prog, "loss", map[string]*tensor.Tensor{"slope": zero, "shift": zero})
	if err != nil {
		return err
	}
	defer model.Close()
	opt, err := nn.NewSGD(model, nn.SGD{Rate: 0.1, Momentum: 0.5})
	if err != nil {
		return err
	}
	defer opt.Close()
	for range 40 {
		model.ZeroGrad()
		if _, err := model.Loss(x, y).Backward(ctx); err != nil {
			return err
		}
		if err := opt.Step(ctx); err != nil {
			return err
		}
	}
	line, err := model.Forward(ctx, "line", x)
	if err != nil {
		return err
	}
	v, err := tensor.Slice[float32](line[0])
	if err == nil && (math.Abs(float64(v[3]-7)) > 0.05 || len(v) != 4) {
		t.Errorf("the line through 1, 3, 5, 7 is %v", v)
	}
	return err
}

// gpuTensors keeps tensors on a device.
func gpuTensors(t *testing.T) error {
	ctx := context.Background()
	m, err := heal.Compile("fn twice[N](x: f32[N] on device) -> f32[N] on device = x * 2.0",
		heal.Options{Backend: heal.PTXSim})
	if err != nil {
		return err
	}
	defer m.Close()
	f, err := m.Func("twice")
	if err != nil {
		return err
	}
	d := m.Device() // of a module with the backend gpu or ptxsim
	x, err := tensor.FromSlice([]float32{1, 2, 3}).ToDevice(d)
	if err != nil {
		return err
	}
	defer x.Close()
	y, err := f.Call(ctx, x) // fn twice[N](x: f32[N] on device) -> f32[N] on device
	if err != nil {
		return err
	}
	defer y.Close()
	back, err := y.ToHost()
	if err != nil {
		return err
	}
	if v, err := tensor.Slice[float32](back); err != nil || !slices.Equal(v, []float32{2, 4, 6}) {
		t.Errorf("twice 1, 2, 3 is %v, %v", v, err)
	}
	return nil
}

package nn_test

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	heal "healc"
	"healc/internal/testhook"
	"healc/lang/types"
	"healc/nn"
	"healc/runtime/memory"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

var ctx = context.Background()

// leaks fails the test when tensors are still open at its end. It comes before what is closed by Cleanup.
func leaks(t *testing.T) {
	t.Helper()
	before := memory.LiveBytes()
	t.Cleanup(func() {
		if n := memory.LiveBytes() - before; n != 0 {
			t.Errorf("%d bytes are still in use", n)
		}
	})
}

func compile(t *testing.T, source string, opts heal.Options) *heal.Module {
	t.Helper()
	m, err := heal.Compile(source, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// module makes a module of values that it closes.
func module(t *testing.T, prog *heal.Module, loss string, values map[string]*tensor.Tensor) *nn.Module {
	t.Helper()
	m, err := nn.New(prog, loss, values)
	for _, v := range values {
		v.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// f32s is an f32 of these numbers.
func f32s(t *testing.T, v []float32, shape ...int) *tensor.Tensor {
	t.Helper()
	x := tensor.FromSlice(v, shape...)
	if err := x.Err(); err != nil {
		t.Fatal(err)
	}
	return x
}

func backward(t *testing.T, g *nn.Graph) float64 {
	t.Helper()
	loss, err := g.Backward(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return loss
}

func wantGrad(t *testing.T, m *nn.Module, name string, want ...float64) {
	t.Helper()
	wantFloats(t, name+"'s gradient", m.Parameter(name).Grad(), want...)
}

// wantFloats compares to within 1e-6 of the largest.
func wantFloats(t *testing.T, what string, x *tensor.Tensor, want ...float64) {
	t.Helper()
	bits := x.Bits()
	scale := 1.0
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	ok := len(bits) == len(want)
	for i := 0; ok && i < len(want); i++ {
		ok = math.Abs(float64(math.Float32frombits(uint32(bits[i])))-want[i]) <= 1e-6*scale
	}
	if !ok {
		v, err := tensor.Slice[float32](x)
		t.Errorf("%s is %v, want %v (%v)", what, v, want, err)
	}
}

var backends = []string{heal.CPU, heal.Interp, heal.PTXSim}

// TestBackwardAccumulates: x*y + x at (2, 3) has the gradients 4 and 2; each Backward adds them once more until
// ZeroGrad.
func TestBackwardAccumulates(t *testing.T) {
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			leaks(t)
			prog := compile(t, "fn f(x: f32, y: f32) -> f32 = x * y + x\n", heal.Options{Backend: backend})
			m := module(t, prog, "f", map[string]*tensor.Tensor{"x": tensor.Scalar[float32](2),
				"y": tensor.Scalar[float32](3)})
			wantGrad(t, m, "x", 0)
			g := m.Loss()
			if v, err := g.Value(ctx); err != nil || v != 8 {
				t.Errorf("the value is %v, %v", v, err)
			}
			for n := range 3 {
				if v := backward(t, g); v != 8 {
					t.Errorf("the value is %v", v)
				}
				wantGrad(t, m, "x", 4*float64(n+1))
				wantGrad(t, m, "y", 2*float64(n+1))
			}
			m.ZeroGrad()
			backward(t, g)
			wantGrad(t, m, "x", 4)
			m.ZeroGrad()
			wantGrad(t, m, "x", 0)
			backward(t, g) // x's gradients were looked at, y's not
			wantGrad(t, m, "x", 4)
			wantGrad(t, m, "y", 2)
		})
	}
}

// TestClassicLosses: values and gradients that are known.
func TestClassicLosses(t *testing.T) {
	const source = `
import nn

fn mse[M, N](a: f32[M, N], b: f32[M, N]) -> f32 = nn.mse(a, b)
fn entropy[M, N](scores: f32[M, N], classes: i32[M]) -> f32 = nn.softmax_cross_entropy(scores, classes)
fn sigmoid1(x: f32) -> f32 = sigmoid(x)
fn row[M, N](a: f32[M, N], b: f32[N]) -> f32 = sum(a .* b)
`
	p := [3]float64{0.09003057, 0.24472847, 0.66524096}
	for _, backend := range backends {
		t.Run(backend, func(t *testing.T) {
			leaks(t)
			prog := compile(t, source, heal.Options{Backend: backend})
			b := f32s(t, []float32{1, 1, 1, 1}, 2, 2)
			defer b.Close()
			m := module(t, prog, "mse", map[string]*tensor.Tensor{"a": f32s(t, []float32{1, 2, 3, 5}, 2, 2)})
			if v := backward(t, m.Loss(b)); v != (0+1+4+16)/4.0 {
				t.Errorf("mse is %v", v)
			}
			wantGrad(t, m, "a", 0, 0.5, 1, 2)

			classes := tensor.FromSlice([]int32{2, 1})
			defer classes.Close()
			m = module(t, prog, "entropy", map[string]*tensor.Tensor{"scores": f32s(t, []float32{1, 2, 3, 1, 2, 3},
				2, 3)})
			for n := 1.0; n <= 2; n++ {
				if v := backward(t, m.Loss(classes)); math.Abs(v-0.907605946) > 1e-6 {
					t.Errorf("the cross entropy is %v", v)
				}
				wantGrad(t, m, "scores", n*p[0]/2, n*p[1]/2, n*(p[2]-1)/2, n*p[0]/2, n*(p[1]-1)/2, n*p[2]/2)
			}

			m = module(t, prog, "sigmoid1", map[string]*tensor.Tensor{"x": tensor.Scalar[float32](0)})
			if v := backward(t, m.Loss()); v != 0.5 {
				t.Errorf("the sigmoid of 0 is %v", v)
			}
			wantGrad(t, m, "x", 0.25)

			m = module(t, prog, "row", map[string]*tensor.Tensor{"a": f32s(t, []float32{1, 2, 3, 4}, 2, 2),
				"b": f32s(t, []float32{10, 100})})
			backward(t, m.Loss())
			wantGrad(t, m, "a", 10, 100, 10, 100)
			wantGrad(t, m, "b", 4, 6)
		})
	}
}

// net is a network of two layers and its loss; the parameters of a layer are a tuple.
const net = `
import nn

fn scores[B, I, H, O](w1: f32[I, H], b1: f32[H], out: (f32[H, O], f32[O]), x: f32[B, I]) -> f32[B, O] = {
    let (w2, b2) = out;
    nn.linear(tanh(nn.linear(x, w1, b1)), w2, b2)
}

fn loss[B, I, H, O](w1: f32[I, H], b1: f32[H], out: (f32[H, O], f32[O]), x: f32[B, I], y: i32[B]) -> f32 =
    nn.softmax_cross_entropy(scores(w1, b1, out, x), y)
`

// random is a uniform tensor around 0.
func random(t *testing.T, seed uint64, shape ...int64) *tensor.Tensor {
	t.Helper()
	x, err := tensor.Randn(types.F32, seed, shape...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func netValues(t *testing.T) map[string]*tensor.Tensor {
	return map[string]*tensor.Tensor{"w1": random(t, 1, 2, 16), "b1": random(t, 2, 16), "out.0": random(t, 3, 16, 2),
		"out.1": random(t, 4, 2)}
}

// rings are points of the plane, and whether they are far from the origin.
func rings(t *testing.T, n int) (x, y *tensor.Tensor) {
	points := make([]float32, 0, 2*n)
	classes := make([]int32, n)
	for i := range n {
		radius, angle := 0.5+float64(i%2)+0.1*float64(i%5), 2.39996*float64(i)
		points = append(points, float32(radius*math.Cos(angle)), float32(radius*math.Sin(angle)))
		classes[i] = int32(i % 2)
	}
	return f32s(t, points, n, 2), tensor.FromSlice(classes)
}

// optimizers by name.
var optimizers = []struct {
	name string
	make func(*nn.Module) (*nn.Optimizer, error)
}{
	{"sgd", func(m *nn.Module) (*nn.Optimizer, error) { return nn.NewSGD(m, nn.SGD{Rate: 0.5}) }},
	{"momentum", func(m *nn.Module) (*nn.Optimizer, error) {
		return nn.NewSGD(m, nn.SGD{Rate: 0.1, Momentum: 0.9, WeightDecay: 1e-4})
	}},
	{"adam", func(m *nn.Module) (*nn.Optimizer, error) { return nn.NewAdam(m, nn.Adam{Rate: 0.02}) }},
	{"adamw", func(m *nn.Module) (*nn.Optimizer, error) {
		return nn.NewAdam(m, nn.Adam{Rate: 0.02, WeightDecay: 0.01})
	}},
}

// train takes steps and returns the losses.
func train(t *testing.T, m *nn.Module, opt *nn.Optimizer, steps int, inputs ...*tensor.Tensor) []float64 {
	t.Helper()
	var losses []float64
	for range steps {
		m.ZeroGrad()
		losses = append(losses, backward(t, m.Loss(inputs...)))
		if err := opt.Step(ctx); err != nil {
			t.Fatal(err)
		}
	}
	return losses
}

// split are the options of so many threads that share every kernel.
func split(threads int) heal.Options {
	opts := heal.Options{Threads: threads}
	testhook.SplitAll(&opts)
	return opts
}

// TestTrainingConverges trains with each optimizer until every point is classified; threads change no bit, and
// devices and the interpreter have the same ones.
func TestTrainingConverges(t *testing.T) {
	const steps, first = 200, 3
	for _, o := range optimizers {
		t.Run(o.name, func(t *testing.T) {
			leaks(t)
			x, y := rings(t, 120)
			defer x.Close()
			defer y.Close()
			var want []float64
			for _, opts := range []heal.Options{{Threads: 1}, split(2), split(3), {Backend: heal.PTXSim},
				{Backend: heal.Interp}} {
				m := module(t, compile(t, net, opts), "loss", netValues(t))
				opt, err := o.make(m)
				if err != nil {
					t.Fatal(err)
				}
				defer opt.Close()
				n := steps
				if opts.Backend != "" {
					n = first
				}
				losses := train(t, m, opt, n, x, y)
				if want == nil {
					want = losses
				}
				if !slices.Equal(losses, want[:n]) {
					t.Errorf("%+v: the losses are %v, and on one thread %v", opts, losses, want[:n])
				}
				if n < steps {
					continue
				}
				if last := losses[steps-1]; !(last < 0.1) || !(last < losses[0]/5) {
					t.Errorf("the loss went from %v to %v", losses[0], last)
				}
				out, err := m.Forward(ctx, "scores", x)
				if err != nil {
					t.Fatal(err)
				}
				scores, err := tensor.Slice[float32](out[0])
				if err != nil {
					t.Fatal(err)
				}
				for i := 0; i < len(scores); i += 2 {
					if far := scores[i+1] > scores[i]; far != (i/2%2 == 1) {
						t.Errorf("point %d is classified wrong", i/2)
					}
				}
				out[0].Close()
			}
		})
	}
}

// TestUpdates computes three steps of each optimizer by hand, with a gradient that is the value itself.
func TestUpdates(t *testing.T) {
	const rate = 0.1
	type state struct{ w, v, m, s float64 }
	for _, c := range []struct {
		name string
		make func(*nn.Module) (*nn.Optimizer, error)
		step func(x *state, n int)
	}{
		{"sgd", func(m *nn.Module) (*nn.Optimizer, error) { return nn.NewSGD(m, nn.SGD{Rate: rate}) },
			func(x *state, _ int) { x.w -= rate * x.w }},
		{"decay", func(m *nn.Module) (*nn.Optimizer, error) {
			return nn.NewSGD(m, nn.SGD{Rate: rate, WeightDecay: 0.5})
		},
			func(x *state, _ int) { x.w -= rate * 1.5 * x.w }},
		{"momentum", func(m *nn.Module) (*nn.Optimizer, error) {
			return nn.NewSGD(m, nn.SGD{Rate: rate, Momentum: 0.9})
		},
			func(x *state, _ int) { x.v = 0.9*x.v + x.w; x.w -= rate * x.v }},
		{"adamw", func(m *nn.Module) (*nn.Optimizer, error) {
			return nn.NewAdam(m, nn.Adam{Rate: rate, Betas: [2]float64{0.8, 0.99}, Epsilon: 1e-3, WeightDecay: 0.2})
		}, func(x *state, n int) {
			g := x.w
			x.w -= rate * 0.2 * x.w
			x.m, x.s = 0.8*x.m+0.2*g, 0.99*x.s+0.01*g*g
			x.w -= rate * x.m / (1 - math.Pow(0.8, float64(n))) / (math.Sqrt(x.s/(1-math.Pow(0.99, float64(n)))) + 1e-3)
		}},
	} {
		for _, d := range []types.DType{types.F16, types.BF16, types.F32, types.F64} {
			t.Run(c.name+"/"+d.String(), func(t *testing.T) {
				leaks(t)
				prog := compile(t, fmt.Sprintf("fn f(w: %s[3, 2]) -> %s = sum(w * w) * 0.5\n", d, d), heal.Options{})
				start := []float64{1, -2, 0.5, 4, -0.25, 0}
				m := module(t, prog, "f", map[string]*tensor.Tensor{"w": ofFloats(t, d, start, 3, 2)})
				opt, err := c.make(m)
				if err != nil {
					t.Fatal(err)
				}
				defer opt.Close()
				train(t, m, opt, 3)
				got := toFloats(m.Parameter("w").Value)
				tolerance := map[types.DType]float64{types.F16: 0.01, types.BF16: 0.05, types.F32: 1e-6,
					types.F64: 1e-14}[d]
				for i, w := range start {
					x := state{w: w}
					for n := range 3 {
						c.step(&x, n+1)
					}
					if math.Abs(got[i]-x.w) > tolerance*max(1, math.Abs(x.w)) {
						t.Errorf("element %d is %v after three steps, want %v", i, got[i], x.w)
					}
				}
			})
		}
	}
}

// TestEmptyAndStrided: a parameter without elements, and values that are views.
func TestEmptyAndStrided(t *testing.T) {
	leaks(t)
	prog := compile(t, "fn f[M, N](e: f32[0, N], w: f32[M, N]) -> f32 = sum(w * w) + sum(e)\n", heal.Options{})
	whole := f32s(t, []float32{1, 2, 3, 4, 5, 6}, 2, 3)
	turned, err := whole.Transpose()
	if err != nil {
		t.Fatal(err)
	}
	m := module(t, prog, "f", map[string]*tensor.Tensor{"w": turned, "e": f32s(t, nil, 0, 2)})
	whole.Close() // the module has copies
	opt, err := nn.NewAdam(m, nn.Adam{Rate: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	defer opt.Close()
	if loss := train(t, m, opt, 1); loss[0] != 91 {
		t.Errorf("the loss is %v", loss)
	}
	wantGrad(t, m, "w", 2, 8, 4, 10, 6, 12)
	wantGrad(t, m, "e")
	wantFloats(t, "w", m.Parameter("w").Value, 0.5, 3.5, 1.5, 4.5, 2.5, 5.5)
}

// TestParametersAreOnTheHost: a device works on copies of them.
func TestParametersAreOnTheHost(t *testing.T) {
	leaks(t)
	prog := compile(t, "fn f(w: f32[2]) -> f32 = sum(w * w)\n", heal.Options{Backend: heal.PTXSim})
	w := f32s(t, []float32{1, 2})
	defer w.Close()
	there, err := w.ToDevice(prog.Device())
	if err != nil {
		t.Fatal(err)
	}
	defer there.Close()
	if m, err := nn.New(prog, "f", map[string]*tensor.Tensor{"w": there}); err == nil ||
		!strings.Contains(err.Error(), "the value of `w` is on a device") {
		t.Errorf("a value on a device: %v, %v", m, err)
	}
}

// TestStepsTakeNoMemory: after the first step of a shape no tensor is made.
func TestStepsTakeNoMemory(t *testing.T) {
	x, y := rings(t, 64)
	defer x.Close()
	defer y.Close()
	m := module(t, compile(t, net, heal.Options{Threads: 2}), "loss", netValues(t))
	opt, err := nn.NewAdam(m, nn.Adam{Rate: 0.1, WeightDecay: 0.1})
	if err != nil {
		t.Fatal(err)
	}
	defer opt.Close()
	train(t, m, opt, 2, x, y)
	memory.ResetPeak()
	before := memory.LiveBytes()
	train(t, m, opt, 3, x, y)
	if got := memory.PeakBytes() - before; got != 0 {
		t.Errorf("three steps took %d bytes", got)
	}
}

func TestErrors(t *testing.T) {
	leaks(t)
	prog := compile(t, `
fn loss[N](w: f32[N, N], b: f32[N], x: f32[N], i: i32) -> f32 = sum(w @ x + b) + x[i] * b[0]
fn wide(w: f32[2]) -> f32[2] = w
fn predict[N](w: f32[N, N], x: f32[N]) -> f32[N] = w @ x
`, heal.Options{})
	w, b := f32s(t, []float32{1, 2, 3, 4}, 2, 2), f32s(t, []float32{1, 2})
	defer w.Close()
	defer b.Close()
	three := f32s(t, []float32{1, 2, 3})
	defer three.Close()
	closed := f32s(t, []float32{1})
	closed.Close()
	type values = map[string]*tensor.Tensor
	for _, c := range []struct {
		loss   string
		values values
		want   string
	}{
		{"lost", values{"w": w}, `there is no function "lost"`},
		{"wide", values{"w": b}, "E0401"},
		{"loss", values{}, "nothing to train"},
		{"loss", values{"v": w}, "has no parameter `v`; it has w, b, x, i"},
		{"loss", values{"w": b}, "the value of `w` is f32[2], not f32[N, N]"},
		{"loss", values{"w": w, "b": three}, "the value of `b` is f32[3], not f32[N]: axis 0 has extent 3, and N is 2"},
		{"loss", values{"i": b}, "the value of `i` is f32[2], not i32"},
		{"loss", values{"b": nil}, "the value of `b` is nil"},
		{"loss", values{"b": closed}, "closed"},
	} {
		if m, err := nn.New(prog, c.loss, c.values); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, %v, want %q", c.loss, m, err, c.want)
		}
	}
	i := tensor.Scalar[int32](1)
	defer i.Close()
	if _, err := nn.New(prog, "loss", values{"i": i}); err == nil ||
		!strings.Contains(err.Error(), "only floats have derivatives") {
		t.Errorf("an integer parameter: %v", err)
	}
	m := module(t, prog, "loss", values{"w": f32s(t, []float32{1, 2, 3, 4}, 2, 2), "b": f32s(t, []float32{1, 2})})
	backward(t, m.Loss(b, i))
	for _, c := range []struct {
		inputs []*tensor.Tensor
		want   string
	}{
		{nil, "it takes 2 inputs (x, i), and 0 were given"},
		{[]*tensor.Tensor{three, i}, "N"},
		{[]*tensor.Tensor{b, b}, "argument `i` is f32[2]"},
	} {
		if _, err := m.Loss(c.inputs...).Value(ctx); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("inputs %v: %v, want %q", c.inputs, err, c.want)
		}
	}
	if _, err := m.Forward(ctx, "predict", b, b); err == nil ||
		!strings.Contains(err.Error(), "it takes 1 inputs (x), and 2 were given") {
		t.Errorf("two inputs: %v", err)
	}
	if _, err := m.Forward(ctx, "lost"); err == nil || !strings.Contains(err.Error(), `no function "lost"`) {
		t.Errorf("no function: %v", err)
	}
	// A program that fails leaves no gradients.
	five := tensor.Scalar[int32](5)
	defer five.Close()
	if _, err := m.Loss(b, five).Backward(ctx); err == nil ||
		!strings.Contains(err.Error(), "index 5 is out of range") {
		t.Errorf("an index: %v", err)
	}
	wantGrad(t, m, "b", 0, 0)
	for _, err := range []error{
		second(nn.NewSGD(m, nn.SGD{Momentum: 1})), second(nn.NewSGD(m, nn.SGD{WeightDecay: -1})),
		second(nn.NewAdam(m, nn.Adam{Betas: [2]float64{0.9, 1}})),
		second(nn.NewAdam(m, nn.Adam{Epsilon: math.NaN()})), second(nn.NewAdam(m, nn.Adam{WeightDecay: math.Inf(1)})),
	} {
		if err == nil || !strings.Contains(err.Error(), "has to be") {
			t.Errorf("an optimizer: %v", err)
		}
	}
	for _, err := range []error{
		second(nn.NewSGD(nil, nn.SGD{Rate: 1})), second(nn.NewAdam(nil, nn.Adam{Rate: 1})),
		second(nn.New(nil, "loss", nil)),
	} {
		if err == nil || !strings.Contains(err.Error(), "is nil") {
			t.Errorf("nothing to train: %v", err)
		}
	}
	opt, err := nn.NewSGD(m, nn.SGD{Rate: math.NaN()})
	if err != nil {
		t.Fatal(err)
	}
	defer opt.Close()
	if err := opt.Step(ctx); err == nil {
		t.Error("a step at the rate NaN")
	}
	ended, cancel := context.WithCancel(ctx)
	cancel()
	opt.Rate = 1
	if err := opt.Step(ended); err == nil {
		t.Error("a step after the end of its context")
	}
}

func second[T any](_ T, err error) error { return err }

// TestClosed: a module that is closed gives errors; it neither takes its parameters for inputs nor writes an empty
// file.
func TestClosed(t *testing.T) {
	leaks(t)
	prog := compile(t,
		"fn line[N](slope: f32, x: f32[N]) -> f32[N] = slope * x\n"+
			"fn loss[N](slope: f32, x: f32[N]) -> f32 = +/(line(slope, x))\n", heal.Options{})
	m := module(t, prog, "loss", map[string]*tensor.Tensor{"slope": tensor.Scalar(float32(2))})
	x := f32s(t, []float32{1, 2})
	defer x.Close()
	if _, err := m.Loss(x).Backward(ctx); err != nil {
		t.Fatal(err)
	}
	path := t.TempDir() + "/m.npz"
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	m.Close()
	m.ZeroGrad()
	_, backward := m.Loss(x).Backward(ctx)
	_, value := m.Loss(x).Value(ctx)
	_, forward := m.Forward(ctx, "line", x)
	for what, err := range map[string]error{"Backward": backward, "Value": value, "Forward": forward,
		"Save": m.Save(path), "Load": m.Load(path)} {
		if err == nil || !strings.Contains(err.Error(), "closed") {
			t.Errorf("%s of a closed module: %v", what, err)
		}
	}
	kept, err := tensorfile.OpenNpz(path)
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	if !slices.Equal(kept.Names(), []string{"slope"}) {
		t.Errorf("the file has %v", kept.Names())
	}
}

package nn_test

import (
	"context"
	"fmt"
	"log"

	heal "healc"
	"healc/nn"
	"healc/runtime/tensor"
)

// A line is fitted to points: the loss, its gradient and the updates are compiled from the source.
func Example() {
	const source = `
fn line[N](slope: f32, shift: f32, x: f32[N]) -> f32[N] = slope .* x .+ shift

fn loss[N](slope: f32, shift: f32, x: f32[N], y: f32[N]) -> f32 = {
    let d = line(slope, shift, x) - y;
    mean(d * d)
}
`
	ctx := context.Background()
	prog, err := heal.Compile(source, heal.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer prog.Close()
	zero := tensor.Scalar[float32](0)
	defer zero.Close()
	model, err := nn.New(prog, "loss", map[string]*tensor.Tensor{"slope": zero, "shift": zero})
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	opt, err := nn.NewSGD(model, nn.SGD{Rate: 0.1, Momentum: 0.5})
	if err != nil {
		log.Fatal(err)
	}
	defer opt.Close()

	x, y := tensor.FromSlice([]float32{0, 1, 2, 3}), tensor.FromSlice([]float32{1, 3, 5, 7})
	defer x.Close()
	defer y.Close()
	for step := range 40 {
		model.ZeroGrad()
		loss, err := model.Loss(x, y).Backward(ctx)
		if err != nil {
			log.Fatal(err)
		}
		if err := opt.Step(ctx); err != nil {
			log.Fatal(err)
		}
		if step%10 == 0 {
			fmt.Printf("step %d: loss %.4f\n", step, loss)
		}
	}

	four := tensor.FromSlice([]float32{4})
	defer four.Close()
	out, err := model.Forward(ctx, "line", four)
	if err != nil {
		log.Fatal(err)
	}
	defer out[0].Close()
	v, err := tensor.Slice[float32](out[0])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("at 4: %.3f\n", v[0])
	// Output:
	// step 0: loss 21.0000
	// step 10: loss 0.0004
	// step 20: loss 0.0000
	// step 30: loss 0.0000
	// at 4: 9.000
}

// Package nn trains programs written in Heal from Go. A Module holds the parameters of a loss, which is a function of
// the program that gives one float; the loss, its gradients and the updates are compiled code.
//
//	prog, err := heal.Compile(source, heal.Options{})
//	model, err := nn.New(prog, "loss", map[string]*tensor.Tensor{"w": w, "b": b})
//	opt, err := nn.NewSGD(model, nn.SGD{Rate: 0.1, Momentum: 0.9})
//	for range steps {
//		model.ZeroGrad()
//		loss, err := model.Loss(x, labels).Backward(ctx)
//		err = opt.Step(ctx)
//	}
//	y, err := model.Forward(ctx, "predict", x)
//	err = model.Save("model.safetensors")
//
// Who knows PyTorch finds its words here, with two differences. The graph is the source of the loss: nothing is
// recorded, and Loss computes nothing before Backward, which computes value and gradients in one run. And parameters
// are arguments of the functions of the program, matched by name, as they are in JAX.
//
// Values, gradients and updates have the same bits whatever the number of threads and the backend. After the first step
// of each shape nothing is allocated for tensors.
package nn

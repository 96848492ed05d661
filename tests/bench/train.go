package main

import (
	"context"
	_ "embed"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	heal "healc"
	"healc/cmd/healc/measure"
	"healc/lang/types"
	"healc/nn"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// trainSource has a training step of each network.
//
//go:embed train.heal
var trainSource string

// network is a network of dense layers, trained on one batch by gradient descent.
type network struct {
	name   string
	entry  string // in trainSource: the step; its loss is called entry_loss
	batch  int64
	widths []int64 // of the input, of the layers
}

var networks = []network{
	{"N1_train_784-512-512-10", "deep", 256, []int64{784, 512, 512, 10}},
	{"N2_train_64-128-10", "shallow", 32, []int64{64, 128, 10}},
}

const trainRate = 0.05

// compileSuffix marks the rows that say how long the first step takes, compilation included.
const compileSuffix = "_compile"

// ops are the multiplications and additions of the products of a step: one forward for each layer, two backward, but
// none for the gradient of the input.
func (n network) ops() float64 {
	sum := 0.0
	for i := 1; i < len(n.widths); i++ {
		products := 3.0
		if i == 1 {
			products = 2
		}
		sum += products * 2 * float64(n.batch*n.widths[i-1]*n.widths[i])
	}
	return sum
}

// batchOf makes the inputs and the classes of a batch.
func (n network) batchOf() (x, labels *tensor.Tensor, err error) {
	if x, err = f32(n.batch, n.widths[0]).make(1); err != nil {
		return nil, nil, err
	}
	labels, err = ints(types.I32, n.widths[len(n.widths)-1], n.batch).make(2)
	return x, labels, err
}

// params makes the weights and biases, uniform around 0, smaller the more are added up.
func (n network) params() ([]*tensor.Tensor, error) {
	var out []*tensor.Tensor
	for i := 1; i < len(n.widths); i++ {
		for k, shape := range [][]int64{{n.widths[i-1], n.widths[i]}, {n.widths[i]}} {
			t, err := f32(shape...).make(uint64(10*i + k))
			if err != nil {
				return nil, err
			}
			data, err := tensor.Slice[float32](t)
			if err != nil {
				return nil, err
			}
			for j := range data {
				data[j] *= float32(2 / math.Sqrt(float64(n.widths[i-1])))
			}
			out = append(out, t)
		}
	}
	return out, nil
}

// names are those of the parameters in trainSource.
func (n network) names() []string {
	var out []string
	for i := range n.widths[1:] {
		out = append(out, fmt.Sprint("w", i), fmt.Sprint("b", i))
	}
	return out
}

// trainer is the step as one function, with parameters of its own.
type trainer struct {
	m    *heal.Module
	f    *heal.Func
	args []*tensor.Tensor
	loss []*tensor.Tensor
}

func newTrainer(n network, threads int) (*trainer, error) {
	m, err := heal.Compile(trainSource, heal.Options{Threads: threads})
	if err != nil {
		return nil, err
	}
	t := &trainer{m: m, loss: []*tensor.Tensor{tensor.Scalar[float32](0)}}
	if t.f, err = m.Func(n.entry); err == nil {
		t.args, err = n.params()
	}
	if err != nil {
		t.close()
		return nil, err
	}
	x, labels, err := n.batchOf()
	t.args = append(t.args, x, labels, tensor.Scalar[float32](trainRate))
	if err != nil {
		t.close()
		return nil, err
	}
	return t, nil
}

func (t *trainer) step() error { return t.f.CallInto(context.Background(), t.loss, t.args...) }

func (t *trainer) close() {
	for _, x := range append(t.args, t.loss...) {
		x.Close()
	}
	t.m.Close()
}

// goTrainer is the step by package nn: three calls of compiled code from Go.
type goTrainer struct {
	prog      *heal.Module
	model     *nn.Module
	opt       *nn.Optimizer
	x, labels *tensor.Tensor
}

func newGoTrainer(n network, threads int) (t *goTrainer, err error) {
	t = &goTrainer{}
	if t.prog, err = heal.Compile(trainSource, heal.Options{Threads: threads, Cache: heal.DefaultCache()}); err != nil {
		return nil, err
	}
	params, err := n.params()
	if err != nil {
		return t, err
	}
	values := map[string]*tensor.Tensor{}
	for i, name := range n.names() {
		values[name] = params[i]
		defer params[i].Close()
	}
	if t.model, err = nn.New(t.prog, n.entry+"_loss", values); err != nil {
		return t, err
	}
	if t.opt, err = nn.NewSGD(t.model, nn.SGD{Rate: trainRate}); err != nil {
		return t, err
	}
	t.x, t.labels, err = n.batchOf()
	return t, err
}

func (t *goTrainer) step() error {
	t.model.ZeroGrad()
	if _, err := t.model.Loss(t.x, t.labels).Backward(context.Background()); err != nil {
		return err
	}
	return t.opt.Step(context.Background())
}

func (t *goTrainer) close() {
	t.x.Close()
	t.labels.Close()
	if t.opt != nil {
		t.opt.Close()
	}
	if t.model != nil {
		t.model.Close()
	}
	t.prog.Close()
}

// train measures the steps of a network. Every contender has parameters of its own; the first step of each gives the
// same parameters, whose differences from each other are compared.
func (b *bench) train(n network) error {
	dir, err := os.MkdirTemp("", "heal-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	peers, err := b.trainPeers(n, dir)
	if err != nil {
		return err
	}
	var all []contender
	var finite []func() error
	compiling := measure.Samples{}
	for _, threads := range b.threads {
		var t *trainer
		for range 3 { // the first step of a fresh program compiles it
			if t != nil {
				t.close()
			}
			start := time.Now()
			if t, err = newTrainer(n, threads); err != nil {
				return err
			}
			if err := t.step(); err != nil {
				return err
			}
			compiling = append(compiling, time.Since(start).Seconds())
		}
		defer t.close()
		params := t.args[:len(n.names())]
		if err := b.checkStep(dir, peers, append(params[:len(params):len(params)], t.loss...)); err != nil {
			return fmt.Errorf("healc with %d threads: %w", threads, err)
		}
		g, err := newGoTrainer(n, threads)
		defer g.close()
		if err != nil {
			return err
		}
		if err := g.step(); err != nil {
			return err
		}
		for i, p := range g.model.Parameters() {
			if err := same(p.Value, params[i]); err != nil {
				return fmt.Errorf("package nn with %d threads: `%s`: %w", threads, p.Name, err)
			}
		}
		all = append(all,
			contender{Contender: measure.Contender{Name: "healc", Threads: threads, Time: measure.Repeat(t.step)}},
			contender{Contender: measure.Contender{Name: "healc, from Go", Threads: threads,
				Time: measure.Repeat(g.step)}})
		limit, err := b.machine.Compute(measure.F32, n.ops(), threads)
		if err != nil {
			return err
		}
		all = append(all, contender{measure.Contender{Name: "limit", Threads: threads, Time: measure.Repeat(limit)},
			true})
		finite = append(finite, func() error {
			v, err := tensor.Slice[float32](t.loss[0])
			if err == nil && !(v[0] >= 0 && v[0] < 10) {
				err = fmt.Errorf("the loss is %v after the steps that were timed", v[0])
			}
			return err
		})
	}
	for _, q := range peers {
		if q.Threads <= b.threads[len(b.threads)-1] {
			all = append(all, contender{Contender: measure.Contender{Name: q.Name, Threads: q.Threads,
				Time: func(k int) (time.Duration, error) {
					return b.peer.time(q, k)
				}}})
		}
	}
	if err := b.race(n.name, all, 0, n.ops()); err != nil {
		return err
	}
	b.report.add(n.name+compileSuffix, "healc", 0, compiling, 0, 0)
	if b.peer != nil {
		var first map[string]float64
		if err := b.peer.ask(map[string]any{"do": "first"}, &first); err != nil {
			return err
		}
		for name, seconds := range first {
			b.report.add(n.name+compileSuffix, name, 0, measure.Samples{seconds}, 0, 0)
		}
	}
	for _, f := range finite {
		if err := f(); err != nil {
			return err
		}
	}
	return nil
}

// trainPeers gives the batch and the parameters to the peer.
func (b *bench) trainPeers(n network, dir string) ([]peerRun, error) {
	if b.peer == nil {
		return nil, nil
	}
	params, err := n.params()
	if err != nil {
		return nil, err
	}
	x, labels, err := n.batchOf()
	if err != nil {
		return nil, err
	}
	files, err := writeAll(dir, "in", append(params, x, labels, tensor.Scalar[float32](trainRate)))
	if err != nil {
		return nil, err
	}
	runs, err := b.peer.open("train", files)
	if err == nil && len(runs) == 0 {
		fmt.Fprintf(os.Stderr,
			"bench: %s without PyTorch, which this Python does not have: apt-get install python3-torch\n", n.name)
	}
	return runs, err
}

// checkStep compares the parameters and the loss of the first step with the peers'.
func (b *bench) checkStep(dir string, peers []peerRun, results []*tensor.Tensor) error {
	if len(peers) == 0 {
		return nil
	}
	var views []*tensor.Tensor
	for _, t := range results {
		v, err := t.View()
		if err != nil {
			return err
		}
		views = append(views, v)
	}
	files, err := writeAll(dir, "out", views)
	if err != nil {
		return err
	}
	return b.peer.check(files, 2e-6)
}

// writeAll writes tensors to files and closes them.
func writeAll(dir, name string, tensors []*tensor.Tensor) ([]string, error) {
	var files []string
	for i, t := range tensors {
		files = append(files, filepath.Join(dir, fmt.Sprint(name, i, ".npy")))
		if err := tensorfile.WriteNpyFile(files[i], t); err != nil {
			return nil, err
		}
		t.Close()
	}
	return files, nil
}

// same compares the bits of two tensors: gradients that are kept in memory are those that are used at once.
func same(a, b *tensor.Tensor) error {
	x, err := tensor.Slice[float32](a)
	if err != nil {
		return err
	}
	y, err := tensor.Slice[float32](b)
	if err != nil {
		return err
	}
	for i := range x {
		if math.Float32bits(x[i]) != math.Float32bits(y[i]) {
			return fmt.Errorf("element %d is %v, and %v in one function", i, x[i], y[i])
		}
	}
	return nil
}

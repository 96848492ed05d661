package onnx_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"healc"
	"healc/internal/onnx"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

var update = flag.Bool("update", false, "rewrite what the tests compare with")

// program imports a model.
func program(t *testing.T, model []byte, options onnx.Options) (*onnx.Program, error) {
	t.Helper()
	m, err := onnx.Decode(model)
	if err != nil {
		t.Fatal(err)
	}
	return onnx.Import(m, options)
}

// TestPrograms: models, and the programs that they become.
func TestPrograms(t *testing.T) {
	for _, c := range []struct {
		name    string
		model   []byte
		options onnx.Options
		want    string
	}{
		{"a named dimension is a shape parameter, and a weight a parameter", graph{
			nodes: []pb{
				node("MatMul", []string{"x", "fc.weight"}, []string{"/fc/MatMul_output_0"}),
				node("Add", []string{"/fc/MatMul_output_0", "fc.bias"}, []string{"y"}),
			},
			tensors: []pb{floats("fc.weight", []int64{2, 3}, 1, 2, 3, 4, 5, 6), floats("fc.bias", []int64{3}, 1, 2, 3)},
			inputs:  []pb{info("x", float32s, "batch", 2)}, outputs: []pb{info("y", float32s, "batch", 3)},
		}.model(), onnx.Options{}, `
pub fn model[batch](x: f32[batch, 2], fc_weight: f32[2, 3], fc_bias: f32[3]) -> f32[batch, 3] = {
    let fc_MatMul = x @ fc_weight;
    fc_MatMul .+ fc_bias
}
`},
		{"shapes are computed while the program is written", graph{
			nodes: []pb{
				node("Shape", []string{"x"}, []string{"s"}),
				node("Gather", []string{"s", "zero"}, []string{"n"}),
				node("Concat", []string{"n", "rest"}, []string{"to"}, intAttr("axis", 0)),
				node("Reshape", []string{"x", "to"}, []string{"y"}),
			},
			tensors: []pb{longs("zero", 0), longs("rest", 2, -1)},
			inputs:  []pb{info("x", float32s, "N", 6)}, outputs: []pb{info("y", float32s)},
		}.model(), onnx.Options{}, `
pub fn model[N](x: f32[N, 6]) -> f32[N, 2, 3] = reshape(x, [N, 2, 3])
`},
		{"a number for a dimension", graph{
			nodes:  []pb{node("Flatten", []string{"x"}, []string{"y"})},
			inputs: []pb{info("x", float32s, "N", "C", 2)}, outputs: []pb{info("y", float32s)},
		}.model(), onnx.Options{Dims: map[string]int64{"C": 5}}, `
pub fn model[N](x: f32[N, 5, 2]) -> f32[N, 10] = reshape(x, [N, 10])
`},
		{"names that are words of the language, or used already", graph{
			nodes: []pb{
				node("Exp", []string{"max"}, []string{"1"}), node("Neg", []string{"1"}, []string{"fn"}),
				node("Add", []string{"fn", "max"}, []string{"max/"}),
				node("Sub", []string{"max/", "1"}, []string{"model"}),
			},
			inputs: []pb{info("max", float32s, 4)}, outputs: []pb{info("model", float32s)},
		}.model(), onnx.Options{}, `
pub fn model(max_2: f32[4]) -> f32[4] = {
    let exp_1 = exp(max_2);
    let fn_2 = -exp_1;
    let max_3 = fn_2 + max_2;
    max_3 - exp_1
}
`},
		{"numbers are literals, and nodes that no output needs are not there", graph{
			nodes: []pb{
				node("Mul", []string{"x", "half"}, []string{"y"}), node("Unheard", []string{"x"}, []string{"z"}),
			},
			tensors: []pb{floats("half", nil, 0.5)},
			inputs:  []pb{info("x", float32s, 4, 4)}, outputs: []pb{info("y", float32s)},
		}.model(), onnx.Options{}, `
pub fn model(x: f32[4, 4]) -> f32[4, 4] = x * 0.5
`},
		{"an input that always has one value", graph{
			nodes:  []pb{node("Reshape", []string{"x", "shape"}, []string{"y"})},
			inputs: []pb{info("x", float32s, 6), info("shape", int64s, 2)}, outputs: []pb{info("y", float32s)},
		}.model(), onnx.Options{Fixed: map[string]*tensor.Tensor{"shape": tensor.FromSlice([]int64{3, -1}, 2)}}, `
pub fn model(x: f32[6]) -> f32[3, 2] = reshape(x, [3, 2])
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := program(t, c.model, c.options)
			if err != nil {
				t.Fatal(err)
			}
			if got := "\n" + p.Source; got != c.want {
				t.Errorf("the program is%s, and should be%s", got, c.want)
			}
		})
	}
}

// TestErrors: models that are refused, and how.
func TestErrors(t *testing.T) {
	x, y := []string{"x"}, []string{"y"}
	one := func(shape []dim, nodes ...pb) graph {
		return graph{nodes: nodes, inputs: []pb{info("x", float32s, shape...)}, outputs: []pb{info("y", float32s)}}
	}
	for _, c := range []struct {
		model   []byte
		options onnx.Options
		want    string
	}{
		{one([]dim{4}, node("Exp", x, y)).version(22), onnx.Options{},
			"unsupported: the model is made for version 22 of ONNX's operators; 1 to 21 are imported"},
		{one([]dim{4}, node("Hardmax", x, y)).version(9), onnx.Options{},
			"Hardmax of node for y: unsupported: its form before version 13 of the operators; the model has version 9"},
		{one([]dim{4}, node("Exp", x, y, intAttr("fast", 1))).model(), onnx.Options{},
			"Exp of node for y: unsupported: the attribute fast"},
		{one([]dim{4}, node("Exp", []string{"z"}, y)).model(), onnx.Options{},
			"Exp of node for y: it reads `z`, which no node before it makes"},
		{one([]dim{4}, node("Transpose", x, y, intsAttr("perm", 0, 1))).model(), onnx.Options{},
			"Transpose of node for y: its permutation [0 1] is not one of 1 axes"},
		{one([]dim{1, 1, "H", 8}, node("AveragePool", x, y, intsAttr("kernel_shape", 2, 2), intsAttr("strides", 2, 2))).
			model(), onnx.Options{},
			"AveragePool of node for y: the extent of an axis with strides is H: give the dimensions numbers with " +
				"--dim"},
		{one([]dim{4}, node("Exp", x, y)).model(), onnx.Options{Dims: map[string]int64{"N": 1}},
			"the model has no dimension N"},
		{graph{
			nodes: []pb{node("Slice", []string{"x", "s", "e"}, y)}, tensors: []pb{longs("s", 0), longs("e", 2, 3)},
			inputs: []pb{info("x", float32s, 6, 6)}, outputs: []pb{info("y", float32s)},
		}.model(), onnx.Options{}, "Slice of node for y: its starts and ends are not one list each of one length"},
		{one([]dim{1 << 40}, node("Exp", x, y)).model(), onnx.Options{},
			"input x: its extent 1099511627776 is beyond 2^31 - 1"},
		{one([]dim{4}).model(), onnx.Options{}, "no node makes the output `y`"},
		{graph{
			nodes:  []pb{node("Reshape", []string{"x", "shape"}, y)},
			inputs: []pb{info("x", float32s, 6), info("shape", int64s, 2)}, outputs: []pb{info("y", float32s)},
		}.model(), onnx.Options{}, "Reshape of node for y: unsupported: its input 1, `shape`, is not known before " +
			"the program runs; --fix shape=VALUE says it"},
		{graph{
			nodes:  []pb{node("Add", []string{"x", "z"}, y)},
			inputs: []pb{info("x", float32s, "N"), info("z", float32s, "M")}, outputs: []pb{info("y", float32s)},
		}.model(), onnx.Options{}, "Add of node for y: the extents N and M are the same or 1 when the program runs: " +
			"give the dimensions numbers with --dim"},
		{graph{
			nodes:   []pb{node("Tile", []string{"x", "n"}, y)},
			tensors: []pb{longs("n", 1<<61, 1)},
			inputs:  []pb{info("x", float32s, 6, 6)}, outputs: []pb{info("y", float32s)},
		}.model(), onnx.Options{}, "Tile of node for y: the extent (6) * (2305843009213693952) overflows 64 bits"},
	} {
		if _, err := program(t, c.model, c.options); err == nil || err.Error() != c.want {
			t.Errorf("the error is\n%v\nand should be\n%s", err, c.want)
		}
	}
}

// TestUnknownOperators: an error has all of them, and the nodes.
func TestUnknownOperators(t *testing.T) {
	x := []string{"x"}
	g := graph{nodes: []pb{
		node("Zeta", x, []string{"a"}), node("Exp", []string{"a"}, []string{"b"}),
		node("Zeta", []string{"b"}, []string{"c"}),
		node("Airy", []string{"c"}, []string{"d"}).text(3, "first"),
		node("Exp", []string{"d"}, []string{"y"}).text(7, "ai.mine"),
	}, inputs: []pb{info("x", float32s, 4)}, outputs: []pb{info("y", float32s)}}
	_, err := program(t, g.model(), onnx.Options{})
	var unknown *onnx.UnknownError
	if !errors.As(err, &unknown) {
		t.Fatal(err)
	}
	const want = "unsupported operators: Airy, Zeta, ai.mine.Exp\n" +
		"Airy: 1 node: first\nZeta: 2 nodes: for a, for c\nai.mine.Exp: 1 node: for y"
	if got := err.Error() + "\n" + strings.Join(unknown.Notes(), "\n"); got != want {
		t.Errorf("the error is\n%s\nand should be\n%s", got, want)
	}
}

// TestMalformed: a file that is cut anywhere, or has other bytes somewhere, is an error or a model, and never a crash.
func TestMalformed(t *testing.T) {
	model := graph{
		nodes:   []pb{node("MatMul", []string{"x", "w"}, []string{"y"}, intAttr("axis", 0), intsAttr("axes", 1, 2))},
		tensors: []pb{floats("w", []int64{2, 2}, 1, 2, 3, 4), longs("n", 1, 2)},
		inputs:  []pb{info("x", float32s, "N", 2)}, outputs: []pb{info("y", float32s)},
	}.model()
	for i := range model {
		imported(model[:i])
		for _, b := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			changed := bytes.Clone(model)
			changed[i] = b
			imported(changed)
		}
	}
	for _, c := range []struct{ model []byte }{{nil}, {[]byte("PK")}, {pb{}.text(2, "heal")}} {
		if _, err := onnx.Decode(c.model); err == nil || !strings.HasPrefix(err.Error(), "this is no ONNX model") {
			t.Errorf("%q: %v", c.model, err)
		}
	}
}

// imported imports what may be no model.
func imported(model []byte) {
	if m, err := onnx.Decode(model); err == nil {
		_, _ = onnx.Import(m, onnx.Options{})
	}
}

// FuzzImport: no bytes crash the reader, or the writing of programs.
func FuzzImport(f *testing.F) {
	archive, err := archived()
	if err != nil {
		f.Fatal(err)
	}
	for i := 0; i < len(archive); i += 8 {
		f.Add(archive[i].model)
	}
	f.Fuzz(func(_ *testing.T, model []byte) { imported(model) })
}

// TestElementsInOtherFiles: they are read from the folder of the model, and from nowhere else.
func TestElementsInOtherFiles(t *testing.T) {
	dir := t.TempDir()
	inside := filepath.Join(dir, "model")
	if err := os.Mkdir(inside, 0o755); err != nil {
		t.Fatal(err)
	}
	data := append(make([]byte, 4), floats("", nil, 1, 2, 3, 4)[4:]...)
	data = data[:4+16]
	for _, name := range []string{filepath.Join(dir, "secret"), filepath.Join(inside, "weights")} {
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "secret"), filepath.Join(inside, "link")); err != nil {
		t.Log(err) // a system without links
	}
	entry := func(key, value string) pb { return pb{}.text(1, key).text(2, value) }
	for _, c := range []struct{ location, offset, want string }{
		{"weights", "4", ""},
		{"weights", "8", `has 20`},
		{"weights", "-4", "is no number"},
		{"../secret", "4", "is no file in the folder of the model"},
		{filepath.Join(dir, "secret"), "4", "is no file in the folder of the model"},
		{"link", "4", "is no file in the folder of the model"},
		{"missing", "4", "is no file in the folder of the model"},
		{".", "0", "is no file in the folder of the model"},
	} {
		w := header("w", float32s, []int64{2, 2}).number(14, 1).bytes(13, entry("location", c.location)).
			bytes(13, entry("offset", c.offset)).bytes(13, entry("length", "16"))
		g := graph{nodes: []pb{node("MatMul", []string{"x", "w"}, []string{"y"})}, tensors: []pb{w},
			inputs: []pb{info("x", float32s, "N", 2)}, outputs: []pb{info("y", float32s)}}
		path := filepath.Join(inside, "m.onnx")
		if err := os.WriteFile(path, g.model(), 0o644); err != nil {
			t.Fatal(err)
		}
		m, err := onnx.Read(path)
		var p *onnx.Program
		if err == nil {
			p, err = onnx.Import(m, onnx.Options{})
		}
		switch {
		case c.want == "" && err != nil, c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s from %s on: %v", c.location, c.offset, err)
		case err == nil && !bytes.Equal(p.Weights[0].Tensor.Raw(), data[4:]):
			t.Errorf("the elements are %v", p.Weights[0].Tensor.Raw())
		}
	}
}

// TestDigits: examples/data/digits.onnx is examples/digits.heal as an ONNX model, whose weights are the means of the
// classes: the nearest mean is the one with the largest x @ mean - mean @ mean / 2.
func TestDigits(t *testing.T) {
	const folder = "../../examples/data/"
	images, err := tensorfile.ReadNpyFile(folder + "digits/images.npy")
	if err != nil {
		t.Fatal(err)
	}
	labels, err := tensorfile.ReadNpyFile(folder + "digits/labels.npy")
	if err != nil {
		t.Fatal(err)
	}
	pixels, classes := images.Bits(), labels.Bits()
	var sums [64][10]float64
	var counts [10]float64
	for i, c := range classes {
		counts[c]++
		for j := range sums {
			sums[j][c] += float64(pixels[64*i+j])
		}
	}
	weights, bias := make([]float32, 640), make([]float32, 10)
	for j := range sums {
		for c, s := range sums[j] {
			mean := s / counts[c]
			weights[10*j+c] = float32(mean)
			bias[c] -= float32(mean * mean / 2)
		}
	}
	model := graph{
		nodes: []pb{
			node("Cast", []string{"images"}, []string{"pixels"}, intAttr("to", float32s)),
			node("Gemm", []string{"pixels", "means", "bias"}, []string{"scores"}),
			node("ArgMax", []string{"scores"}, []string{"digit"}, intAttr("axis", 1), intAttr("keepdims", 0)),
		},
		tensors: []pb{floats("means", []int64{64, 10}, weights...), floats("bias", []int64{10}, bias...)},
		inputs:  []pb{info("images", 2, "N", 64)}, outputs: []pb{info("digit", int64s, "N")},
	}.model()
	if *update {
		if err := os.WriteFile(folder+"digits.onnx", model, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	m, err := onnx.Read(folder + "digits.onnx")
	if err != nil {
		t.Fatal(err)
	}
	p, err := onnx.Import(m, onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const first = 200
	few := tensor.FromSlice(images.Raw()[:64*first], first, 64)
	got, err := call(p, heal.Interp, few)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range got[0].Bits() {
		best, least := 0, math.Inf(1)
		for k := range counts {
			distance := 0.0
			for j := range sums {
				d := float64(pixels[64*i+j]) - sums[j][k]/counts[k]
				distance += d * d
			}
			if distance < least {
				best, least = k, distance
			}
		}
		if c != uint64(best) {
			t.Errorf("image %d is taken for %d, and the nearest mean is that of %d", i, c, best)
		}
	}
}

// call runs a program on a backend, with its weights behind the arguments.
func call(p *onnx.Program, backend string, args ...*tensor.Tensor) ([]*tensor.Tensor, error) {
	module, err := heal.Compile(p.Source, heal.Options{Backend: backend})
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, p.Source)
	}
	defer module.Close()
	f, err := module.Func(p.Entry)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, p.Source)
	}
	for _, w := range p.Weights {
		args = append(args, w.Tensor)
	}
	params := f.Params()
	for i := range min(len(args), len(params)) {
		if args[i], err = asBits(args[i], params[i].Type.Elem); err != nil {
			return nil, err
		}
	}
	got, err := f.CallAll(context.Background(), args...)
	if err != nil {
		return nil, fmt.Errorf("%w\n%s", err, p.Source)
	}
	return got, nil
}

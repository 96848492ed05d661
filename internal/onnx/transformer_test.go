package onnx_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"healc"
	"healc/internal/onnx"
	"healc/runtime/tensor"
)

// The extents of the model of this file.
const (
	words, places, width, heads = 11, 8, 6, 2
	part                        = width / heads
)

// numbersFor are some numbers, others for each seed.
func numbersFor(seed, n int) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(math.Sin(float64(7*seed+3*i)+0.5)) / 2
	}
	return out
}

// transformer is a model of one block as PyTorch writes them for GPT-2 and BERT: a causal mask that is cut from a
// constant, a mask of the words that count, a normalisation in small parts and one in one, gelu in small parts, and
// shapes that are computed from the dimensions batch and sequence.
func transformer() graph {
	var g graph
	weight := func(name string, seed int, shape ...int64) {
		n := int64(1)
		for _, e := range shape {
			n *= e
		}
		g.tensors = append(g.tensors, floats(name, shape, numbersFor(seed, int(n))...))
	}
	weight("wte", 1, words, width)
	weight("wpe", 2, places, width)
	weight("ln.weight", 3, width)
	weight("ln.bias", 4, width)
	weight("qkv.weight", 5, width, 3*width)
	weight("qkv.bias", 6, 3*width)
	weight("proj.weight", 7, width, width)
	weight("ln2.weight", 8, width)
	weight("ln2.bias", 9, width)
	var causal, ids []int64
	for i := range int64(places) {
		ids = append(ids, i)
		for j := range int64(places) {
			if j <= i {
				causal = append(causal, 1)
			} else {
				causal = append(causal, 0)
			}
		}
	}
	mask := header("causal", 9, []int64{1, 1, places, places})
	for _, b := range causal {
		mask = mask.number(5, b)
	}
	positions := header("position_ids", int64s, []int64{1, places})
	for _, id := range ids {
		positions = positions.number(7, id)
	}
	g.tensors = append(g.tensors, mask, positions, longs("0", 0), longs("1", 1), longs("2", 2), longs("3", 3),
		longs("-1", -1), longs("heads", heads), longs("part", part), longs("width", width),
		longs("thirds", width, width, width),
		header("i0", int64s, nil).number(7, 0), header("i1", int64s, nil).number(7, 1),
		floats("two", nil, 2), floats("eps", nil, 1e-5), floats("root", nil, float32(math.Sqrt(part))),
		floats("least", nil, -math.MaxFloat32), floats("one", nil, 1), floats("three", nil, 3),
		floats("half", nil, 0.5), floats("cubic", nil, 0.044715), floats("rate", nil, float32(math.Sqrt(2/math.Pi))))
	op := func(name string, in, out string, attrs ...pb) {
		g.nodes = append(g.nodes, node(name, strings.Fields(in), strings.Fields(out), attrs...))
	}
	op("Shape", "input_ids", "shape")
	op("Gather", "shape i1", "sequence", intAttr("axis", 0))
	op("Unsqueeze", "sequence 0", "sequence1")
	op("Slice", "position_ids 0 sequence1 1", "positions")
	op("Gather", "wte input_ids", "embedded")
	op("Gather", "wpe positions", "placed")
	op("Add", "embedded placed", "x")
	op("ReduceMean", "x", "mean", intsAttr("axes", -1))
	op("Sub", "x mean", "d")
	op("Pow", "d two", "d2")
	op("ReduceMean", "d2", "variance", intsAttr("axes", -1))
	op("Add", "variance eps", "more")
	op("Sqrt", "more", "deviation")
	op("Div", "d deviation", "normal")
	op("Mul", "normal ln.weight", "scaled")
	op("Add", "scaled ln.bias", "h")
	op("MatMul", "h qkv.weight", "product")
	op("Add", "qkv.bias product", "qkv")
	op("Split", "qkv thirds", "q k v", intAttr("axis", 2))
	for _, name := range []string{"q", "k", "v"} {
		op("Shape", name, name+"_shape")
		op("Gather", name+"_shape i0", name+"_batch", intAttr("axis", 0))
		op("Gather", name+"_shape i1", name+"_sequence", intAttr("axis", 0))
		op("Unsqueeze", name+"_batch 0", name+"_batch1")
		op("Unsqueeze", name+"_sequence 0", name+"_sequence1")
		op("Concat", name+"_batch1 "+name+"_sequence1 heads part", name+"_to", intAttr("axis", 0))
		op("Reshape", name+" "+name+"_to", name+"_apart")
	}
	op("Transpose", "q_apart", "q_heads", intsAttr("perm", 0, 2, 1, 3))
	op("Transpose", "k_apart", "k_heads", intsAttr("perm", 0, 2, 3, 1))
	op("Transpose", "v_apart", "v_heads", intsAttr("perm", 0, 2, 1, 3))
	op("MatMul", "q_heads k_heads", "dots")
	op("Div", "dots root", "scores")
	// from nd - ns to nd, which are both the length of the sequence
	op("Sub", "k_sequence q_sequence", "first")
	op("Unsqueeze", "first 0", "first1")
	op("Slice", "causal first1 k_sequence1 2 1", "rows")
	op("Slice", "rows 0 k_sequence1 3 1", "seen")
	op("Where", "seen scores least", "masked")
	op("Unsqueeze", "attention_mask 1", "mask1")
	op("Unsqueeze", "mask1 2", "mask2")
	op("Cast", "mask2", "mask", intAttr("to", float32s))
	op("Sub", "one mask", "hidden")
	op("Mul", "hidden least", "penalty")
	op("Add", "masked penalty", "logits")
	op("Softmax", "logits", "probabilities", intAttr("axis", -1))
	op("MatMul", "probabilities v_heads", "mixed")
	op("Transpose", "mixed", "back", intsAttr("perm", 0, 2, 1, 3))
	op("Concat", "q_batch1 q_sequence1 width", "together", intAttr("axis", 0))
	op("Reshape", "back together", "context")
	op("MatMul", "context proj.weight", "projected")
	op("Add", "projected x", "residual")
	op("LayerNormalization", "residual ln2.weight ln2.bias", "z", intAttr("axis", -1))
	op("Pow", "z three", "z3")
	op("Mul", "z3 cubic", "bent")
	op("Add", "z bent", "inner")
	op("Mul", "inner rate", "angle")
	op("Tanh", "angle", "tanh")
	op("Add", "tanh one", "gate")
	op("Mul", "z half", "halved")
	op("Mul", "halved gate", "y")
	g.inputs = []pb{info("input_ids", int64s, "batch", "sequence"), info("attention_mask", int64s, "batch", "sequence")}
	g.outputs = []pb{info("y", float32s, "batch", "sequence", width)}
	return g
}

// normalised is a row with mean 0 and variance 1, scaled and shifted.
func normalised(x []float64, scale, shift int) []float64 {
	mean, variance := 0.0, 0.0
	for _, v := range x {
		mean += v / width
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / width
	}
	out := make([]float64, width)
	for i, v := range x {
		out[i] = (v-mean)/math.Sqrt(variance+1e-5)*float64(numbersFor(scale, width)[i]) +
			float64(numbersFor(shift, width)[i])
	}
	return out
}

// times is a row by a matrix of numbersFor.
func times(x []float64, seed, columns int) []float64 {
	w := numbersFor(seed, len(x)*columns)
	out := make([]float64, columns)
	for i, v := range x {
		for j := range out {
			out[j] += v * float64(w[i*columns+j])
		}
	}
	return out
}

// expected is what the model computes of one sequence, in f64, written down as the papers have it.
func expected(ids, mask []int64) (out []float64) {
	var x, qkv [][]float64
	for i, id := range ids {
		row := make([]float64, width)
		for j := range row {
			word, place := numbersFor(1, words*width)[int(id)*width+j], numbersFor(2, places*width)[i*width+j]
			row[j] = float64(word) + float64(place)
		}
		x = append(x, row)
		product := times(normalised(row, 3, 4), 5, 3*width)
		for j, b := range numbersFor(6, 3*width) {
			product[j] += float64(b)
		}
		qkv = append(qkv, product)
	}
	for i := range ids {
		context := make([]float64, width)
		for h := range heads {
			weights, sum := make([]float64, i+1), 0.0
			for j := range weights {
				if mask[j] != 0 {
					dot := 0.0
					for e := range part {
						dot += qkv[i][h*part+e] * qkv[j][width+h*part+e]
					}
					weights[j] = math.Exp(dot / math.Sqrt(part))
				}
				sum += weights[j]
			}
			for j, w := range weights {
				for e := range part {
					context[h*part+e] += w / sum * qkv[j][2*width+h*part+e]
				}
			}
		}
		residual := times(context, 7, width)
		for j := range residual {
			residual[j] += x[i][j]
		}
		for _, z := range normalised(residual, 8, 9) {
			out = append(out, z/2*(1+math.Tanh(math.Sqrt(2/math.Pi)*(z+0.044715*z*z*z))))
		}
	}
	return out
}

// TestTransformer: the dimensions of a transformer are shape parameters, no part of it fixes them, and the program
// computes what the papers say.
func TestTransformer(t *testing.T) {
	p, err := program(t, transformer().model(), onnx.Options{})
	if err != nil {
		t.Fatal(err)
	}
	const head = "pub fn model[batch, sequence]("
	if !strings.Contains(p.Source, head) {
		t.Errorf("there is no %s in\n%s", head, p.Source)
	}
	for _, c := range []struct {
		batch     int
		ids, mask []int64
	}{
		{1, []int64{3, 0, 7, 10, 5}, []int64{1, 1, 1, 1, 1}},
		{2, []int64{1, 2, 3, 4, 10, 9}, []int64{1, 1, 1, 1, 0, 1}},
		{1, []int64{3}, []int64{1}},
	} {
		n := len(c.ids) / c.batch
		got, err := call(p, heal.Interp, tensor.FromSlice(c.ids, c.batch, n), tensor.FromSlice(c.mask, c.batch, n))
		if err != nil {
			t.Fatal(err)
		}
		var want []float32
		for b := range c.batch {
			for _, v := range expected(c.ids[b*n:(b+1)*n], c.mask[b*n:(b+1)*n]) {
				want = append(want, float32(v))
			}
		}
		if err := compare(got[0], tensor.FromSlice(want, c.batch, n, width)); err != nil {
			t.Errorf("%v: %v\n%s", c.ids, err, p.Source)
		}
	}
	if names := slices.Sorted(slices.Values(p.Inputs)); !slices.Equal(names, []string{"attention_mask", "input_ids"}) {
		t.Errorf("the inputs are %v", p.Inputs)
	}
}

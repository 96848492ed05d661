package onnx_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"healc"
	"healc/codegen/llvm/libllvm"
	"healc/internal/onnx"
	"healc/ir/scalar"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/tests/sample"
)

// dataEnv names the folder onnx/backend/test/data of ONNX. TestBackendFolder runs all that is there; with -update it
// writes testdata/backend.tar.gz, what TestBackend runs, and the counts of docs/onnx.md.
const dataEnv = "HEAL_ONNX_DATA"

// archiveFile has those of ONNX's backend tests that pass, and are small.
const archiveFile = "testdata/backend.tar.gz"

// maxTest is how many bytes a test in the archive has.
const maxTest = 30000

// backendTest is one of ONNX's backend tests: a model, and sets of inputs and outputs.
type backendTest struct {
	name  string // with its folder: node/abs
	model []byte
	sets  []backendSet
}

type backendSet struct{ inputs, outputs [][]byte }

// backendTests reads the tests in a file system.
func backendTests(folder string) ([]backendTest, error) {
	models, err := filepath.Glob(filepath.Join(folder, "*", "test_*", "model.onnx"))
	if err != nil || len(models) == 0 {
		return nil, fmt.Errorf("there are no tests in %s: %v", folder, err)
	}
	var out []backendTest
	for _, model := range models {
		dir := filepath.Dir(model)
		n := backendTest{name: filepath.Base(filepath.Dir(dir)) + "/" + strings.TrimPrefix(filepath.Base(dir), "test_")}
		if n.model, err = os.ReadFile(model); err != nil {
			return nil, err
		}
		sets, _ := filepath.Glob(filepath.Join(dir, "test_data_set_*"))
		for _, set := range sets {
			var s backendSet
			for what, to := range map[string]*[][]byte{"input": &s.inputs, "output": &s.outputs} {
				for i := 0; ; i++ {
					data, err := os.ReadFile(filepath.Join(set, fmt.Sprintf("%s_%d.pb", what, i)))
					if err != nil {
						break
					}
					*to = append(*to, data)
				}
			}
			n.sets = append(n.sets, s)
		}
		if len(n.sets) > 0 { // those of models elsewhere have none
			out = append(out, n)
		}
	}
	return out, nil
}

// size is how many bytes a test has.
func (n *backendTest) size() int {
	size := len(n.model)
	for _, s := range n.sets {
		for _, data := range slices.Concat(s.inputs, s.outputs) {
			size += len(data)
		}
	}
	return size
}

// writeArchive writes tests, the same bytes for the same tests.
func writeArchive(tests []backendTest) error {
	var out bytes.Buffer
	zip, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return err
	}
	files := tar.NewWriter(zip)
	put := func(name string, data []byte) {
		if err == nil {
			err = files.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(data)),
				ModTime: time.Unix(0, 0)})
		}
		if err == nil {
			_, err = files.Write(data)
		}
	}
	for _, n := range tests {
		put(n.name+"/model", n.model)
		for i, s := range n.sets {
			for _, data := range s.inputs {
				put(fmt.Sprintf("%s/%d/input", n.name, i), data)
			}
			for _, data := range s.outputs {
				put(fmt.Sprintf("%s/%d/output", n.name, i), data)
			}
		}
	}
	if err := errors.Join(err, files.Close(), zip.Close()); err != nil {
		return err
	}
	return os.WriteFile(archiveFile, out.Bytes(), 0o644)
}

// archived reads what writeArchive has written.
func archived() ([]backendTest, error) {
	data, err := os.ReadFile(archiveFile)
	if err != nil {
		return nil, err
	}
	zip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	var out []backendTest
	files := tar.NewReader(zip)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		data, err := io.ReadAll(files)
		if err != nil {
			return nil, err
		}
		dir, what := path.Split(h.Name)
		if what == "model" {
			out = append(out, backendTest{name: path.Clean(dir), model: data})
			continue
		}
		n := &out[len(out)-1]
		set := 0
		if _, err := fmt.Sscan(path.Base(dir), &set); err != nil {
			return nil, err
		}
		for len(n.sets) <= set {
			n.sets = append(n.sets, backendSet{})
		}
		if s := &n.sets[set]; what == "input" {
			s.inputs = append(s.inputs, data)
		} else {
			s.outputs = append(s.outputs, data)
		}
	}
}

// refused is the error of a test whose model is not imported, or whose data are no tensors.
type refused struct{ error }

// run imports the model and compares what it computes with what the test says.
func (n *backendTest) run() error {
	m, err := onnx.Decode(n.model)
	if err != nil {
		return refused{err}
	}
	compared := 0
	for i, set := range n.sets {
		if err := set.run(m); err != nil {
			return fmt.Errorf("set %d: %w", i, err)
		}
		compared += len(set.outputs)
	}
	if compared == 0 {
		return errors.New("there is nothing to compare")
	}
	return nil
}

func (s *backendSet) run(m *onnx.Model) error {
	inputs, err := tensors(s.inputs)
	if err != nil {
		return refused{err}
	}
	want, err := tensors(s.outputs)
	if err != nil {
		return refused{err}
	}
	var names []string // of the inputs that the file has no values for
	for _, in := range m.Graph.Inputs {
		if !slices.ContainsFunc(m.Graph.Initializers, func(x *onnx.Tensor) bool { return x.Name == in.Name }) {
			names = append(names, in.Name)
		}
	}
	if len(names) != len(inputs) {
		return fmt.Errorf("there are %d inputs, and values for %d", len(names), len(inputs))
	}
	options := onnx.Options{Fixed: map[string]*tensor.Tensor{}}
	var p *onnx.Program
	// inputs that say shapes are fixed, one after the other, where the importer asks for them
	for {
		if p, err = onnx.Import(m, options); err == nil {
			break
		}
		var node *onnx.NodeError
		if !errors.As(err, &node) || node.Input == "" || options.Fixed[node.Input] != nil {
			return refused{err}
		}
		options.Fixed[node.Input] = inputs[slices.Index(names, node.Input)]
	}
	var args []*tensor.Tensor
	for i, name := range names {
		if options.Fixed[name] == nil {
			args = append(args, inputs[i])
		}
	}
	got, err := call(p, heal.Interp, args...)
	if err != nil {
		return err
	}
	if len(got) != len(want) {
		return fmt.Errorf("there are %d outputs, and should be %d", len(got), len(want))
	}
	for i, w := range want {
		if err := compare(got[i], w); err != nil {
			return fmt.Errorf("output %d: %w\n%s", i, err, p.Source)
		}
	}
	return nil
}

func tensors(data [][]byte) ([]*tensor.Tensor, error) {
	var out []*tensor.Tensor
	for _, d := range data {
		t, err := onnx.DecodeTensor(d)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// asBits is a tensor with the bits of its numbers as those of the type, where the tests have bf16 as u16.
func asBits(t *tensor.Tensor, d types.DType) (*tensor.Tensor, error) {
	if t.DType != types.U16 || d != types.BF16 {
		return t, nil
	}
	return tensor.FromBits(d, t.Shape, t.Bits())
}

// compare asks for what ONNX's own runner of these tests does: floats within 1e-3 of the size and 1e-7, all else the
// same.
func compare(got, want *tensor.Tensor) error {
	want, err := asBits(want, got.DType)
	if err != nil {
		return err
	}
	if got.DType != want.DType || !slices.Equal(got.Shape, want.Shape) {
		return fmt.Errorf("it is %v%v, and should be %v%v", got.DType, got.Shape, want.DType, want.Shape)
	}
	a, b := got.Bits(), want.Bits()
	for i := range a {
		if a[i] == b[i] {
			continue
		}
		if !got.DType.IsFloat() && !got.DType.IsStored() {
			return fmt.Errorf("element %d is %d, and should be %d", i, a[i], b[i])
		}
		x, y := scalar.FloatValue(got.DType, a[i]), scalar.FloatValue(got.DType, b[i])
		if math.IsNaN(x) && math.IsNaN(y) || math.Abs(x-y) <= 1e-7+1e-3*math.Abs(y) {
			continue
		}
		return fmt.Errorf("element %d is %v, and should be %v", i, x, y)
	}
	return nil
}

// TestBackend runs ONNX's backend tests in the archive, a part of them each day.
func TestBackend(t *testing.T) {
	tests, err := archived()
	if err != nil {
		t.Fatal(err)
	}
	day := sample.Today(t)
	for i := range tests {
		if !sample.Has(day, i, 8) {
			continue
		}
		if err := tests[i].run(); err != nil {
			t.Errorf("%s: %v", tests[i].name, err)
		}
	}
}

// differ are tests with which healc does not agree, and why.
var differ = map[string]string{
	"node/cast_FLOAT_to_BFLOAT16":                        "its bf16 are cut, and not rounded to the nearest",
	"node/castlike_FLOAT_to_BFLOAT16":                    "the same",
	"node/resize_downsample_scales_linear_align_corners": "its result is taken for one of 2.4 elements, and has 2",
	"node/castlike_FLOAT_to_BFLOAT16_expanded":           "the same",
}

// TestBackendFolder runs all backend tests in a folder.
func TestBackendFolder(t *testing.T) {
	folder := os.Getenv(dataEnv)
	if folder == "" {
		t.Skip(dataEnv + " names no folder with the data of ONNX's backend tests")
	}
	tests, err := backendTests(folder)
	if err != nil {
		t.Fatal(err)
	}
	var passing []backendTest
	c := newCounts()
	for _, n := range tests {
		err := n.run()
		var why refused
		switch {
		case err == nil:
			c.add(&n, "passed")
			if n.size() <= maxTest {
				passing = append(passing, n)
			}
		case errors.As(err, &why):
			c.add(&n, "refused")
			t.Logf("%s: %v", n.name, why)
		case differ[n.name] != "":
			c.add(&n, "differ")
			t.Logf("%s: %v: %s", n.name, differ[n.name], strings.SplitN(err.Error(), "\n", 2)[0])
		default:
			c.add(&n, "failed")
			t.Errorf("%s: %v", n.name, err)
		}
	}
	t.Log(c.summary())
	if *update {
		if err := errors.Join(writeArchive(passing), c.write()); err != nil {
			t.Fatal(err)
		}
	}
}

// TestLightModels runs the networks in the folder whose weights are one number each, compiled, with the inputs that
// ONNX's runner gives them: 0 to 1 in even steps.
func TestLightModels(t *testing.T) {
	models, _ := filepath.Glob(filepath.Join(os.Getenv(dataEnv), "light", "*.onnx"))
	if os.Getenv(dataEnv) == "" || len(models) == 0 {
		t.Skip(dataEnv + " names no folder with light models")
	}
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	for _, model := range models {
		t.Run(filepath.Base(model), func(t *testing.T) {
			m, err := onnx.Read(model)
			if err != nil {
				t.Fatal(err)
			}
			p, err := onnx.Import(m, onnx.Options{})
			if err != nil {
				t.Fatal(err)
			}
			data, err := os.ReadFile(strings.TrimSuffix(model, ".onnx") + "_output_0.pb")
			if err != nil {
				t.Fatal(err)
			}
			want, err := onnx.DecodeTensor(data)
			if err != nil {
				t.Fatal(err)
			}
			var args []*tensor.Tensor
			for _, in := range m.Graph.Inputs {
				if slices.ContainsFunc(m.Graph.Initializers, func(x *onnx.Tensor) bool { return x.Name == in.Name }) {
					continue
				}
				n, shape := 1, []int{}
				for _, e := range in.Shape {
					n, shape = n*int(e.Value), append(shape, int(e.Value))
				}
				steps := make([]float32, n)
				for i := range steps {
					steps[i] = float32(float64(i) / float64(n))
				}
				args = append(args, tensor.FromSlice(steps, shape...))
			}
			got, err := call(p, heal.CPU, args...)
			if err != nil {
				t.Fatal(err)
			}
			if err := compare(got[0], want); err != nil {
				t.Error(err)
			}
		})
	}
}

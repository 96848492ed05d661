package shardings

import (
	"context"
	"slices"
	"testing"

	"healc"
	"healc/internal/engine"
	"healc/ir"
	"healc/lang/types"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

// updating are programs that change their arguments.
var updating = []program{
	{"a parameter that is changed", `pub fn f[N](x: &mut f32[N] sharded(0), y: f32[N] sharded(0)) -> f32 = {
    x += y;
    +/(x)
}`, [][]int64{{103}, {103}}},
	{"a parameter that is replaced", `pub fn f[N, M](x: &mut f32[N, M] sharded(1), y: f32[N, M], k: f32) -> f32[N] = {
    x[1] = x[0] .* k + y[0];
    sum(x, axis = 1)
}`, [][]int64{{9, 40}, {9, 40}, {}}},
	{"one that is not read", `pub fn f[N, M](x: f32[N, M] sharded(1), y: f32[N]) -> (f32[N] sharded(0), f32[N, M] sharded(0)) =
    (y, zeros[f32, N, M]())`, [][]int64{{9, 40}, {9}}},
}

// TestParts: a function that is called with parts of its sharded arguments, as the command line does, gives parts of
// its sharded results, which are those of the whole.
func TestParts(t *testing.T) {
	for k, p := range slices.Concat(programs, updating) {
		t.Run(p.name, func(t *testing.T) {
			input := p.input()
			want, err := outcome(p.source, input, engine.Options{Backend: heal.Interp})
			if err != nil {
				t.Fatal(err)
			}
			for i, n := range sizes[1:] {
				if !sample.All() && (sample.Today(t)+k+i)%(len(sizes)-1) > 0 {
					continue // each number has its days
				}
				call := func(o engine.Options) (*random.Outcome, error) { return outcomeOfParts(p.source, input, o) }
				for _, w := range ways.Usual(sample.Today(t)+k, len(sizes)) {
					for _, o := range w.Options(t, engine.Options{Threads: 1}) {
						for rank, got := range each(t, n, o, call) {
							if d := random.Diff(want, got); d != "" {
								t.Errorf("rank %d of %d, %s: %s", rank, n, w, d)
							}
						}
					}
				}
			}
		})
	}
}

// outcomeOfParts is what a rank makes of its parts of the inputs. Results are gathered to be compared.
func outcomeOfParts(source string, input []*ir.Array, o engine.Options) (*random.Outcome, error) {
	m, err := engine.Compile(source, o)
	if err != nil {
		return nil, err
	}
	defer m.Close()
	f, err := m.Func("f")
	if err != nil {
		return nil, err
	}
	var args []*tensor.Tensor
	wholes := make([]engine.Whole, len(input))
	for i, a := range input {
		x, err := random.Strided(a, uint64(i))
		if err != nil {
			return nil, err
		}
		if axis := f.Memory().ParamAxis(i); axis >= 0 && f.HasParts() {
			wholes[i].Shape = a.Shape
			whole := x
			x, err = tensorfile.PartOf(whole, func(types.DType, []int64) (int, int64, int64, error) {
				lo, hi := m.Block(a.Shape[axis])
				return axis, lo, hi, nil
			})
			whole.Close()
			if err != nil {
				return nil, err
			}
		}
		args = append(args, x)
		defer x.Close()
	}
	if f.HasParts() {
		f = f.OfParts(wholes)
	}
	results, err := f.CallAll(context.Background(), args...)
	if err != nil {
		return random.OutcomeOf(results, nil, err)
	}
	for _, k := range f.IR().Updates {
		x, err := args[k].View()
		if err != nil {
			return nil, err
		}
		results = append(results, x)
	}
	for k, x := range results {
		if l, shape := f.Result(k, args); shape != nil {
			if results[k], err = m.Gather(l, shape, x); err != nil {
				return nil, err
			}
			x.Close()
		}
	}
	return random.OutcomeOf(results, nil, nil)
}

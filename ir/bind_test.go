package ir_test

import (
	"maps"
	"strings"
	"testing"

	"healc/ir"
	"healc/lang/types"
)

// TestBindDims binds shape parameters from extents that are solved, in any order of the parameters.
func TestBindDims(t *testing.T) {
	dim := func(s string) types.Dim {
		d, err := types.ParseDim(s)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	tests := []struct {
		extents string // of vectors, the function's parameters
		lengths []int64
		want    map[string]int64
		err     string
	}{
		{"N", []int64{4}, map[string]int64{"N": 4}, ""},
		{"2*N+1", []int64{7}, map[string]int64{"N": 3}, ""},
		{"2*N+1", []int64{6}, nil, "extent 6, which is 2*N+1 for no N"},
		{"N+3", []int64{2}, nil, "extent 2, which is N+3 for no N"},
		{"M*N,2*N", []int64{6, 4}, map[string]int64{"M": 3, "N": 2}, ""},
		{"2*N,N", []int64{6, 2}, nil, "axis 0 of argument 1 has extent 6, but 2*N is 4"},
		{"3", []int64{4}, nil, "axis 0 of argument 1 has extent 4, and the type f32[3] asks for 3"},
		{"N*N", []int64{9}, nil, "no argument of f determines the shape parameter N"},
	}
	for _, test := range tests {
		f := &ir.Func{Name: "f", Body: &ir.Block{}}
		seen := map[string]bool{}
		var shapes [][]int64
		for i, e := range strings.Split(test.extents, ",") {
			d := dim(e)
			f.Body.Params = append(f.Body.Params, &ir.Value{Type: types.Tensor{Elem: types.F32, Shape: types.Shape{d}}})
			shapes = append(shapes, []int64{test.lengths[i]})
			for _, p := range d.Params() {
				if !seen[p] {
					seen[p] = true
					f.Dims = append(f.Dims, p)
				}
			}
		}
		got, err := ir.BindDims(f, shapes)
		switch {
		case test.err != "" && (err == nil || !strings.Contains(err.Error(), test.err)):
			t.Errorf("%s of %v: error %v, want %q", test.extents, test.lengths, err, test.err)
		case test.err == "" && (err != nil || !maps.Equal(got, test.want)):
			t.Errorf("%s of %v: %v, %v, want %v", test.extents, test.lengths, got, err, test.want)
		}
	}
}

package ops_test

import (
	"errors"
	"strings"
	"testing"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/diag"
	"healc/lang/types"
)

// ty reads a type like f32[M,3].
func ty(s string) types.Tensor {
	name, rest, tensor := strings.Cut(s, "[")
	elem, ok := types.ParseDType(name)
	if !ok {
		panic("bad type " + s)
	}
	t := types.Scalar(elem)
	if tensor {
		t.Shape = sh(strings.TrimSuffix(rest, "]"))
	}
	return t
}

// sh reads a shape like M,3.
func sh(s string) types.Shape {
	shape := types.Shape{}
	if s == "" {
		return shape
	}
	for _, part := range strings.Split(s, ",") {
		d, err := types.ParseDim(part)
		if err != nil {
			panic(err)
		}
		shape = append(shape, d)
	}
	return shape
}

func tys(s ...string) []types.Tensor {
	out := make([]types.Tensor, len(s))
	for i := range s {
		out[i] = ty(s[i])
	}
	return out
}

// region is a block with the given parameter and yield types.
func region(params, yields []string) *ir.Block {
	b := &ir.Block{}
	for _, t := range tys(params...) {
		b.Param("", t, diag.Span{})
	}
	for _, t := range tys(yields...) {
		b.Yields = append(b.Yields, &ir.Value{Type: t})
	}
	return b
}

func regions(bs ...*ir.Block) []*ir.Block { return bs }

// A negative is a use of an operation that breaks one constraint and no earlier one.
type negative struct {
	name    string // the operation and the constraint: "slice_C3"
	args    []types.Tensor
	attrs   ir.A
	regions []*ir.Block
	want    string // part of the message
}

func i(n ...int64) []int64 {
	if n == nil {
		return []int64{}
	}
	return n
}

var negatives = []negative{
	{"const_C1", nil, ir.A{"value": &ir.Array{DType: types.F32, Shape: []int64{3}, Bits: make([]uint64, 2)}}, nil,
		"has 3 elements, not 2"},
	{"const_C1", nil, ir.A{"value": &ir.Array{DType: types.String, Shape: []int64{3}}}, nil, "a string is a scalar"},
	{"const_C1", nil, ir.A{"value": &ir.Array{Shape: []int64{}}}, nil, "element type"},
	{"const_C1", nil, ir.A{"value": &ir.Array{DType: types.I8, Shape: []int64{1 << 30, 1 << 30, 1 << 30}}}, nil,
		"that many"},
	{"dim_C1", nil, ir.A{"dim": types.Lit(1 << 31)}, nil, "does not fit i32"},
	{"iota_C1", nil, ir.A{"start": types.Lit(1<<31 - 1), "extent": types.Lit(2)}, nil, "does not fit i32"},

	{"select_C1", tys("i32", "i32", "i32"), nil, nil, "the condition of `where` needs a bool, not i32"},
	{"select_C2", tys("bool", "i32", "f32"), nil, nil, "differ in element type: i32 and f32"},
	{"select_C2", tys("bool", "string", "string"), nil, nil, "string"},
	{"select_C3", tys("bool[2]", "i32[2]", "i32[3]"), nil, nil, "2 and 3 differ"},
	{"cast_C1", tys("string"), ir.A{"to": types.I32}, nil, "not string"},
	{"cast_C2", tys("i32"), ir.A{"to": types.String}, nil, "i32 cannot become string"},
	{"bitcast_C1", tys("string"), ir.A{"to": types.I32}, nil, "not from string to i32"},
	{"bitcast_C1", tys("u8"), ir.A{"to": types.Bool}, nil, "not from u8 to bool"},
	{"bitcast_C2", tys("f32"), ir.A{"to": types.I64}, nil, "f32 has 32 bits and i64 64"},
	{"bitcast_C2", tys("u8"), ir.A{"to": types.F4E2M1}, nil, "u8 has 8 bits and f4e2m1 4"},
	{"eq_C1", tys("i4", "i4"), nil, nil, "`==` does not compute with i4, in which elements are only stored"},
	{"eq_C1", tys("e8m0", "e8m0"), nil, nil, "`==` does not compute with e8m0, in which elements are only stored"},

	{"broadcast_C1", tys("string"), ir.A{"shape": sh("2")}, nil, "not string"},
	{"broadcast_C2", tys("f32[2,3]"), ir.A{"shape": sh("3")}, nil, "the ranks are 2 and 1"},
	{"broadcast_C2", tys("f32[M]"), ir.A{"shape": sh("2,N")}, nil, "M is neither N nor 1"},
	{"reshape_C1", tys("string"), ir.A{"shape": sh("1")}, nil, "not string"},
	{"reshape_C2", tys("f32[2,3]"), ir.A{"shape": sh("5")}, nil, "6 elements become 5"},
	{"reshape_C2", tys("f32[M,2]"), ir.A{"shape": sh("M")}, nil, "2*M elements become M"},
	{"permute_C1", tys("string"), ir.A{"perm": i()}, nil, "not string"},
	{"permute_C2", tys("f32[2,3]"), ir.A{"perm": i(0, 0)}, nil, "is no permutation"},
	{"permute_C2", tys("f32[2,3]"), ir.A{"perm": i(0)}, nil, "1 axes are listed for f32[2, 3], which has 2"},
	{"shard_C1", tys("string"), ir.A{"axis": int64(0)}, nil, "not string"},
	{"shard_C2", tys("f32[2,3]"), ir.A{"axis": int64(2)}, nil, "axis 2 is out of range for f32[2, 3] of rank 2"},
	{"shard_C2", tys("f32[2,3]"), ir.A{"axis": int64(-1)}, nil, "axis -1 is out of range"},
	{"shard_C2", tys("f32"), ir.A{"axis": int64(0)}, nil, "axis 0 is out of range for f32 of rank 0"},
	{"replicate_C1", tys("string"), nil, nil, "not string"},
	{"shard_as_C1", tys("string", "string"), nil, nil, "not string"},
	{"shard_as_C2", tys("f32[2,3]", "f32[3,2]"), nil, nil, "3 and 2 differ"},
	{"slice_C1", tys("string"), ir.A{"starts": sh(""), "steps": i(), "shape": sh("")}, nil, "not string"},
	{"slice_C2", tys("f32[3]"), ir.A{"starts": sh(""), "steps": i(1), "shape": sh("2")}, nil, "each of its 1 axes"},
	{"slice_C2", tys("f32[3]"), ir.A{"starts": sh("0"), "steps": i(0), "shape": sh("2")}, nil,
		"the step of axis 0 is 0"},
	{"slice_C3", tys("f32[3]"), ir.A{"starts": sh("0"), "steps": i(1), "shape": sh("5")}, nil,
		"index 4 is outside of an axis of extent 3"},
	{"slice_C3", tys("f32[N]"), ir.A{"starts": sh("0"), "steps": i(1), "shape": sh("N+1")}, nil,
		"index N is outside of an axis of extent N"},
	{"slice_C3", tys("f32[3]"), ir.A{"starts": sh("1"), "steps": i(-1), "shape": sh("3")}, nil, "index -1 is outside"},
	{"index_C1", tys("string"), ir.A{"axes": i()}, nil, "not string"},
	{"index_C2", tys("f32[3]", "i32", "i32"), ir.A{"axes": i(0)}, nil, "2 positions are given for 1 axes"},
	{"index_C2", nil, ir.A{"axes": i()}, nil, "0 positions are given for 0 axes"},
	{"index_C2", tys("f32[3]", "i32"), ir.A{"axes": i(1)}, nil, "axis 1 is out of range"},
	{"index_C3", tys("f32[3]", "f32"), ir.A{"axes": i(0)}, nil, "needs an i32 or i64, not f32"},
	{"index_C3", tys("f32[3]", "i32[1]"), ir.A{"axes": i(0)}, nil, "a position is a scalar"},
	{"index_C4", tys("f32[2,0]", "i32", "i32"), ir.A{"axes": i(0, 1)}, nil, "no index is in range"},
	{"dynamic_slice_C1", tys("string"), ir.A{"axes": i(), "sizes": sh("")}, nil, "not string"},
	{"dynamic_slice_C2", tys("f32[3]", "i32"), ir.A{"axes": i(0), "sizes": sh("")}, nil,
		"0 sizes are given for 1 axes"},
	{"dynamic_slice_C3", tys("f32[3]", "u8"), ir.A{"axes": i(0), "sizes": sh("1")}, nil, "not u8"},
	{"dynamic_slice_C4", tys("f32[N]", "i32"), ir.A{"axes": i(0), "sizes": sh("N+1")}, nil,
		"N+1 elements of an axis of extent N"},
	{"update_C1", tys("f32[2]", "i32[2]"), ir.A{"starts": sh("0"), "steps": i(1), "shape": sh("2")}, nil,
		"f32 and i32"},
	{"update_C1", tys("string", "string"), ir.A{"starts": sh(""), "steps": i(), "shape": sh("")}, nil, "not string"},
	{"update_C2", tys("f32[2]", "f32[1]"), ir.A{"starts": sh("0"), "steps": i(1), "shape": sh("2")}, nil,
		"is given f32[1]"},
	{"update_C2", tys("f32[2]", "f32[1]"), ir.A{"starts": sh("0"), "steps": i(0), "shape": sh("1")}, nil,
		"step of axis 0 is 0"},
	{"update_C3", tys("f32[2]", "f32[2]"), ir.A{"starts": sh("1"), "steps": i(1), "shape": sh("2")}, nil, "outside"},
	{"update_C3", tys("f32[9]", "f32[3]", "i32"), ir.A{"axes": i(0), "sizes": sh("2"), "starts": sh("0"), "steps": i(1),
		"shape": sh("3")}, nil, "outside"},
	{"update_C4", tys("f32[9]", "f32[1]", "f32"), ir.A{"axes": i(0), "sizes": sh("1"), "starts": sh("0"), "steps": i(1),
		"shape": sh("1")}, nil, "not f32"},
	{"update_C4", tys("f32[N]", "f32[1]", "i32"), ir.A{"axes": i(0), "sizes": sh("N+1"), "starts": sh("0"),
		"steps": i(1),
		"shape": sh("1")}, nil, "N+1 elements of an axis of extent N"},
	{"update_C4", tys("f32[9]", "f32[1]", "i32"), ir.A{"axes": i(0), "starts": sh("0"), "steps": i(1),
		"shape": sh("1")},
		nil, "0 sizes are given for 1 axes"},
	{"update_C5", tys("f32[0]", "f32[1]", "i32"), ir.A{"axes": i(0), "sizes": sh("1"), "starts": sh("0"), "steps": i(1),
		"shape": sh("1")}, nil, "no index is in range"},
	{"concat_C1", nil, ir.A{"axis": int64(0)}, nil, "at least one"},
	{"concat_C1", tys("f32[1]", "i32[1]"), ir.A{"axis": int64(0)}, nil, "f32 and i32"},
	{"concat_C2", tys("f32[1]", "f32[1]"), ir.A{"axis": int64(1)}, nil, "axis 1 is out of range"},
	{"concat_C3", tys("f32[1,2]", "f32[1,3]"), ir.A{"axis": int64(0)}, nil, "2 and 3 differ"},
	{"concat_C3", tys("f32[1,2]", "f32[1]"), ir.A{"axis": int64(0)}, nil, "differ"},

	{"argmax_C1", tys("bool[3]"), nil, nil, "needs a number, not bool[3]"},
	{"argmax_C2", tys("i32[3]"), ir.A{"axis": int64(-1)}, nil, "axis -1 is out of range"},
	{"argmax_C3", tys("i32[3,0]"), ir.A{"axis": int64(1)}, nil, "the axis is empty"},
	{"argmax_C4", tys("i8[65536,65536]"), nil, nil, "does not fit i32"},
	{"argmin_C1", tys("bool[3]"), nil, nil, "needs a number"},
	{"argmin_C2", tys("i32"), ir.A{"axis": int64(0)}, nil, "axis 0 is out of range"},
	{"argmin_C3", tys("i32[0]"), nil, nil, "the axis is empty"},
	{"argmin_C4", tys("i8[65536,65536]"), nil, nil, "does not fit i32"},

	{"matmul_C1", tys("f32[2,2]", "f64[2,2]"), nil, nil, "f32 and f64"},
	{"matmul_C1", tys("bool[2,2]", "bool[2,2]"), nil, nil, "needs a number"},
	{"matmul_C2", tys("f32[2]", "f32[2,2]"), nil, nil, "2 or more"},
	{"matmul_C2", tys("f32[2,2,2]", "f32[2,2]"), nil, nil, "one rank"},
	{"matmul_C3", tys("f32[3,2,2]", "f32[4,2,2]"), nil, nil, "3 and 4 differ"},
	{"matmul_C4", tys("f32[M,K]", "f32[N,K]"), nil, nil, "have K elements, the columns of the right N"},
	{"split_matmul_C1", tys("f32[2,2]", "f64[2,2]"), ir.A{"split": int64(32)}, nil, "f32 and f64"},
	{"split_matmul_C2", tys("f32[2]", "f32[2,2]"), ir.A{"split": int64(32)}, nil, "2 or more"},
	{"split_matmul_C3", tys("f32[3,2,2]", "f32[4,2,2]"), ir.A{"split": int64(32)}, nil, "3 and 4 differ"},
	{"split_matmul_C4", tys("f32[M,K]", "f32[N,K]"), ir.A{"split": int64(32)}, nil,
		"have K elements, the columns of the right N"},
	{"split_matmul_C5", tys("f32[2,2]", "f32[2,2]"), ir.A{"split": int64(33)}, nil, "of 32 from 32 to 1048576"},
	{"split_matmul_C5", tys("f32[2,2]", "f32[2,2]"), ir.A{"split": int64(0)}, nil, "not 0"},
	{"split_matmul_C5", tys("f32[2,2]", "f32[2,2]"), ir.A{"split": int64(1 << 21)}, nil, "not 2097152"},

	{"block_matmul_C1", tys("f32[2,2]", "f64[2,2]"), nil, nil, "f32 and f64"},
	{"block_matmul_C2", tys("f32[2]", "f32[2,2]"), nil, nil, "2 or more"},
	{"block_matmul_C3", tys("f32[3,2,2]", "f32[4,2,2]"), nil, nil, "3 and 4 differ"},
	{"block_matmul_C4", tys("f32[M,K]", "f32[N,K]"), nil, nil, "have K elements, the columns of the right N"},
	{"block_matmul_C1", tys("f64[2,2]", "f64[2,2]"), nil, nil, "one of f32, not f64"},

	{"fourier_C1", tys("i32[4]", "i32[4]"), ir.A{"axis": int64(0)}, nil, "needs a float, not i32[4]"},
	{"fourier_C1", tys("f32[4]", "f64[4]"), ir.A{"axis": int64(0)}, nil, "f32 and f64"},
	{"fourier_C2", tys("f32[4]", "f32[5]"), ir.A{"axis": int64(0)}, nil, "4 and 5 differ"},
	{"fourier_C3", tys("f32[4]", "f32[4]"), ir.A{"axis": int64(1)}, nil, "axis 1 is out of range"},
	{"fourier_C3", tys("f32", "f32"), ir.A{"axis": int64(0)}, nil, "axis 0 is out of range"},
	{"fourier_C4", tys("f32[0]", "f32[0]"), ir.A{"axis": int64(0)}, nil, "1 to 16777216 elements, not of 0"},
	{"fourier_C4", tys("f32[16777217]", "f32[16777217]"), ir.A{"axis": int64(0)}, nil, "not of 16777217"},
	{"fourier_real_C1", tys("i32[4]"), ir.A{"axis": int64(0)}, nil, "needs a float, not i32[4]"},
	{"fourier_real_C2", tys("f32[4]"), ir.A{"axis": int64(1)}, nil, "axis 1 is out of range"},
	{"fourier_real_C3", tys("f32[0]"), ir.A{"axis": int64(0)}, nil, "1 to 16777216 elements, not of 0"},
	{"fourier_real_C3", tys("f32[16777217]"), ir.A{"axis": int64(0)}, nil, "not of 16777217"},
	{"fourier_real_C4", tys("f32[N]"), ir.A{"axis": int64(0)}, nil, "half of the N elements"},
	{"fourier_real_inverse_C1", tys("i32[4]", "i32[4]"), ir.A{"axis": int64(0)}, nil, "needs a float, not i32[4]"},
	{"fourier_real_inverse_C1", tys("f32[4]", "f64[4]"), ir.A{"axis": int64(0)}, nil, "f32 and f64"},
	{"fourier_real_inverse_C2", tys("f32[4]", "f32[5]"), ir.A{"axis": int64(0)}, nil, "4 and 5 differ"},
	{"fourier_real_inverse_C3", tys("f32[4]", "f32[4]"), ir.A{"axis": int64(1)}, nil, "axis 1 is out of range"},
	{"fourier_real_inverse_C4", tys("f32[1]", "f32[1]"), ir.A{"axis": int64(0)}, nil,
		"2 to 8388609 elements, not of 1"},
	{"fourier_rows_C1", tys("f16[4]", "f16[4]", "f16[2,0]"), ir.A{"axis": int64(0), "rest": int64(1)}, nil,
		"f32 or f64, not f16[4]"},
	{"fourier_rows_C1", tys("f32[4]", "f32[4]", "f64[2,0]"), ir.A{"axis": int64(0), "rest": int64(1)}, nil,
		"f32 and f64"},
	{"fourier_rows_C2", tys("f32[4]", "f32[8]", "f32[2,0]"), ir.A{"axis": int64(0), "rest": int64(1)}, nil,
		"4 and 8 differ"},
	{"fourier_rows_C3", tys("f32[4,2]", "f32[4,2]", "f32[2,0]"), ir.A{"axis": int64(0), "rest": int64(3)}, nil,
		"not 3 elements along the axis before axis 0"},
	{"fourier_rows_C3", tys("f32", "f32", "f32[2,0]"), ir.A{"axis": int64(0), "rest": int64(1)}, nil,
		"axis 0 is out of range"},
	{"fourier_rows_C4", tys("f32[7]", "f32[7]", "f32[2,0]"), ir.A{"axis": int64(0), "rest": int64(1)}, nil,
		"no stages for 7"},
	{"fourier_rows_C4", tys("f32[N]", "f32[N]", "f32[2,0]"), ir.A{"axis": int64(0), "rest": int64(1)}, nil,
		"no stages for N"},
	{"fourier_rows_C4", tys("f32[0]", "f32[0]", "f32[2,0]"), ir.A{"axis": int64(0), "rest": int64(1)}, nil,
		"no stages for 0"},
	{"fourier_rows_C4", tys("f32[4,3]", "f32[4,3]", "f32[2,0]"), ir.A{"axis": int64(1), "rest": int64(4)}, nil,
		"no stages for 3 elements that leave 4"},
	{"fourier_rows_C5", tys("f32[8]", "f32[8]", "f32[2,0]"), ir.A{"axis": int64(0), "rest": int64(1)}, nil,
		"6 and 0 differ"},
	{"fourier_rows_C6", tys("f32[2,4]", "f32[2,4]", "f32[2,6]"),
		ir.A{"axis": int64(1), "rest": int64(2), "block": int64(3)}, nil, "3 columns are no block of 2"},

	{"tabulate_C1", nil, ir.A{"shape": sh("2,3")}, regions(region([]string{"i32"}, []string{"f32"})),
		"takes 2 parameters, not 1"},
	{"tabulate_C1", nil, ir.A{"shape": sh("2")}, regions(region([]string{"i64"}, []string{"f32"})), "an i32, not i64"},
	{"tabulate_C2", nil, ir.A{"shape": sh("2")}, regions(region([]string{"i32"}, nil)), "gives one tensor"},
	{"fold_C1", tys("f32", "f32[2]"), ir.A{"axes": i(0)}, regions(region([]string{"f32", "f32"}, []string{"f32"})),
		"1 operand here, not 2"},
	{"fold_C1", tys("f32[2]", "f32[2]"), ir.A{"axes": i(0), "init": true},
		regions(region([]string{"f32", "f32"}, []string{"f32"})), "the start of a fold is a scalar"},
	{"fold_C2", tys("f32[2]"), ir.A{"axes": i(1)}, regions(region([]string{"f32", "f32"}, []string{"f32"})),
		"axis 1 is out of range"},
	{"fold_C3", tys("f32[2]"), ir.A{"axes": i(0)}, regions(region([]string{"f32", "f64"}, []string{"f32"})),
		"an element, f32"},
	{"fold_C3", tys("f32[2]"), ir.A{"axes": i(0)}, regions(region([]string{"f32", "f32"}, []string{"f64"})),
		"gives the accumulator"},
	{"fold_C4", tys("f32[0]"), ir.A{"axes": i(0)}, regions(region([]string{"f32", "f32"}, []string{"f32"})),
		"the axis is empty"},
	{"if_C1", tys("i32"), nil, regions(region(nil, nil), region(nil, nil)), "is a bool, not i32"},
	{"if_C2", tys("bool"), nil, regions(region(nil, []string{"f32"}), region(nil, []string{"i32"})),
		"give f32 and i32"},
	{"if_C2", tys("bool"), nil, regions(region(nil, []string{"f32"}), region(nil, nil)), "give 1 value and no value"},
	{"if_C2", tys("bool"), nil, regions(region([]string{"f32"}, nil), region(nil, nil)), "no parameters"},
	{"vjp_C1", tys("f32"), ir.A{"wrt": i(0)}, regions(region([]string{"f32"}, []string{"f32"})),
		"takes 2 operands here, not 1"},
	{"vjp_C1", tys("f32", "f64"), ir.A{"wrt": i(0)}, regions(region([]string{"f32"}, []string{"f32"})),
		"operand 1 of `vjp` is f64, not f32"},
	{"vjp_C1", tys("f32", "f32"), ir.A{"wrt": i(0), "starts": i(1)}, regions(region([]string{"f32"}, []string{"f32"})),
		"starts [1] of 1 gradients"},
	{"vjp_C2", tys("f32", "f32"), ir.A{"wrt": i(1)}, regions(region([]string{"f32"}, []string{"f32"})),
		"the parameters [1] of 1"},
	{"vjp_C2", tys("i32", "f32"), ir.A{"wrt": i(0)}, regions(region([]string{"i32"}, []string{"f32"})),
		"by floats, not i32"},
	{"custom_vjp_C1", tys("f64"), nil, regions(region([]string{"f32"}, []string{"f32"}),
		region([]string{"f32", "f32"}, []string{"f32"})), "operand 0 of `custom_vjp` is f64, not f32"},
	{"custom_vjp_C1", tys("f32"), nil, regions(region([]string{"f32"}, []string{"i32"}),
		region([]string{"f32", "i32"}, []string{"f32"})), "gives floats"},
	{"custom_vjp_C2", tys("f32"), nil, regions(region([]string{"f32"}, []string{"f64"}),
		region([]string{"f32"}, []string{"f32"})), "takes 2 values, not 1"},
	{"custom_vjp_C2", tys("f32"), nil, regions(region([]string{"f32"}, []string{"f64"}),
		region([]string{"f32", "f32"}, []string{"f32"})), "takes f64 here, not f32"},
	{"custom_vjp_C3", tys("f32", "i32"), nil, regions(region([]string{"f32", "i32"}, []string{"f32"}),
		region([]string{"f32", "i32", "f32"}, []string{"f32", "i32"})), "gives 1 value, not 2"},
	{"custom_vjp_C3", tys("f32"), nil, regions(region([]string{"f32"}, []string{"f64"}),
		region([]string{"f32", "f64"}, []string{"f64"})), "gives f32 here, not f64"},
	{"checkpoint_C1", tys("f64"), nil, regions(region([]string{"f32"}, []string{"f32"})),
		"operand 0 of `checkpoint` is f64, not f32"},
	{"jvp_C1", tys("f32"), ir.A{"wrt": i(0)}, regions(region([]string{"f32"}, []string{"f32"})),
		"takes 2 operands here, not 1"},
	{"jvp_C2", tys("i32", "i32"), ir.A{"wrt": i(0)}, regions(region([]string{"i32"}, []string{"f32"})),
		"by floats, not i32"},
	{"fusion_C1", tys("f32"), nil, regions(region(nil, nil)), "1 operand has no parameter"},
	{"fusion_C1", tys("f32"), nil, regions(region([]string{"f64"}, nil)), "is f64, its operand f32"},

	{"call_C1", nil, ir.A{"callee": "", "results": []types.Tensor{}}, nil, "names a function"},
	{"print_C1", tys("i32", "f32"), nil, nil, "shows 1 value here, not 2"},
	{"print_C1", tys("i32", "f32"), ir.A{"form": "(%, (%, %))"}, nil, "shows 3 values here, not 2"},
	{"print_str_C1", tys("i32"), nil, nil, "needs a string, not i32"},
	{"print_i32_C1", tys("i64"), nil, nil, "needs an i32, not i64"},
	{"print_i64_C1", tys("i32"), nil, nil, "needs an i64, not i32"},
	{"print_f32_C1", tys("f32[1]"), nil, nil, "needs an f32"},
	{"print_f64_C1", tys("f32"), nil, nil, "needs an f64"},
	{"load_npy_C1", tys("i32"), ir.A{"dtype": types.F32, "shape": sh("2")}, nil, "is a string, not i32"},
	{"load_npy_C2", tys("string"), ir.A{"dtype": types.String, "shape": sh("")}, nil, "not string"},
	{"save_npy_C1", tys("i32", "f32"), nil, nil, "is a string, not i32"},
	{"save_npy_C2", tys("string", "string"), nil, nil, "not string"},
	{"save_png_C1", tys("i32", "u8[2,2]"), nil, nil, "is a string, not i32"},
	{"save_png_C2", tys("string", "f32[2,2]"), nil, nil, "needs u8 or u16, not f32[2, 2]"},
	{"save_png_C3", tys("string", "u8[2]"), nil, nil, "or rows and columns alone, not u8[2]"},
	{"save_png_C3", tys("string", "u8[M,2,5]"), nil, nil, "u8[M, 2, 5] has 5"},
	{"save_png_C4", tys("string", "u16[M,0,3]"), nil, nil, "axis 1 of u16[M, 0, 3] has none"},
	{"save_pgm_C1", tys("i32", "u8[2,2]"), nil, nil, "is a string, not i32"},
	{"save_pgm_C2", tys("string", "i32[2,2]"), nil, nil, "needs u8 or u16, not i32[2, 2]"},
	{"save_pgm_C3", tys("string", "u8[2,2,1]"), nil, nil, "with rows and columns, not u8[2, 2, 1]"},
	{"save_pgm_C4", tys("string", "u8[0,M]"), nil, nil, "axis 0 of u8[0, M] has none"},
}

// familyNegatives are the negatives of operations that are made alike.
func familyNegatives(d *ir.OpDef) []negative {
	wrong := "string" // in no set of element types
	switch {
	case strings.HasSuffix(d.Constraints[0].Text, "type bool"), strings.HasSuffix(d.Constraints[0].Text, "type, bool"):
		wrong = "i32"
	case strings.HasSuffix(d.Constraints[0].Text, "float"):
		wrong = "i32"
	case strings.HasSuffix(d.Constraints[0].Text, "type number"),
		strings.HasSuffix(d.Constraints[0].Text, "type, number"):
		wrong = "bool"
	}
	repeat := func(first, rest string) []types.Tensor {
		out := tys(first)
		for len(out) < d.Arity {
			out = append(out, ty(rest))
		}
		return out
	}
	right := map[string]string{"i32": "f32", "bool": "i32", "string": "i32"}[wrong]
	if strings.HasSuffix(d.Constraints[0].Text, "bool") && wrong == "i32" {
		right = "bool"
	}
	if strings.HasSuffix(d.Constraints[0].Text, "i64") {
		right = "i64"
	}
	var attrs ir.A
	for _, a := range d.Attrs {
		if a.Kind == ir.AttrInt && !a.Optional {
			attrs = ir.A{a.Name: int64(0)}
		}
	}
	switch {
	case d.Class == ir.Pointwise && d != ops.Select && d != ops.Cast && d != ops.Bitcast &&
		d != ops.Require:
		out := []negative{{d.Name + "_C1", repeat(wrong, wrong), attrs, nil, "not " + wrong}}
		if d.Arity > 1 {
			out = append(out,
				negative{d.Name + "_C1", repeat("f32", "f64"), attrs, nil, "f32 and f64"},
				negative{d.Name + "_C2", repeat(right+"[2]", right+"[M]"), attrs, nil, "2 and M differ"},
				negative{d.Name + "_C2", repeat(right+"[2]", right), attrs, nil, "the ranks are 1 and 0"})
		}
		return out
	case d.Class == ir.Reduce && d.Attrs[0].Name == "axes":
		out := []negative{
			{d.Name + "_C1", repeat(wrong, wrong), ir.A{"axes": i()}, nil, "not " + wrong},
			{d.Name + "_C2", tys(right + "[2]"), ir.A{"axes": i(1)}, nil, "axis 1 is out of range"},
			{d.Name + "_C2", tys(right + "[2,3]"), ir.A{"axes": i(1, 0)}, nil, "ascending and distinct"},
		}
		if len(d.Constraints) == 3 {
			out = append(out, negative{d.Name + "_C3", tys(right + "[2,0]"), ir.A{"axes": i(1)}, nil,
				"the axis is empty"})
		}
		return out
	}
	return nil
}

// TestConstraints breaks every constraint of every operation.
func TestConstraints(t *testing.T) {
	all := negatives
	for _, d := range ir.Ops() {
		if len(d.Constraints) > 0 {
			all = append(all, familyNegatives(d)...)
		}
	}
	tested := map[string]bool{}
	for _, n := range all {
		tested[n.name] = true
		t.Run(n.name, func(t *testing.T) {
			cut := strings.LastIndexByte(n.name, '_')
			d := ir.Lookup(n.name[:cut])
			if d == nil {
				t.Fatal("no such operation")
			}
			attrs := d.MakeAttrs(n.attrs)
			_, err := d.Infer(n.args, attrs, n.regions)
			if err == nil && d.Doomed != nil {
				err = d.Doomed(n.args, attrs)
			}
			var rule *types.RuleError
			if !errors.As(err, &rule) {
				t.Fatalf("got %v, want a rule error", err)
			}
			if rule.Constraint != n.name[cut+1:] || !strings.Contains(rule.Error(), n.want) {
				t.Errorf("got %s: %v; want %q", rule.Constraint, rule, n.want)
			}
		})
	}
	for _, d := range ir.Ops() {
		for _, c := range d.Constraints {
			if !tested[d.Name+"_"+c.Name] {
				t.Errorf("%s_%s (%s) has no negative case", d.Name, c.Name, c.Text)
			}
		}
	}
}

// TestGeneralConstraints breaks the rules of all operations.
func TestGeneralConstraints(t *testing.T) {
	huge := sh("2147483648")
	cases := []struct {
		constraint, want string
		op               *ir.OpDef
		args             []types.Tensor
		attrs            ir.Attrs
		regions          []*ir.Block
	}{
		{"G1", "add takes 2 operands, not 1", ops.Add, tys("f32"), nil, nil},
		{"G1", "if takes 2 regions, not 0", ops.If, tys("bool"), nil, nil},
		{"G1", "broadcast takes 1 attribute, not 0", ops.Broadcast, tys("f32"), nil, nil},
		{"G1", "attribute shape of broadcast", ops.Broadcast, tys("f32"), ir.Attrs{nil}, nil},
		{"G1", "attribute axes of reduce_sum", ops.ReduceSum, tys("f32"), ir.Attrs{"0", nil}, nil},
		{"G1", "has no type", ops.Neg, []types.Tensor{{}}, nil, nil},
		{"G2", "extent -1 is out of range", ops.Broadcast, tys("f32"), ir.Attrs{sh("-1")}, nil},
		{"G2", "extent 2147483648 is out of range", ops.Broadcast, tys("f32"), ir.Attrs{huge}, nil},
		{"G2", "extent 2147483648 is out of range", ops.Concat, tys("i8[2147483647]", "i8[1]"), ir.Attrs{int64(0)},
			nil},
		{"G2", "extent 2147483648 is out of range", ops.Const, nil,
			ir.Attrs{&ir.Array{DType: types.I8, Shape: []int64{1 << 31, 0}}}, nil},
		{"G3", "2^63 bytes", ops.Broadcast, tys("i16"), ir.Attrs{sh("2147483647,2147483647,2")}, nil},
	}
	for _, c := range cases {
		_, err := c.op.Infer(c.args, c.attrs, c.regions)
		var rule *types.RuleError
		if !errors.As(err, &rule) || rule.Constraint != c.constraint || !strings.Contains(rule.Error(), c.want) {
			t.Errorf("%s: got %v, want %s: %q", c.op.Name, err, c.constraint, c.want)
		}
	}
	// The limits themselves are fine, and so is an empty tensor of any rank.
	for _, s := range []string{"2147483647,2147483647", "2147483647,2147483647,2147483647,0", "0"} {
		if _, err := ops.Broadcast.Infer(tys("i8"), ir.Attrs{sh(s)}, nil); err != nil {
			t.Errorf("[%s]: %v", s, err)
		}
	}
}

// Symbolic extents are only refused where no binding can be right.
func TestSymbolicSlices(t *testing.T) {
	for _, c := range []struct {
		x, start, shape string
		step            int64
		ok              bool
	}{
		{"f32[N]", "1", "N-1", 1, true},
		{"f32[N]", "N-1", "N", -1, true},
		{"f32[N]", "5", "1", 1, true},
		{"f32[N]", "M", "2", 1, true},
		{"f32[N]", "N", "0", 1, true},
		{"f32[N]", "N", "1", 1, false},
		{"f32[N+2]", "0", "N+3", 1, false},
		{"f32[N]", "-1", "1", 1, false},
		{"f32[0]", "-1", "0", -1, true},
	} {
		_, err := ops.Slice.Infer(tys(c.x), ir.Attrs{sh(c.start), i(c.step), sh(c.shape)}, nil)
		if (err == nil) != c.ok {
			t.Errorf("%s from %s, %s elements: %v", c.x, c.start, c.shape, err)
		}
	}
}

// What has no element cannot fail, so nothing is doomed.
func TestDoomedOfNothing(t *testing.T) {
	if err := ops.ReduceMax.Doomed(tys("f32[0,0]"), ir.Attrs{i(1), nil}); err != nil {
		t.Error(err)
	}
	if err := ops.Fold.Doomed(tys("f32", "f32[0]"), ir.Attrs{i(0), nil, true}); err != nil {
		t.Error(err)
	}
}

package ops_test

import (
	"testing"

	"healc/ir"
	"healc/ir/ops"
	"healc/lang/types"
)

func init() { negatives = append(negatives, indexNegatives...) }

// indexNegatives break the constraints of the operations whose positions are data.
var indexNegatives = []negative{
	{"gather_C1", tys("string", "i32[2]"), ir.A{"axes": i(0)}, nil, "not string"},
	{"gather_C2", tys("f32[3]", "i32[2]", "i32[2]"), ir.A{"axes": i(0)}, nil,
		"2 tensors of positions are given for 1 axes"},
	{"gather_C2", tys("f32[3]"), ir.A{"axes": i()}, nil, "0 tensors of positions"},
	{"gather_C2", tys("f32[3]", "i32[2]"), ir.A{"axes": i(1)}, nil, "axis 1 is out of range"},
	{"gather_C2", tys("f32[3,3]", "i32[2]", "i32[2]"), ir.A{"axes": i(1, 0)}, nil, "ascending"},
	{"gather_C3", tys("f32[3]", "f32[2]"), ir.A{"axes": i(0)}, nil, "needs an i32 or i64, not f32[2]"},
	{"gather_C4", tys("f32[3,3]", "i32[2]", "i64[4]"), ir.A{"axes": i(0, 1)}, nil, "2 and 4 differ"},
	{"gather_C5", tys("f32[0,3]", "i32[2]"), ir.A{"axes": i(0)}, nil, "no index is in range"},
	{"take_along_axis_C1", tys("string", "i32"), ir.A{"axis": int64(0)}, nil, "not string"},
	{"take_along_axis_C2", tys("f32[3]", "i32[3]"), ir.A{"axis": int64(1)}, nil, "axis 1 is out of range"},
	{"take_along_axis_C3", tys("f32[3]", "u8[3]"), ir.A{"axis": int64(0)}, nil, "not u8[3]"},
	{"stop_C1", nil, ir.A{"where": types.Shape{}, "says": "{}", "shows": types.Shape{}}, nil, "1 place, and 0 to show"},
	{"position_C1", tys("u8[3]"), ir.A{"extent": types.Lit(2), "size": types.Lit(1)}, nil, "not u8[3]"},
	{"take_along_axis_C4", tys("f32[3,M]", "i32[3,N]"), ir.A{"axis": int64(0)}, nil, "M and N differ"},
	{"take_along_axis_C4", tys("f32[3,3]", "i32[3]"), ir.A{"axis": int64(0)}, nil, "the ranks are 2 and 1"},
	{"take_along_axis_C5", tys("f32[0]", "i32[3]"), ir.A{"axis": int64(0)}, nil, "no index is in range"},
	{"sort_C1", tys("string"), ir.A{"axis": int64(0)}, nil, "not string"},
	{"sort_C2", tys("f32[3]"), ir.A{"axis": int64(-1)}, nil, "axis -1 is out of range"},
	{"partial_sort_C1", tys("string"), ir.A{"axis": int64(0), "starts": types.Shape{}, "sizes": types.Shape{}}, nil,
		"not string"},
	{"partial_sort_C2", tys("f32[3]"), ir.A{"axis": int64(1), "starts": types.Shape{}, "sizes": types.Shape{}}, nil,
		"axis 1 is out of range"},
	{"partial_sort_C3", tys("f32[3]", "u8"),
		ir.A{"axis": int64(0), "starts": types.Shape{}, "sizes": types.Shape{types.Lit(1)}}, nil, "not u8"},
	{"partial_sort_C3", tys("f32[3]", "i32[2]"),
		ir.A{"axis": int64(0), "starts": types.Shape{}, "sizes": types.Shape{types.Lit(1)}}, nil, "not i32[2]"},
	{"partial_sort_C4", tys("f32[3]", "i32"),
		ir.A{"axis": int64(0), "starts": types.Shape{types.Lit(1)}, "sizes": types.Shape{types.Lit(1)}}, nil,
		"1 sizes are given for 2 starts"},
	{"partial_argsort_C1", tys("string"), ir.A{"axis": int64(0), "starts": types.Shape{}, "sizes": types.Shape{}}, nil,
		"not string"},
	{"partial_argsort_C2", tys("f32"), ir.A{"axis": int64(0), "starts": types.Shape{}, "sizes": types.Shape{}}, nil,
		"axis 0 is out of range"},
	{"partial_argsort_C3", tys("f32[3]", "f32"),
		ir.A{"axis": int64(0), "starts": types.Shape{}, "sizes": types.Shape{types.Lit(1)}}, nil, "not f32"},
	{"partial_argsort_C4", tys("f32[3]"),
		ir.A{"axis": int64(0), "starts": types.Shape{}, "sizes": types.Shape{types.Lit(1)}}, nil,
		"1 sizes are given for 0 starts"},
	{"argsort_C1", tys("string"), ir.A{"axis": int64(0)}, nil, "not string"},
	{"argsort_C2", tys("f32"), ir.A{"axis": int64(0)}, nil, "axis 0 is out of range"},
	{"scatter_add_C1", tys("bool[3]", "i32[2]", "bool[2]"), ir.A{"axis": int64(0)}, nil, "needs a number"},
	{"scatter_add_C1", tys("f32[3]", "i32[2]", "f64[2]"), ir.A{"axis": int64(0)}, nil, "f32 and f64"},
	{"scatter_add_C2", tys("f32[3]", "i32[2]", "f32[2]"), ir.A{"axis": int64(1)}, nil, "axis 1 is out of range"},
	{"scatter_add_C3", tys("f32[3]", "i8[2]", "f32[2]"), ir.A{"axis": int64(0)}, nil, "not i8[2]"},
	{"scatter_add_C4", tys("f32[3,2]", "i32[2,3]", "f32[2,3]"), ir.A{"axis": int64(0)}, nil, "2 and 3 differ"},
	{"scatter_add_C5", tys("f32[3]", "i32[2]", "f32[4]"), ir.A{"axis": int64(0)}, nil, "2 and 4 differ"},
}

// Where there are no positions, nothing is doomed.
func TestDoomedIndexOfNothing(t *testing.T) {
	if err := ops.Gather.Doomed(tys("f32[0,3]", "i32[0]"), ir.Attrs{i(0)}); err != nil {
		t.Error(err)
	}
	if err := ops.Gather.Doomed(tys("f32[0,0]", "i32[2]"), ir.Attrs{i(0)}); err == nil {
		t.Error("positions of an empty axis are in range")
	}
	if err := ops.Index.Doomed(tys("f32[0,0]", "i32"), ir.Attrs{i(1)}); err == nil {
		t.Error("a position of an empty axis is in range")
	}
	if err := ops.TakeAlongAxis.Doomed(tys("f32[0]", "i32[0]"), ir.Attrs{int64(0)}); err != nil {
		t.Error(err)
	}
}

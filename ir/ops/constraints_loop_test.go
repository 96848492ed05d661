package ops_test

import (
	"healc/ir"
)

func init() { negatives = append(negatives, loopNegatives...) }

// loopNegatives break the constraints of loops and scans.
var loopNegatives = []negative{
	{"iterate_C1", nil, nil, regions(region([]string{"i32"}, nil)), "the number of steps of `iterate` is an i32"},
	{"iterate_C1", tys("i64", "f32"), nil, regions(region([]string{"i32", "f32"}, []string{"f32"})), "is an i32"},
	{"iterate_C2", tys("i32", "f32"), nil, regions(region([]string{"f32"}, []string{"f32"})), "takes 2 values, not 1"},
	{"iterate_C2", tys("i32", "f32[N]"), nil, regions(region([]string{"i32", "f32[M]"}, []string{"f32[N]"})),
		"takes f32[N] here, not f32[M]"},
	{"iterate_C3", tys("i32", "f32"), nil, regions(region([]string{"i32", "f32"}, []string{"f32", "bool"})),
		"gives 1 value, not 2"},
	{"iterate_C3", tys("i32", "f32"), nil, regions(region([]string{"i32", "f32"}, []string{"f64"})),
		"makes f64 of f32"},
	{"iterate_until_C1", tys("f32"), nil, regions(region([]string{"i32"}, []string{"bool"})),
		"of `iterate_until` is an i32"},
	{"iterate_until_C2", tys("i32"), nil, regions(region([]string{"i64"}, []string{"bool"})),
		"takes i32 here, not i64"},
	{"iterate_until_C3", tys("i32", "f32"), nil, regions(region([]string{"i32", "f32"}, []string{"f32"})),
		"gives 2 values, not 1"},
	{"iterate_until_C3", tys("i32", "f32"), nil, regions(region([]string{"i32", "f32"}, []string{"f32", "i32"})),
		"makes i32 of bool"},
	{"scan_C1", nil, nil, regions(region([]string{"f32", "f32"}, []string{"f32"})), "not no operand"},
	{"scan_C1", tys("f32", "f32[3]"), nil, regions(region([]string{"f32", "f32"}, []string{"f32"})), "not 2 operands"},
	{"scan_C1", tys("f32[3]"), ir.A{"init": true}, regions(region([]string{"f32", "f32"}, []string{"f32"})),
		"not 1 operand"},
	{"scan_C1", tys("f32"), nil, regions(region([]string{"f32", "f32"}, []string{"f32"})), "a scalar has none"},
	{"scan_C1", tys("string"), nil, regions(region([]string{"f32", "f32"}, []string{"f32"})), "not string"},
	{"scan_C1", tys("f32[2]", "f32[3]"), ir.A{"init": true}, regions(region([]string{"f32[2]", "f32"},
		[]string{"f32[2]"})), "one for each row, not f32[2]"},
	{"scan_C1", tys("f32", "f32[3]", "f32[4]"), ir.A{"init": true}, regions(region([]string{"f32", "f32", "f32"},
		[]string{"f32"})), "tensors of one shape, and not along f32[3] and f32[4]"},
	{"scan_C1", tys("f32[3]", "f32[3]"), nil, regions(region([]string{"f32", "f32", "f32"}, []string{"f32"})),
		"not 2 operands"},
	{"scan_C2", tys("f32[3]"), nil, regions(region([]string{"f32"}, []string{"f32"})), "takes 2 values, not 1"},
	{"scan_C2", tys("i32", "f32[3]"), ir.A{"init": true}, regions(region([]string{"i32", "i32"}, []string{"i32"})),
		"takes f32 here, not i32"},
	{"scan_C2", tys("f32[3]"), nil, regions(region([]string{"f32", "f32"}, nil)), "gives 1 value, not 0"},
	{"scan_C2", tys("f32[3]"), nil, regions(region([]string{"f32", "f32"}, []string{"f64"})), "makes f64 of f32"},
}

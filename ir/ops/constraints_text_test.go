package ops_test

import (
	"healc/ir"
)

func init() { negatives = append(negatives, textNegatives...) }

// textNegatives break the constraints of assertions and of the operations on strings.
var textNegatives = []negative{
	{"assert_C1", tys("bool", "i32"), ir.A{"what": "x"}, nil, "not 2 operands"},
	{"assert_C2", tys("i32"), ir.A{"what": "x"}, nil, "is a bool, not i32"},
	{"assert_C2", tys("bool[2]"), ir.A{"what": "x"}, nil, "is a bool, not bool[2]"},
	{"require_C1", tys("string", "bool", "i64", "i64"), ir.A{"says": "x"}, nil, "string"},
	{"require_C2", tys("i32", "i32", "i64", "i64"), ir.A{"says": "x"}, nil,
		"the condition of `require` needs a bool, not i32"},
	{"require_C3", tys("i32", "bool", "i64", "i32"), ir.A{"says": "x"}, nil, "shows an i64, not i32"},
	{"require_C4", tys("i32[2]", "bool[3]", "i64[2]", "i64[2]"), ir.A{"says": "x"}, nil, "2 and 3 differ"},
	{"require_C5", tys("i32", "bool", "i64", "i64"), ir.A{"says": "{}{}{}"}, nil, "two numbers"},
	{"str_len_C1", tys("i32"), nil, nil, "not i32"},
	{"str_concat_C1", tys("string", "f32"), nil, nil, "not f32"},
	{"str_eq_C1", tys("bool", "string"), nil, nil, "not bool"},
	{"str_lt_C1", tys("i8", "string"), nil, nil, "not i8"},
}

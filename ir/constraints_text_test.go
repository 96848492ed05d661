package ir

func init() { negatives = append(negatives, textNegatives...) }

// textNegatives break the constraints of assertions and of the operations on strings.
var textNegatives = []negative{
	{"assert_C1", tys("bool", "i32"), A{"what": "x"}, nil, "not 2 operands"},
	{"assert_C2", tys("i32"), A{"what": "x"}, nil, "is a bool, not i32"},
	{"assert_C2", tys("bool[2]"), A{"what": "x"}, nil, "is a bool, not bool[2]"},
	{"str_len_C1", tys("i32"), nil, nil, "not i32"},
	{"str_concat_C1", tys("string", "f32"), nil, nil, "not f32"},
	{"str_eq_C1", tys("bool", "string"), nil, nil, "not bool"},
	{"str_lt_C1", tys("i8", "string"), nil, nil, "not i8"},
}

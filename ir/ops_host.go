package ir

import (
	"healc/ir/scalar"
	"healc/lang/types"
)

// OpCall calls a function of the module. Whether it has an effect depends on the callee (Module.HasEffect).
var OpCall = define(&OpDef{
	Name: "call", Class: Host, Arity: Variadic, Traits: MayFail,
	Summary: "The results of a function of the module.",
	Attrs: []AttrDef{
		{Name: "callee", Kind: AttrStr, Doc: "the function"},
		{Name: "dims", Kind: AttrDims, Optional: true, Doc: "its shape parameters, in order"},
		{Name: "results", Kind: AttrTypes, Doc: "its result types, with these shape parameters"},
	},
	Infer: func(_ []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		if attrs[0].(string) == "" {
			return nil, broken("C1", "a call names a function")
		}
		return attrs[2].([]types.Tensor), nil
	},
	Eval: func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
		dims := make([]int64, len(op.Dims("dims")))
		for i, d := range op.Dims("dims") {
			dims[i] = c.Dim(d)
		}
		return c.Call(op, op.Str("callee"), dims, args)
	},
	Element: func(p Pull, op *Op, result int, _ []scalar.Ref) scalar.Ref {
		args := make([]scalar.Ref, len(op.Args))
		for i := range args {
			args[i] = p.Arg(op, i, nil)
		}
		return p.Call(op, op.Str("callee"), args, result)
	},
	Constraints: []Constraint{{"C1", "the callee has a name"}},
	Decls:       "fn power(x: i32, n: i32) -> i32 = if n < 1 { 1 } else { x * power(x, n - 1) }",
	Example:     "power(3, 4) == 81",
})

// The operations for output.
var (
	// OpPrint shows any value.
	OpPrint = define(&OpDef{
		Name: "print", Class: Host, Surface: "print", Arity: Variadic, Traits: Effect,
		Summary: "Prints a value and a newline: tensors the way NumPy does, floats in the shortest form that reads " +
			"back, tuples in parentheses.",
		Attrs: []AttrDef{
			{Name: "form", Kind: AttrStr, Optional: true,
				Doc: "of a tuple, its text with a % for each operand; without it there is one operand"},
		},
		Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
			form, _ := attrs[0].(string)
			if n := types.TupleSlots(form); n != len(args) {
				return nil, broken("C1", "`print` shows %s here, not %d", types.Count(n, "value"), len(args))
			}
			return nil, nil
		},
		Eval: func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
			shown := make([]string, len(args))
			for i, a := range args {
				shown[i] = c.System().Format(a)
			}
			form, _ := op.Attrs[0].(string)
			return nil, c.System().Print(types.TupleText(form, shown) + "\n")
		},
		NoGrad:      "printing has no value",
		Constraints: []Constraint{{"C1", "there is an operand for each % of the form, one without a form"}},
		Example:     "{ print([1.0, 2.0]); print((1, 2.5)); 1 } == 1",
	})

	// OpPrintStr writes a string.
	OpPrintStr = define(&OpDef{
		Name: "print_str", Class: Host, Surface: "print_str", Arity: 1, Traits: Effect,
		Summary: "Prints a string as it is, without a newline, and gives it back.",
		Infer: func(args []types.Tensor, _ Attrs, _ []*Block) ([]types.Tensor, error) {
			if args[0].Elem != types.String {
				return nil, broken("C1", "`print_str` needs a string, not %s", args[0])
			}
			return args[:1:1], nil
		},
		Eval: func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
			return args[:1:1], c.System().Print(args[0].Str)
		},
		NoGrad:      "a string has no gradient",
		Example:     "{ print_str(\"hello\\n\"); 1 } == 1",
		Constraints: []Constraint{{"C1", "the operand is a string"}},
	})

	OpPrintI32 = printScalar(types.I32)
	OpPrintI64 = printScalar(types.I64)
	OpPrintF32 = printScalar(types.F32)
	OpPrintF64 = printScalar(types.F64)
)

// printScalar is print_T: it prints one scalar of type t with a newline and gives it back.
func printScalar(t types.DType) *OpDef {
	name := "print_" + t.String()
	summary := "Prints an " + t.String() + " and a newline, and gives it back."
	if t.IsFloat() {
		summary = "Prints an " + t.String() +
			" with six decimals, cut and not rounded, and a newline, and gives it back."
	}
	return define(&OpDef{
		Name: name, Class: Host, Surface: name, Arity: 1, Traits: Effect, Summary: summary,
		Infer: func(args []types.Tensor, _ Attrs, _ []*Block) ([]types.Tensor, error) {
			if !types.Equal(args[0], types.Scalar(t)) {
				return nil, broken("C1", "`%s` needs an %s, not %s", name, t, args[0])
			}
			return args[:1:1], nil
		},
		Eval: func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
			return args[:1:1], c.System().Print(printedScalar(t, args[0].Bits[0]) + "\n")
		},
		NoGrad:      "printing is no function of numbers",
		Example:     name + "(2 as " + t.String() + ") == (2 as " + t.String() + ")",
		Constraints: []Constraint{{"C1", "the operand is an " + t.String() + " scalar"}},
	})
}

func printedScalar(t types.DType, bits uint64) string {
	if t.IsFloat() {
		return types.FormatCut(scalar.FloatValue(t, bits))
	}
	return scalar.FormatBits(t, bits)
}

// OpLoadNpy reads a file.
var OpLoadNpy = define(&OpDef{
	Name: "load_npy", Class: Host, Surface: "load_npy", Arity: 1, Traits: Effect,
	Summary: "The tensor in a .npy file, which has exactly the element type and shape that are asked for.",
	Attrs: []AttrDef{
		{Name: "dtype", Kind: AttrDType, Doc: "the element type"},
		{Name: "shape", Kind: AttrDims, Doc: "the shape"},
	},
	Infer: func(args []types.Tensor, attrs Attrs, _ []*Block) ([]types.Tensor, error) {
		t := types.Tensor{Elem: attrs[0].(types.DType), Shape: attrs[1].(types.Shape)}
		if args[0].Elem != types.String {
			return nil, broken("C1", "the path of `load_npy` is a string, not %s", args[0])
		}
		if err := requireIn("C2", "`load_npy`", elements, t); err != nil {
			return nil, err
		}
		return []types.Tensor{t}, nil
	},
	Eval:   evalLoadNpy,
	NoGrad: "a file is a constant",
	Constraints: []Constraint{
		{"C1", "the path is a string"},
		{"C2", "the elements are numbers or bools"},
	},
	Example: "{ save_npy(\"x.npy\", [1.0, 2.0]); load_npy[f32, 2](\"x.npy\") } == [1.0, 2.0]",
})

// OpSaveNpy writes a file.
var OpSaveNpy = define(&OpDef{
	Name: "save_npy", Class: Host, Surface: "save_npy", Arity: 2, Traits: Effect,
	Summary: "Writes a tensor to a .npy file.",
	Infer: func(args []types.Tensor, _ Attrs, _ []*Block) ([]types.Tensor, error) {
		if args[0].Elem != types.String {
			return nil, broken("C1", "the path of `save_npy` is a string, not %s", args[0])
		}
		return nil, requireIn("C2", "`save_npy`", elements, args[1])
	},
	Eval: func(c EvalContext, op *Op, args []*Array) ([]*Array, error) {
		return nil, c.System().SaveNpy(args[0].Str, args[1])
	},
	NoGrad: "writing has no value",
	Constraints: []Constraint{
		{"C1", "the path is a string"},
		{"C2", "the elements are numbers or bools"},
	},
	Example: "{ save_npy(\"x.npy\", [1.0, 2.0]); load_npy[f32, 2](\"x.npy\") } == [1.0, 2.0]",
})

package ops

import (
	"fmt"
	"math"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/types"
)

// The operations for output.

// Print shows any value.
var Print = ir.Declare("print")
var _ = ir.Define(Print, ir.OpDef{
	Class: ir.Host, Surface: "print", Arity: ir.Variadic, Traits: ir.Effect,
	Sharding: ir.ShardOutput,
	Params: []ir.Param{
		{Name: "x", Kind: ir.ParamValue},
	},
	Summary: "Prints a value and a newline: tensors the way NumPy does, floats in the shortest form that reads " +
		"back, tuples in parentheses.",
	Attrs: []ir.AttrDef{
		{Name: "form", Kind: ir.AttrStr, Optional: true,
			Doc: "of a tuple, its text with a % for each operand; without it there is one operand"},
	},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		form, _ := attrs[0].(string)
		if n := types.TupleSlots(form); n != len(args) {
			return nil, broken("C1", "`print` shows %s here, not %d", types.Count(n, "value"), len(args))
		}
		return nil, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		shown := make([]string, len(args))
		for i, a := range args {
			text, err := c.System().Format(a)
			if err != nil {
				return nil, err
			}
			shown[i] = text
		}
		form, _ := op.Attrs[0].(string)
		return nil, c.System().Print(types.TupleText(form, shown) + "\n")
	},
	NoGrad:      "printing has no value",
	Constraints: []ir.Constraint{{Name: "C1", Text: "there is an operand for each % of the form, one without a form"}},
	Example:     "{ print([1.0, 2.0]); print((1, 2.5)); 1 } == 1",
})

// PrintStr writes a string.
var PrintStr = ir.Declare("print_str")
var _ = ir.Define(PrintStr, ir.OpDef{
	Class: ir.Host, Surface: "print_str", Arity: 1, Traits: ir.Effect,
	Sharding: ir.ShardWhole,
	Params: []ir.Param{
		{Name: "x", Kind: ir.ParamScalar, Elem: types.String, What: "the argument of `print_str`"},
	},
	Summary: "Prints a string as it is, without a newline, and gives it back.",
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if args[0].Elem != types.String {
			return nil, broken("C1", "`print_str` needs a string, not %s", args[0])
		}
		return args[:1:1], nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return args[:1:1], c.System().Print(args[0].Str)
	},
	NoGrad:      "a string has no gradient",
	Example:     "{ print_str(\"hello\\n\"); 1 } == 1",
	Constraints: []ir.Constraint{{Name: "C1", Text: "the operand is a string"}},
})

var (
	PrintI32 = printScalar(types.I32)
	PrintI64 = printScalar(types.I64)
	PrintF32 = printScalar(types.F32)
	PrintF64 = printScalar(types.F64)
)

// printScalar is print_T: it prints one scalar of type t with a newline and gives it back.
func printScalar(t types.DType) *ir.OpDef {
	name := "print_" + t.String()
	summary := "Prints an " + t.String() + " and a newline, and gives it back."
	if t.IsFloat() {
		summary = "Prints an " + t.String() +
			" with six decimals, cut and not rounded, and a newline, and gives it back."
	}
	d := ir.OpDef{
		Class: ir.Host, Surface: name, Arity: 1, Traits: ir.Effect, Summary: summary, Sharding: ir.ShardWhole,
		Params: []ir.Param{{Name: "x", Kind: ir.ParamScalar, Elem: t, What: "the argument of `" + name + "`"}},
		Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
			if !types.Equal(args[0], types.Scalar(t)) {
				return nil, broken("C1", "`%s` needs an %s, not %s", name, t, args[0])
			}
			return args[:1:1], nil
		},
		Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
			return args[:1:1], c.System().Print(printedScalar(t, args[0].Bits[0]) + "\n")
		},
		NoGrad:      "printing is no function of numbers",
		Example:     name + "(2 as " + t.String() + ") == (2 as " + t.String() + ")",
		Constraints: []ir.Constraint{{Name: "C1", Text: "the operand is an " + t.String() + " scalar"}},
	}
	if t.IsFloat() {
		d.NoGrad, d.VJP = "", unaryRule(func(_ *tape, _, _, ct *ir.Value) *ir.Value { return ct })
	}
	return ir.Define(ir.Declare(name), d)
}

func printedScalar(t types.DType, bits uint64) string {
	if t.IsFloat() {
		return types.FormatCut(scalar.FloatValue(t, bits))
	}
	return scalar.FormatBits(t, bits)
}

// LoadNpy reads a file.
var LoadNpy = ir.Declare("load_npy")
var _ = ir.Define(LoadNpy, ir.OpDef{
	Class: ir.Host, Surface: "load_npy", Arity: 1, Traits: ir.Effect | ir.Files,
	Sharding: ir.ShardLoaded,
	Brackets: "type, d1, d2, ...",
	Params: []ir.Param{
		{Name: "path", Kind: ir.ParamScalar, Elem: types.String, What: "the path"},
	},
	Summary: "The tensor in a .npy file, which has exactly the element type and shape that are asked for.",
	Attrs: []ir.AttrDef{
		{Name: "dtype", Kind: ir.AttrDType, Doc: "the element type"},
		{Name: "shape", Kind: ir.AttrDims, Doc: "the shape"},
	},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
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
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the path is a string"},
		{Name: "C2", Text: "the elements are numbers or bools"},
	},
	Example: "{ save_npy(\"x.npy\", [1.0, 2.0]); load_npy[f32, 2](\"x.npy\") } == [1.0, 2.0]",
})

func evalLoadNpy(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	path := args[0].Str
	a, err := c.System().LoadNpy(path)
	if err != nil {
		return nil, err
	}
	want := types.Of(op.DType("dtype"), extents(c, op.Dims("shape"))...)
	if got := a.Type(); !types.Equal(got, want) {
		return nil, fmt.Errorf("%s holds %s, not %s", path, got, want)
	}
	return one(a)
}

// SaveNpy writes a file.
var SaveNpy = ir.Declare("save_npy")
var _ = ir.Define(SaveNpy, ir.OpDef{
	Class: ir.Host, Surface: "save_npy", Arity: 2, Traits: ir.Effect | ir.Files,
	Sharding: ir.ShardWritten,
	Params: []ir.Param{
		{Name: "path", Kind: ir.ParamScalar, Elem: types.String, What: "the path"},
		{Name: "x", Kind: ir.ParamValue},
	},
	Summary: "Writes a tensor to a .npy file.",
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if args[0].Elem != types.String {
			return nil, broken("C1", "the path of `save_npy` is a string, not %s", args[0])
		}
		return nil, requireIn("C2", "`save_npy`", elements, args[1])
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return nil, c.System().SaveNpy(args[0].Str, args[1])
	},
	NoGrad: "writing has no value",
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the path is a string"},
		{Name: "C2", Text: "the elements are numbers or bools"},
	},
	Example: "{ save_npy(\"x.npy\", [1.0, 2.0]); load_npy[f32, 2](\"x.npy\") } == [1.0, 2.0]",
})

// The operations that write pictures.
var (
	SavePng = savePicture("png", "a picture, with rows, columns and 1 to 4 channels (grey, grey and alpha, RGB, RGB "+
		"and alpha), or rows and columns alone", 4)
	SavePgm = savePicture("pgm", "a picture of grey, with rows and columns", 0)
)

var pictured = dtypeSet{"u8 or u16", func(d types.DType) bool { return d == types.U8 || d == types.U16 }}

// savePicture is save_FORM: it writes a picture of a form that has at most so many channels; 0 for no axis of them.
func savePicture(form, what string, channels int64) *ir.OpDef {
	name := "save_" + form
	return ir.Define(ir.Declare(name), ir.OpDef{
		Class: ir.Host, Surface: name, Arity: 2, Traits: ir.Effect | ir.Files,
		Sharding: ir.ShardOutput,
		Params: []ir.Param{
			{Name: "path", Kind: ir.ParamScalar, Elem: types.String, What: "the path"},
			{Name: "x", Kind: ir.ParamValue},
		},
		Summary: "Writes a tensor of u8 or u16 to a ." + form + " file: " + what + ".",
		Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
			if args[0].Elem != types.String {
				return nil, broken("C1", "the path of `%s` is a string, not %s", name, args[0])
			}
			return nil, requirePicture(name, what, channels, args[1])
		},
		Eval: func(c ir.EvalContext, _ *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
			return nil, c.System().SaveImage(args[0].Str, form, args[1])
		},
		NoGrad: "writing has no value",
		Constraints: []ir.Constraint{
			{Name: "C1", Text: "the path is a string"},
			{Name: "C2", Text: "the elements are u8 or u16"},
			{Name: "C3", Text: "the operand is " + what},
			{Name: "C4", Text: "no extent is 0"},
		},
		Example: "{ " + name + "(\"x." + form + "\", [[0_u8, 255]]); 1 } == 1",
	})
}

// requirePicture checks what is known of the shape; the rest is checked where it is written.
func requirePicture(name, what string, channels int64, t types.Tensor) error {
	if !pictured.has(t.Elem) {
		err := broken("C2", "`%s` needs u8 or u16, not %s", name, t)
		if t.Elem.IsFloat() {
			err.Help = "of numbers from 0 to 1: `round(x * 255) as u8`"
		}
		return err
	}
	rank := len(t.Shape)
	if rank != 2 && (rank != 3 || channels == 0) {
		return broken("C3", "`%s` writes %s, not %s", name, what, t)
	}
	if rank == 3 {
		if n, known := t.Shape[2].Const(); known && (n < 1 || n > channels) {
			return broken("C3", "`%s` writes %s: %s has %d", name, what, t, n)
		}
	}
	for axis, d := range t.Shape[:2] {
		if d.IsConst(0) {
			return broken("C4", "`%s` writes no picture without pixels: axis %d of %s has none", name, axis, t)
		}
	}
	return nil
}

// The operations on strings. They are done by the runtime, between kernels: no kernel sees a string.

// StrLen counts the bytes of a string.
var StrLen = ir.Declare("str_len")
var _ = ir.Define(StrLen, ir.OpDef{
	Class: ir.Host, Surface: "len", Arity: 1,
	Sharding: ir.ShardWhole,
	Params: []ir.Param{
		{Name: "s", Kind: ir.ParamValue},
	},
	Summary: "The number of bytes of a string, as i32.",
	Infer:   stringsTo(types.I32),
	Eval: func(_ ir.EvalContext, _ *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return one(&ir.Array{DType: types.I32, Bits: []uint64{uint64(min(len(args[0].Str), math.MaxInt32))}})
	},
	NoGrad: "a string has no gradient", Constraints: stringOperands,
	Example: "len(\"h\\u{E9}\") == 3",
})

// StrConcat joins two strings.
var StrConcat = ir.Declare("str_concat")
var _ = ir.Define(StrConcat, ir.OpDef{
	Class: ir.Host, Surface: "++", Arity: 2, Traits: ir.MayFail,
	Sharding: ir.ShardWhole,
	Summary:  "Two strings, one after the other: at most 64 MiB.",
	Infer:    stringsTo(types.String),
	Eval: func(_ ir.EvalContext, _ *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		s, err := types.JoinStrings(args[0].Str, args[1].Str)
		if err != nil {
			return nil, err
		}
		return one(&ir.Array{DType: types.String, Str: s})
	},
	NoGrad: "a string has no gradient", Constraints: stringOperands,
	Example: "len(\"ab\" ++ \"c\") == 3",
})

// StrEq compares two strings.
var StrEq = ir.Declare("str_eq")
var _ = ir.Define(StrEq, ir.OpDef{
	Class: ir.Host, Arity: 2,
	Sharding: ir.ShardWhole,
	Summary:  "Whether two strings have the same bytes: `==` on strings.",
	Infer:    stringsTo(types.Bool),
	Eval: func(_ ir.EvalContext, _ *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return one(ir.NewScalar(types.Bool, boolBits(args[0].Str == args[1].Str)))
	},
	NoGrad: "a string has no gradient", Constraints: stringOperands,
	Example: "(\"ab\" == \"a\" ++ \"b\") == true",
})

// StrLt orders two strings.
var StrLt = ir.Declare("str_lt")
var _ = ir.Define(StrLt, ir.OpDef{
	Class: ir.Host, Arity: 2,
	Sharding: ir.ShardWhole,
	Summary:  "Whether the first string stands before the second, byte by byte: `<` on strings.",
	Infer:    stringsTo(types.Bool),
	Eval: func(_ ir.EvalContext, _ *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return one(ir.NewScalar(types.Bool, boolBits(args[0].Str < args[1].Str)))
	},
	NoGrad: "a string has no gradient", Constraints: stringOperands,
	Example: "(\"a\" < \"ab\") == true",
})

var stringOperands = []ir.Constraint{{Name: "C1", Text: "the operands are strings"}}

// stringsTo is the rule of an operation on strings alone.
func stringsTo(result types.DType) func([]types.Tensor, ir.Attrs, []*ir.Block) ([]types.Tensor, error) {
	return func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		for _, a := range args {
			if a.Elem != types.String {
				return nil, broken("C1", "a string has to stand here, not %s", a)
			}
		}
		return []types.Tensor{types.Scalar(result)}, nil
	}
}

func boolBits(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

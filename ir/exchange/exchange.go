// Package exchange has the operations by which ranks exchange parts of tensors (runtime/exchange). The pass shard
// writes them; programs have no words for them. All are effects: every rank does the same ones in the same order.
//
// In: what the rules are asked. Out: operations for the pass, the interpreter and the runtime.
package exchange

import (
	"fmt"

	"healc/ir"
	"healc/lang/types"
	"healc/runtime/cluster"
	"healc/runtime/exchange"
)

// comm is what the ranks of a run talk by.
func comm(c ir.EvalContext) cluster.Comm {
	if c := c.Cluster(); c != nil {
		return c
	}
	return cluster.Alone()
}

var (
	attrAxis   = ir.AttrDef{Name: "axis", Kind: ir.AttrInt, Doc: "the axis that is cut"}
	attrExtent = ir.AttrDef{Name: "extent", Kind: ir.AttrInt, Doc: "the extent of that axis, of all ranks together"}
	attrOrigin = ir.AttrDef{Name: "origin", Kind: ir.AttrInt, Optional: true,
		Doc: "how many elements of the first block are before the axis begins"}
	attrBlock = ir.AttrDef{Name: "block", Kind: ir.AttrInt, Doc: "how many elements of it a rank has"}
)

// broken is a broken type rule.
func broken(c, format string, args ...any) error {
	return &types.RuleError{Constraint: c, Msg: fmt.Sprintf(format, args...)}
}

var exchanges = map[string]bool{}

// Is reports whether an operation is one by which ranks send each other parts.
func Is(name string) bool { return exchanges[name] }

// exchangeOp fills in what the operations share.
func exchangeOp(op *ir.OpDef, d ir.OpDef) *ir.OpDef {
	d.Class, d.Sharding = ir.Host, ir.ShardWhole
	d.Traits |= ir.Effect
	d.NoGrad = "parts are exchanged in what is differentiated already"
	exchanges[op.Name] = !d.Traits.Has(ir.Files)
	return ir.Define(op, d)
}

// cutAxis checks the axis of an operand that is cut along it, C1, and gives it.
func cutAxis(what string, x types.Tensor, axis int64) error {
	if axis < 0 || axis >= int64(x.Rank()) {
		return broken("C1", "axis %d of `%s` is out of range for %s", axis, what, x)
	}
	return nil
}

var axisExists = ir.Constraint{Name: "C1", Text: "the axis exists"}

// Start is where this rank's part begins.
var Start = ir.Declare("shard_start")
var _ = ir.Define(Start, ir.OpDef{
	Class: ir.Host, Traits: ir.Partial, Sharding: ir.ShardWhole,
	Summary: "The first element of an axis that this rank has.",
	Attrs:   []ir.AttrDef{attrExtent, attrBlock, attrOrigin},
	Infer: func([]types.Tensor, ir.Attrs, []*ir.Block) ([]types.Tensor, error) {
		return []types.Tensor{types.Scalar(types.I64)}, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, _ []*ir.Array) ([]*ir.Array, error) {
		lo, _ := blocks(op).Of(comm(c).Rank())
		return []*ir.Array{{DType: types.I64, Bits: []uint64{uint64(lo)}}}, nil
	},
	NoGrad: "a position is an integer", Example: "reshard(0..5, 0) == [0, 1, 2, 3, 4]",
})

// Halo is what others have of the elements that this rank wants.
var Halo = ir.Declare("exchange_halo")
var _ = exchangeOp(Halo, ir.OpDef{
	Example: "{ let x = reshard([1, 2, 4], 0); x[1..3] - x[0..2] } == [1, 2]",
	Arity:   1,
	Summary: "The elements of an axis that this rank wants and other ranks have: those of ranks before it, and " +
		"those of " +
		"ranks behind it.",
	Attrs: []ir.AttrDef{attrAxis, attrExtent, attrBlock,
		{Name: "windows", Kind: ir.AttrInts, Doc: "of each rank, the first element that it wants, and where they end"},
		{Name: "before", Kind: ir.AttrInt, Doc: "how many elements this rank gets of those before it"},
		{Name: "after", Kind: ir.AttrInt, Doc: "how many it gets of those behind it"},
		attrOrigin,
	},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		axis := attrs[0].(int64)
		if err := cutAxis("exchange_halo", args[0], axis); err != nil {
			return nil, err
		}
		before, after := withExtent(args[0], axis, attrs[4].(int64)), withExtent(args[0], axis, attrs[5].(int64))
		return []types.Tensor{before, after}, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		before, after := like(op, 0), like(op, 1)
		l, b, a := layout(op, args[0]), bytesOf(before), bytesOf(after)
		if err := exchange.Halos(comm(c), l, bytesOf(args[0]), exchange.Windows(op.Ints("windows")), b, a); err != nil {
			return nil, err
		}
		setBytes(before, b)
		setBytes(after, a)
		return []*ir.Array{before, after}, nil
	},
	Constraints: []ir.Constraint{axisExists},
})

// Gather is the whole tensor.
var Gather = ir.Declare("all_gather")
var _ = exchangeOp(Gather, ir.OpDef{
	Example: "replicate(reshard([1, 2, 3], 0)) == [1, 2, 3]",
	Arity:   1,
	Summary: "The parts of all ranks, one after the other along an axis.",
	Attrs: []ir.AttrDef{attrAxis, attrExtent, attrBlock,
		{Name: "apart", Kind: ir.AttrFlag, Optional: true,
			Doc: "by messages on any number of ranks, as kernels run meanwhile"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		axis := attrs[0].(int64)
		if err := cutAxis("all_gather", args[0], axis); err != nil {
			return nil, err
		}
		return []types.Tensor{withExtent(args[0], axis, attrs[1].(int64))}, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return filled(op, func(out []byte) error {
			return exchange.Gather(comm(c), layout(op, args[0]), bytesOf(args[0]), out)
		})
	},
	Constraints: []ir.Constraint{axisExists},
})

// Fetch is a run of an axis, on every rank.
var Fetch = ir.Declare("exchange_fetch")
var _ = exchangeOp(Fetch, ir.OpDef{
	Example: "{ let i = +/([1, 0]); reshard([1, 2, 3], 0)[i] } == 2",
	Arity:   2,
	Summary: "The elements of an axis from a position on, which are in range, on every rank.",
	Attrs: []ir.AttrDef{attrAxis, attrExtent, attrBlock,
		{Name: "size", Kind: ir.AttrInt, Doc: "how many elements"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		axis := attrs[0].(int64)
		if err := cutAxis("exchange_fetch", args[0], axis); err != nil {
			return nil, err
		}
		if !types.Equal(args[1], types.Scalar(types.I64)) {
			return nil, broken("C2", "the position of `exchange_fetch` is an i64, not %s", args[1])
		}
		return []types.Tensor{withExtent(args[0], axis, attrs[3].(int64))}, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return filled(op, func(out []byte) error {
			return exchange.Fetch(comm(c), layout(op, args[0]), bytesOf(args[0]), int64(args[1].Bits[0]),
				op.Int("size"), out)
		})
	},
	Constraints: []ir.Constraint{axisExists, {Name: "C2", Text: "the position is an i64 scalar"}},
})

// AllToAll is a tensor that is cut along another axis.
var AllToAll = ir.Declare("all_to_all")
var _ = exchangeOp(AllToAll, ir.OpDef{
	Example: "reshard(reshard([[1, 2], [3, 4]], 0), 1) == [[1, 2], [3, 4]]",
	Arity:   1,
	Summary: "The part of a tensor that this rank has where it is cut along another axis.",
	Attrs: []ir.AttrDef{attrAxis, attrExtent, attrBlock,
		{Name: "to", Kind: ir.AttrInt, Doc: "the axis that the result is cut along"},
		{Name: "to_block", Kind: ir.AttrInt, Doc: "how many elements of it a rank has"},
		{Name: "size", Kind: ir.AttrInt, Doc: "how many of them this rank has"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		axis, to := attrs[0].(int64), attrs[3].(int64)
		if err := cutAxis("all_to_all", args[0], axis); err != nil {
			return nil, err
		}
		if err := cutAxis("all_to_all", args[0], to); err != nil {
			return nil, err
		}
		if axis == to {
			return nil, broken("C2", "`all_to_all` goes from axis %d to itself", axis)
		}
		return []types.Tensor{withExtent(withExtent(args[0], axis, attrs[1].(int64)), to, attrs[5].(int64))}, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return filled(op, func(out []byte) error {
			s := exchange.SwapOf(op.Int("axis"), blocks(op), op.Int("to"), op.Int("to_block"), args[0].Shape,
				int64(args[0].DType.Bytes()))
			return exchange.AllToAll(comm(c), s, bytesOf(args[0]), out)
		})
	},
	Constraints: []ir.Constraint{axisExists, {Name: "C2", Text: "the two axes differ"}},
})

// Take is rows of a tensor at positions, which others may have.
var Take = ir.Declare("exchange_take")
var _ = exchangeOp(Take, ir.OpDef{
	Example: "reshard([1, 2, 3], 0)[[2, 0]] == [3, 1]",
	Arity:   2,
	Summary: "The rows of a tensor, which is cut along its first axis, at these positions, which are in range.",
	Attrs:   []ir.AttrDef{attrExtent, attrBlock},
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if err := cutAxis("exchange_take", args[0], 0); err != nil {
			return nil, err
		}
		if args[1].Elem != types.I64 && args[1].Elem != types.I32 || args[1].Rank() != 1 {
			return nil, broken("C2", "the positions of `exchange_take` are i32 or i64 along one axis, not %s", args[1])
		}
		shape := append(types.Shape{args[1].Shape[0]}, args[0].Shape[1:]...)
		return []types.Tensor{{Elem: args[0].Elem, Shape: shape}}, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return filled(op, func(out []byte) error {
			l := exchange.LayoutOf(0, blocks(op), args[0].Shape, int64(args[0].DType.Bytes()))
			at := make([]int64, len(args[1].Bits))
			for i, b := range args[1].Bits {
				at[i] = int64(b)
			}
			return exchange.Take(comm(c), l, bytesOf(args[0]), at, out)
		})
	},
	Constraints: []ir.Constraint{axisExists, {Name: "C2", Text: "the positions are i32 or i64, along one axis"}},
})

// FromPrevious is what the rank before this one has sent.
var FromPrevious = ir.Declare("from_previous")
var _ = exchangeOp(FromPrevious, ir.OpDef{
	Example: "cumsum(reshard([1, 2, 3], 0)) == [1, 3, 6]",
	Arity:   1,
	Summary: "What the rank before this one has sent by `to_next`; on rank 0 the operand.",
	Infer:   func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) { return args[:1:1], nil },
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return filled(op, func(out []byte) error {
			copy(out, bytesOf(args[0]))
			return exchange.FromPrevious(comm(c), out)
		})
	},
})

// ToNext sends to the next rank.
var ToNext = ir.Declare("to_next")
var _ = exchangeOp(ToNext, ir.OpDef{
	Example: "(|a, b| 10 * a + b)/(reshard([1, 2, 3], 0)) == 123",
	Arity:   1,
	Summary: "Sends the operand to the next rank.",
	Infer:   func([]types.Tensor, ir.Attrs, []*ir.Block) ([]types.Tensor, error) { return nil, nil },
	Eval: func(c ir.EvalContext, _ *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		return nil, exchange.ToNext(comm(c), bytesOf(args[0]))
	},
})

// LoadPart is a part of a file.
var LoadPart = ir.Declare("load_part")
var _ = exchangeOp(LoadPart, ir.OpDef{
	Example: "{ save_npy(\"x.npy\", [1.0, 2.0]); reshard(load_npy[f32, 2](\"x.npy\"), 0) } == [1.0, 2.0]",
	Arity:   1, Traits: ir.Files,
	Summary: "The part that this rank has of the tensor in a .npy file, which has exactly this element type and shape.",
	Attrs: []ir.AttrDef{attrAxis, attrExtent, attrBlock,
		{Name: "dtype", Kind: ir.AttrDType, Doc: "the element type"},
		{Name: "shape", Kind: ir.AttrDims, Doc: "the shape of the part"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		t := types.Tensor{Elem: attrs[3].(types.DType), Shape: attrs[4].(types.Shape)}
		if err := cutAxis("load_part", t, attrs[0].(int64)); err != nil {
			return nil, err
		}
		if args[0].Elem != types.String {
			return nil, broken("C2", "the path of `load_part` is a string, not %s", args[0])
		}
		return []types.Tensor{t}, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		whole, err := c.System().LoadNpy(args[0].Str)
		if err != nil {
			return nil, err
		}
		axis, b := op.Int("axis"), blocks(op)
		want := withExtent(op.Type(), axis, b.Extent)
		if got := whole.Type(); !types.Equal(got, want) {
			return nil, fmt.Errorf("%s holds %s, not %s", args[0].Str, got, want)
		}
		lo, hi := b.Of(comm(c).Rank())
		return []*ir.Array{part(whole, axis, lo, hi)}, nil
	},
	Constraints: []ir.Constraint{axisExists, {Name: "C2", Text: "the path is a string"}},
})

// SavePart writes a file together with the other ranks.
var SavePart = ir.Declare("save_part")
var _ = exchangeOp(SavePart, ir.OpDef{
	Example: "{ save_npy(\"x.npy\", reshard([1.0, 2.0], 0)); load_npy[f32, 2](\"x.npy\") } == [1.0, 2.0]",
	Arity:   2, Traits: ir.Files,
	Summary: "Writes a tensor to a .npy file, of which each rank has a part and writes it.",
	Attrs:   []ir.AttrDef{attrAxis, attrExtent, attrBlock, attrOrigin},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if args[0].Elem != types.String {
			return nil, broken("C2", "the path of `save_part` is a string, not %s", args[0])
		}
		return nil, cutAxis("save_part", args[1], attrs[0].(int64))
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		l := layout(op, args[1])
		shape := append([]int64{}, args[1].Shape...)
		shape[op.Int("axis")] = l.Extent
		whole := ir.NewArray(args[1].DType, shape...)
		all := make([]byte, len(whole.Bits)*whole.DType.Bytes())
		if err := exchange.Gather(comm(c), l, bytesOf(args[1]), all); err != nil {
			return nil, err
		}
		setBytes(whole, all)
		return nil, c.System().SaveNpy(args[0].Str, whole)
	},
	Constraints: []ir.Constraint{axisExists, {Name: "C2", Text: "the path is a string"}},
})

func withExtent(t types.Tensor, axis, n int64) types.Tensor {
	t.Shape = append(types.Shape{}, t.Shape...)
	t.Shape[axis] = types.Lit(n)
	return t
}

func blocks(op *ir.Op) exchange.Blocks {
	b := exchange.Blocks{Extent: op.Int("extent"), Block: op.Int("block")}
	if op.Def == Halo || op.Def == Start || op.Def == SavePart {
		b.Origin = op.Int("origin")
	}
	return b
}

func layout(op *ir.Op, x *ir.Array) exchange.Layout {
	return exchange.LayoutOf(op.Int("axis"), blocks(op), x.Shape, int64(x.DType.Bytes()))
}

// like is an array for a result.
func like(op *ir.Op, result int) *ir.Array {
	t := op.Results[result].Type
	shape := make([]int64, t.Rank())
	for k, d := range t.Shape {
		n, ok := d.Const()
		if !ok {
			panic("BUG: extents are known where parts are exchanged")
		}
		shape[k] = n
	}
	return ir.NewArray(t.Elem, shape...)
}

func filled(op *ir.Op, fill func(out []byte) error) ([]*ir.Array, error) {
	out := like(op, 0)
	b := bytesOf(out)
	if err := fill(b); err != nil {
		return nil, err
	}
	setBytes(out, b)
	return []*ir.Array{out}, nil
}

// bytesOf is the elements of an array as a tensor of the runtime has them.
func bytesOf(a *ir.Array) []byte {
	n := a.DType.Bytes()
	out := make([]byte, 0, n*len(a.Bits))
	for _, bits := range a.Bits {
		for range n {
			out = append(out, byte(bits))
			bits >>= 8
		}
	}
	return out
}

func setBytes(a *ir.Array, b []byte) {
	n := a.DType.Bytes()
	for i := range a.Bits {
		a.Bits[i] = 0
		for k := n - 1; k >= 0; k-- {
			a.Bits[i] = a.Bits[i]<<8 | uint64(b[i*n+k])
		}
	}
}

package exchange

import (
	"healc/ir"
	"healc/lang/types"
	"healc/runtime/exchange"
)

// The operations by which a loop goes on where another run of the program has come to (passes/checkpoint).

// Keeper keeps the states of loops for runs to come. A system may be one.
type Keeper interface {
	// ResumeLoop gives the step of a loop that another run has come to, and the state there; false where there is none.
	ResumeLoop(loop int64, want []types.Tensor) (step int64, state []*ir.Array, ok bool, err error)
	// KeepLoop keeps the state of a loop after so many steps.
	KeepLoop(loop, step int64, state []*ir.Array) error
}

var stateAttrs = []ir.AttrDef{
	{Name: "loop", Kind: ir.AttrInt, Doc: "which of the loops of the program"},
	{Name: "axes", Kind: ir.AttrInts, Optional: true, Doc: "the axis along which each value is cut, -1 for none"},
	{Name: "extents", Kind: ir.AttrInts, Optional: true, Doc: "the extent of that axis, of all ranks together"},
	{Name: "blocks", Kind: ir.AttrInts, Optional: true, Doc: "how many elements of it a rank has"},
}

// Resume is where a loop begins.
var Resume = ir.Declare("resume_loop")
var _ = ir.Define(Resume, ir.OpDef{
	Class: ir.Host, Arity: ir.Variadic, Traits: ir.Effect, Sharding: ir.ShardState,
	Summary: "The number of steps of a loop that another run has done, and the state after these; 0, and the " +
		"operands, where there is none.",
	Attrs: stateAttrs,
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		return append([]types.Tensor{types.Scalar(types.I32)}, args...), nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		step, state := int64(0), args
		if k, ok := c.System().(Keeper); ok {
			var want []types.Tensor
			for i, a := range args {
				t := a.Type()
				if axis, b := Part(op, i); axis >= 0 {
					t = withExtent(t, axis, b.Extent)
				}
				want = append(want, t)
			}
			n, kept, ok, err := k.ResumeLoop(op.Int("loop"), want)
			if err != nil {
				return nil, err
			}
			if ok {
				step, state = n, kept
				for i := range state {
					if axis, b := Part(op, i); axis >= 0 {
						lo, hi := b.Of(comm(c).Rank())
						state[i] = part(state[i], axis, lo, hi)
					}
				}
			}
		}
		return append([]*ir.Array{{DType: types.I32, Bits: []uint64{uint64(uint32(step))}}}, state...), nil
	},
	NoGrad: "a state that is read is a constant",
})

// Keep keeps a state.
var Keep = ir.Declare("keep_loop")
var _ = ir.Define(Keep, ir.OpDef{
	Class: ir.Host, Arity: ir.Variadic, Traits: ir.Effect, Sharding: ir.ShardState,
	Summary: "Keeps the state of a loop after so many steps, the first operand, for a run to come.",
	Attrs:   stateAttrs,
	Infer: func(args []types.Tensor, _ ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		if len(args) == 0 || !types.Equal(args[0], types.Scalar(types.I32)) {
			return nil, broken("C1", "the number of steps of `keep_loop` is an i32")
		}
		return nil, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
		k, ok := c.System().(Keeper)
		if !ok {
			return nil, nil
		}
		state := append([]*ir.Array{}, args[1:]...)
		for i, a := range state {
			axis, b := Part(op, i)
			if axis < 0 {
				continue
			}
			shape := append([]int64{}, a.Shape...)
			shape[axis] = b.Extent
			whole := ir.NewArray(a.DType, shape...)
			all := make([]byte, len(whole.Bits)*a.DType.Bytes())
			l := exchange.LayoutOf(axis, b, a.Shape, int64(a.DType.Bytes()))
			if err := exchange.Gather(comm(c), l, bytesOf(a), all); err != nil {
				return nil, err
			}
			setBytes(whole, all)
			state[i] = whole
		}
		return nil, k.KeepLoop(op.Int("loop"), int64(int32(args[0].Bits[0])), state)
	},
	NoGrad:      "writing has no value",
	Constraints: []ir.Constraint{{Name: "C1", Text: "the number of steps is an i32 scalar"}},
})

// Part says how value i of a state is cut: along no axis, -1, where every rank has all of it.
func Part(op *ir.Op, i int) (axis int64, b exchange.Blocks) {
	if len(op.Ints("axes")) == 0 {
		return -1, b
	}
	return op.Ints("axes")[i], exchange.Blocks{Extent: op.Ints("extents")[i], Block: op.Ints("blocks")[i]}
}

// part is the elements of an axis from lo on and before hi.
func part(a *ir.Array, axis, lo, hi int64) *ir.Array {
	l := exchange.LayoutOf(axis, exchange.Blocks{Extent: a.Shape[axis]}, a.Shape, 1)
	shape := append([]int64{}, a.Shape...)
	shape[axis] = hi - lo
	out := &ir.Array{DType: a.DType, Shape: shape}
	for o := range l.Outer {
		row := a.Bits[o*l.Extent*l.Inner:]
		out.Bits = append(out.Bits, row[lo*l.Inner:hi*l.Inner]...)
	}
	return out
}

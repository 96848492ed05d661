package ops

import (
	"fmt"
	"slices"
	"strings"

	"healc/ir"
	"healc/ir/scalar"
	"healc/lang/diag"
	"healc/lang/types"
)

// Stop ends the program for some values of the shape parameters. It reads no tensor, so that it can stand before
// whatever has to be left out then: code for any shape has it before operations whose results cannot be.
var Stop = ir.Declare("stop")
var _ = ir.Define(Stop, ir.OpDef{
	Class: ir.Reindex, Traits: ir.MayFail,
	Fails: func(o *ir.Op) bool {
		return !slices.ContainsFunc(o.Dims("where"), func(d types.Dim) bool {
			n, known := d.Const()
			return known && n < 1
		})
	},
	Summary: "True, or the program stops with the message, where each of the numbers is at least 1.",
	Attrs: []ir.AttrDef{
		{Name: "where", Kind: ir.AttrDims, Doc: "the numbers"},
		{Name: "says", Kind: ir.AttrStr, Doc: "the message"},
		{Name: "shows", Kind: ir.AttrDims, Doc: "what stands in the message for {}"},
	},
	Infer: func(_ []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		says, _ := attrs[1].(string)
		if shows, _ := attrs[2].(types.Shape); strings.Count(says, "{}") != len(shows) {
			return nil, broken("C1", "the message has %s, and %d to show",
				types.Count(strings.Count(says, "{}"), "place"), len(shows))
		}
		return []types.Tensor{types.Scalar(types.Bool)}, nil
	},
	Eval: func(c ir.EvalContext, op *ir.Op, _ []*ir.Array) ([]*ir.Array, error) {
		if !slices.ContainsFunc(extents(c, op.Dims("where")), func(n int64) bool { return n < 1 }) {
			return nil, c.Fail(op, scalar.CheckRequire)
		}
		return one(scalarArray(types.Bool, 1))
	},
	Element: func(p ir.Pull, op *ir.Op, _ int, _ []scalar.Ref) scalar.Ref {
		e := p.E()
		goes := e.Bool(false)
		for _, d := range op.Dims("where") {
			goes = e.Or(goes, e.Lt(p.Extent(d), e.Int(types.I64, 1)))
		}
		e.Check(scalar.CheckRequire, goes)
		return e.Bool(true)
	},
	NoGrad:      "extents are integers",
	Constraints: []ir.Constraint{{Name: "C1", Text: "the message has a place for each number that it shows"}},
	Decls:       "fn tail[N](x: f32[N]) -> f32[N - 1] = x[1..]",
	Example:     "tail([1.0, 2.0]) == [2.0]",
})

// filled is a message with numbers in the place of each {}, as far as they are known.
func filled(says string, shows types.Shape) string {
	for _, d := range shows {
		n, known := d.Const()
		if !known {
			return says
		}
		says = strings.Replace(says, "{}", fmt.Sprint(n), 1)
	}
	return says
}

// Note [Shapes that do not fit]: with the values of its shape parameters an operation can break a rule, such as a slice
// that leaves its axis. Its result has no type then, so nothing behind it in its block has a meaning, and what runs it
// stops there. Where it stands in a region, an arm or a lambda, that may never be. So the block ends there, in
// an operation that stops with the message of the rule, and zeros of the types that the block has to give. Where a
// block gives nothing, or something that is no number, the error is that of what is around it.

// Unfit is an operation that breaks a rule.
type Unfit struct {
	At   int // in the block
	Span diag.Span
	Err  error // of the rule
}

// Recheck applies every type rule of a block again, whose shape parameters have got values. The result is the operation
// at which the block stops whenever it runs, nil when there is none; regions that would stop so do it when they run.
// message is the whole text of an error, with {} for what it shows.
func Recheck(b *ir.Block, message func(error) (string, types.Shape)) *Unfit {
	for i, op := range b.Ops {
		for _, r := range op.Regions {
			bad := Recheck(r, message)
			if bad == nil {
				continue
			}
			if says, shows := message(bad.Err); !StopAt(r, bad.At, bad.Span, says, shows) {
				bad.At = i
				return bad
			}
		}
		ts, err := op.Def.Infer(ir.ArgTypes(op.Args), op.Attrs, op.Regions)
		for k := range ts {
			if err == nil && !types.Equal(ts[k], op.Results[k].Type) {
				err = fmt.Errorf("%s gives %s and not %s", op.Def.Name, ts[k], op.Results[k].Type)
			}
		}
		if err != nil {
			return &Unfit{i, op.Span, err}
		}
	}
	return nil
}

// StopAt lets a block end in place of its operation number i, with a message that has shows in the places of {}. It
// reports whether the block can: see Note [Shapes that do not fit].
func StopAt(b *ir.Block, i int, span diag.Span, message string, shows types.Shape) bool {
	for _, y := range b.Yields {
		if y.Type.Elem == types.String || ir.CheckExtents(y.Type) != nil {
			return false
		}
	}
	if len(b.Yields) == 0 {
		return false
	}
	end := &ir.Block{}
	at := &ir.Builder{Block: end, Span: span}
	at.Emit(Stop, ir.A{"where": types.Shape{types.Lit(1)}, "says": message, "shows": append(types.Shape{}, shows...)})
	yields := make([]*ir.Value, len(b.Yields))
	for k, y := range b.Yields {
		yields[k] = emitZeros(at, y.Type)
	}
	b.Ops = append(b.Ops[:i:i], end.Ops...)
	b.Yields = yields
	return true
}

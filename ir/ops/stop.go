package ops

import (
	"fmt"
	"slices"
	"strings"

	"healc/ir"
	"healc/ir/scalar"
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

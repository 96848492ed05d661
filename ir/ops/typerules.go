package ops

import (
	"fmt"

	"healc/ir"
	"healc/lang/types"
)

// broken returns the error of constraint c.
func broken(c, format string, args ...any) *types.RuleError {
	return &types.RuleError{Constraint: c, Msg: fmt.Sprintf(format, args...)}
}

// A dtypeSet is a set of element types with its name for messages.
type dtypeSet struct {
	name string // "number"
	has  func(types.DType) bool
}

var (
	numbers  = dtypeSet{"number", types.DType.IsNumber}
	floats   = dtypeSet{"float", types.DType.IsFloat}
	integers = dtypeSet{"integer", types.DType.IsInt}
	bools    = dtypeSet{"bool", func(d types.DType) bool { return d == types.Bool }}
	computed = dtypeSet{"number or bool", types.DType.Computes}
	elements = dtypeSet{"number or bool", types.DType.Converts}
	indices  = dtypeSet{"i32 or i64", func(d types.DType) bool { return d == types.I32 || d == types.I64 }}
)

// requireIn checks that t's elements are in the set.
func requireIn(c, what string, s dtypeSet, t types.Tensor) error {
	if s.has(t.Elem) {
		return nil
	}
	err := broken(c, "%s needs a %s, not %s", what, s.name, t)
	if s.name[0] == 'i' {
		err = broken(c, "%s needs an %s, not %s", what, s.name, t)
	}
	switch {
	case t.Elem.IsStored():
		err.Msg, err.Stored = what+" does not compute with "+t.Elem.String()+", in which elements are only stored", true
		err.Help = "convert it first: `x as " + t.Elem.ComputesAs().String() + "`"
	case s.name == floats.name && t.Elem.IsInt():
		err.Help = "convert it first: `x as f32`"
	case s.name == numbers.name && t.Elem == types.Bool:
		err.Help = "convert it first: `x as i32`"
	}
	return err
}

// requireSameDType checks that all operands have one element type.
func requireSameDType(c, what string, args ...types.Tensor) error {
	for _, a := range args[1:] {
		if a.Elem != args[0].Elem {
			err := broken(c, "operands of %s differ in element type: %s and %s", what, args[0].Elem, a.Elem)
			if a.Elem.IsNumber() && args[0].Elem.IsNumber() {
				err.Help = fmt.Sprintf("convert one of them: `x as %s`", args[0].Elem)
			}
			return err
		}
	}
	return nil
}

// requireSameShape checks that all operands have one shape, and marks the first axis from the last that
// differs.
func requireSameShape(c, what string, args ...types.Tensor) error {
	for _, a := range args[1:] {
		if err := sameShape(c, "operands of "+what+" differ in shape", args[0].Shape, a.Shape); err != nil {
			return err
		}
	}
	return nil
}

func sameShape(c, msg string, a, b types.Shape) error {
	for i := 1; i <= min(len(a), len(b)); i++ {
		if x, y := a[len(a)-i], b[len(b)-i]; !x.Equal(y) {
			return &types.RuleError{
				Constraint: c, Msg: msg, Shapes: []types.Shape{a, b}, Axis: i,
				Why: fmt.Sprintf("%s and %s differ", x, y),
			}
		}
	}
	if len(a) != len(b) {
		return &types.RuleError{
			Constraint: c, Msg: msg, Shapes: []types.Shape{a, b}, Axis: min(len(a), len(b)) + 1,
			Why: fmt.Sprintf("the ranks are %d and %d", len(a), len(b)),
		}
	}
	return nil
}

// requireAxes checks C2 of what has axes: they are distinct, ascending and in [0, rank).
func requireAxes(what string, axes []int64, rank int) error {
	for i, a := range axes {
		if a < 0 || a >= int64(rank) {
			return broken("C2", "axis %d is out of range for %s of rank %d", a, what, rank)
		}
		if i > 0 && axes[i-1] >= a {
			return broken("C2", "the axes of %s are ascending and distinct, not %v", what, axes)
		}
	}
	return nil
}

// Rules for OpDef.Reads.

func readsAll(*ir.Op, int) bool { return true }

// readsPositions is the rule where the operands after the first are positions in it.
func readsPositions(op *ir.Op, i int) bool { return i > 0 && op.Type().Shape.NeverEmpty() }

// readsAfterStarts is the rule of what goes through operands behind its starts.
func readsAfterStarts(op *ir.Op, i int) bool { return i >= Starts(op) || op.Type().Shape.NeverEmpty() }

// readsForAny is the rule of operations that evaluate their operands if there is any element to compute.
func readsForAny(op *ir.Op, _ int) bool {
	for _, r := range op.Results {
		if r.Type.Shape.NeverEmpty() {
			return true
		}
	}
	return false
}

// constantOf returns the constant that v is, seen through views, which only repeat or move elements.
func constantOf(v *ir.Value) *ir.Array {
	for v.Def != nil && v.Def.Def.Traits.Has(ir.View) {
		v = v.Def.Args[0]
	}
	if v.Def == nil || v.Def.Def.Name != "const" {
		return nil
	}
	return v.Def.Array("value")
}

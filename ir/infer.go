package ir

import (
	"fmt"
	"math"
	"math/bits"

	"healc/lang/types"
)

// GeneralConstraints are the rules of every operation. The table applies them around each type rule, so
// that a rule sees only operands, attributes and regions of the number and kind its entry declares.
var GeneralConstraints = []Constraint{
	{"G1", "the operands, attributes and regions are those that the table lists"},
	{"G2", "every literal extent of a result is at least 0 and below 2^31"},
	{"G3", "a result takes less than 2^63 bytes"},
}

// guarded wraps the type rule of d with the general constraints.
func guarded(d *OpDef) func([]types.Tensor, Attrs, []*Block) ([]types.Tensor, error) {
	infer := d.Infer
	return func(args []types.Tensor, attrs Attrs, regions []*Block) ([]types.Tensor, error) {
		if err := d.wellFormed(args, attrs, regions); err != nil {
			return nil, err
		}
		out, err := infer(args, attrs, regions)
		if err != nil {
			return nil, err
		}
		for _, t := range out {
			if err := CheckExtents(t); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
}

func (d *OpDef) wellFormed(args []types.Tensor, attrs Attrs, regions []*Block) error {
	if d.Arity != Variadic && len(args) != d.Arity {
		return broken("G1", "%s takes %s, not %d", d.Name, types.Count(d.Arity, "operand"), len(args))
	}
	if d.Regions != Variadic && len(regions) != d.Regions {
		return broken("G1", "%s takes %s, not %d", d.Name, types.Count(d.Regions, "region"), len(regions))
	}
	if len(attrs) != len(d.Attrs) {
		return broken("G1", "%s takes %s, not %d", d.Name, types.Count(len(d.Attrs), "attribute"), len(attrs))
	}
	for i, a := range d.Attrs {
		if attrs[i] == nil && a.Optional {
			continue
		}
		if !a.Kind.holds(attrs[i]) {
			return broken("G1", "attribute %s of %s is missing or has the wrong kind", a.Name, d.Name)
		}
	}
	for _, t := range args {
		if t.Elem == types.Invalid || t.Elem == types.String && !t.IsScalar() {
			return broken("G1", "an operand of %s has no type", d.Name)
		}
	}
	return nil
}

// holds reports whether v has the Go type of the attribute kind.
func (k AttrKind) holds(v any) bool {
	ok := false
	switch k {
	case AttrInt:
		_, ok = v.(int64)
	case AttrInts:
		_, ok = v.([]int64)
	case AttrFlag:
		_, ok = v.(bool)
	case AttrStr:
		_, ok = v.(string)
	case AttrDType:
		var t types.DType
		t, ok = v.(types.DType)
		ok = ok && t != types.Invalid && t <= types.String
	case AttrDim:
		_, ok = v.(types.Dim)
	case AttrDims:
		_, ok = v.(types.Shape)
	case AttrArray:
		var a *Array
		a, ok = v.(*Array)
		ok = ok && a != nil
	case AttrTypes:
		_, ok = v.([]types.Tensor)
	}
	return ok
}

// CheckExtents checks the limits of language.md section 2 as far as the extents are literals: each in
// [0, 2^31), and the byte size below 2^63. The error is a *types.RuleError (G2, G3).
func CheckExtents(t types.Tensor) error {
	size, literal, empty := uint64(max(t.Elem.Bytes(), 1)), true, false
	for i, d := range t.Shape {
		n, ok := d.Const()
		if !ok {
			literal = false
			continue
		}
		if n < 0 || n > types.MaxExtent {
			return &types.RuleError{
				Constraint: "G2", Msg: fmt.Sprintf("extent %d is out of range", n),
				Shapes: []types.Shape{t.Shape}, Axis: len(t.Shape) - i,
				Why: fmt.Sprintf("an extent is at least 0 and at most %d", int64(types.MaxExtent)),
			}
		}
		empty = empty || n == 0
	}
	if !literal || empty {
		return nil
	}
	for _, d := range t.Shape {
		n, _ := d.Const()
		hi, lo := bits.Mul64(size, uint64(n))
		if hi != 0 || lo > math.MaxInt64 {
			return &types.RuleError{
				Constraint: "G3", Msg: fmt.Sprintf("%s takes 2^63 bytes or more", t), Shapes: []types.Shape{t.Shape},
			}
		}
		size = lo
	}
	return nil
}

// broken returns the error of constraint c.
func broken(c, format string, args ...any) *types.RuleError {
	return &types.RuleError{Constraint: c, Msg: fmt.Sprintf(format, args...)}
}

// Spelling is the operation as programs write it, or its name when it has no spelling of its own. Messages
// to the user speak of operations by it.
func (d *OpDef) Spelling() string {
	if d.Surface != "" {
		return d.Surface
	}
	return d.Name
}

// quoted is the spelling for the middle of a message.
func (d *OpDef) quoted() string {
	if d.Surface != "" {
		return "`" + d.Surface + "`"
	}
	return d.Name
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
	elements = dtypeSet{"number or bool", func(d types.DType) bool { return d == types.Bool || d.IsNumber() }}
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

// provablyPositive reports that d is at least 1 whatever its parameters are, as far as the signs of its
// coefficients show it.
func provablyPositive(d types.Dim) bool {
	positive := false
	for _, t := range d.Terms() {
		if t.Coef < 0 {
			return false
		}
		positive = positive || len(t.Vars) == 0
	}
	return positive
}

package ir

import (
	"fmt"
	"math"
	"math/bits"
	"strconv"

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
		return malformed("%s takes %s, not %d", d.Name, types.Count(d.Arity, "operand"), len(args))
	}
	if d.Regions != Variadic && len(regions) != d.Regions {
		return malformed("%s takes %s, not %d", d.Name, types.Count(d.Regions, "region"), len(regions))
	}
	if len(attrs) != len(d.Attrs) {
		return malformed("%s takes %s, not %d", d.Name, types.Count(len(d.Attrs), "attribute"), len(attrs))
	}
	for i, a := range d.Attrs {
		if attrs[i] == nil && a.Optional {
			continue
		}
		if !a.Kind.holds(attrs[i]) {
			return malformed("attribute %s of %s is missing or has the wrong kind", a.Name, d.Name)
		}
	}
	for _, t := range args {
		if t.Elem == types.Invalid || t.Elem == types.String && !t.IsScalar() {
			return malformed("an operand of %s has no type", d.Name)
		}
	}
	return nil
}

// malformed returns the error of G1.
func malformed(format string, args ...any) *types.RuleError {
	return &types.RuleError{Constraint: "G1", Msg: fmt.Sprintf(format, args...)}
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
		ok = ok && (t.Converts() || t == types.String)
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

// NoExtent is the error of an extent that is out of range.
func NoExtent(n string) *types.RuleError {
	return &types.RuleError{
		Constraint: "G2", Msg: "extent " + n + " is out of range",
		Why: fmt.Sprintf("an extent is at least 0 and at most %d", int64(types.MaxExtent)),
	}
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
			err := NoExtent(strconv.FormatInt(n, 10))
			err.Shapes, err.Axis = []types.Shape{t.Shape}, len(t.Shape)-i
			return err
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

package types

import (
	"strconv"
	"strings"
)

// Type is the type of a value: a Tensor (a scalar has rank 0) or a Tuple (unit is the empty one).
type Type interface {
	String() string
	isType()
}

// Shape lists the extents of a tensor, outermost axis first.
type Shape []Dim

// Tensor is an element type and a shape: f32[M,N]. A scalar is a tensor of rank 0. Only declared types say
// a layout, a place and a sharding that are not the default; see Bare.
type Tensor struct {
	Elem     DType
	Shape    Shape    // of the whole tensor, however it is sharded
	Layout   Layout   `json:",omitempty"`
	Place    Place    `json:",omitempty"`
	Sharding Sharding `json:",omitempty"`
}

// Tuple is several values in order; the empty tuple is unit.
type Tuple struct{ Elems []Type }

// Never is the type of an expression that gives no value, because it always leaves the function.
var Never Type = never{}

type never struct{}

func (never) String() string { return "never" }
func (never) isType()        {}

func (Tensor) isType() {}
func (Tuple) isType()  {}

// Unit is the type of an expression that is there for its effect.
var Unit = Tuple{}

// ErrorType is the type of an expression that already failed; it silences follow-up errors.
var ErrorType Type = Tensor{Elem: Invalid}

// Scalar returns the type of a single element of type d.
func Scalar(d DType) Tensor { return Tensor{Elem: d} }

// Of returns the tensor type with literal extents.
func Of(d DType, extents ...int64) Tensor {
	t := Tensor{Elem: d}
	for _, n := range extents {
		t.Shape = append(t.Shape, Lit(n))
	}
	return t
}

// Rank is the number of axes.
func (t Tensor) Rank() int { return len(t.Shape) }

// IsScalar reports rank 0.
func (t Tensor) IsScalar() bool { return len(t.Shape) == 0 }

// String prints source form: f32[M, N], f32 for a scalar, f32[N] in col_major on device, f32[N] sharded(0).
func (t Tensor) String() string {
	s := t.Elem.String()
	if len(t.Shape) > 0 {
		s += t.Shape.String()
	}
	if t.Layout != RowMajor {
		s += " in " + t.Layout.String()
	}
	if t.Place != OnHost {
		s += " on " + t.Place.String()
	}
	if t.Sharding != Replicated {
		s += " sharded(" + strconv.Itoa(t.Sharding.Axis()) + ")"
	}
	return s
}

// String prints [M, N].
func (s Shape) String() string {
	parts := make([]string, len(s))
	for i, d := range s {
		parts[i] = d.String()
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// Equal reports whether the shapes agree axis by axis.
func (s Shape) Equal(o Shape) bool {
	if len(s) != len(o) {
		return false
	}
	for i := range s {
		if !s[i].Equal(o[i]) {
			return false
		}
	}
	return true
}

// NeverEmpty reports that every extent is at least 1 whatever the parameters are, as far as Dim.AlwaysPositive knows.
func (s Shape) NeverEmpty() bool {
	for _, d := range s {
		if !d.AlwaysPositive() {
			return false
		}
	}
	return true
}

// Ints returns the extents when all of them are literals.
func (s Shape) Ints() ([]int64, bool) {
	out := make([]int64, len(s))
	for i, d := range s {
		n, ok := d.Const()
		if !ok {
			return nil, false
		}
		out[i] = n
	}
	return out, true
}

// Elems returns the number of elements as a dim.
func (s Shape) Elems() (Dim, error) {
	n := Lit(1)
	for _, d := range s {
		var err error
		if n, err = n.Mul(d); err != nil {
			return Dim{}, err
		}
	}
	return n, nil
}

// Subst replaces parameters in every extent.
func (s Shape) Subst(bind map[string]Dim) (Shape, error) {
	if len(bind) == 0 || len(s) == 0 {
		return s, nil
	}
	out := make(Shape, len(s))
	for i, d := range s {
		var err error
		if out[i], err = d.Subst(bind); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// String prints (A, B), and unit for the empty tuple.
func (t Tuple) String() string {
	if len(t.Elems) == 0 {
		return "unit"
	}
	parts := make([]string, len(t.Elems))
	for i, e := range t.Elems {
		parts[i] = e.String()
	}
	return "(" + strings.Join(parts, ", ") + ")"
}

// Equal reports whether a and b are the same type. A failed type equals every type.
func Equal(a, b Type) bool {
	if IsError(a) || IsError(b) {
		return true
	}
	switch a := a.(type) {
	case never:
		return b == Never
	case Tensor:
		b, ok := b.(Tensor)
		return ok && a.Elem == b.Elem && a.Layout == b.Layout && a.Place == b.Place && a.Sharding == b.Sharding &&
			a.Shape.Equal(b.Shape)
	case Tuple:
		b, ok := b.(Tuple)
		if !ok || len(a.Elems) != len(b.Elems) {
			return false
		}
		for i := range a.Elems {
			if !Equal(a.Elems[i], b.Elems[i]) {
				return false
			}
		}
		return true
	}
	return false
}

// IsError reports whether t is the type of an expression that already failed.
func IsError(t Type) bool {
	x, ok := t.(Tensor)
	return t == nil || ok && x.Elem == Invalid
}

// Subst replaces shape parameters everywhere in t.
func Subst(t Type, bind map[string]Dim) (Type, error) {
	switch t := t.(type) {
	case Tensor:
		s, err := t.Shape.Subst(bind)
		t.Shape = s
		return t, err
	case Tuple:
		out := Tuple{make([]Type, len(t.Elems))}
		for i, e := range t.Elems {
			var err error
			if out.Elems[i], err = Subst(e, bind); err != nil {
				return nil, err
			}
		}
		return out, nil
	}
	return t, nil
}

// Map is t with f of each tensor in the place of it, from left to right.
func Map(t Type, f func(Tensor) Tensor) Type {
	switch t := t.(type) {
	case Tensor:
		return f(t)
	case Tuple:
		if len(t.Elems) == 0 {
			return t
		}
		out := Tuple{make([]Type, len(t.Elems))}
		for i, e := range t.Elems {
			out.Elems[i] = Map(e, f)
		}
		return out
	}
	return t
}

// Flatten lists the tensors of t from left to right: what a tuple becomes in the IR.
func Flatten(t Type) []Tensor {
	switch t := t.(type) {
	case Tensor:
		return []Tensor{t}
	case Tuple:
		var out []Tensor
		for _, e := range t.Elems {
			out = append(out, Flatten(e)...)
		}
		return out
	}
	return nil
}

// ElemOf is the element type of a tensor, Invalid for every other type.
func ElemOf(t Type) DType {
	if x, ok := t.(Tensor); ok {
		return x.Elem
	}
	return Invalid
}

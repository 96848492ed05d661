package ir

import (
	"healc/lang/diag"
	"healc/lang/types"
)

// Module is a list of functions. The order is that of the source.
type Module struct {
	Name  string
	Funcs []*Func
}

// Func returns the function called name, or nil.
func (m *Module) Func(name string) *Func {
	for _, f := range m.Funcs {
		if f.Name == name {
			return f
		}
	}
	return nil
}

// Home is the file that the module is named after, when functions of it stand there: lines of other files are named
// with these. It is empty for a module with a name of its own.
func (m *Module) Home() string {
	for _, f := range m.Funcs {
		if f.Span.Valid() && f.Span.File.Name == m.Name {
			return m.Name
		}
	}
	return ""
}

// Func is one function. Dims are its shape parameters; they may stand in any type of the body.
type Func struct {
	Name    string
	Dims    []string
	Body    *Block // its Params are the parameters, its Yields the results
	Results []types.Tensor
	Updates []int64 // parameters that the caller sees changed: the last results are their new values, in this order
	Public  bool
	IO      bool
	Span    diag.Span
}

// Params are the parameters.
func (f *Func) Params() []*Value { return f.Body.Params }

// Block is a list of operations in order. A value is visible after its definition, in the block and in
// the regions below it. Operations with effects keep their order; all others depend on operands alone.
type Block struct {
	Params []*Value
	Ops    []*Op
	Yields []*Value // what the block returns
}

// Value is the result of an operation or the parameter of a block.
type Value struct {
	Type  types.Tensor
	Def   *Op    // nil for a block parameter
	Index int    // which result of Def, or which parameter
	Name  string // of a parameter, for the printer; printed only where it is unique
	Span  diag.Span
}

// Op is one use of an operation of the table.
type Op struct {
	Def     *OpDef
	Args    []*Value
	Attrs   Attrs
	Regions []*Block
	Results []*Value
	Span    diag.Span
}

// Result is the only result of an operation that has one.
func (o *Op) Result() *Value { return o.Results[0] }

// Type is the type of the only result.
func (o *Op) Type() types.Tensor { return o.Results[0].Type }

// Attrs are the attributes of an operation, in the order of OpDef.Attrs; nil where one is not given.
// The Go type of each is fixed by its AttrKind.
type Attrs []any

// Attr returns the attribute called name; it panics when the table has none of that name.
func (o *Op) Attr(name string) any { return o.Attrs[o.Def.attrIndex(name)] }

// Int returns an integer attribute, 0 when it is not given.
func (o *Op) Int(name string) int64 { v, _ := o.Attr(name).(int64); return v }

// Ints returns a list of integers.
func (o *Op) Ints(name string) []int64 { v, _ := o.Attr(name).([]int64); return v }

// Flag returns a bool attribute, false when it is not given.
func (o *Op) Flag(name string) bool { v, _ := o.Attr(name).(bool); return v }

// Str returns a string attribute.
func (o *Op) Str(name string) string { v, _ := o.Attr(name).(string); return v }

// DType returns an element type attribute.
func (o *Op) DType(name string) types.DType { v, _ := o.Attr(name).(types.DType); return v }

// Dim returns an extent attribute.
func (o *Op) Dim(name string) types.Dim { v, _ := o.Attr(name).(types.Dim); return v }

// Dims returns a list of extents.
func (o *Op) Dims(name string) types.Shape { v, _ := o.Attr(name).(types.Shape); return v }

// Types returns a list of types.
func (o *Op) Types(name string) []types.Tensor { v, _ := o.Attr(name).([]types.Tensor); return v }

// Array returns constant data.
func (o *Op) Array(name string) *Array { v, _ := o.Attr(name).(*Array); return v }

// AttrKind is the kind of an attribute; the comment names its Go type.
type AttrKind uint8

// The kinds of attribute.
const (
	AttrInt   AttrKind = iota // int64
	AttrInts                  // []int64
	AttrFlag                  // bool
	AttrStr                   // string
	AttrDType                 // types.DType
	AttrDim                   // types.Dim
	AttrDims                  // types.Shape
	AttrArray                 // *Array
	AttrTypes                 // []types.Tensor
)

// Array is a tensor for the reference evaluator and for constants: every element is its raw bits,
// zero-extended, in row-major order; bool is 0 or 1. A string scalar has Str instead.
type Array struct {
	DType types.DType
	Shape []int64
	Bits  []uint64
	Str   string
}

// NewArray returns an array of zeros.
func NewArray(d types.DType, shape ...int64) *Array {
	n := int64(1)
	for _, s := range shape {
		n *= s
	}
	if n == 1 {
		a := NewScalar(d, 0)
		a.Shape = shape
		return a
	}
	return &Array{DType: d, Shape: shape, Bits: make([]uint64, n)}
}

// NewScalar returns an array of no axes. It and its element are one piece of memory: an interpreter makes millions.
func NewScalar(d types.DType, bits uint64) *Array {
	a := &struct {
		Array
		element [1]uint64
	}{Array: Array{DType: d, Shape: []int64{}}, element: [1]uint64{bits}}
	a.Bits = a.element[:]
	return &a.Array
}

// Type returns the array's type.
func (a *Array) Type() types.Tensor { return types.Of(a.DType, a.Shape...) }

// Len is the number of elements.
func (a *Array) Len() int64 { return int64(len(a.Bits)) }

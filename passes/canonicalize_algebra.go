package passes

import (
	"math"

	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
)

// addAlgebraRules registers the rules about arithmetic. What keeps every bit is less than what a textbook
// has; each rule says why it does. Left out on purpose: x + 0.0 (it makes -0 into +0), 0.0 - x and x - x
// for floats (signs of zero, NaN, infinity), x * 0.0 (the same), reassociation of floats.
func addAlgebraRules() {
	addRule("a long transform is two of shorter lines", splitTransform, ops.FourierRows)
	addRule("constant operand second", constantSecond, commutative()...)
	addRule("operation of repeated elements", beforeBroadcast, withScalarProgram()...)
	addRule("operation of reshaped elements", beforeReshape, withScalarProgram()...)
	addRule("neutral operand", neutralOperand, ops.Add, ops.Sub, ops.Mul, ops.Div, ops.And, ops.Or)
	addRule("absorbing operand", absorbingOperand, ops.Mul, ops.And, ops.Or)
	addRule("both operands are the same", sameOperands, ops.Sub, ops.Min, ops.Max, ops.And, ops.Or)
	addRule("division by a power of two is a product", divideByPower, ops.Div)
	addRule("inverse of itself", involution, ops.Neg, ops.Not)
	addRule("sign does not matter", absOfSign, ops.Abs)
	addRule("done already", idempotent, ops.Abs, ops.Relu, ops.Floor, ops.Ceil, ops.Round, ops.Trunc)
	addRule("choice is known", knownSelect, ops.Select)
	addRule("what is required holds", knownRequire, ops.Require)
	addRule("cast of an exact cast", castOfCast, ops.Cast)
}

func commutative() (out []*ir.OpDef) {
	for _, d := range ir.Ops() {
		if d.Class == ir.Pointwise && d.Arity == 2 && d.Traits.Has(ir.Commutative) {
			out = append(out, d)
		}
	}
	return out
}

func withScalarProgram() (out []*ir.OpDef) {
	for _, d := range ir.Ops() {
		if d.Class == ir.Pointwise && d.Scalar != nil {
			out = append(out, d)
		}
	}
	return out
}

// constantSecond: commutative operations give the same bits either way.
func constantSecond(c *canonicalizer, op *ir.Op) []*ir.Value {
	if !isConstant(op.Args[0]) || isConstant(op.Args[1]) {
		return nil
	}
	return one(c.emit(op, op.Def, nil, op.Args[1], op.Args[0]))
}

func isConstant(v *ir.Value) bool {
	if s, ok := splat(v); ok {
		v = s
	}
	_, ok := array(v)
	return ok
}

// beforeBroadcast: a pointwise operation of broadcasts from one shape (scalars broadcast to every shape)
// is the broadcast of the operation, which computes each element once. Not for operations that can fail:
// the result may have no elements where the operands have some.
func beforeBroadcast(c *canonicalizer, op *ir.Op) []*ir.Value {
	if op.Type().IsScalar() || op.MayFail() {
		return nil
	}
	from, shape, ok := through(op, ops.Broadcast)
	if !ok {
		return nil
	}
	for i, f := range from {
		if f.Type.IsScalar() && shape != nil {
			from[i] = c.emit(op, ops.Broadcast, ir.A{"shape": shape}, f)
		}
	}
	v := c.emit(op, op.Def, named(op), from...)
	return one(c.emit(op, ops.Broadcast, ir.A{"shape": op.Type().Shape}, v))
}

// named is the attributes of op by name.
func named(op *ir.Op) ir.A {
	attrs := ir.A{}
	for i, d := range op.Def.Attrs {
		attrs[d.Name] = op.Attrs[i]
	}
	return attrs
}

// through looks through the operands of a pointwise operation that are results of a view, all from one shape, at what
// they are views of; for an operand that has one value everywhere it gives that, a scalar. The shape is nil when all
// are such.
func through(op *ir.Op, view *ir.OpDef) (from []*ir.Value, shape types.Shape, ok bool) {
	from = make([]*ir.Value, len(op.Args))
	for i, a := range op.Args {
		if s, ok := splat(a); ok {
			from[i] = s
			continue
		}
		v := definedBy(a, view)
		if v == nil || shape != nil && !shape.Equal(v.Args[0].Type.Shape) {
			return nil, nil, false
		}
		from[i], shape = v.Args[0], v.Args[0].Type.Shape
	}
	return from, shape, true
}

// beforeReshape: a pointwise operation of reshapes from one shape is the reshape of the operation. There
// are as many elements before and after, so that failures are the same too.
func beforeReshape(c *canonicalizer, op *ir.Op) []*ir.Value {
	from, shape, ok := through(op, ops.Reshape)
	if !ok || shape == nil {
		return nil
	}
	for i, f := range from {
		if f.Type.IsScalar() && len(shape) > 0 {
			from[i] = c.emit(op, ops.Broadcast, ir.A{"shape": shape}, f)
		}
	}
	v := c.emit(op, op.Def, named(op), from...)
	return one(c.emit(op, ops.Reshape, ir.A{"shape": op.Type().Shape}, v))
}

// neutralOperand, with e second (or, for commutative operations, moved there):
//
//	x * 1, x / 1     x for every x; rounding an exact value changes nothing
//	x + -0.0         x: only -0 + -0 is -0, and +0 + -0 is +0
//	x - +0.0         x: -0 - +0 is -0
//	x + 0, x - 0     x for integers
//	x and true, x or false
func neutralOperand(_ *canonicalizer, op *ir.Op) []*ir.Value {
	x, t := op.Args[0], op.Args[0].Type.Elem
	bits, ok := same(op.Args[1])
	if !ok {
		return nil
	}
	var neutral uint64
	switch op.Def {
	case ops.Mul, ops.Div:
		neutral = scalar.IntBits(t, 1)
	case ops.Add:
		if t.IsFloat() {
			neutral = scalar.FloatBits(t, math.Copysign(0, -1))
		}
	case ops.And:
		neutral = 1
	}
	if bits != neutral {
		return nil
	}
	return one(x)
}

// absorbingOperand: x * 0 for integers, x and false, x or true. What x is computed from stays when it can
// fail (dce keeps it).
func absorbingOperand(_ *canonicalizer, op *ir.Op) []*ir.Value {
	bits, ok := same(op.Args[1])
	if !ok || op.Type().Elem.IsFloat() {
		return nil
	}
	absorbing := uint64(0)
	if op.Def == ops.Or {
		absorbing = 1
	}
	if bits != absorbing {
		return nil
	}
	return one(op.Args[1])
}

// sameOperands: min, max, and, or of x and x is x, also for NaN; x - x is 0 for integers.
func sameOperands(c *canonicalizer, op *ir.Op) []*ir.Value {
	if op.Args[0] != op.Args[1] {
		return nil
	}
	if op.Def == ops.Sub {
		if op.Type().Elem.IsFloat() {
			return nil
		}
		return one(c.constant(op, op.Type(), 0))
	}
	return one(op.Args[0])
}

// divideByPower: x / 2^k and x * 2^-k round the same real number, once, when 2^-k is a number of the type.
func divideByPower(c *canonicalizer, op *ir.Op) []*ir.Value {
	t := op.Type().Elem
	bits, ok := same(op.Args[1])
	if !ok || !t.IsFloat() {
		return nil
	}
	d := scalar.FloatValue(t, bits)
	frac, _ := math.Frexp(d)
	inv := scalar.FloatBits(t, 1/d)
	if math.Abs(frac) != 0.5 || 1/scalar.FloatValue(t, inv) != d {
		return nil
	}
	return one(c.emit(op, ops.Mul, nil, op.Args[0], c.constant(op, op.Args[1].Type, inv)))
}

// involution: -(-x) flips the sign bit twice, wraps back for integers; !!x is x.
func involution(_ *canonicalizer, op *ir.Op) []*ir.Value {
	if in := definedBy(op.Args[0], op.Def); in != nil {
		return one(in.Args[0])
	}
	return nil
}

// absOfSign: |-x| is |x|, also for the least integer, whose negative and absolute value are itself. The
// negative of an unsigned number is another positive number.
func absOfSign(c *canonicalizer, op *ir.Op) []*ir.Value {
	if in := definedBy(op.Args[0], ops.Neg); in != nil && !op.Type().Elem.IsUnsigned() {
		return one(c.emit(op, ops.Abs, nil, in.Args[0]))
	}
	return nil
}

// idempotent: f(f(x)) is f(x). A whole number is its own floor, ceil, round and trunc, and so is every
// integer.
func idempotent(_ *canonicalizer, op *ir.Op) []*ir.Value {
	x := op.Args[0]
	rounds := func(d *ir.OpDef) bool {
		return d == ops.Floor || d == ops.Ceil || d == ops.Round || d == ops.Trunc
	}
	switch {
	case rounds(op.Def) && x.Type.Elem.IsInt():
	case x.Def != nil && x.Def.Def == op.Def:
	case x.Def != nil && rounds(op.Def) && rounds(x.Def.Def):
	default:
		return nil
	}
	return one(x)
}

// knownSelect: the condition is constant, or both choices are the same value.
func knownSelect(_ *canonicalizer, op *ir.Op) []*ir.Value {
	if op.Args[1] == op.Args[2] {
		return one(op.Args[1])
	}
	bits, ok := same(op.Args[0])
	if !ok {
		return nil
	}
	if bits != 0 {
		return one(op.Args[1])
	}
	return one(op.Args[2])
}

// knownRequire: the condition is true everywhere.
func knownRequire(_ *canonicalizer, op *ir.Op) []*ir.Value {
	if bits, ok := same(op.Args[1]); ok && bits != 0 {
		return one(op.Args[0])
	}
	return nil
}

// castOfCast: when the first cast changes no value, the second may take the original. Integers go to
// integers by wrapping and from floats by saturating, so that an integer by way of a float to an integer
// only counts when the last type holds all values, and nothing saturates.
func castOfCast(c *canonicalizer, op *ir.Op) []*ir.Value {
	in := definedBy(op.Args[0], ops.Cast)
	if in == nil {
		return nil
	}
	a, b, to := in.Args[0].Type.Elem, in.Type().Elem, op.Type().Elem
	if !holds(b, a) || a.IsInt() && b.IsFloat() && to.IsInt() && !holds(to, a) {
		return nil
	}
	return one(c.emit(op, ops.Cast, ir.A{"to": to}, in.Args[0]))
}

// holds reports whether every value of type a, as a number, is a value of type b.
func holds(b, a types.DType) bool {
	mantissa := map[types.DType]int{types.F16: 11, types.BF16: 8, types.F32: 24, types.F64: 53}
	switch {
	case a.IsStored() || b.IsStored(): // NaN has several bits there, which a conversion and back makes one
		return false
	case a == b || a == types.Bool:
		return true
	case b == types.Bool:
		return false
	case a.IsFloat() && b.IsFloat():
		return mantissa[b] > mantissa[a] && b.Bits() > a.Bits()
	case a.IsFloat():
		return false
	case b.IsFloat():
		bits := a.Bits()
		if a.IsSigned() {
			bits-- // the least value is a power of two
		}
		return bits <= mantissa[b]
	case a.IsSigned() == b.IsSigned():
		return b.Bits() >= a.Bits()
	}
	return a.IsUnsigned() && b.Bits() > a.Bits()
}

// splitTransform: the stages of a long line go along columns, a part of them at a time.
func splitTransform(c *canonicalizer, op *ir.Op) []*ir.Value {
	sub := &ir.Block{}
	vals := ops.SplitFourier(&ir.Builder{Block: sub, Span: op.Span}, op)
	for _, in := range sub.Ops {
		c.op(in)
	}
	c.resolve(vals)
	return vals
}

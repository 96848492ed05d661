package ops

import (
	"slices"
	"sync"

	"healc/ir"
	"healc/ir/fourier"
	"healc/ir/rows"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Fourier is the discrete Fourier transform. See Note [Fourier transforms] in package fourier.
var Fourier = ir.Declare("fourier")
var _ = ir.Define(Fourier, ir.OpDef{
	Class: ir.Reindex, Surface: "fourier", Arity: 2,
	Params: []ir.Param{
		{Name: "re"},
		{Name: "im"},
		{Name: "axis", Kind: ir.ParamAxis, Optional: true, Default: -1},
		{Name: "inverse", Kind: ir.ParamFlag, Optional: true, What: "inverse"},
	},
	Summary: "The discrete Fourier transform along an axis of complex numbers, whose real and imaginary parts are " +
		"given: a tensor with one more axis, in front, of 2, the real parts and the imaginary ones. The extent of " +
		"the axis has to be known when the program is compiled; f16 and bf16 are computed in f32 and rounded once.",
	Attrs: []ir.AttrDef{
		{Name: "axis", Kind: ir.AttrInt, Doc: "the transformed axis"},
		{Name: "inverse", Kind: ir.AttrFlag, Optional: true, Doc: "whether it is the inverse transform"},
	},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		re, axis := args[0], attrs[0].(int64)
		if err := partsAlong("`fourier`", re, args[1], axis); err != nil {
			return nil, err
		}
		if n, ok := re.Shape[axis].Const(); ok && (n < 1 || n > fourier.Most) {
			return nil, broken("C4", "`fourier` takes an axis of 1 to %d elements, not of %d", fourier.Most, n)
		}
		return []types.Tensor{{Elem: re.Elem, Shape: append(types.Shape{types.Lit(2)}, re.Shape...)}}, nil
	},
	Expand: expandFourier,
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the parts share one element type, float"},
		{Name: "C2", Text: "the parts share one shape"},
		{Name: "C3", Text: "the axis exists"},
		{Name: "C4", Text: "the axis has 1 to 2^24 elements"},
	},
	Example: "fourier([1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]) == [[10.0, -2.0, -2.0, -2.0], [0.0, 2.0, 0.0, -2.0]]",
})

// partsAlong checks the real and the imaginary parts of numbers that are transformed along an axis: C1 to C3.
func partsAlong(what string, re, im types.Tensor, axis int64) error {
	if err := requireIn("C1", what, floats, re); err != nil {
		return err
	}
	if err := requireSameDType("C1", what, re, im); err != nil {
		return err
	}
	if err := sameShape("C2", "the real and the imaginary parts differ in shape", re.Shape, im.Shape); err != nil {
		return err
	}
	if axis < 0 || axis >= int64(re.Rank()) {
		return broken("C3", "axis %d is out of range for %s of rank %d", axis, re, re.Rank())
	}
	return nil
}

// Note [Transforms of real numbers]
//
// The transform of n = 2h real numbers x is made of that of h complex ones, z[j] = x[2j] + i x[2j+1]: with Z its
// result, e = Z[k] + conj(Z[h-k]) is twice the transform of the even elements, o = Z[k] - conj(Z[h-k]) is 2i times that
// of the odd ones, and
//
//	X[k] = e/2 + o * (-i w^k / 2)	0 < k < h, with w = exp(-2 pi i / n)
//
// X[0] and X[h] are the sum and the difference of the parts of Z[0]. The others are the conjugates of these, backwards.
// The inverse undoes this: e = X[k] + conj(X[h-k]) and o = X[k] - conj(X[h-k]) give
//
//	Z[k] = e/2 + o * (i w^-k / 2)	0 < k < h
//
// and Z[0] has half the sum of X[0] and X[h], real numbers, and half their difference as its parts. An odd n has no
// such halves: its transform is that of complex numbers.

// FourierReal is the transform of real numbers.
var FourierReal = ir.Declare("fourier_real")
var _ = ir.Define(FourierReal, ir.OpDef{
	Class: ir.Reindex, Surface: "fourier_real", Arity: 1,
	Params: []ir.Param{
		{Name: "x"},
		{Name: "axis", Kind: ir.ParamAxis, Optional: true, Default: -1},
	},
	Summary: "The discrete Fourier transform of n real numbers along an axis: elements 0 to n/2 of it, of which the " +
		"others are the conjugates, backwards. The result has one more axis, in front, of 2, the real parts and " +
		"the imaginary ones. The extent of the axis has to be known when the program is compiled; f16 and bf16 are " +
		"computed in f32 and rounded once.",
	Attrs: []ir.AttrDef{{Name: "axis", Kind: ir.AttrInt, Doc: "the transformed axis"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		x, axis := args[0], attrs[0].(int64)
		if err := requireIn("C1", "`fourier_real`", floats, x); err != nil {
			return nil, err
		}
		if axis < 0 || axis >= int64(x.Rank()) {
			return nil, broken("C2", "axis %d is out of range for %s of rank %d", axis, x, x.Rank())
		}
		n, known := x.Shape[axis].Const()
		if known && (n < 1 || n > fourier.Most) {
			return nil, broken("C3", "`fourier_real` takes an axis of 1 to %d elements, not of %d", fourier.Most, n)
		}
		half := types.Lit(n / 2)
		if !known {
			var even bool
			if half, even = x.Shape[axis].Div(types.Lit(2)); !even {
				return nil, broken("C4", "half of the %s elements along axis %d of %s is no extent", x.Shape[axis],
					axis, x)
			}
		}
		count, err := half.Add(types.Lit(1))
		if err != nil {
			return nil, err
		}
		shape := append(types.Shape{types.Lit(2)}, x.Shape...)
		shape[axis+1] = count
		return []types.Tensor{{Elem: x.Elem, Shape: shape}}, nil
	},
	Expand: expandFourierReal,
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the element type is a float"},
		{Name: "C2", Text: "the axis exists"},
		{Name: "C3", Text: "the axis has 1 to 2^24 elements"},
		{Name: "C4", Text: "half of its extent is one"},
	},
	Example: "fourier_real([1.0, 2.0, 3.0, 4.0]) == [[10.0, -2.0, -2.0], [0.0, 2.0, 0.0]]",
})

// FourierRealInverse is its inverse for an even number of elements.
var FourierRealInverse = ir.Declare("fourier_real_inverse")
var _ = ir.Define(FourierRealInverse, ir.OpDef{
	Class: ir.Reindex, Surface: "fourier_real_inverse", Arity: 2,
	Params: []ir.Param{
		{Name: "re"},
		{Name: "im"},
		{Name: "axis", Kind: ir.ParamAxis, Optional: true, Default: -1},
	},
	Summary: "The 2*h real numbers along an axis of whose transform the real and the imaginary parts of elements 0 " +
		"to h are given. The imaginary parts of elements 0 and h, which are 0 in the transform of real numbers, are " +
		"not read. The extent of the axis has to be known when the program is compiled; f16 and bf16 are computed in " +
		"f32 and rounded once.",
	Attrs: []ir.AttrDef{{Name: "axis", Kind: ir.AttrInt, Doc: "the transformed axis"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		re, axis := args[0], attrs[0].(int64)
		if err := partsAlong("`fourier_real_inverse`", re, args[1], axis); err != nil {
			return nil, err
		}
		const most = fourier.Most/2 + 1
		if n, ok := re.Shape[axis].Const(); ok && (n < 2 || n > most) {
			return nil, broken("C4", "`fourier_real_inverse` takes an axis of 2 to %d elements, not of %d", most, n)
		}
		half, err := re.Shape[axis].Sub(types.Lit(1))
		if err != nil {
			return nil, err
		}
		shape := append(types.Shape{}, re.Shape...)
		if shape[axis], err = half.Mul(types.Lit(2)); err != nil {
			return nil, err
		}
		return []types.Tensor{{Elem: re.Elem, Shape: shape}}, nil
	},
	Expand: expandFourierRealInverse,
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the parts share one element type, float"},
		{Name: "C2", Text: "the parts share one shape"},
		{Name: "C3", Text: "the axis exists"},
		{Name: "C4", Text: "the axis has 2 to 2^23 + 1 elements"},
	},
	Example: "fourier_real_inverse([10.0, -2.0, -2.0], [0.0, 2.0, 0.0]) == [1.0, 2.0, 3.0, 4.0]",
})

// halfTurns are the factors of Note [Transforms of real numbers] along an axis of tensors such as t: that of each k
// below count. Where these are the first half, the one in the middle is the conjugate, for the second half reads it.
func halfTurns(b *ir.Builder, t types.Tensor, axis int, count, n int64, inverse bool) complexOf {
	turns := [2][]float64{make([]float64, count), make([]float64, count)}
	for k := range count {
		re, im := fourier.Root(k, n, t.Elem == types.F32)
		turns[0][k], turns[1][k] = im/2, -re/2
		if inverse || 4*k == n {
			turns[1][k] = re / 2
		}
	}
	along := make(types.Shape, t.Rank()-axis)
	for k := range along {
		along[k] = types.Lit(1)
	}
	along[0] = types.Lit(count)
	part := func(x []float64) *ir.Value {
		return b.Emit(Reshape, ir.A{"shape": along}, b.Emit(Const, ir.A{"value": floatArray(t.Elem, x)}))
	}
	return complexOf{Re: part(turns[0]), Im: part(turns[1])}
}

// halved is e/2 + o*turn with e = z[k] + conj(z[h-k]) and o = z[k] - conj(z[h-k]), for from <= k < to along an axis.
// The factors begin with that of 0. For the second half they are the conjugates of those of h-k.
func halved(b *ir.Builder, z, turns complexOf, axis int, from, to, h int64, second bool) complexOf {
	n := to - from
	near := func(x *ir.Value) *ir.Value { return sliced(b, x, axis, from, n) }
	far := func(x *ir.Value) *ir.Value { return stepped(b, x, axis, h-from, -1, n) }
	x, y := complexOf{Re: near(z.Re), Im: near(z.Im)}, complexOf{Re: far(z.Re), Im: far(z.Im)}
	a := irArithmetic{b, x.Re.Type}
	e := complexOf{Re: a.Add(x.Re, y.Re), Im: a.Sub(x.Im, y.Im)}
	o := complexOf{Re: a.Sub(x.Re, y.Re), Im: a.Add(x.Im, y.Im)}
	all := func(x *ir.Value) *ir.Value { return b.Emit(Broadcast, ir.A{"shape": a.t.Shape}, x) }
	var turn complexOf
	if second {
		turn.Re = all(stepped(b, turns.Re, 0, h-from, -1, n))
		turn.Im = a.Neg(all(stepped(b, turns.Im, 0, h-from, -1, n)))
	} else {
		turn = complexOf{Re: all(sliced(b, turns.Re, 0, from, n)), Im: all(sliced(b, turns.Im, 0, from, n))}
	}
	p := fourier.Times(a, o, turn)
	half := a.Real(0.5)
	return complexOf{Re: a.Fma(half, e.Re, p.Re), Im: a.Fma(half, e.Im, p.Im)}
}

// stepped are n elements of x along an axis, from a place on in steps.
func stepped(b *ir.Builder, x *ir.Value, axis int, from, step, n int64) *ir.Value {
	r := x.Type.Rank()
	starts, steps, shape := make(types.Shape, r), make([]int64, r), append(types.Shape{}, x.Type.Shape...)
	for k := range r {
		starts[k], steps[k] = types.Lit(0), 1
	}
	starts[axis], steps[axis], shape[axis] = types.Lit(from), step, types.Lit(n)
	return b.Emit(Slice, ir.A{"starts": starts, "steps": steps, "shape": shape}, x)
}

func expandFourierReal(b *ir.Builder, op *ir.Op) []*ir.Value {
	axis := int(op.Int("axis"))
	n, known := op.Args[0].Type.Shape[axis].Const()
	if !known {
		return nil
	}
	x, h := widened(b, op.Args[0]), n/2
	if n%2 != 0 {
		z := transformedAlong(b, complexOf{Re: x, Im: emitZeros(b, x.Type)}, axis)
		return bothParts(b, op, complexOf{Re: sliced(b, z.Re, axis, 0, h+1), Im: sliced(b, z.Im, axis, 0, h+1)})
	}
	z := transformedAlong(b, complexOf{Re: stepped(b, x, axis, 0, 2, h), Im: stepped(b, x, axis, 1, 2, h)}, axis)
	re, im := sliced(b, z.Re, axis, 0, 1), sliced(b, z.Im, axis, 0, 1)
	zero := emitZeros(b, re.Type)
	parts := [2][]*ir.Value{{b.Emit(Add, nil, re, im)}, {zero}}
	// Element 0 is apart, so the others begin within a line of the caches; those up to the next one are apart, too. The
	// second half has the factors of the first one.
	turns := halfTurns(b, z.Re.Type, axis, h/2+1, n, false)
	line, middle := int64(rows.PanelBytes/x.Type.Elem.Bytes()), (h+1)/2
	cuts := []int64{1, middle, h}
	if h >= 8*line {
		cuts = []int64{1, line, middle, h}
	}
	for i, to := range cuts[1:] {
		if from := cuts[i]; from < to {
			y := halved(b, z, turns, axis, from, to, h, from >= middle)
			parts[0], parts[1] = append(parts[0], y.Re), append(parts[1], y.Im)
		}
	}
	parts[0], parts[1] = append(parts[0], b.Emit(Sub, nil, re, im)), append(parts[1], zero)
	all := func(x []*ir.Value) *ir.Value { return b.Emit(Concat, ir.A{"axis": int64(axis)}, x...) }
	return bothParts(b, op, complexOf{Re: all(parts[0]), Im: all(parts[1])})
}

// inTurns has the real and the imaginary part of each number side by side, along an axis of 2 behind that one.
func inTurns(b *ir.Builder, z complexOf, axis int) *ir.Value {
	shape := z.Re.Type.Shape
	apart := append(append(append(types.Shape{}, shape[:axis+1]...), types.Lit(1)), shape[axis+1:]...)
	pairs := append(types.Shape{}, apart...)
	pairs[axis+1] = types.Lit(2)
	which := make(types.Shape, len(pairs)-axis-1)
	for k := range which {
		which[k] = types.Lit(1)
	}
	which[0] = types.Lit(2)
	real := ir.NewArray(types.Bool, 2)
	real.Bits[0] = 1
	first := b.Emit(Reshape, ir.A{"shape": which}, b.Emit(Const, ir.A{"value": real}))
	both := func(x *ir.Value) *ir.Value { return b.Emit(Broadcast, ir.A{"shape": pairs}, x) }
	z = reshaped(b, z, apart)
	return b.Emit(Select, nil, both(first), both(z.Re), both(z.Im))
}

func expandFourierRealInverse(b *ir.Builder, op *ir.Op) []*ir.Value {
	axis := int(op.Int("axis"))
	count, known := op.Args[0].Type.Shape[axis].Const()
	if !known {
		return nil
	}
	x, h := complexOf{Re: widened(b, op.Args[0]), Im: widened(b, op.Args[1])}, count-1
	first, last := sliced(b, x.Re, axis, 0, 1), sliced(b, x.Re, axis, h, 1)
	half := irArithmetic{b, first.Type}.Real(0.5)
	z := complexOf{Re: b.Emit(Mul, nil, half, b.Emit(Add, nil, first, last)),
		Im: b.Emit(Mul, nil, half, b.Emit(Sub, nil, first, last))}
	if h > 1 {
		// Number 0 is chosen by the position, and not put before the others, so that the transform reads all of them
		// without a kernel that has them in memory first.
		y := halved(b, x, halfTurns(b, x.Re.Type, axis, h, 2*h, true), axis, 0, h, h, false)
		along := make(types.Shape, y.Re.Type.Rank()-axis)
		for k := range along {
			along[k] = types.Lit(1)
		}
		along[0] = types.Lit(h)
		number := b.Emit(Iota, ir.A{"start": types.Lit(0), "extent": types.Lit(h)})
		is := b.Emit(Reshape, ir.A{"shape": along}, b.Emit(Eq, nil, number, emitZeros(b, number.Type)))
		all := func(x *ir.Value) *ir.Value { return b.Emit(Broadcast, ir.A{"shape": y.Re.Type.Shape}, x) }
		is = all(is)
		z.Re, z.Im = b.Emit(Select, nil, is, all(z.Re), y.Re), b.Emit(Select, nil, is, all(z.Im), y.Im)
	}
	z = transformedBack(b, z, axis)
	return []*ir.Value{narrowed(b, op, b.Emit(Reshape, ir.A{"shape": op.Type().Shape}, inTurns(b, z, axis)))}
}

// FourierRows is the transform of lines, all stages of which are done in memory, or the first stages of it.
var FourierRows = ir.Declare("fourier_rows")
var _ = ir.Define(FourierRows, ir.OpDef{
	Class: ir.Rows, Arity: 3,
	Sharding: ir.ShardRows,
	Summary: "The discrete Fourier transform along an axis of n elements without factors other than 2, 3 and " +
		"5. With a rest of more than 1 it is the first stages of the transform of n * rest elements, where the axis " +
		"before counts the elements that are left: the lines along that axis, transformed, are the result. " +
		"The last operand has the factors of the stages, their real parts and their imaginary ones, in blocks of " +
		"so many elements along the axis before. The results are the real parts and the imaginary ones.",
	Attrs: []ir.AttrDef{
		{Name: "axis", Kind: ir.AttrInt, Doc: "the transformed axis"},
		{Name: "rest", Kind: ir.AttrInt, Doc: "how many elements the stages leave of each transform"},
		{Name: "block", Kind: ir.AttrInt, Optional: true, Doc: "for how many of these the factors lie together; " +
			"for all of them where it is not given"},
	},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		re, im, table := args[0], args[1], args[2]
		axis, rest := attrs[0].(int64), attrs[1].(int64)
		if re.Elem != types.F32 && re.Elem != types.F64 {
			return nil, broken("C1", "`fourier_rows` needs f32 or f64, not %s", re)
		}
		if err := requireSameDType("C1", "`fourier_rows`", re, im, table); err != nil {
			return nil, err
		}
		if err := sameShape("C2", "the real and the imaginary parts differ in shape", re.Shape, im.Shape); err != nil {
			return nil, err
		}
		if axis < 0 || axis >= int64(re.Rank()) {
			return nil, broken("C3", "axis %d is out of range for %s of rank %d", axis, re, re.Rank())
		}
		if rest != 1 && (axis == 0 || !re.Shape[axis-1].IsConst(rest)) {
			return nil, broken("C3", "there are not %d elements along the axis before axis %d of %s", rest, axis, re)
		}
		n, known := re.Shape[axis].Const()
		if _, ok := fourier.First(n, rest); !known || !ok || n*rest > fourier.Most {
			return nil, broken("C4", "`fourier_rows` has no stages for %s elements that leave %d", re.Shape[axis], rest)
		}
		if err := sameShape("C5", "the table has one factor for each that the stages need",
			types.Shape{types.Lit(2), types.Lit(fourier.Factors(n, rest))}, table.Shape); err != nil {
			return nil, err
		}
		if block, given := attrs[2].(int64); given && (block < 1 || block > rest) {
			return nil, broken("C6", "%d columns are no block of %d", block, rest)
		}
		return []types.Tensor{re, im}, nil
	},
	Reads: func(_ *ir.Op, i int) bool { return i < 2 },
	Eval:  evalFourier, Element: rows.FourierElement, Rows: rows.Fourier, Panel: rows.FourierPanel, Tables: 2,
	RowWork: rowAgain,
	// The transform is symmetric and complex: its adjoint is its conjugate, which exchanges the parts before and after.
	VJP: vjp(func(t *tape, op *ir.Op, cts []*ir.Value) {
		if t.Needs(op.Args[2]) {
			unsupportedGradient(op.Span, "a Fourier transform by its factors")
		}
		if !t.Needs(op.Args[0]) && !t.Needs(op.Args[1]) {
			return
		}
		ct := func(i int) *ir.Value {
			if cts[i] == nil {
				return t.Zeros(op.Results[i].Type)
			}
			return cts[i]
		}
		z := complexOf{Re: ct(1), Im: ct(0)}
		if rest := op.Int("rest"); rest == 1 {
			z = fourierBy(t.b, z, int(op.Int("axis")), rest, op.Args[2])
		} else {
			z = stagesBack(t.b, complexOf{Re: z.Im, Im: z.Re}, int(op.Int("axis")), rest)
		}
		for i, x := range op.Args[:2] {
			if t.Needs(x) {
				t.Add(x, []*ir.Value{z.Im, z.Re}[i])
			}
		}
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the parts and the factors share one element type, f32 or f64"},
		{Name: "C2", Text: "the parts share one shape"},
		{Name: "C3", Text: "the axis exists, and unless the rest is 1 an axis of that extent is before it"},
		{Name: "C4", Text: "its extent times the rest is known, at most 2^24, and has no factors other than 2, 3 " +
			"and 5; the extent is the product of the first radices"},
		{Name: "C5", Text: "there are as many factors as the stages need"},
		{Name: "C6", Text: "a block has at least a column, and at most as many as the rest"},
	},
	Example: "fourier([1.0, 2.0], [3.0, 5.0]) == [[3.0, -1.0], [8.0, -2.0]]",
})

// Note [Chirps]
//
// The transform of n elements where n has other factors than 2, 3 and 5 is a convolution (Bluestein 1970): with c[k] =
// exp(-pi i k^2/n), and jk = (j^2 + k^2 - (k - j)^2)/2, it is
//
//	Z[k] = c[k] * sum over j of (z[j] * c[j]) * conj(c[k - j])
//
// The convolution is a product of transforms of m elements, m the least power of two from 2n - 1 on: of z*c with zeros
// behind it, and of conj(c) to both sides of 0, which is a constant, computed in f64 and divided by m. The product is
// transformed back with the parts exchanged before and after.

// expandFourier is the transform by rows; nil where the extent is not known.
func expandFourier(b *ir.Builder, op *ir.Op) []*ir.Value {
	axis := int(op.Int("axis"))
	if _, known := op.Args[0].Type.Shape[axis].Const(); !known {
		return nil
	}
	z := complexOf{Re: widened(b, op.Args[0]), Im: widened(b, op.Args[1])}
	if op.Flag("inverse") {
		z = transformedBack(b, z, axis)
	} else {
		z = transformedAlong(b, z, axis)
	}
	return bothParts(b, op, z)
}

// bothParts is the result of op: the real parts of z and the imaginary ones.
func bothParts(b *ir.Builder, op *ir.Op, z complexOf) []*ir.Value {
	part := func(x *ir.Value) *ir.Value {
		shape := append(types.Shape{types.Lit(1)}, x.Type.Shape...)
		return b.Emit(Reshape, ir.A{"shape": shape}, narrowed(b, op, x))
	}
	return []*ir.Value{b.Emit(Concat, ir.A{"axis": int64(0)}, part(z.Re), part(z.Im))}
}

// transformedBack emits the inverse transform along an axis: that of z divided by the extent, with the parts exchanged
// before and after.
func transformedBack(b *ir.Builder, z complexOf, axis int) complexOf {
	n, _ := z.Re.Type.Shape[axis].Const()
	scale := irArithmetic{b, z.Re.Type}.Real(1 / float64(n))
	z = transformedAlong(b, complexOf{Re: b.Emit(Mul, nil, z.Im, scale), Im: b.Emit(Mul, nil, z.Re, scale)}, axis)
	return complexOf{Re: z.Im, Im: z.Re}
}

// transformedAlong emits the transform along an axis.
func transformedAlong(b *ir.Builder, z complexOf, axis int) complexOf {
	shape, last := z.Re.Type.Shape, z.Re.Type.Rank()-1
	n, _ := shape[axis].Const()
	_, smooth := fourier.Radices(n)
	behind, err := shape[axis+1:].Elems()
	beside, known := behind.Const()
	if smooth && axis != last && err == nil && known && beside >= rows.PanelBytes/int64(z.Re.Type.Elem.Bytes()) {
		// Lines that lie side by side are transformed together.
		z = reshaped(b, z, append(append(types.Shape{}, shape[:axis+1]...), behind))
		return reshaped(b, fourierRows(b, z, axis), shape)
	}
	there, back := []int64{}, []int64{} // the axis to the end, and from there
	for k := range last + 1 {
		switch {
		case k < axis:
			there, back = append(there, int64(k)), append(back, int64(k))
		case k == axis:
			back = append(back, int64(last))
		default:
			there, back = append(there, int64(k)), append(back, int64(k-1))
		}
	}
	permuted := func(z complexOf, order []int64) complexOf {
		if axis == last {
			return z
		}
		return complexOf{Re: b.Emit(Permute, ir.A{"perm": order}, z.Re), Im: b.Emit(Permute, ir.A{"perm": order}, z.Im)}
	}
	z = permuted(z, append(there, int64(axis)))
	if smooth {
		z = fourierRows(b, z, last)
	} else {
		z = chirped(b, z, n)
	}
	return permuted(z, back)
}

type complexOf = fourier.Complex[*ir.Value]

// irArithmetic computes with tensors of one type.
type irArithmetic struct {
	b *ir.Builder
	t types.Tensor
}

func (a irArithmetic) Add(x, y *ir.Value) *ir.Value    { return a.b.Emit(Add, nil, x, y) }
func (a irArithmetic) Sub(x, y *ir.Value) *ir.Value    { return a.b.Emit(Sub, nil, x, y) }
func (a irArithmetic) Mul(x, y *ir.Value) *ir.Value    { return a.b.Emit(Mul, nil, x, y) }
func (a irArithmetic) Neg(x *ir.Value) *ir.Value       { return a.b.Emit(Neg, nil, x) }
func (a irArithmetic) Fma(x, y, z *ir.Value) *ir.Value { return a.b.Emit(Fma, nil, x, y, z) }
func (a irArithmetic) Real(x float64) *ir.Value        { return emitFill(a.b, a.t, x) }

// factors is a constant along the last axis.
func (a irArithmetic) factors(x []float64) *ir.Value {
	return a.b.Emit(Broadcast, ir.A{"shape": a.t.Shape}, a.b.Emit(Const, ir.A{"value": floatArray(a.t.Elem, x)}))
}

// floatArray is a tensor of floats; without extents it is a vector.
func floatArray(t types.DType, x []float64, shape ...int64) *ir.Array {
	if shape == nil {
		shape = []int64{int64(len(x))}
	}
	out := ir.NewArray(t, shape...)
	for i, v := range x {
		out.Bits[i] = scalar.FloatBits(t, v)
	}
	return out
}

// fourierRows emits the transform of lines without other factors than 2, 3 and 5.
func fourierRows(b *ir.Builder, z complexOf, axis int) complexOf {
	n, _ := z.Re.Type.Shape[axis].Const()
	return fourierBy(b, z, axis, 1, b.Emit(Const, ir.A{"value": fourierTable(fourierKey{z.Re.Type.Elem, n, 1, 1})}))
}

// fourierBy emits the stages whose factors are in a table.
func fourierBy(b *ir.Builder, z complexOf, axis int, rest int64, table *ir.Value) complexOf {
	return fourierIn(b, z, ir.A{"axis": int64(axis), "rest": rest}, table)
}

func fourierIn(b *ir.Builder, z complexOf, attrs ir.A, table *ir.Value) complexOf {
	y := b.EmitOp(FourierRows, attrs, []*ir.Value{z.Re, z.Im, table}, nil).Results
	return complexOf{Re: y[0], Im: y[1]}
}

// fourierInBlocks emits the first stages of a transform, with factors in blocks for the columns that go together.
func fourierInBlocks(b *ir.Builder, z complexOf, axis int, rest int64) complexOf {
	t := z.Re.Type
	n, _ := t.Shape[axis].Const()
	attrs, block := ir.A{"axis": int64(axis), "rest": rest}, rows.FourierBlock(t, int64(axis), rest)
	if block < rest {
		attrs["block"] = block
	}
	return fourierIn(b, z, attrs, b.Emit(Const, ir.A{"value": fourierTable(fourierKey{t.Elem, n, rest, block})}))
}

// stagesBack is the adjoint of the first stages of a transform, as numbers whose parts are exchanged. The other stages,
// transforms of rest elements, have rest times their inverse as their adjoint. So with them behind the stages, the
// adjoint of all is that of the stages, and the others are undone before it.
func stagesBack(b *ir.Builder, z complexOf, axis int, rest int64) complexOf {
	shape := z.Re.Type.Shape
	n, _ := shape[axis].Const()
	z = fourierRows(b, z, axis-1)
	whole := append(append(types.Shape{}, shape[:axis-1]...), types.Lit(n*rest))
	whole = append(whole, shape[axis+1:]...)
	z = fourierRows(b, reshaped(b, complexOf{Re: z.Im, Im: z.Re}, whole), axis-1)
	z = columnsBefore(b, z, axis-1, n, rest)
	scale := irArithmetic{b, z.Re.Type}.Real(1 / float64(rest))
	return complexOf{Re: b.Emit(Mul, nil, z.Re, scale), Im: b.Emit(Mul, nil, z.Im, scale)}
}

// columnsBefore are lines of n*rest elements along an axis as the stages with the product n take them: element
// c + j*rest stands at [c, j].
func columnsBefore(b *ir.Builder, z complexOf, axis int, n, rest int64) complexOf {
	shape := z.Re.Type.Shape
	cut := append(append(types.Shape{}, shape[:axis]...), types.Lit(n), types.Lit(rest))
	z = reshaped(b, z, append(cut, shape[axis+1:]...))
	order := make([]int64, len(shape)+1)
	for k := range order {
		order[k] = int64(k)
	}
	order[axis], order[axis+1] = order[axis+1], order[axis]
	permuted := func(x *ir.Value) *ir.Value { return b.Emit(Permute, ir.A{"perm": order}, x) }
	return complexOf{Re: permuted(z.Re), Im: permuted(z.Im)}
}

// reshaped is z in another shape.
func reshaped(b *ir.Builder, z complexOf, shape types.Shape) complexOf {
	return complexOf{Re: b.Emit(Reshape, ir.A{"shape": shape}, z.Re), Im: b.Emit(Reshape, ir.A{"shape": shape}, z.Im)}
}

// fourierTables keeps the tables that were made: a program has one of each for all of its transforms.
var fourierTables sync.Map // of fourierKey to *ir.Array

type fourierKey struct {
	t              types.DType
	n, rest, block int64
}

func fourierTable(key fourierKey) *ir.Array {
	if a, ok := fourierTables.Load(key); ok {
		return a.(*ir.Array)
	}
	factors := fourier.TableInBlocks(key.n, key.rest, key.block, key.t == types.F32)
	a := floatArray(key.t, factors, 2, fourier.Factors(key.n, key.rest))
	kept, _ := fourierTables.LoadOrStore(key, a)
	return kept.(*ir.Array)
}

// Note [Long lines]
//
// A transform of n = n1*n2 elements is made of shorter ones by its own stages (Bailey 1990 has them with others).
// Element c + j*n2 of the line stands at [j, c] of a matrix. The first stages, with the product n1, go along its
// columns, and what they leave of column c are elements c of n1 shorter lines: row c of a matrix whose columns the
// other stages transform. Element l of column q of that is element q + l*n1 of the result, which is where it stands. So
// the other stages find what they read where they write, columns that lie side by side, and need no memory of their own
// (as Stockham's order does). The first ones read columns as well, and write them as rows.
//
// A few columns at a time fit the first-level cache and go through all of their stages there, and threads share them.
// Where n2 is large itself it is cut again: n2 = m*r, and column c of r is what the next stages leave, for each of the
// n1 lines.

// SplitFourier is a transform of long lines, by shorter ones; nil where its lines are not long.
func SplitFourier(b *ir.Builder, op *ir.Op) []*ir.Value {
	axis := int(op.Int("axis"))
	shape := op.Type().Shape
	n, _ := shape[axis].Const()
	least := int64(longColumn)
	if axis == len(shape)-1 {
		size := op.Type().Elem.Bytes()
		least = int64(longLine/size) + 1
		if lines, err := shape[:axis].Elems(); err == nil && lines.IsConst(1) {
			least = loneLine[size]
		}
	}
	parts := fourier.Split(n, longColumn-1)
	if two := fourier.Split(n, longPart); axis == len(shape)-1 && n <= longTwo && len(two) == 2 {
		parts = two
	}
	if op.Int("rest") != 1 || n < least || len(parts) == 1 {
		return nil
	}
	at := int64(0) // of the factors, which are those of the whole
	factors := func(n, rest int64) *ir.Value {
		count := fourier.Factors(n, rest)
		at += count
		return sliced(b, op.Args[2], 1, at-count, count)
	}
	known := false
	if c := op.Args[2].Def; c != nil && c.Def == Const {
		table, of := fourierTable(fourierKey{op.Type().Elem, n, 1, 1}), c.Attr("value").(*ir.Array)
		known = table == of || slices.Equal(table.Bits, of.Bits)
	}
	stages := func(z complexOf, axis int, part, rest int64) complexOf {
		switch {
		case !known:
			return fourierBy(b, z, axis, rest, factors(part, rest))
		case rest == 1:
			return fourierRows(b, z, axis)
		}
		return fourierInBlocks(b, z, axis, rest)
	}
	z, done := complexOf{Re: op.Args[0], Im: op.Args[1]}, types.Lit(1)
	beside := func(size ...int64) types.Shape { // the lines so far are columns, beside those of the operand
		out := append(types.Shape{}, shape[:axis]...)
		for _, n := range size {
			out = append(out, types.Lit(n))
		}
		if !done.IsConst(1) {
			out = append(out, done)
		}
		return append(out, shape[axis+1:]...)
	}
	for _, part := range parts[:len(parts)-1] {
		z = reshaped(b, z, beside(n))
		n /= part
		z = stages(columnsBefore(b, z, axis, part, n), axis+1, part, n)
		before, _ := done.Const()
		done = types.Lit(before * part)
	}
	z = reshaped(b, stages(reshaped(b, z, beside(n)), axis, n, 1), shape)
	return []*ir.Value{z.Re, z.Im}
}

// Columns of longColumn elements are cut; shorter ones have room near the processor, a panel of them at a time. Lines
// are cut where a line has no room there, longLine bytes of each part. One that is alone needs no second way through
// memory for what is larger than the caches, and has none beside it to share vectors with: it is cut from loneLine on.
// Up to longTwo elements, lines whose parts have up to longPart are cut in two, which are two ways through memory and
// not three. Beyond, the rows of so long a part are too many pages.
const (
	longColumn = 513
	longPart   = 1024
	longTwo    = 1 << 18
	longLine   = 32 << 10
)

// loneLine is by the size of an element.
var loneLine = map[int]int64{4: 1 << 10, 8: 4097}

// chirped emits the transform of lines of any length: Note [Chirps].
func chirped(b *ir.Builder, z complexOf, n int64) complexOf {
	last := z.Re.Type.Rank() - 1
	chirp, kernel := fourier.Chirp(n, z.Re.Type.Elem == types.F32)
	m := int64(len(kernel[0]))
	near := irArithmetic{b, z.Re.Type}
	c := complexOf{Re: near.factors(chirp[0]), Im: near.factors(chirp[1])}
	of := func(n int64) types.Tensor {
		shape := append(types.Shape{}, z.Re.Type.Shape[:last]...)
		return types.Tensor{Elem: z.Re.Type.Elem, Shape: append(shape, types.Lit(n))}
	}
	padded := func(x *ir.Value) *ir.Value {
		return b.Emit(Concat, ir.A{"axis": int64(last)}, x, emitZeros(b, of(m-n)))
	}
	x := fourier.Times(near, z, c)
	y := fourierRows(b, complexOf{Re: padded(x.Re), Im: padded(x.Im)}, last)
	far := irArithmetic{b, of(m)}
	p := fourier.Times(far, y, complexOf{Re: far.factors(kernel[0]), Im: far.factors(kernel[1])})
	y = fourierRows(b, complexOf{Re: p.Im, Im: p.Re}, last)
	first := func(x *ir.Value) *ir.Value { return sliced(b, x, last, 0, n) }
	return fourier.Times(near, complexOf{Re: first(y.Im), Im: first(y.Re)}, c)
}

// columns computes with columns of elements of one type.
type columns struct {
	t types.DType
	n int64
}

func (c columns) run(op *ir.OpDef, x ...[]uint64) []uint64 {
	return vectorOf(op, c.t, len(x), func(e scalar.Emitter, x []scalar.Ref) scalar.Ref {
		return op.Scalar(e, nil, x)
	}).must(x...)
}

func (c columns) Add(x, y []uint64) []uint64    { return c.run(Add, x, y) }
func (c columns) Sub(x, y []uint64) []uint64    { return c.run(Sub, x, y) }
func (c columns) Mul(x, y []uint64) []uint64    { return c.run(Mul, x, y) }
func (c columns) Neg(x []uint64) []uint64       { return c.run(Neg, x) }
func (c columns) Fma(x, y, z []uint64) []uint64 { return c.run(Fma, x, y, z) }

func (c columns) Real(x float64) []uint64 {
	out := make([]uint64, c.n)
	for i := range out {
		out[i] = scalar.FloatBits(c.t, x)
	}
	return out
}

// evalFourier makes stage after stage of a line: number p of transform q lies at q*Rest + p.
func evalFourier(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	type numbers = fourier.Complex[[]uint64]
	re, im, table := args[0], args[1], args[2]
	outs := []*ir.Array{ir.NewArray(re.DType, re.Shape...), ir.NewArray(re.DType, re.Shape...)}
	axis, left := op.Int("axis"), op.Int("rest")
	n := re.Shape[axis]
	size := table.Shape[1]
	stages, _ := fourier.First(n, left)
	blocks := rows.FourierBlocks(op)
	picked := func(from []uint64, count int64, at func(i int64) int64) []uint64 {
		x := make([]uint64, count)
		for i := range x {
			x[i] = from[at(int64(i))]
		}
		return x
	}
	err := lines(re.Shape, axis, func(_ int, first, step int64) error {
		if err := c.Ended(); err != nil {
			return err
		}
		along := func(i int64) int64 { return first + i*step }
		column := int64(0) // which of those that the stages leave it is
		if left > 1 {
			column = first / (step * n) % left
		}
		z := numbers{Re: picked(re.Bits, n, along), Im: picked(im.Bits, n, along)}
		for _, s := range stages {
			rest := s.Rest
			all := columns{re.DType, n / s.Radix} // for each q and p, in order
			var x []numbers
			for j := range s.Radix {
				at := func(i int64) int64 { return i/rest*rest*s.Radix + rest*j + i%rest }
				x = append(x, numbers{Re: picked(z.Re, all.n, at), Im: picked(z.Im, all.n, at)})
			}
			next := numbers{Re: make([]uint64, n), Im: make([]uint64, n)}
			for k, y := range fourier.Butterfly(all, x) {
				if k > 0 && s.Turns() {
					at := func(i int64) int64 { return blocks.Place(s.Factor(int64(k), i%rest)/left, column) }
					y = fourier.Times(all, y, numbers{Re: picked(table.Bits[:size], all.n, at),
						Im: picked(table.Bits[size:], all.n, at)})
				}
				for i := range all.n {
					to := i + int64(k)*s.Before*rest
					next.Re[to], next.Im[to] = y.Re[i], y.Im[i]
				}
			}
			z = next
		}
		for i := range n {
			outs[0].Bits[along(i)], outs[1].Bits[along(i)] = z.Re[i], z.Im[i]
		}
		return nil
	})
	return outs, err
}

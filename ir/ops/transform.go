package ops

import (
	"fmt"
	"math/bits"
	"sync"

	"healc/ir"
	"healc/ir/fourier"
	"healc/ir/rows"
	"healc/ir/scalar"
	"healc/lang/types"
)

// Note [Number theoretic transform]
//
// For a prime p with p = 1 modulo 2m and a primitive root psi of order 2m, the negacyclic transform of a[0..m) is
//
//	A[i] = sum over j of a[j] * psi^((2i + 1) j)  modulo p,
//
// so that a product of polynomials modulo x^m + 1 is a product of transforms, element by element. `ntt` makes it with
// the butterflies of Cooley and Tukey from the table twiddles[i] = psi^bitrev(i), in the order that needs no other
// table (Longa and Naehrig 2016, algorithm 1): natural order in, bit-reversed order out. `intt` undoes it with those of
// Gentleman and Sande (algorithm 2) from the inverse powers. Both are defined by their butterflies, hence for any
// table and any modulus.
//
// Stage s of the forward transform has h = 2^s groups of 2t elements, t = m/2h: with S = twiddles[h + i] for group i,
// the elements x and y at distance t become x + S*y and x - S*y. Unfolded, element q of the result is the sum of all
// a[j] with a factor, which for each stage whose bit t is set in j is S of the group of q, negative if the bit is
// set in q, too. The inverse goes through the stages backwards: x and y become x + y and (x - y)*S.

// Ntt is the forward transform.
var Ntt = ir.Declare("ntt")
var _ = ir.Define(Ntt, ir.OpDef{
	Class: ir.Rows, Surface: "ntt", Arity: 4, Traits: ir.MayFail,
	Params: []ir.Param{
		{Name: "a"},
		{Name: "p", Literals: ir.LiteralsShared},
		{Name: "twiddles", Literals: ir.LiteralsShared},
		{Name: "perm", Literals: ir.LiteralsOwn},
		{Name: "axis", Kind: ir.ParamAxis, Optional: true, Default: -3},
		{Name: "skip_perm", Kind: ir.ParamFlag, Optional: true, What: "skip_perm"},
	},
	Summary: "The negacyclic number theoretic transform modulo p along an axis, from the powers of a root in " +
		"bit-reversed order; the result, in " +
		"bit-reversed order, is gathered by the positions of the last operand, unless that is skipped.",
	Attrs: []ir.AttrDef{
		{Name: "axis", Kind: ir.AttrInt, Doc: "the transformed axis: the last, or the third from the end"},
		{Name: "skip_perm", Kind: ir.AttrFlag, Optional: true, Doc: "whether the result stays in bit-reversed order"},
	},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		return inferNtt("`ntt`", args[0], args[1], args[2], nil, args[3], attrs[0].(int64))
	},
	Reads: readsTransformed,
	Eval:  evalNtt, Element: rows.NttElement, Rows: rows.Ntt, RowWork: rowAgain,
	NoGrad: noResidueGrad, Constraints: nttConstraints,
	Example: "ntt([[[[1]], [[2]], [[3]], [[4]]]], [17], [[1, 4, 2, 8]], [0, 1, 2, 3]) == [[[[15]], [[11]], [[13]], " +
		"[[16]]]]",
})

// Intt is the inverse transform.
var Intt = ir.Declare("intt")
var _ = ir.Define(Intt, ir.OpDef{
	Class: ir.Rows, Surface: "intt", Arity: 5, Traits: ir.MayFail,
	Params: []ir.Param{
		{Name: "a"},
		{Name: "p", Literals: ir.LiteralsShared},
		{Name: "inv_twiddles", Literals: ir.LiteralsShared},
		{Name: "m_inv", Literals: ir.LiteralsShared},
		{Name: "perm", Literals: ir.LiteralsOwn},
		{Name: "axis", Kind: ir.ParamAxis, Optional: true, Default: -3},
	},
	Summary: "The inverse of `ntt`, from the inverse powers and the inverse of the length: element i of the operand " +
		"goes to position perm[i], where elements that " +
		"meet add up, and from that, in bit-reversed order, the transform gives natural order.",
	Attrs: []ir.AttrDef{{Name: "axis", Kind: ir.AttrInt,
		Doc: "the transformed axis: the last, or the third from the end"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		return inferNtt("`intt`", args[0], args[1], args[2], &args[3], args[4], attrs[0].(int64))
	},
	Reads: readsTransformed,
	Eval:  evalIntt, Element: rows.InttElement, Rows: rows.Intt, RowWork: rowAgain,
	NoGrad: noResidueGrad, Constraints: nttConstraints,
	Example: "intt([[[[15]], [[11]], [[13]], [[16]]]], [17], [[1, 13, 9, 15]], [13], [0, 1, 2, 3]) == [[[[1]], " +
		"[[2]], [[3]], [[4]]]]",
})

// readsTransformed: of every row each element goes through the stages, and with the first row its modulus is looked at.
func readsTransformed(op *ir.Op, i int) bool { return i == 0 || i == 1 && op.Type().Shape.NeverEmpty() }

var nttConstraints = []ir.Constraint{
	{Name: "C1", Text: "the elements, moduli and tables share one element type, i32 or i64"},
	{Name: "C2",
		Text: "the axis is the last, and the channels are before it, or the third from the end, and the channels are " +
			"last"},
	{Name: "C3", Text: "there is one modulus for each channel"},
	{Name: "C4", Text: "the tables have one row for each channel and one column for each element of the axis"},
	{Name: "C5", Text: "the positions are i32 or i64, one for each element of the axis"},
	{Name: "C6", Text: "the axis has a power of two elements"},
}

func inferNtt(what string, x, p, table types.Tensor, inverse *types.Tensor, perm types.Tensor,
	axis int64) ([]types.Tensor, error) {
	out, err := nttType(what, x, p, table, inverse, perm, axis)
	if r, ok := err.(*types.RuleError); ok && len(r.Shapes) > 0 {
		// An extent that does not fit is often one that stands for something else along this axis.
		r.Help = fmt.Sprintf("along its last axis %s is [..., k, m]: %s channels of %s elements", x,
			x.Shape[rows.ChannelAxis(x.Rank(), axis)], x.Shape[axis])
		if axis != int64(x.Rank()-1) {
			r.Help = fmt.Sprintf(
				"along the third axis from the end %s is [..., m, r, k]: %s channels of %s elements; `axis = -1` "+
					"takes the last axis of [..., k, m]",
				x, x.Shape[rows.ChannelAxis(x.Rank(), axis)], x.Shape[axis])
		}
	}
	return out, err
}

func nttType(what string, x, p, table types.Tensor, inverse *types.Tensor, perm types.Tensor,
	axis int64) ([]types.Tensor, error) {
	numbers := []types.Tensor{x, table}
	if inverse != nil {
		numbers = append(numbers, *inverse)
	}
	if err := requireModulus(what, p, numbers...); err != nil {
		return nil, err
	}
	r := x.Rank()
	if !(r >= 2 && axis == int64(r-1) || r >= 3 && axis == int64(r-3)) {
		return nil,
			broken("C2",
				"%s transforms the third axis from the end of [..., m, r, k], or the last of [..., k, m], and not "+
					"axis %d of %s", what, axis, x)
	}
	m, k := x.Shape[axis], x.Shape[rows.ChannelAxis(r, axis)]
	for _, v := range []*types.Tensor{&p, inverse} {
		if v == nil {
			continue
		}
		if v.Rank() != 1 {
			return nil, broken("C3", "%s takes one number for each of the %s channels, not %s", what, k, *v)
		}
		if err := sameShape("C3", "there is one modulus for each channel", types.Shape{k}, v.Shape); err != nil {
			return nil, err
		}
	}
	if err := sameShape("C4", "the table has a row for each channel and a column for each element", types.Shape{k, m},
		table.Shape); err != nil {
		return nil, err
	}
	if err := requireIn("C5", "a position", indices, perm); err != nil {
		return nil, err
	}
	if err := sameShape("C5", "there is one position for each element", types.Shape{m}, perm.Shape); err != nil {
		return nil, err
	}
	if n, ok := m.Const(); ok && n&(n-1) != 0 {
		return nil, broken("C6", types.TransformLength, n)
	}
	return []types.Tensor{x}, nil
}

// The reference meaning of the transforms, with divisions of double words.

func mulMod(a, b, p uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	_, r := bits.Div64(hi, lo, p) // a, b < p, so hi < p
	return r
}

// residue is x mod p in [0, p).
func residue(x, p int64) uint64 {
	r := x % p
	if r < 0 {
		r += p
	}
	return uint64(r)
}

// transformed calls f for every line along the axis of an operation of this family, with the values of its modulus,
// tables and the line as residues; f gives the line of the result.
func transformed(c ir.EvalContext, op *ir.Op, x, p, table *ir.Array, f func(ch int, p uint64, table,
	line []uint64) error) (*ir.Array, error) {
	axis := op.Int("axis")
	out := ir.NewArray(x.DType, x.Shape...)
	if len(out.Bits) == 0 {
		return out, nil
	}
	m := x.Shape[axis]
	chAxis := rows.ChannelAxis(len(x.Shape), axis)
	chStep, k := rowMajor(x.Shape)[chAxis], x.Shape[chAxis]
	err := lines(x.Shape, axis, func(_ int, first, step int64) error {
		ch := int(first / chStep % k)
		mod := signExtend(p.DType, p.Bits[ch])
		if mod <= 0 {
			return c.Fail(op, scalar.CheckModulus, mod)
		}
		if m&(m-1) != 0 {
			return c.Fail(op, scalar.CheckPowerOfTwo, m)
		}
		line, row := make([]uint64, m), make([]uint64, m)
		for i := range line {
			line[i] = residue(signExtend(x.DType, x.Bits[first+int64(i)*step]), mod)
			row[i] = residue(signExtend(table.DType, table.Bits[int64(ch)*m+int64(i)]), mod)
		}
		if err := f(ch, uint64(mod), row, line); err != nil {
			return err
		}
		for i, v := range line {
			out.Bits[first+int64(i)*step] = v
		}
		return nil
	})
	return out, err
}

func evalNtt(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	perm := args[3]
	out, err := transformed(c, op, args[0], args[1], args[2], func(_ int, p uint64, table, a []uint64) error {
		m := len(a)
		for h, t := 1, m/2; t >= 1; h, t = 2*h, t/2 {
			for i := range h {
				for j := 2 * i * t; j < 2*i*t+t; j++ {
					x, y := a[j], mulMod(a[j+t], table[h+i], p)
					a[j], a[j+t] = (x+y)%p, (x+p-y)%p
				}
			}
		}
		if op.Flag("skip_perm") {
			return nil
		}
		from := append([]uint64{}, a...)
		for i := range a {
			at := signExtend(perm.DType, perm.Bits[i])
			if at < 0 || at >= int64(m) {
				return c.Fail(op, scalar.CheckIndex, at, int64(m))
			}
			a[i] = from[at]
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return one(out)
}

func evalIntt(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	inverse, perm := args[3], args[4]
	out, err := transformed(c, op, args[0], args[1], args[2], func(ch int, p uint64, table, a []uint64) error {
		m := len(a)
		from := append([]uint64{}, a...)
		clear(a)
		for i, v := range from {
			at := signExtend(perm.DType, perm.Bits[i])
			if at < 0 || at >= int64(m) {
				return c.Fail(op, scalar.CheckIndex, at, int64(m))
			}
			a[at] = (a[at] + v) % p
		}
		for h, t := m/2, 1; h >= 1; h, t = h/2, 2*t {
			for i := range h {
				for j := 2 * i * t; j < 2*i*t+t; j++ {
					x, y := a[j], a[j+t]
					a[j], a[j+t] = (x+y)%p, mulMod((x+p-y)%p, table[h+i], p)
				}
			}
		}
		scale := residue(signExtend(inverse.DType, inverse.Bits[ch]), int64(p))
		for i := range a {
			a[i] = mulMod(a[i], scale, p)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return one(out)
}

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
		re, im, axis := args[0], args[1], attrs[0].(int64)
		if err := requireIn("C1", "`fourier`", floats, re); err != nil {
			return nil, err
		}
		if err := requireSameDType("C1", "`fourier`", re, im); err != nil {
			return nil, err
		}
		if err := sameShape("C2", "the real and the imaginary parts differ in shape", re.Shape, im.Shape); err != nil {
			return nil, err
		}
		if axis < 0 || axis >= int64(re.Rank()) {
			return nil, broken("C3", "axis %d is out of range for %s of rank %d", axis, re, re.Rank())
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

// FourierRows is the transform of lines, all stages of which are done in memory.
var FourierRows = ir.Declare("fourier_rows")
var _ = ir.Define(FourierRows, ir.OpDef{
	Class: ir.Rows, Arity: 3,
	Summary: "The discrete Fourier transform along the last axis, of n elements without factors other than 2, 3 and " +
		"5. The last operand has the factors of its stages, their real parts and their imaginary ones. The results " +
		"are the real parts and the imaginary ones.",
	Attrs: []ir.AttrDef{{Name: "axis", Kind: ir.AttrInt, Doc: "the transformed axis, which is the last"}},
	Infer: func(args []types.Tensor, attrs ir.Attrs, _ []*ir.Block) ([]types.Tensor, error) {
		re, im, table := args[0], args[1], args[2]
		if re.Elem != types.F32 && re.Elem != types.F64 {
			return nil, broken("C1", "`fourier_rows` needs f32 or f64, not %s", re)
		}
		if err := requireSameDType("C1", "`fourier_rows`", re, im, table); err != nil {
			return nil, err
		}
		if err := sameShape("C2", "the real and the imaginary parts differ in shape", re.Shape, im.Shape); err != nil {
			return nil, err
		}
		last := re.Rank() - 1
		if last < 0 || attrs[0].(int64) != int64(last) {
			return nil, broken("C3", "`fourier_rows` transforms the last axis, and not axis %d of %s", attrs[0], re)
		}
		n, known := re.Shape[last].Const()
		if _, ok := fourier.Radices(n); !known || !ok || n > fourier.Most {
			return nil, broken("C4", "`fourier_rows` has no stages for %s elements", re.Shape[last])
		}
		if err := sameShape("C5", "the table has one factor for each that the stages need",
			types.Shape{types.Lit(2), types.Lit(fourier.Factors(n))}, table.Shape); err != nil {
			return nil, err
		}
		return []types.Tensor{re, im}, nil
	},
	Reads: func(_ *ir.Op, i int) bool { return i < 2 },
	Eval:  evalFourier, Element: rows.FourierElement, Rows: rows.Fourier, RowWork: rowAgain,
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
		g := t.b.EmitOp(FourierRows, ir.A{"axis": op.Int("axis")}, []*ir.Value{ct(1), ct(0), op.Args[2]}, nil).Results
		for i, x := range op.Args[:2] {
			if t.Needs(x) {
				t.Add(x, g[1-i])
			}
		}
	}),
	Constraints: []ir.Constraint{
		{Name: "C1", Text: "the parts and the factors share one element type, f32 or f64"},
		{Name: "C2", Text: "the parts share one shape"},
		{Name: "C3", Text: "the axis is the last"},
		{Name: "C4", Text: "its extent is known, at most 2^24, and has no factors other than 2, 3 and 5"},
		{Name: "C5", Text: "there are as many factors as the stages need"},
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
	n, known := op.Args[0].Type.Shape[axis].Const()
	if !known {
		return nil
	}
	z := complexOf{Re: widened(b, op.Args[0]), Im: widened(b, op.Args[1])}
	if op.Flag("inverse") {
		z.Re, z.Im = z.Im, z.Re
		scale := irArithmetic{b, z.Re.Type}.Real(1 / float64(n))
		z.Re, z.Im = b.Emit(Mul, nil, z.Re, scale), b.Emit(Mul, nil, z.Im, scale)
	}
	last := z.Re.Type.Rank() - 1
	if axis != last {
		order := []int64{}
		for k := range last + 1 {
			if k != axis {
				order = append(order, int64(k))
			}
		}
		order = append(order, int64(axis))
		z.Re, z.Im = b.Emit(Permute, ir.A{"perm": order}, z.Re), b.Emit(Permute, ir.A{"perm": order}, z.Im)
	}
	if _, ok := fourier.Radices(n); ok {
		z = fourierRows(b, z)
	} else {
		z = chirped(b, z, n)
	}
	if op.Flag("inverse") {
		z.Re, z.Im = z.Im, z.Re
	}
	back := []int64{} // the axis is where it was
	for k := range last + 1 {
		switch {
		case k < axis:
			back = append(back, int64(k))
		case k == axis:
			back = append(back, int64(last))
		default:
			back = append(back, int64(k-1))
		}
	}
	part := func(x *ir.Value) *ir.Value {
		if axis != last {
			x = b.Emit(Permute, ir.A{"perm": back}, x)
		}
		return b.Emit(Reshape, ir.A{"shape": append(types.Shape{types.Lit(1)}, x.Type.Shape...)}, narrowed(b, op, x))
	}
	return []*ir.Value{b.Emit(Concat, ir.A{"axis": int64(0)}, part(z.Re), part(z.Im))}
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
func fourierRows(b *ir.Builder, z complexOf) complexOf {
	last := z.Re.Type.Rank() - 1
	n, _ := z.Re.Type.Shape[last].Const()
	table := b.Emit(Const, ir.A{"value": fourierTable(z.Re.Type.Elem, n)})
	y := b.EmitOp(FourierRows, ir.A{"axis": int64(last)}, []*ir.Value{z.Re, z.Im, table}, nil).Results
	return complexOf{Re: y[0], Im: y[1]}
}

// fourierTables keeps the tables that were made: a program has one of each for all of its transforms.
var fourierTables sync.Map // of fourierKey to *ir.Array

type fourierKey struct {
	t types.DType
	n int64
}

func fourierTable(t types.DType, n int64) *ir.Array {
	key := fourierKey{t, n}
	if a, ok := fourierTables.Load(key); ok {
		return a.(*ir.Array)
	}
	a := floatArray(t, fourier.Table(n, t == types.F32), 2, fourier.Factors(n))
	kept, _ := fourierTables.LoadOrStore(key, a)
	return kept.(*ir.Array)
}

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
	y := fourierRows(b, complexOf{Re: padded(x.Re), Im: padded(x.Im)})
	far := irArithmetic{b, of(m)}
	p := fourier.Times(far, y, complexOf{Re: far.factors(kernel[0]), Im: far.factors(kernel[1])})
	y = fourierRows(b, complexOf{Re: p.Im, Im: p.Re})
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

// evalFourier makes stage after stage of a row: number p of transform q lies at q*Rest + p.
func evalFourier(c ir.EvalContext, op *ir.Op, args []*ir.Array) ([]*ir.Array, error) {
	type numbers = fourier.Complex[[]uint64]
	re, im, table := args[0], args[1], args[2]
	outs := []*ir.Array{ir.NewArray(re.DType, re.Shape...), ir.NewArray(re.DType, re.Shape...)}
	n := re.Shape[op.Int("axis")]
	size := table.Shape[1]
	picked := func(from []uint64, count int64, at func(i int64) int64) []uint64 {
		x := make([]uint64, count)
		for i := range x {
			x[i] = from[at(int64(i))]
		}
		return x
	}
	for row := int64(0); row < int64(len(re.Bits))/n; row++ {
		if err := c.Ended(); err != nil {
			return nil, err
		}
		z := numbers{Re: re.Bits[row*n:][:n], Im: im.Bits[row*n:][:n]}
		for _, s := range fourier.Stages(n) {
			all := columns{re.DType, n / s.Radix} // for each q and p, in order
			var x []numbers
			for j := range s.Radix {
				at := func(i int64) int64 { return i/s.Rest*s.Rest*s.Radix + s.Rest*j + i%s.Rest }
				x = append(x, numbers{Re: picked(z.Re, all.n, at), Im: picked(z.Im, all.n, at)})
			}
			next := numbers{Re: make([]uint64, n), Im: make([]uint64, n)}
			for k, y := range fourier.Butterfly(all, x) {
				if k > 0 && s.Rest > 1 {
					at := func(i int64) int64 { return s.Table + int64(k-1)*s.Rest + i%s.Rest }
					y = fourier.Times(all, y, numbers{Re: picked(table.Bits[:size], all.n, at),
						Im: picked(table.Bits[size:], all.n, at)})
				}
				for i := range all.n {
					to := i + int64(k)*s.Before*s.Rest
					next.Re[to], next.Im[to] = y.Re[i], y.Im[i]
				}
			}
			z = next
		}
		copy(outs[0].Bits[row*n:], z.Re)
		copy(outs[1].Bits[row*n:], z.Im)
	}
	return outs, nil
}

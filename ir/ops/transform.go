package ops

import (
	"fmt"
	"math/bits"

	"healc/ir"
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
	Sharding: ir.ShardChannels,
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
	Sharding: ir.ShardChannels,
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

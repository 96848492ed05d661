package random

import (
	"healc/ir"
	"healc/ir/ops"
	"healc/ir/scalar"
	"healc/lang/types"
)

func init() {
	for _, name := range []string{"modsum", "modsub", "modmul", "modneg", "mod", "modpow", "modinv"} {
		makers[name] = makeModular
	}
	makers["axis_modsum"], makers["modmul_axis_sum"] = makeModSum, makeModSum
	makers["product_limb"], makers["mod_limbs"], makers["mod_parts"] = makeLimbs, makeLimbs, makeLimbs
	makers["mod_scatter_add"] = makeModScatterAdd
	makers["g_decomposition"], makers["g_decomposition_full"] = makeDigits, makeDigitsFull
	makers["ntt"], makers["intt"] = makeNtt, makeNtt
}

// residueType is i32 or i64.
func (g *Gen) residueType() types.DType { return []types.DType{types.I32, types.I64}[g.r.IntN(2)] }

// moduli are constants, small ones, primes and large ones; at times a value of the program, which may not be positive.
func (g *Gen) moduli(t types.DType, n int64) *ir.Value {
	shape := types.Shape{types.Lit(n)}
	if n < 0 {
		shape = nil
	}
	if g.r.IntN(40) == 0 {
		if v := g.pickIf(func(v *ir.Value) bool { return v.Type.Elem == t && v.Type.Shape.Equal(shape) }); v != nil {
			return v
		}
	}
	a := ir.NewArray(t)
	if n >= 0 {
		a = ir.NewArray(t, n)
	}
	for i := range a.Bits {
		p := []int64{1, 2, 17, 97, 12289, 1 << 16, 1<<31 - 1}[g.r.IntN(7)]
		if t == types.I64 && g.r.IntN(2) == 0 {
			p = []int64{1<<63 - 1, 1<<62 + 1, 1<<50 - 27, 1<<32 + 15}[g.r.IntN(4)]
		}
		a.Bits[i] = uint64(p)
	}
	return g.b.Emit(ops.Const, ir.A{"value": a})
}

// channels are moduli for the last axis of x: one, or one for each position of an axis of literal extent.
func (g *Gen) channels(x types.Tensor) *ir.Value {
	if n, ok := x.Shape[x.Rank()-1].Const(); ok && g.r.IntN(2) == 0 {
		return g.moduli(x.Elem, n)
	}
	return g.moduli(x.Elem, -1)
}

// residues is a value as a tensor of i32 or i64 with at least the given rank, nil when there is none.
func (g *Gen) residues(rank int) *ir.Value {
	v := g.pickIf(func(v *ir.Value) bool { return v.Type.Rank() >= rank })
	if v == nil {
		return nil
	}
	return g.as(v, types.Tensor{Elem: g.residueType(), Shape: v.Type.Shape})
}

func makeModular(g *Gen, d *ir.OpDef) bool {
	x := g.residues(0)
	if x == nil {
		return false
	}
	args := []*ir.Value{x}
	p := g.moduli(x.Type.Elem, -1)
	if x.Type.Rank() > 0 {
		p = g.channels(x.Type)
	}
	for len(args) < d.Arity-1 {
		y := g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(x.Type.Shape) })
		args = append(args, g.as(y, x.Type))
	}
	switch d {
	case ops.ModPow: // exponents below 0 are for the clamp to remove, mostly
		if g.r.IntN(20) != 0 {
			args[1] = g.b.Emit(ops.Mod, nil, args[1], g.as(g.moduli(x.Type.Elem, -1), x.Type))
		}
	case ops.ModInv: // 2x + 1 and 2^n have no common factor
		one := g.as(g.b.Emit(ops.Const, ir.A{"value": clampTo(x.Type.Elem, 1)}), x.Type)
		args[0] = g.b.Emit(ops.Bor, nil, args[0], one)
		if g.r.IntN(20) != 0 {
			p = g.b.Emit(ops.Const, ir.A{"value": clampTo(x.Type.Elem, 1<<g.r.IntN(x.Type.Elem.Bits()-1))})
		}
	}
	return g.emit(d, nil, nil, append(args, g.as(p, x.Type))...)
}

func makeModSum(g *Gen, d *ir.OpDef) bool {
	x := g.residues(2)
	if x == nil {
		return false
	}
	args := []*ir.Value{x}
	if d == ops.ModMulAxisSum {
		args = append(args, g.as(g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(x.Type.Shape) }), x.Type))
	}
	return g.emit(d, ir.A{"axis": int64(g.r.IntN(x.Type.Rank() - 1))}, nil, append(args, g.channels(x.Type))...)
}

// makeLimbs computes with digits of i64, of any numbers. Those of products mean something all together.
func makeLimbs(g *Gen, d *ir.OpDef) bool {
	x := g.residues(0)
	if x == nil {
		return false
	}
	x = g.as(x, types.Tensor{Elem: types.I64, Shape: x.Type.Shape})
	args := []*ir.Value{x}
	args = append(args, g.as(g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(x.Type.Shape) }), x.Type))
	p := g.moduli(types.I64, -1)
	if x.Type.Rank() > 0 {
		p = g.channels(x.Type)
	}
	p = g.as(p, x.Type)
	var attrs ir.A
	if d.Name == "mod_parts" {
		attrs = ir.A{"bits": int64(1 + g.r.IntN(62))}
	} else {
		g.used["product_limb"]++
		var limbs []*ir.Value
		for limb := int64(2); limb >= 0; limb-- {
			limbs = append(limbs, g.b.Emit(ir.Lookup("product_limb"), ir.A{"limb": limb}, args[0], args[1], p))
		}
		d, args, attrs = ir.Lookup("mod_limbs"), limbs, ir.A{"terms": int64(1)}
	}
	return g.emit(d, attrs, nil, append(args, p)...)
}

func makeModScatterAdd(g *Gen, d *ir.OpDef) bool {
	x := g.residues(1)
	if x == nil {
		return false
	}
	axis := g.r.IntN(x.Type.Rank())
	idx := g.positions(x.Type.Shape, g.size(x.Type.Shape[axis]))
	if idx == nil {
		return false
	}
	v := g.as(g.pickIf(func(v *ir.Value) bool { return v.Type.Shape.Equal(x.Type.Shape) }), x.Type)
	return g.emit(d, ir.A{"axis": int64(axis)}, nil, x, idx, v, g.channels(x.Type))
}

func makeDigits(g *Gen, d *ir.OpDef) bool {
	x := g.residues(0)
	if x == nil {
		return false
	}
	bits := 1 + g.r.IntN(x.Type.Elem.Bits()-1)
	return g.emit(d, ir.A{"power": int64(1 + g.r.IntN(4)), "base_bits": int64(bits)}, nil, x)
}

func makeDigitsFull(g *Gen, d *ir.OpDef) bool {
	x := g.residues(0)
	if x == nil {
		return false
	}
	k := int64(1 + g.r.IntN(3))
	q := ir.NewArray(x.Type.Elem, k)
	for i := range q.Bits {
		q.Bits[i] = []uint64{7, 1<<31 - 1, 4}[i]
	}
	n, err := x.Type.Shape.Elems()
	if err != nil {
		return false
	}
	flat := g.b.Emit(ops.Reshape, ir.A{"shape": types.Shape{types.Lit(1), types.Lit(1), n}}, x)
	wide := g.b.Emit(ops.Broadcast, ir.A{"shape": types.Shape{types.Lit(1), types.Lit(k), n}}, flat)
	return g.emit(d, ir.A{"power": int64(1 + g.r.IntN(3)), "base_bits": int64(1 + g.r.IntN(31))}, nil, wide,
		g.b.Emit(ops.Const, ir.A{"value": q}))
}

// makeNtt repeats a value along a transformed axis of a literal power of two.
func makeNtt(g *Gen, d *ir.OpDef) bool {
	x := g.residues(1)
	if x == nil {
		return false
	}
	m := int64(1) << g.r.IntN(4)
	last := x.Type.Shape[x.Type.Rank()-1]
	k, ok := last.Const()
	if !ok {
		return false
	}
	t := x.Type.Elem
	shape := append(types.Shape{}, x.Type.Shape[:x.Type.Rank()-1]...)
	axis := len(shape)
	if g.r.IntN(2) == 0 { // [..., m, r, k]
		shape = append(shape, types.Lit(m), types.Lit(int64(1+g.r.IntN(2))), last)
		axis = len(shape) - 3
		x = g.b.Emit(ops.Reshape, ir.A{"shape": append(x.Type.Shape[:x.Type.Rank()-1:x.Type.Rank()-1], types.Lit(1),
			types.Lit(1), last)}, x)
	} else { // [..., k, m]
		shape = append(shape, last, types.Lit(m))
		axis++
		x = g.b.Emit(ops.Reshape, ir.A{"shape": append(x.Type.Shape[:len(x.Type.Shape):len(x.Type.Shape)],
			types.Lit(1))}, x)
	}
	if g.elems(shape) > maxElems {
		return false
	}
	line := ir.NewArray(t, m)
	for i := range line.Bits {
		line.Bits[i] = scalar.IntBits(t, g.r.Int64()>>g.r.IntN(63))
	}
	table := ir.NewArray(t, k, m)
	for i := range table.Bits {
		table.Bits[i] = scalar.IntBits(t, g.r.Int64()>>g.r.IntN(63))
	}
	x = g.as(x, types.Tensor{Elem: t, Shape: shape})
	column := make(types.Shape, len(shape))
	for i := range column {
		column[i] = types.Lit(1)
	}
	column[axis] = types.Lit(m)
	steps := g.b.Emit(ops.Reshape, ir.A{"shape": column}, g.b.Emit(ops.Const, ir.A{"value": line}))
	x = g.b.Emit(ops.Bxor, nil, x, g.as(steps, x.Type))
	perm := g.positions(types.Shape{types.Lit(m)}, m)
	if perm == nil {
		return false
	}
	attrs := ir.A{"axis": int64(axis)}
	args := []*ir.Value{x, g.moduli(t, k), g.b.Emit(ops.Const, ir.A{"value": table})}
	if d == ops.Ntt {
		attrs["skip_perm"] = g.r.IntN(3) == 0
	} else {
		args = append(args, g.moduli(t, k))
	}
	return g.emit(d, attrs, nil, append(args, perm)...)
}

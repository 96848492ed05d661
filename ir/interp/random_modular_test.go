package interp

import (
	"healc/ir"
	"healc/ir/scalar"
	"healc/ir/scalar/modular"
	"healc/lang/types"
)

// residueType is i32 or i64.
func (g *gen) residueType() types.DType { return []types.DType{types.I32, types.I64}[g.Intn(2)] }

// moduli adds a parameter of moduli, small ones and large ones, rarely one that is not positive.
func (g *gen) moduli(t types.Tensor) *ir.Value {
	v := g.param(t)
	a := g.args[len(g.args)-1]
	for i := range a.Bits {
		p := int64(1 + g.Intn(20))
		switch g.Intn(4) {
		case 0:
			p = int64(g.Uint64()>>1)>>(64-t.Elem.Bits()) | 1
		case 1:
			p = 17
		}
		if g.Intn(60) == 0 {
			p = -p * int64(g.Intn(2))
		}
		a.Bits[i] = scalar.IntBits(t.Elem, p)
	}
	return v
}

// channels is the type of one modulus or, at times, one for each position of the last axis.
func (g *gen) channels(x types.Tensor) types.Tensor {
	if g.Intn(2) == 0 {
		return types.Scalar(x.Elem)
	}
	return types.Tensor{Elem: x.Elem, Shape: x.Shape[x.Rank()-1:]}
}

func init() {
	for _, name := range []string{"axis_modsum", "modmul_axis_sum"} {
		generators[name] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
			x := types.Tensor{Elem: g.residueType(), Shape: g.shape(2 + g.Intn(2))}
			args := []*ir.Value{g.param(x)}
			if name == "modmul_axis_sum" {
				args = append(args, g.param(x))
			}
			return ir.A{"axis": int64(g.Intn(x.Rank() - 1))}, append(args, g.moduli(g.channels(x))), nil
		}
	}
	for name, numbers := range map[string]int{"product_limb": 2, "mod_limbs": 3, "mod_parts": 2} {
		generators[name] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
			x := g.tensor(types.I64)
			var args []*ir.Value
			for range numbers {
				args = append(args, g.param(x))
			}
			var attrs ir.A
			if name == "product_limb" {
				attrs = ir.A{"limb": int64(g.Intn(3))}
			} else if name == "mod_limbs" {
				attrs = ir.A{"terms": int64(1 + g.Intn(modular.LimbTerms))}
			} else {
				attrs = ir.A{"bits": int64(1 + g.Intn(62))}
			}
			return attrs, append(args, g.moduli(x)), nil
		}
	}
	generators["mod_scatter_add"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x, axis, shape := g.along()
		x.Elem = g.residueType()
		v := g.param(x)
		idx := g.positions(shape, x.Shape[axis])
		add := g.param(types.Tensor{Elem: x.Elem, Shape: shape})
		return ir.A{"axis": int64(axis)}, []*ir.Value{v, idx, add, g.moduli(g.channels(x))}, nil
	}
	generators["g_decomposition"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		x := types.Tensor{Elem: g.residueType(), Shape: g.shape(g.Intn(3))}
		return ir.A{"power": int64(1 + g.Intn(6)), "base_bits": int64(1 + g.Intn(31))}, []*ir.Value{g.param(x)}, nil
	}
	generators["g_decomposition_full"] = func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		s := g.shape(3)
		s[1] = types.Lit(int64(1 + g.Intn(4)))
		x := types.Tensor{Elem: g.residueType(), Shape: s}
		v := g.param(x)
		q := g.param(types.Tensor{Elem: x.Elem, Shape: s[1:2]})
		coprime := [][]int64{{3, 7, 10, 11}, {1<<31 - 1, 97, 64, 1}, {2, 3, 5, 49}}[g.Intn(3)]
		for i := range g.args[1].Bits {
			g.args[1].Bits[i] = uint64(coprime[i])
		}
		return ir.A{"power": int64(1 + g.Intn(9)), "base_bits": int64(1 + g.Intn(31))}, []*ir.Value{v, q}, nil
	}
	transform := func(name string) func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
		return func(g *gen) (ir.A, []*ir.Value, []*ir.Block) {
			m, k := types.Lit(1<<g.Intn(5)), g.extent()
			switch g.Intn(6) {
			case 0:
				m = types.Param("N") // at times a power of two
			case 1:
				m = types.Lit(0)
			}
			t := g.residueType()
			lead := g.shape(g.Intn(2))
			shape := append(lead, k, m)
			axis := len(shape) - 1
			if g.Intn(2) == 0 {
				shape = append(lead[:len(lead):len(lead)], m, g.extent(), k)
				axis = len(shape) - 3
			}
			vec := types.Tensor{Elem: t, Shape: types.Shape{k}}
			args := []*ir.Value{g.param(types.Tensor{Elem: t, Shape: shape}), g.moduli(vec),
				g.param(types.Tensor{Elem: t, Shape: types.Shape{k, m}})}
			attrs := ir.A{"axis": int64(axis)}
			if name == "ntt" {
				attrs["skip_perm"] = g.Intn(2) == 0
			} else {
				args = append(args, g.param(vec))
			}
			return attrs, append(args, g.positions(types.Shape{m}, m)), nil
		}
	}
	generators["ntt"], generators["intt"] = transform("ntt"), transform("intt")
}

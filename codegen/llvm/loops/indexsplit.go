package loops

import (
	"github.com/llir/llvm/ir/enum"
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/build"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
)

// subrange is a part of a range with what runs there.
type subrange struct {
	lo, hi value.Value
	body   *kernel.Block
}

// splitIndexSet cuts [lo, hi), the range of v, where the schedule says: Note [Index-set splitting] in
// ir/kernel/transform.
func splitIndexSet(g *emit.Func, d *kernel.Directive, lo, hi value.Value, body *kernel.Block) []subrange {
	cuts := d.List("at")
	first, known := build.ConstantInt(lo) // else it is at least 0
	var out []subrange
	for i, b := range transform.AffineConditionsOf(d.On, g.Lets, body).Pieces(body, cuts, first, known) {
		end := hi
		if i < len(cuts) {
			end = clamp(g, build.Int(build.I64, cuts[i]), lo, hi)
		}
		out = append(out, subrange{lo, end, b})
		lo = end
	}
	return out
}

// clamp is x, but at least lo and at most hi, which is not below lo.
func clamp(g *emit.Func, x, lo, hi value.Value) value.Value {
	if _, known := build.ConstantInt(hi); !known {
		x = g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredSLT, x, hi), x, hi)
	}
	if _, known := build.ConstantInt(lo); known {
		if _, known := build.ConstantInt(x); known {
			return x // the cut lies inside
		}
	}
	return g.Cur.NewSelect(g.Cur.NewICmp(enum.IPredSLT, x, lo), lo, x)
}

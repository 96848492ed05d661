package gpu

import (
	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"
)

// Note [Fours of bytes on devices]: where both factors are cast from bytes, an element of shared memory has the four
// bytes of a step of the chains, which go by four elements then: dp4a adds the four products. From sm_80 on a warp
// adds 16 by 8 sums at once by mma, for 8 steps. Then the rows and columns of a thread lie as that instruction has
// them. What is beyond the factors is 0 here, which sums of integers do not see.

const (
	perStep   = 4 // bytes
	warpSteps = 8 // of mma
)

// loadBytes is loadSlice for fours of bytes.
func (t *matmul) loadBytes(s *factorTile, k value.Value, inside func(i int) value.Value, whole bool) []value.Value {
	across, along := t.copied(s)
	kVar := t.p.Chains.Axis.Var
	first := func(i int) value.Value { return t.Times(t.Plus(k, along[i]), ci(i64, perStep)) }
	if s.vector && (whole || !s.alongK) {
		return t.ifElse(inside(0), func() []value.Value {
			parts := make([][]value.Value, copiedPerThread)
			if s.alongK {
				t.Define(s.axis.Var, t.Plus(s.begin, across[0]))
				all := t.Vector(copiedPerThread*perStep, kVar, first(0), nil, s.f.Stmts, s.f.Val)
				for i := range parts {
					parts[i] = all[i*perStep:][:perStep]
				}
			} else {
				for e := range int64(perStep) {
					t.Define(kVar, t.Plus(first(0), ci(i64, e)))
					of := t.Vector(copiedPerThread, s.axis.Var, t.Plus(s.begin, across[0]), nil, s.f.Stmts, s.f.Val)
					for i, x := range of {
						parts[i] = append(parts[i], x)
					}
				}
			}
			out := make([]value.Value, copiedPerThread)
			for i := range out {
				out[i] = t.four(parts[i])
			}
			return out
		}, t.zeros(s))
	}
	var out []value.Value
	for i := range copiedPerThread {
		out = append(out, t.ifElse(inside(i), func() []value.Value {
			var parts []value.Value
			for e := range int64(perStep) {
				at := t.Plus(first(i), ci(i64, e))
				one := func() []value.Value {
					t.Define(s.axis.Var, t.Plus(s.begin, across[i]))
					t.Define(kVar, at)
					t.Statements(nil, s.f.Stmts...)
					return []value.Value{t.Value(s.f.Val)}
				}
				if e == 0 || t.wholeSteps() {
					parts = append(parts, one()...)
					continue
				}
				there := t.Block().NewICmp(enum.IPredSLT, at, t.kExtent)
				parts = append(parts, t.ifElse(there, one, t.zeros(s)[:1])...)
			}
			return []value.Value{t.four(parts)}
		}, t.zeros(s)[:1])...)
	}
	return out
}

// four is four bytes in one element, the first in the lowest bits.
func (t *matmul) four(parts []value.Value) value.Value {
	var out value.Value
	for e, x := range parts {
		if e < len(parts)-1 {
			x = t.Block().NewAnd(x, ci(i32, 255))
		}
		if e == 0 {
			out = x
			continue
		}
		out = t.Block().NewOr(out, t.Block().NewShl(x, ci(i32, int64(8*e))))
	}
	return out
}

// wholeSteps reports that chains are known to have no part of a step.
func (t *matmul) wholeSteps() bool {
	n, known := constantInt(t.kExtent)
	return known && n%perStep == 0
}

// warpProducts is slice by mma.m16n8k32: a lane of a group of four has the steps of its number and four beyond, for the
// row of the group and eight below, or for the column of the group. It has sums of two neighbouring columns in these
// rows.
func (t *matmul) warpProducts(half value.Value, acc []value.Value) []value.Value {
	side := t.p.Side
	signedX, signedY, _ := t.p.Bytes()
	name := "llvm.nvvm.mma.m16n8k32.row.col." + byteType(signedX)
	if signedX != signedY {
		name += "." + byteType(signedY)
	}
	args := make([]lt.Type, 10)
	for i := range args {
		args[i] = i32
	}
	mma := t.Intrinsic(name, lt.NewStruct(i32, i32, i32, i32), args...)
	out := append([]value.Value(nil), acc...)
	// Loads at the edges may have split the warp.
	t.Block().NewCall(t.Intrinsic("llvm.nvvm.bar.warp.sync", lt.Void, i32), ci(i32, -1))
	for kk := int64(0); kk < t.p.Depth; kk += warpSteps {
		row := t.Plus(t.Plus(t.Times(half, ci(i64, t.p.Depth)), ci(i64, kk)), t.lane[0])
		load := func(s *factorTile, base value.Value, step, at int64) value.Value {
			p := t.Plus(t.Times(t.Plus(row, ci(i64, step)), ci(i64, s.pitch)), t.Plus(base, ci(i64, at)))
			return t.Block().NewLoad(i32, t.Block().NewGetElementPtr(i32, s.shared, p))
		}
		column := t.Plus(t.Minus(t.base[1], t.Times(t.lane[0], ci(i64, 2))), t.lane[1])
		var xs, ys [][]value.Value
		for i := range int64(side / 2) {
			var x []value.Value
			for _, from := range [][2]int64{{0, 0}, {0, 8}, {4, 0}, {4, 8}} {
				x = append(x, load(&t.x, t.base[0], from[0], 16*i+from[1]))
			}
			xs = append(xs, x)
			ys = append(ys, []value.Value{load(&t.y, column, 0, 8*i), load(&t.y, column, 4, 8*i)})
		}
		for i, x := range xs {
			for j, y := range ys {
				at := func(n int) int { return (2*i+n/2)*side + 2*j + n%2 }
				in := append(append([]value.Value(nil), x...), y...)
				for n := range 4 {
					in = append(in, out[at(n)])
				}
				sums := t.Block().NewCall(mma, in...)
				for n := range 4 {
					out[at(n)] = t.Block().NewExtractValue(sums, uint64(n))
				}
			}
		}
	}
	return out
}

func byteType(signed bool) string {
	if signed {
		return "s8"
	}
	return "u8"
}

// dot adds four products of bytes to a sum.
func (t *matmul) dot(x, y, sum value.Value) value.Value {
	signedX, signedY, _ := t.p.Bytes()
	types := map[bool]string{true: ".s32", false: ".u32"}
	text := "dp4a" + types[signedX] + types[signedY] + " $0, $1, $2, $3;"
	asm := lir.NewInlineAsm(lt.NewPointer(lt.NewFunc(i32, i32, i32, i32)), text, "=r,r,r,r")
	return t.Block().NewCall(asm, x, y, sum)
}

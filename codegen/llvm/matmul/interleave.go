package matmul

import (
	"strconv"
	"strings"

	lir "github.com/llir/llvm/ir"
	lt "github.com/llir/llvm/ir/types"
	"github.com/llir/llvm/ir/value"

	"healc/ir/scalar"
)

// Note [Products together]
//
// x86 has no multiply-add of integers but those of Note [Pairs]: a step of a chain is a product and a sum. Some
// processors choose the pipes of instructions in the order of the code. They lose a third where products and sums
// alternate (docs/tuning/matrix-products.md). LLVM does not know that. It mixes them, and moves products of several
// steps before the sums, for which registers run out. So the products of a row of a tile go through an empty piece of
// assembly on their way to the sums.

// products adds the products of x and each of ys to the sums.
func (t *tileGen) products(x value.Value, ys, sums, next []value.Value) {
	all := make([]value.Value, len(ys))
	for v, y := range ys {
		if t.Swap {
			all[v] = t.Instr(scalar.Mul, t.Acc, t.Acc, t.Width, []value.Value{y, x})
		} else {
			all[v] = t.Instr(scalar.Mul, t.Acc, t.Acc, t.Width, []value.Value{x, y})
		}
	}
	for v, product := range t.allBefore(all) {
		next[v] = t.Instr(scalar.Add, t.Acc, t.Acc, t.Width, []value.Value{product, sums[v]})
	}
}

// allBefore gives values in registers, all of which are computed before any of them is used.
func (t *tileGen) allBefore(values []value.Value) []value.Value {
	if len(values) == 1 || t.Machine.Split {
		return values
	}
	var outputs, inputs []string
	var types []lt.Type
	for i, x := range values {
		outputs, inputs = append(outputs, "=v"), append(inputs, strconv.Itoa(i))
		types = append(types, x.Type())
	}
	none := lir.NewInlineAsm(lt.NewPointer(lt.NewFunc(lt.NewStruct(types...), types...)), "",
		strings.Join(append(outputs, inputs...), ","))
	call := t.Cur.NewCall(none, values...)
	out := make([]value.Value, len(values))
	for i := range out {
		out[i] = t.Cur.NewExtractValue(call, uint64(i))
	}
	return out
}

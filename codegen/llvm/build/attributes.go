package build

import (
	"fmt"

	lir "github.com/llir/llvm/ir"
	"github.com/llir/llvm/ir/enum"
	lt "github.com/llir/llvm/ir/types"
)

var (
	BytePtr = lt.NewPointer(lt.I8)
	I64Ptr  = lt.NewPointer(lt.I64)
)

// FunctionAttrs are those of all generated functions. 512-bit vectors are ours to choose, so LLVM must
// not split them.
func FunctionAttrs(f *lir.Func) {
	f.FuncAttrs = append(f.FuncAttrs, enum.FuncAttrNoUnwind,
		lir.AttrPair{Key: "prefer-vector-width", Value: "512"},
		lir.AttrPair{Key: "min-legal-vector-width", Value: "512"},
		lir.AttrPair{Key: "denormal-fp-math", Value: "ieee,ieee"})
}

// TypeSuffix is the part of an intrinsic's name that names t: f32, v16f32, i64.
func TypeSuffix(t lt.Type) string {
	switch t := t.(type) {
	case *lt.VectorType:
		return fmt.Sprintf("v%d%s", t.Len, TypeSuffix(t.ElemType))
	case *lt.IntType:
		return fmt.Sprintf("i%d", t.BitSize)
	case *lt.FloatType:
		if t.Kind == lt.FloatKindFloat {
			return "f32"
		}
		return "f64"
	}
	panic(fmt.Sprintf("BUG: intrinsic on %v", t))
}

package llvm

import (
	lir "github.com/llir/llvm/ir"
	lt "github.com/llir/llvm/ir/types"

	"healc/ir/kernel"
)

// tellFrames tells how many bytes of arrays each kernel has on the stack, those of the functions that it may call with
// them. Registers that are spilled come on top.
func (m *program) tellFrames(tell func(kernel string, bytes int64), kernels []*kernel.Kernel) {
	bodies := map[string]int64{}
	shared := int64(0)
	for _, k := range kernels {
		bodies[k.Name+bodySuffix] = 0
	}
	for _, f := range m.M.Funcs {
		n := arrays(f)
		if _, body := bodies[f.Name()]; body {
			bodies[f.Name()] = n
		} else {
			shared += n
		}
	}
	for _, k := range kernels {
		tell(k.Name, bodies[k.Name+bodySuffix]+shared)
	}
}

// arrays is how many bytes a function allocates on its stack.
func arrays(f *lir.Func) int64 {
	n := int64(0)
	for _, b := range f.Blocks {
		for _, i := range b.Insts {
			if a, ok := i.(*lir.InstAlloca); ok {
				n += (sizeOf(a.ElemType) + 63) &^ 63
			}
		}
	}
	return n
}

// sizeOf is the size of a type of a stack's memory.
func sizeOf(t lt.Type) int64 {
	switch t := t.(type) {
	case *lt.ArrayType:
		return int64(t.Len) * sizeOf(t.ElemType)
	case *lt.VectorType:
		return int64(t.Len) * sizeOf(t.ElemType)
	case *lt.StructType:
		n := int64(0)
		for _, f := range t.Fields {
			n += (sizeOf(f) + 7) &^ 7
		}
		return n
	case *lt.IntType:
		return int64(t.BitSize+7) / 8
	case *lt.FloatType:
		switch t.Kind {
		case lt.FloatKindHalf:
			return 2
		case lt.FloatKindFloat:
			return 4
		}
		return 8
	}
	return 8 // an address
}

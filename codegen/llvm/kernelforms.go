package llvm

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/codegen/llvm/matmul"
	"healc/codegen/llvm/ntt"
	"healc/codegen/llvm/reduce"
	"healc/codegen/llvm/transpose"
	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/lang/types"
)

// registry has the translations of all statements.
var registry = emit.Registry{}

func init() {
	emit.RegisterScalars(registry)
	loops.RegisterLoops(registry)
	reduce.RegisterReductions(registry)
	ntt.RegisterTransforms(registry)
}

// allForms are the forms of loops for processors.
var allForms = emit.Forms{
	Parallel:   []emit.ParallelForm{reduce.ColumnForm},
	Scalar:     []emit.ParallelForm{reduce.RowSumsForm},
	Sequential: []emit.SequentialForm{transpose.TransposedForm},
}

// written is how the code of a kernel is written: its loops, and the types of its scalars where the form adds some.
type written struct {
	write func(g *emit.Func, begin, end value.Value)
	types []types.DType
}

// kernelForms are the forms of whole kernels, in the order in which they are tried: the first that fits is taken.
var kernelForms = []struct {
	Name string
	For  string // which kernels
	Why  string // and why it stands before those after it
	Fit  func(m *program, k *kernel.Kernel) *written
}{
	{
		Name: "matrix product",
		For:  "a loop over k in two parallel axes, whose body is an fma",
		Why:  "a product whose operand is transposed has its own copies, and is no transposition",
		Fit: func(m *program, k *kernel.Kernel) *written {
			c := m.contractions[k.Name]
			if c == nil {
				return nil
			}
			return &written{write: func(g *emit.Func, begin, end value.Value) { matmul.Write(g, c, begin, end) }}
		},
	},
	{
		Name: "interleave",
		For:  "element-wise kernels with a short last axis, whose operands lie along the axis before it",
		Why:  "a transposition of a short axis has no tiles to be made of",
		Fit: func(m *program, k *kernel.Kernel) *written {
			b := transpose.InterleaveOf(m.Module, k)
			if b == nil {
				return nil
			}
			return &written{write: func(g *emit.Func, begin, end value.Value) {
				transpose.InterleaveLoops(g, b, begin, end)
			}}
		},
	},
	{
		Name: "tiled transposition",
		For:  "element-wise kernels that read an operand along another axis than the one along which they write",
		Why:  "collapsed axes would read such an operand element by element",
		Fit: func(m *program, k *kernel.Kernel) *written {
			t := transpose.TranspositionOf(m.Module, k)
			if t == nil {
				return nil
			}
			return &written{write: func(g *emit.Func, begin, end value.Value) {
				transpose.TranspositionLoops(g, t, begin, end)
			}}
		},
	},
	{
		Name: "collapsed axes",
		For:  "kernels with a short last axis, along which something is computed that does not depend on the others",
		Why:  "the loops as they stand have vectors no longer than the last axis",
		Fit: func(m *program, k *kernel.Kernel) *written {
			if m.Machine.Narrow {
				return nil
			}
			p := loops.CollapsedOf(k)
			if p == nil {
				return nil
			}
			return &written{types: p.K.Types,
				write: func(g *emit.Func, begin, end value.Value) { loops.CollapsedLoops(g, p, begin, end) }}
		},
	},
	{
		Name: "loops",
		For:  "every other kernel: its parallel axes as loops, the innermost in vectors where its body has them",
		Why:  "last, since it fits all",
		Fit: func(m *program, k *kernel.Kernel) *written {
			return &written{write: func(g *emit.Func, begin, end value.Value) {
				if len(k.Axes) > 0 {
					f := emit.State[loops.Prefetching](g)
					f.Gathered, f.Last = loops.GatheredRows(g, k), k.Axes[len(k.Axes)-1]
				}
				loops.KernelLoops(g, k, begin, end)
			}}
		},
	},
}

// formOf is the first form that fits a kernel, and its name.
func (m *program) formOf(k *kernel.Kernel) (name string, w *written) {
	for _, f := range kernelForms {
		if w := f.Fit(m, k); w != nil {
			return f.Name, w
		}
	}
	panic("BUG: no form for kernel " + k.Name)
}

// ProductsOf is which products of residues a machine multiplies well.
func ProductsOf(m target.Machine) transform.Products {
	return transform.Products{Digits: m.IFMA, Doubles: m.MultipliesDoubles(), KeepDigits: m.Device}
}

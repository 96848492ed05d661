package llvm

import (
	"github.com/llir/llvm/ir/value"

	"healc/ir/kernel"
	"healc/lang/types"
)

// registry has the translations of all statements.
var registry = Registry{}

func init() {
	registerScalars(registry)
	registerLoops(registry)
	registerReductions(registry)
	registerTransforms(registry)
}

// allForms are the forms of loops for processors.
var allForms = Forms{
	Parallel:   []ParallelForm{ColumnForm},
	Scalar:     []ParallelForm{RowSumsForm},
	Sequential: []SequentialForm{TransposedForm},
}

// written is how the code of a kernel is written: its loops, and the types of its scalars where the form adds some.
type written struct {
	write func(g *gen, begin, end value.Value)
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
			return &written{write: func(g *gen, begin, end value.Value) { g.contract(c, begin, end) }}
		},
	},
	{
		Name: "interleave",
		For:  "element-wise kernels with a short last axis, whose operands lie along the axis before it",
		Why:  "a transposition of a short axis has no tiles to be made of",
		Fit: func(m *program, k *kernel.Kernel) *written {
			b := braidOf(m.module, k)
			if b == nil {
				return nil
			}
			return &written{write: func(g *gen, begin, end value.Value) { g.braidLoops(b, begin, end) }}
		},
	},
	{
		Name: "tiled transposition",
		For:  "element-wise kernels that read an operand along another axis than the one along which they write",
		Why:  "collapsed axes would read such an operand element by element",
		Fit: func(m *program, k *kernel.Kernel) *written {
			t := turnedOf(m.module, k)
			if t == nil {
				return nil
			}
			return &written{write: func(g *gen, begin, end value.Value) { g.turnLoops(t, begin, end) }}
		},
	},
	{
		Name: "collapsed axes",
		For:  "kernels with a short last axis, along which something is computed that does not depend on the others",
		Why:  "the loops as they stand have vectors no longer than the last axis",
		Fit: func(m *program, k *kernel.Kernel) *written {
			if m.machine.Narrow {
				return nil
			}
			p := periodOf(k)
			if p == nil {
				return nil
			}
			return &written{types: p.k.Types,
				write: func(g *gen, begin, end value.Value) { g.periodLoops(p, begin, end) }}
		},
	},
	{
		Name: "loops",
		For:  "every other kernel: its parallel axes as loops, the innermost in vectors where its body has them",
		Why:  "last, since it fits all",
		Fit: func(m *program, k *kernel.Kernel) *written {
			return &written{write: func(g *gen, begin, end value.Value) {
				if len(k.Axes) > 0 {
					f := state[prefetching](g)
					f.gathered, f.last = g.gatheredRows(k), k.Axes[len(k.Axes)-1]
				}
				g.kernelLoops(k, begin, end)
			}}
		},
	},
}

// formOf is the first form that fits a kernel.
func (m *program) formOf(k *kernel.Kernel) *written {
	for _, f := range kernelForms {
		if w := f.Fit(m, k); w != nil {
			return w
		}
	}
	panic("BUG: no form for kernel " + k.Name)
}

// ProductsOf is which products of residues a machine multiplies well.
func ProductsOf(m Machine) Products {
	return Products{Digits: m.IFMA, Doubles: m.multipliesDoubles(), KeepDigits: m.Device}
}

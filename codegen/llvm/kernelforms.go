package llvm

import (
	"github.com/llir/llvm/ir/value"

	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/loops"
	"healc/codegen/llvm/matmul"
	"healc/codegen/llvm/ntt"
	"healc/codegen/llvm/reduce"
	"healc/codegen/llvm/sorting"
	"healc/codegen/llvm/transpose"
	"healc/codegen/schedule"
	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/lang/types"
)

// registry has the translations of all statements, leastRegistry those for code that is compiled fast and runs briefly.
var registry, leastRegistry = emit.Registry{}, emit.Registry{}

func init() {
	for _, r := range []emit.Registry{registry, leastRegistry} {
		emit.RegisterScalars(r)
		loops.RegisterLoops(r)
		reduce.RegisterReductions(r)
		sorting.Register(r)
	}
	ntt.RegisterTransforms(registry)
	ntt.RegisterStages(leastRegistry)
}

// allForms are the forms of loops for processors.
var allForms = emit.Forms{
	Parallel:   []emit.ParallelForm{reduce.ColumnForm},
	Scalar:     []emit.ParallelForm{reduce.BatchForm, reduce.StreamsForm},
	Sequential: []emit.SequentialForm{transpose.TransposedForm},
}

// written is how the code of a kernel is written: its loops, and the types and places of its scalars where the form
// adds some.
type written struct {
	write  func(g *emit.Func, begin, end value.Value)
	types  []types.DType
	source kernel.Source
}

// kernelForms write kernels that are no products, by the directive of their form; "" writes the
// loops as they stand in the kernel, with what the schedule says of each of them.
var kernelForms = map[string]func(m *program, k *kernel.Kernel, d *kernel.Directive) *written{
	"interleave": func(m *program, k *kernel.Kernel, d *kernel.Directive) *written {
		b, _ := m.code(k).InterleaveOf(k)
		return &written{write: func(g *emit.Func, begin, end value.Value) {
			transpose.InterleaveLoops(g, b, d, begin, end)
		}}
	},
	"transpose": func(m *program, k *kernel.Kernel, d *kernel.Directive) *written {
		t, _ := m.code(k).TranspositionOf(k)
		return &written{write: func(g *emit.Func, begin, end value.Value) {
			transpose.TranspositionLoops(g, t, d, begin, end)
		}}
	},
	"collapse": func(_ *program, k *kernel.Kernel, d *kernel.Directive) *written {
		p, _ := transform.Collapse(k, d.Get("joined") != 0)
		return &written{types: p.K.Types, source: p.K.Source, write: func(g *emit.Func, begin, end value.Value) {
			loops.CollapsedLoops(g, p, d, begin, end)
		}}
	},
	"stage": func(m *program, k *kernel.Kernel, d *kernel.Directive) *written {
		if t, _ := m.code(k).StagingOf(k, d); t != nil {
			return &written{write: func(g *emit.Func, begin, end value.Value) {
				transpose.StagedLoops(g, t, k.Axes[0], d, begin, end)
			}}
		}
		t, _ := m.code(k).RowStagingOf(k, d)
		write := func(g *emit.Func, begin, end value.Value) {
			transpose.StagedRowLoops(g, t, d, begin, end, func() { plainLoops(g, k, begin, end) })
		}
		return &written{types: t.Kernel.Types, source: t.Kernel.Source, write: write}
	},
	"": func(_ *program, k *kernel.Kernel, _ *kernel.Directive) *written {
		return &written{write: func(g *emit.Func, begin, end value.Value) { plainLoops(g, k, begin, end) }}
	},
}

// plainLoops writes the loops of a kernel as they stand in it.
func plainLoops(g *emit.Func, k *kernel.Kernel, begin, end value.Value) {
	if len(k.Axes) > 0 {
		f := emit.State[loops.Prefetching](g)
		f.Gathered, f.Last = g.Code().GatheredRows(k), k.Axes[len(k.Axes)-1]
	}
	loops.KernelLoops(g, k, begin, end)
}

// productForm writes a matrix product, by tiles or, where its schedule has none, by loops over its units.
func productForm(p *schedule.MatmulPlan, d *kernel.Directive) *written {
	return &written{write: func(g *emit.Func, begin, end value.Value) {
		if d == nil {
			matmul.Write(g, p, begin, end)
			return
		}
		g.Within(d, func() { matmul.Write(g, p, begin, end) })
	}}
}

// formOf writes a kernel by its schedule.
func (m *program) formOf(k *kernel.Kernel) *written {
	if p := m.products[k.Name]; p != nil {
		return productForm(p, schedule.MatmulForm(m.schedules[k.Name]))
	}
	for _, d := range m.schedules[k.Name].Directives {
		if write := kernelForms[d.Kind]; write != nil {
			return write(m, k, d)
		}
	}
	return kernelForms[""](m, k, nil)
}

// WaysOf is which ways a machine goes.
func WaysOf(m target.Machine) transform.Ways {
	return transform.Ways{Digits: m.IFMA, Doubles: m.MultipliesDoubles(), KeepDigits: m.Device,
		Compresses: m.Compresses()}
}

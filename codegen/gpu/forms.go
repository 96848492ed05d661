package gpu

import (
	"slices"

	"healc/codegen/schedule"
	"healc/codegen/target/profile"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/kernel/transform"
	"healc/runtime/abi"
)

// KernelForm is a way to map a kernel to a grid of threads.
type KernelForm struct {
	Name string // as docs/gpu.md and explain name it
	For  string // the kernels that it is for
	Why  string // why it stands in its place among KernelForms
	// Block says that the form also works in one block, for a kernel that is a function of a loop: Note [Loops in one
	// block].
	Block bool

	plan func(k *kernel.Kernel, tune *profile.GPU) *formPlan
}

// formPlan is how a form does one kernel.
type formPlan struct {
	emit  func(m *module) abi.DeviceKernel
	batch int // a failing check names the first of so many iterations
}

// KernelForms are the forms in the order in which they are tried: a kernel takes the first that fits.
var KernelForms = []KernelForm{
	{
		Name: "transpose",
		For:  "element-wise, with an operand that is contiguous along another axis than the result",
		Why:  "the element-wise form fits these kernels, too, and reads one element from each line of memory",
		plan: whole(planTranspose, (*module).transpose),
	},
	{
		Name: "element-wise",
		For: "no loops, or a few long rows that are a loop each; a check is one of all elements that a thread does " +
			"at once",
		Why:   "the forms below are for kernels with loops",
		Block: true,
		plan: func(k *kernel.Kernel, tune *profile.GPU) *formPlan {
			p := planElementwise(k, tune)
			if p == nil {
				return nil
			}
			return &formPlan{func(m *module) abi.DeviceKernel { return m.elementwise(p) }, p.batch()}
		},
	},
	{
		Name: "matmul",
		For:  "`a @ b` with its prologue and its epilogue",
		Why:  "thread per row fits these kernels, too, and reads both factors again for each element",
		plan: whole(planMatmul, (*module).matmul),
	},
	{
		Name: "atomic scatter",
		For:  "`scatter_add` of integers of 32 and 64 bits",
		Why:  "the cooperative form keeps the order of the additions, which changes no sum of integers",
		plan: whole(planAtomicScatter, (*module).atomicScatter),
	},
	{
		Name: "ordered scatter",
		For:  "`scatter_add` of everything else at many positions, to not very many rows",
		Why:  "in the cooperative form every warp that shares a row goes through all positions",
		plan: whole(planListScatter, (*module).listScatter),
	},
	{
		Name: "cooperative with row cache",
		For:  "rows that several loops read, such as softmax and layer norm",
		Why:  "the cooperative form without the cache reads each row again in each loop",
		plan: func(k *kernel.Kernel, tune *profile.GPU) *formPlan {
			cached := cacheRows(k, tune)
			if cached == k || planCooperative(k, tune) == nil {
				return nil
			}
			return whole(planCooperative, (*module).cooperative)(cached, tune)
		},
	},
	{
		Name: "columns",
		For:  "reductions across rows, in any order or of chunks of rows",
		Why:  "neighbouring groups of the cooperative form read rows that are apart, and threads by themselves are few",
		plan: whole(planColumns, (*module).columns),
	},
	{
		Name:  "cooperative",
		For:   "rows, reductions, scans of integers, sorts, `scatter_add`, transforms",
		Why:   "the forms below leave the steps of every loop to one thread",
		Block: true,
		plan:  whole(planCooperative, (*module).cooperative),
	},
	{
		Name: "thread per row",
		For:  "steps that follow each other: scans, folds, a matrix by a vector",
		Why:  "the fallback reads a line of memory for each element of a row",
		plan: whole(planThreadPerRow, (*module).threadPerRow),
	},
	{
		Name:  "fallback",
		For:   "everything else: loops, kernels with very many rows to sort or add to",
		Why:   "it is right for every kernel, so nothing is tried behind it",
		Block: true,
		plan: func(k *kernel.Kernel, _ *profile.GPU) *formPlan {
			return &formPlan{func(m *module) abi.DeviceKernel { return m.fallback(k) }, 1}
		},
	},
}

// whole is the plan of a form in which a failing check names its own iteration.
func whole[P any](plan func(*kernel.Kernel, *profile.GPU) *P,
	emit func(*module, *kernel.Kernel, *P) abi.DeviceKernel) func(*kernel.Kernel, *profile.GPU) *formPlan {
	return func(k *kernel.Kernel, tune *profile.GPU) *formPlan {
		p := plan(k, tune)
		if p == nil {
			return nil
		}
		return &formPlan{func(m *module) abi.DeviceKernel { return emit(m, k, p) }, 1}
	}
}

// formOf is the first form that fits k. block asks for one that works in one block.
func formOf(k *kernel.Kernel, tune *profile.GPU, block bool) (*KernelForm, *formPlan) {
	for i := range KernelForms {
		f := &KernelForms[i]
		if block && !f.Block {
			continue
		}
		if p := f.plan(k, tune); p != nil {
			return f, p
		}
	}
	panic("BUG: the fallback does not fit kernel " + k.Name)
}

// FormNames are the names of the forms that the kernels of a module take as grids of a processor, by the names of the
// kernels.
func FormNames(km *kernel.Module, arch string) map[string]string {
	names := map[string]string{}
	for _, k := range decided(km).Kernels {
		f, _ := formOf(k, tuning(arch), false)
		names[k.Name] = f.Name
	}
	return names
}

// BlockFormNames are the names of the forms that kernels take as functions of loops that one block does.
func BlockFormNames(km *kernel.Module, arch string) map[string]string {
	names := map[string]string{}
	for _, k := range decided(km).Kernels {
		f, _ := formOf(k, tuning(arch), true)
		names[k.Name] = f.Name
	}
	return names
}

// Scheduled is a module as it is written for a processor: kernels that are matrix products have schedules. km stays as
// it is.
func Scheduled(km *kernel.Module, arch string) *kernel.Module {
	out := *decided(km)
	out.Kernels = slices.Clone(out.Kernels)
	for i, k := range out.Kernels {
		if k.Contract == nil || k.Schedule != nil {
			continue
		}
		one := *k
		one.Schedule = &kernel.Schedule{}
		if d, rejected := schedule.MatmulBlocks(analysis.ContractionOf(k), tuning(arch)); d == nil {
			one.Schedule.Rejected = rejected
		} else {
			one.Schedule.Directives, one.Schedule.Rejected = []*kernel.Directive{d}, rejected
		}
		out.Kernels[i] = &one
	}
	return &out
}

// tuning is what decides about a processor; "" is the default one.
func tuning(arch string) *profile.GPU {
	if arch == "" {
		arch = DefaultArch
	}
	p, _ := profile.For(profile.Processor{Name: arch})
	return &p.GPU
}

// decided is the module as code is made of it.
func decided(km *kernel.Module) *kernel.Module {
	return transform.Specialise(km, transform.Ways{KeepDigits: true})
}

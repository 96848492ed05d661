package schedule

import (
	"fmt"

	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
)

// A Misfit says that a schedule does not fit its kernel.
type Misfit struct {
	Kernel    string
	Directive string // its words
	Why       string
}

func (m *Misfit) Error() string {
	return fmt.Sprintf("the schedule of kernel %s does not fit: `%s`: %s", m.Kernel, m.Directive, m.Why)
}

// Check says whether a kernel can be written by a schedule that is not from For: one that was read, or changed. A
// schedule fits if For has its directives, too, in the same places, some of which may be missing; their parameters may
// be others. What follows from the kernel, such as where a range is cut, has to be as it is there. The error is a
// *Misfit.
func Check(k *kernel.Kernel, machine target.Machine, s *kernel.Schedule) error {
	best := For(k, machine, Options{}).Directives
	if k.Contract != nil { // which may be in plain loops
		best = append(best, For(k, machine, Options{loops: true}).Directives...)
	}
	return within(k, machine, s.Directives, best)
}

// unitsOfKernel is the number of tasks of a product, 0 for any other kernel.
func unitsOfKernel(k *kernel.Kernel) int64 {
	c := analysis.ContractionOf(k)
	if c == nil || c.Free {
		return 0
	}
	return MatmulOf(c, nil).Units()
}

// within reports the first directive that fits none of those that For has.
func within(k *kernel.Kernel, machine target.Machine, ds, best []*kernel.Directive) error {
	for _, d := range ds {
		misfit := func(format string, args ...any) error {
			name := func(r kernel.Ref) string { return fmt.Sprintf("%%%d", r) }
			return &Misfit{k.Name, d.Text(name, func(i int) string { return k.Params[i].Name }),
				fmt.Sprintf(format, args...)}
		}
		switch d.Kind {
		case "matmul", "axpy", "dot":
			if err := CheckMatmul(analysis.ContractionOf(k), d, machine); err != nil {
				return misfit("%s", err)
			}
			continue
		case "threads":
			if tasks := d.Get("tasks"); tasks != 0 && tasks != unitsOfKernel(k) {
				return misfit("the kernel is shared out in %d tasks, whatever the processor", unitsOfKernel(k))
			}
			continue
		}
		var same *kernel.Directive
		for _, b := range best {
			if b.Kind == d.Kind && b.On == d.On && b.Param == d.Param {
				same = b
				break
			}
		}
		if same == nil {
			return misfit("the code there is not of that form, or stands elsewhere")
		}
		for _, a := range kernel.KindOf(d.Kind).Args {
			if a.Fixed && fmt.Sprint(d.List(a.Name)) != fmt.Sprint(same.List(a.Name)) {
				return misfit("%s follows from the kernel: %v", a.Name, same.List(a.Name))
			}
		}
		if err := within(k, machine, d.Sub, same.Sub); err != nil {
			return err
		}
	}
	return nil
}

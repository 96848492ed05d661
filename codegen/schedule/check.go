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
	var best []*kernel.Directive
	for _, o := range []Options{{}, {Brief: true}, {Brief: true, Least: true}} {
		best = append(best, For(k, machine, o).Directives...)
	}
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
	for i, d := range ds {
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
		wrong := misfit("the code there is not of that form, or stands elsewhere")
		for _, b := range alike(d, ds[:i], best) {
			if wrong = fixedAs(d, b, misfit); wrong == nil {
				wrong = within(k, machine, d.Sub, b.Sub)
			}
			if wrong == nil {
				break
			}
		}
		if wrong != nil {
			return wrong
		}
	}
	return nil
}

// alike are the directives among best that may be d, which stands behind those in before: they speak of the same. The
// parts of a split range are in the order of the pieces.
func alike(d *kernel.Directive, before, best []*kernel.Directive) []*kernel.Directive {
	same := func(b *kernel.Directive) bool { return b.Kind == d.Kind && b.On == d.On && b.Param == d.Param }
	var out []*kernel.Directive
	for _, b := range best {
		if same(b) {
			out = append(out, b)
		}
	}
	if d.Kind == "part" {
		n := 0
		for _, b := range before {
			if same(b) {
				n++
			}
		}
		return out[min(n, len(out)):min(n+1, len(out))]
	}
	return out
}

// fixedAs says which argument of d, that follows from the kernel, is another one than in b; nil for none.
func fixedAs(d, b *kernel.Directive, misfit func(string, ...any) error) error {
	for _, a := range kernel.KindOf(d.Kind).Args {
		if a.Fixed && fmt.Sprint(d.List(a.Name)) != fmt.Sprint(b.List(a.Name)) {
			return misfit("%s follows from the kernel: %v", a.Name, b.List(a.Name))
		}
	}
	return nil
}

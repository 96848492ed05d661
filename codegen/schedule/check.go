package schedule

import (
	"fmt"

	"healc/codegen/target"
	"healc/ir/kernel"
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
	best := For(k, machine, Options{})
	loops := For(k, machine, Options{Loops: true})
	if err := within(k, s.Directives, append(best.Directives, loops.Directives...)); err != nil {
		return err
	}
	return nil
}

// within reports the first directive that fits none of those that For has.
func within(k *kernel.Kernel, ds, best []*kernel.Directive) error {
	for _, d := range ds {
		misfit := func(format string, args ...any) error {
			name := func(r kernel.Ref) string { return fmt.Sprintf("%%%d", r) }
			return &Misfit{k.Name, d.Text(name, func(i int) string { return k.Params[i].Name }),
				fmt.Sprintf(format, args...)}
		}
		if d.Kind == "matmul" { // which loops it has inside is decided like those of any other kernel
			if err := within(k, d.Sub, best); err != nil {
				return err
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
		if err := within(k, d.Sub, same.Sub); err != nil {
			return err
		}
	}
	return nil
}

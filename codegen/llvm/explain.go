package llvm

import (
	"fmt"
	"reflect"

	lir "github.com/llir/llvm/ir"

	"healc/codegen"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/llvm/loops"
	"healc/codegen/llvm/matmul"
	"healc/codegen/llvm/reduce"
	"healc/codegen/target"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
)

// Decision is how a kernel is written, for people.
type Decision struct {
	Form string // the name of one of the kernel forms
	How  string // its parameters: tiles, vectors
}

// Decisions says how each kernel of a module is written for a machine, by the names of the kernels. It changes nothing.
func Decisions(km *kernel.Module, machine target.Machine) map[string]Decision {
	km = transform.Specialise(km, ProductsOf(machine))
	p := newProgram(km, machine)
	p.decide()
	out := map[string]Decision{}
	for _, k := range km.Kernels {
		form, _ := p.formOf(k)
		how := ""
		switch c := p.contractions[k.Name]; {
		case c != nil:
			how = c.String()
		case form == "loops":
			how = p.loopText(k)
		}
		if c := matmul.ContractionOf(k); how == "" && c != nil {
			how = c.String()
		}
		out[k.Name] = Decision{form, how}
	}
	return out
}

// loopText says how the innermost parallel axis of a kernel is written.
func (p *program) loopText(k *kernel.Kernel) string {
	if len(k.Axes) == 0 {
		return "no parallel axis"
	}
	g := p.probe(k)
	_, body := transform.HoistInvariants(k)
	last := k.Axes[len(k.Axes)-1].Var
	if c := reduce.ColumnStrip(g, last, body); c != nil {
		return fmt.Sprintf("reductions down columns, in strips by vectors of %d", c.W)
	}
	if w := loops.VectorWidth(g, last, body); w > 0 {
		return fmt.Sprintf("vectors of %d along the last axis", w)
	}
	inner := "no vectors along the last axis"
	kernel.Each(body, func(s *kernel.Loop) {
		if w := loops.VectorWidth(g, s.Axis.Var, s.Body); s.Parallel && w > 0 {
			inner = fmt.Sprintf("one index of the axes after the other, vectors of %d in the loop inside", w)
		}
	})
	kernel.Each(body, func(*kernel.Reduce) {
		inner = "one index of the axes after the other, reductions by themselves"
	})
	return inner
}

// newProgram is a program before anything is decided or written.
func newProgram(km *kernel.Module, machine target.Machine) *program {
	m := &emit.Module{Km: km, M: lir.NewModule(), Intrinsics: map[string]*lir.Func{}, Funcs: map[string]*lir.Func{},
		Registry: registry, Access: loops.ScheduledAccess{Access: emit.ProcessorAccess{}}, Forms: allForms,
		Machine: machine.WithDefaults()}
	return &program{Module: m, contractions: map[string]*matmul.Contraction{}}
}

// probe is a function for questions about the body of a kernel, of which nothing is written.
func (p *program) probe(k *kernel.Kernel) *emit.Func {
	return &emit.Func{Module: p.Module, Types: k.Types, Params: k.Params, Env: make([]emit.Val, len(k.Types)),
		Lets: map[kernel.Ref]*scalar.Instr{}, Features: map[reflect.Type]any{}}
}

// CheckProcessor says whether libLLVM knows the processor of a target, a *libllvm.ProcessorError where it does not.
func CheckProcessor(t codegen.Target) error {
	lib, err := libllvm.Open()
	if err != nil {
		return err
	}
	suits, made := target.SplitName(t.CPU)
	for _, cpu := range []string{suits, made} {
		o := libllvm.Options{Triple: t.Triple, CPU: cpu, Emit: libllvm.Object, Passes: libllvm.NoPasses}
		if _, err := lib.Compile("define void @f() {\n  ret void\n}\n", o); err != nil {
			if p := lib.ProcessorError(o, err); p != nil {
				return p
			}
			return err
		}
	}
	return nil
}

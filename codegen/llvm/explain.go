package llvm

import (
	"slices"

	lir "github.com/llir/llvm/ir"

	"healc/codegen"
	"healc/codegen/llvm/emit"
	"healc/codegen/llvm/libllvm"
	"healc/codegen/llvm/loops"
	"healc/codegen/schedule"
	"healc/codegen/target"
	"healc/codegen/target/tuned"
	"healc/ir/kernel"
	"healc/ir/kernel/transform"
	"healc/ir/scalar"
)

// Scheduled is a module as it is written for a machine: its kernels have schedules. sets are Options.Tuned. km stays
// as it is.
func Scheduled(km *kernel.Module, machine target.Machine, sets map[string]tuned.Set) *kernel.Module {
	machine = machine.WithDefaults()
	out := *transform.Specialise(km, WaysOf(machine))
	p := newProgram(&out, machine, sets)
	if err := p.decide(); err != nil {
		panic("BUG: " + err.Error()) // what is decided here fits
	}
	out.Kernels = slices.Clone(out.Kernels)
	for i, k := range out.Kernels {
		c := *k
		c.Schedule = p.schedules[k.Name]
		out.Kernels[i] = &c
	}
	return &out
}

// Apart are the kernels that two machines with the same instructions write in different ways, by their names.
func Apart(km *kernel.Module, a, b target.Machine, sets map[string]tuned.Set) map[string]bool {
	out := map[string]bool{}
	as, bs := Scheduled(km, a, sets), Scheduled(km, b, sets)
	p, q := newProgram(as, a, sets), newProgram(bs, b, sets)
	for i, k := range as.Kernels {
		other := bs.Kernels[i]
		apart := !k.Schedule.Same(other.Schedule)
		for j := range k.Params {
			apart = apart || p.code(k).PastCaches(j) != q.code(other).PastCaches(j)
		}
		if apart {
			out[k.Name] = true
		}
	}
	return out
}

// newProgram is a program before anything is decided or written.
func newProgram(km *kernel.Module, machine target.Machine, sets map[string]tuned.Set) *program {
	machine = machine.WithDefaults()
	m := &emit.Module{Km: km, M: lir.NewModule(), Intrinsics: map[string]*lir.Func{}, Funcs: map[string]*lir.Func{},
		Registry: registry, Access: loops.ScheduledAccess{Access: emit.ProcessorAccess{}}, Forms: allForms,
		Peepholes: emit.Peepholes,
		Machine:   machine}
	return &program{Module: m, machine: machine, tuned: sets, schedules: map[string]*kernel.Schedule{},
		products: map[string]*schedule.MatmulPlan{}}
}

// machineOf is the machine as a kernel has it.
func (p *program) machineOf(k *kernel.Kernel) target.Machine {
	if set := p.tuned[k.Name]; len(set) > 0 {
		return p.machine.With(set.On(p.machine.Profile))
	}
	return p.machine
}

// code is what the decisions about a kernel are made from.
func (p *program) code(k *kernel.Kernel) schedule.Code {
	return schedule.Code{Types: k.Types, Params: k.Params, Lets: map[kernel.Ref]*scalar.Instr{},
		Machine: p.machineOf(k)}
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

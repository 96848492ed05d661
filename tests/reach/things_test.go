package reach

import (
	"testing"

	"healc/codegen/gpu"
	"healc/codegen/llvm/emit"
	"healc/ir/kernel"
	"healc/ir/scalar/modular"
	"healc/passes"
)

// things are all that is to be reached, in the order of their tables.
func things(t testing.TB, s *sites) []string {
	var out []string
	seen := map[string]bool{}
	add := func(name string) {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	for _, p := range passes.Standard("f", nil) {
		add("pass " + p.Name)
	}
	for _, r := range passes.CanonicalRules() {
		add("rule " + r)
	}
	for _, k := range kernel.DirectiveKinds {
		add("directive " + k.Name)
		for _, a := range k.Args {
			if isVariant(a) {
				add("directive " + k.Name + " " + a.Name)
			}
		}
	}
	for _, list := range [][]emit.Peephole{emit.Peepholes, emit.BriefPeepholes, emit.DevicePeepholes} {
		for _, p := range list {
			add("peephole " + p.Name)
		}
	}
	for _, c := range modular.Choices {
		add("choice " + c.Arm(true))
		add("choice " + c.Arm(false))
	}
	for _, f := range gpu.KernelForms {
		add("form " + f.Name)
		if f.Block {
			add("form " + f.Name + " in one block")
		}
	}
	for _, b := range s.all() {
		add(b)
	}
	return out
}

// isVariant reports whether code is written in another way where an argument is there, and is not 0.
func isVariant(a kernel.ArgKind) bool { return a.Optional || a.Low == 0 && a.High == 1 }

// argOf describes an argument of directives of a kind.
func argOf(kind, name string) *kernel.ArgKind {
	k := kernel.KindOf(kind)
	for i := range k.Args {
		if k.Args[i].Name == name {
			return &k.Args[i]
		}
	}
	return nil
}

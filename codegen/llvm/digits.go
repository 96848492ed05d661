package llvm

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/scalar"
)

// Note [Digits]
//
// Products of residues below 2^50 are shortest in digits of 52 bits where AVX-512 IFMA multiplies those. Elsewhere each such product is
// four of 32 bits, and the way for larger moduli, which is made of these, is the faster one: i64[8192], one thread of a Zen 4 with
// AVX-512 but without IFMA, 8.0 microseconds in digits and 4.4 without. So the branch between the two stands on a scalar.Digits52, and
// before anything else is decided one arm is left out.
//
// For moduli from 2^50 to 2^60 digits are faster, too, where they are multiplied: 3.5 microseconds, and 4.6 without.

// Decided is km without what the processor leaves of the branches on a scalar.Digits52: of those on a constant one arm, that without digits
// where it is false; of others, which are on moduli, that without digits where nothing multiplies digits. A device takes these as they are.
func Decided(km *kernel.Module, machine Machine) *kernel.Module {
	out := *km
	out.Kernels = slices.Clone(km.Kernels)
	for i, k := range km.Kernels {
		constant := map[kernel.Ref]uint64{}
		choices := map[kernel.Ref]bool{} // those that are decided: whether for digits
		k.Body.Walk(func(st kernel.Stmt) {
			s, ok := st.(*kernel.Let)
			switch {
			case !ok:
			case s.In.Op == scalar.Const:
				constant[s.ID] = s.In.Imm
			case s.In.Op == scalar.Digits52:
				if allowed, known := constant[s.In.Args[0]]; known {
					choices[s.ID] = allowed != 0 && machine.IFMA
				} else if !machine.IFMA && !machine.Device {
					choices[s.ID] = false
				}
			}
		})
		kernel.Each(k.Body, func(s *kernel.If) {
			if digits, ok := choices[s.Cond]; ok {
				delete(choices, s.Cond)
				next := *out.Kernels[i]
				next.Body = settle(next.Body, s.Cond, digits)
				out.Kernels[i] = &next
			}
		})
	}
	return &out
}

// HasDigits says that processors with AVX-512 IFMA get other code for the kernels of km than those with AVX-512 alone.
func HasDigits(km *kernel.Module) bool {
	has := false
	for _, k := range km.Kernels {
		k.Body.Walk(func(st kernel.Stmt) {
			switch s := st.(type) {
			case *kernel.Let:
				has = has || s.In.Op == scalar.Mul52Lo || s.In.Op == scalar.Mul52Hi
			case *kernel.Transform:
				has = true
			}
		})
	}
	return has
}

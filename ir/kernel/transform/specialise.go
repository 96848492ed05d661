package transform

import (
	"slices"

	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
	"healc/ir/scalar"
)

// Note [Digits]
//
// Products of residues below 2^50 are shortest in digits of 52 bits where AVX-512 IFMA multiplies those. Elsewhere each
// such product is four of 32 bits, and the way for larger moduli, which is made of these, is the faster one. So the
// branch between the two stands on a scalar.Digits52, and before anything else is decided one arm is left out. For
// moduli from 2^50 to 2^60 digits are faster, too, where they are multiplied (docs/tuning/modular.md).
//
// Where they are not multiplied, but fused multiply-adds of doubles are instructions, these take their place below
// 2^50: 13 vector instructions of AVX2 for a product of residues, where the way by products of 32 bits has 29.

// Ways says which ways a target goes, behind a choice: how products of residues are computed, and how rows are sorted.
type Ways struct {
	Digits     bool // of 52-bit integers
	Doubles    bool // of doubles, by fused multiply-adds
	KeepDigits bool // the branch on digits stays
	Compresses bool // by putting the chosen elements of a vector together
}

// Specialise is km without what the processor leaves of the branches on a choice, such as scalar.Digits52: of those on
// a constant one arm, the second one where the constant is false; of others, which are on moduli, the second one where
// the processor does not go the way before which the choice stands. A device takes digits as they are, and no doubles.
//
//	%2 = digits52 %1; %3 = if %2 { %4 = mul52lo %x, %y, %0; yield %4 } else { %5 = mul %x, %y; yield %5 }
//
// becomes, for a processor without digits,
//
//	%2 = const false; %5 = mul %x, %y; %3 = if %2 { yield %5 } else { yield %5 }
//
// Requires what whoever emits a choice promises: results are the same with false in its place. Establishes that the
// choices that are left are on moduli, and stand before a way that the processor goes, or before digits that are kept.
// km stays as it is.
func Specialise(km *kernel.Module, has Ways) *kernel.Module {
	out := *km
	out.Kernels = slices.Clone(km.Kernels)
	goes := map[scalar.Op]bool{scalar.Digits52: has.Digits, scalar.Doubles: has.Doubles, scalar.DoubleSums: has.Doubles,
		scalar.Compresses: has.Compresses}
	for i, k := range km.Kernels {
		constant := map[kernel.Ref]uint64{}
		choices := map[kernel.Ref]bool{} // those that are decided: whether it goes that way
		k.Body.Walk(func(st kernel.Stmt) {
			s, ok := st.(*kernel.Let)
			switch {
			case !ok:
			case s.In.Op == scalar.Const:
				constant[s.ID] = s.In.Imm
			case s.In.Op.IsChoice():
				if allowed, known := constant[s.In.Args[0]]; known {
					choices[s.ID] = allowed != 0 && goes[s.In.Op]
				} else if !goes[s.In.Op] && (s.In.Op != scalar.Digits52 || !has.KeepDigits) {
					choices[s.ID] = false
				}
			}
		})
		kernel.Each(k.Body, func(s *kernel.If) {
			if taken, ok := choices[s.Cond]; ok {
				delete(choices, s.Cond)
				next := *out.Kernels[i]
				next.Body = TakeArm(next.Body, s.Cond, taken)
				out.Kernels[i] = &next
			}
		})
	}
	return &out
}

// HasDigits says that processors with AVX-512 IFMA get other code for k than those with AVX-512 alone.
func HasDigits(k *kernel.Kernel) bool {
	has := false
	k.Body.Walk(func(st kernel.Stmt) {
		switch s := st.(type) {
		case *kernel.Let:
			has = has || s.In.Op == scalar.Mul52Lo || s.In.Op == scalar.Mul52Hi
		case *kernel.Transform:
			has = true
		}
	})
	return has
}

// HasTransform says that processors whose pipes are alike get other code for k than those whose pipes are not.
func HasTransform(k *kernel.Kernel) bool {
	has := false
	kernel.Each(k.Body, func(*kernel.Transform) { has = true })
	return has
}

// HasTileProducts says that processors with tile registers get other code for k than those without.
func HasTileProducts(k *kernel.Kernel) bool {
	c := analysis.ContractionOf(k)
	return c != nil && c.BF16() || HasByteProducts(k)
}

// HasByteProducts says that processors with sums of products of bytes get other code for k than those without.
func HasByteProducts(k *kernel.Kernel) bool {
	c := analysis.ContractionOf(k)
	if c == nil {
		return false
	}
	_, _, ok := c.Bytes()
	return ok
}

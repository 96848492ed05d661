package transform

import (
	"healc/ir/kernel"
	"healc/ir/kernel/analysis"
)

// NameContract says of a kernel that is a matrix product that it is one, see Note [Contracts] in ir/kernel.
//
//	kernel @k(...) over %0 in 0..M, %1 in 0..N { ... loop %4 in 0..K { ... %8: f32 = fma %6, %7, %5 next %8 } ... }
//
// becomes
//
//	kernel @k(...) over %0 in 0..M, %1 in 0..N { contract %6 by %7 rows %0 columns %1 along %4; ... }
func NameContract(k *kernel.Kernel) { k.Contract = analysis.FindContract(k) }

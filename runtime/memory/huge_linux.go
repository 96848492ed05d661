package memory

import "syscall"

// adviseHuge asks for huge pages: one fault in place of 512. It is advice, so failure does not matter.
func adviseHuge(mapped []byte) { _ = syscall.Madvise(mapped, syscall.MADV_HUGEPAGE) }

package mesh

import "syscall"

// giveWay lets another process run that waits for this processor.
func giveWay() { _, _, _ = syscall.RawSyscall(syscall.SYS_SCHED_YIELD, 0, 0, 0) }

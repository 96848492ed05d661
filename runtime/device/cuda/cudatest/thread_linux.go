package cudatest

import "syscall"

// thread is the thread that calls; a driver has a current context for each.
func thread() int { return syscall.Gettid() }

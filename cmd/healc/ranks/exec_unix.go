//go:build unix

package ranks

import "syscall"

// closeOnExec keeps a file from programs that this one starts.
func closeOnExec(fd uintptr) { syscall.CloseOnExec(int(fd)) }

//go:build unix

package cli

import "syscall"

// What ends a process that takes more processor time, or writes a longer file, than it may.
const signalTime, signalSize = syscall.SIGXCPU, syscall.SIGXFSZ

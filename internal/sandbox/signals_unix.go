//go:build unix

package sandbox

import "syscall"

// TimeSignal and SizeSignal are what ends a process that takes more processor time, or writes a longer file, than it
// may.
const TimeSignal, SizeSignal = syscall.SIGXCPU, syscall.SIGXFSZ

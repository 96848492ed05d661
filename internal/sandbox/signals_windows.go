package sandbox

import "syscall"

// TimeSignal and SizeSignal are what would end a process that takes more processor time, or writes a longer file,
// than it may: nothing does here.
const TimeSignal, SizeSignal = syscall.Signal(-1), syscall.Signal(-2)

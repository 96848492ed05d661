package cli

import "syscall"

// What would end a process that takes more processor time, or writes a longer file, than it may: nothing here.
const signalTime, signalSize = syscall.Signal(-1), syscall.Signal(-2)

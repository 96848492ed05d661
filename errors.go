package heal

import (
	"healc/codegen/target/tuned"
	"healc/lang/diag"
	"healc/runtime"
	"healc/runtime/device"
	"healc/runtime/memory"
	"healc/runtime/tensor"
)

// Diagnostics is what is wrong with a source: each item has a code, a place, a message and help. Its text is what the
// command healc prints.
type Diagnostics = diag.List

// ErrClosed is what errors.Is finds in the error of a call whose module is closed.
var ErrClosed = runtime.ErrClosed

// ErrTensorClosed is what errors.Is finds in the error of every use of a tensor that is closed.
var ErrTensorClosed = tensor.ErrClosed

// ArgumentError says which argument does not fit the function, or is not in the memory that it is declared to be in.
type ArgumentError = runtime.ArgumentError

// RuntimeError is a failure of the program that runs, and its place in the source: an index, a division, a fold of
// nothing, input or output.
type RuntimeError = runtime.RuntimeError

// MissingDeviceError says that there is no device to use, and what to do about it.
type MissingDeviceError = device.MissingError

// MissingTunedError says for which kernels Options.Tuned has nothing, where Options.RequireTuned is set.
type MissingTunedError = tuned.MissingError

// StoppedError says that a call ended because its context did. Its results, and what it was to change, are undefined.
// It unwraps to context.Canceled or context.DeadlineExceeded, and to the cause where the context has one.
type StoppedError = runtime.StoppedError

// OutOfMemoryError says that the machine, or a limit of the process, has no more memory: for a tensor, or for machine
// code, for which the number of maps of a process counts, too.
type OutOfMemoryError = memory.OutOfMemoryError

// StepsError says that a call took more steps than Options.MaxSteps.
type StepsError = runtime.StepsError

// MemoryLimitError says that a function needs more memory than Options.MaxMemory.
type MemoryLimitError = runtime.MemoryLimitError

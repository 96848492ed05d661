// Package device is what the runtime wants of a GPU: memory, copies, modules of PTX, launches, graphs. The package cuda
// below it has these things of the CUDA driver, the package sim of the simulator that executes PTX on the CPU.
//
// Whatever fails is an *Error, an *OutOfMemoryError, or, when there is no device to begin with, a *MissingError.
package device

import (
	"context"
	"time"
)

// Ptr is an address in the memory of a device. It is no address of this process.
type Ptr uint64

// Driver finds the devices of one kind.
type Driver interface {
	// Version says which driver it is, for people: "CUDA 12.4".
	Version() string
	// Devices tells what there is; none is a *MissingError.
	Devices() ([]Info, error)
	// Open makes device number i ready for use. Opening it again gives the same device.
	Open(i int) (Device, error)
}

// Info describes a device.
type Info struct {
	Name       string
	Memory     int64 // bytes
	Major      int   // the compute capability: 8 and 6 are sm_86
	Minor      int
	Processors int   // multiprocessors
	Threads    int   // that a multiprocessor runs at once
	Shared     int64 // the most shared memory of a block, in bytes
	// Managed says that the device has memory that the host reaches as well, even while kernels run that use other
	// memory.
	Managed bool
	// Checked says that every access to memory is checked against its allocation: what is to be found out there are
	// accesses beyond a buffer, so buffers are to be allocations of their own, and fresh ones.
	Checked bool
}

// Device is one device. Its methods may be called by several goroutines at once.
type Device interface {
	Info() Info
	// Alloc returns memory of at least 1 byte, aligned to 256 bytes, with unspecified contents.
	Alloc(bytes int64) (Ptr, error)
	Free(p Ptr) error
	// AllocManaged is Alloc for memory that the host reaches as well, as b, while no kernel that uses it runs. It moves
	// to where it is used. Info.Managed says whether there is any.
	AllocManaged(bytes int64) (p Ptr, b []byte, err error)
	// AllocHost returns pinned memory of the host, which is copied from and to at full speed.
	AllocHost(bytes int64) ([]byte, error)
	FreeHost(b []byte) error
	// Available is how much memory is free, in bytes.
	Available() (int64, error)
	// SetStack makes the stack of every thread so large, in bytes, or as large as the memory of the device allows.
	SetStack(bytes int64) error
	// Stack is how many bytes of stack a thread has now.
	Stack() (int64, error)
	NewStream() (Stream, error)
	// Load compiles PTX text; an error has what the driver's compiler says. name is for messages.
	Load(name string, ptx []byte) (Module, error)
}

// Module is compiled code on a device.
type Module interface {
	// Function finds an entry that may use as many bytes of dynamic shared memory.
	Function(entry string, shared int64) (Function, error)
	Close() error
}

// Function is an entry of a module.
type Function interface{ Entry() string }

// Stream is a queue of work that is done in order. What its methods start may run after they return, until Sync; an
// error of it can be reported by any later call. A stream is used by one goroutine at a time.
type Stream interface {
	// Upload copies to the device. src is left alone until Sync.
	Upload(dst Ptr, src []byte) error
	// Download copies to the host. dst is there after Sync.
	Download(dst []byte, src Ptr) error
	// Copy copies within the device; the two do not overlap.
	Copy(dst, src Ptr, bytes int64) error
	// Fill writes n words of 32 bits.
	Fill(dst Ptr, word uint32, n int64) error
	// Launch starts blocks of so many threads; params are the entry's parameters, words of 64 bits.
	Launch(f Function, blocks int64, threads int, shared int64, params []uint64) error
	// Sync waits until all is done.
	Sync() error
	// Done reports whether all is done. It does not wait.
	Done() (bool, error)
	// Until bounds what is called from now on by a context. Who waits on the stream or on an event of it, or starts
	// more, gets the error of the context when that ends. What was started goes on then; where kernels can be ended
	// before their end, they are.
	Until(ctx context.Context)
	// Record returns an event that is reached when what was started until now is done.
	Record() (Event, error)
	// Capture runs record, which uses the stream; what it starts is not done, but becomes a graph. Uploads and
	// downloads cannot be captured.
	Capture(record func() error) (Graph, error)
	// CaptureLoop is Capture for a graph that repeats its work: before each repetition the device looks at a condition,
	// which is true when the graph starts. A kernel sets it, cudaGraphSetConditional in PTX, where handle says which
	// one is meant. The error is ErrNoLoops where the driver or the device does not have such graphs; then record was
	// not called.
	CaptureLoop(record func(handle uint64) error) (Graph, error)
	// LaunchGraph starts a graph that was captured on this device.
	LaunchGraph(g Graph) error
	Close() error
}

// Event is a point in the work of a stream.
type Event interface {
	Wait() error
	// Since is the time that the device took from an earlier event to this one; both have been reached.
	Since(earlier Event) (time.Duration, error)
	Close() error
}

// Graph is work that is started as a whole, with less overhead than one launch after the other.
type Graph interface{ Close() error }

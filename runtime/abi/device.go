package abi

import "math"

// Device says how the kernels of a program run on a device: beside the PTX text, which has the entries, it is all that
// a runtime needs.
//
// The parameters of every entry are 64-bit words, in this order: the address of element 0 of each buffer of
// Launch.Args, the values of Program.Dims, the address of the kernel's scratch memory (0 when it has none), and the
// address of an Error in device memory. Addresses of buffers are multiples of DeviceAlign, so an argument that is a
// part of a tensor may have to be copied. The Error is zeros when a program begins, and is read when it has ended: a
// kernel that finds it filled in does nothing, so whatever was launched after a failure is harmless.
type Device struct {
	Arch    string // the least processor that the text is for, such as "sm_70"
	Kernels map[string]DeviceKernel
	// Stack is how many bytes of stack a thread needs for calls of scalar functions; 0 is what every device has. It may
	// have less: then calls end with a failure where they have taken all but Reserve bytes of it.
	Stack, Reserve int64
	// Stops says that every kernel looks at the Error, also in a program without a check: then Stopped in its Site
	// keeps what was launched too much from doing anything.
	Stops bool
}

// DeviceLoop is a loop that one block does, with the state in memory: an entry whose parameters are those of a kernel
// that has the buffers Args. It begins with the step whose number is in the word LoopRuns of the Error, goes on until
// the word LoopCount, and leaves the number of the steps in LoopRuns. When the condition ends it, it writes Stopped to
// the Site.
type DeviceLoop struct {
	Entry   string
	Args    []int // buffers, in the places where they are before the first step
	Threads int
}

// The Error of a program on a device has more words behind it, by their offsets.
const (
	LoopRuns   = ErrorBytes   // the steps that a loop did
	LoopCount  = LoopRuns + 8 // the step before which it ends
	LoopBudget = LoopCount + 8
	StackRoom  = LoopBudget + 8 // the bytes of stack that calls of scalar functions may take, where Stack is not 0
	CellBytes  = StackRoom + 8
)

// Stopped in the Site of an Error is no failure: what follows is to do nothing, until it is taken away.
const Stopped = -1

// DeviceKernel is a kernel of the plan: its launches follow each other in order, on one stream.
type DeviceKernel struct {
	Launches []DeviceLaunch
	// Scratch is memory for this kernel alone, between its launches: the product of the extents, in bytes. It is
	// aligned to 256 bytes and holds anything at first.
	Scratch []Extent
}

// DeviceLaunch starts one entry over a grid of one dimension.
type DeviceLaunch struct {
	Entry string
	// Items are the pieces of work, the product of the extents; there is nothing to launch when that is 0.
	Items []Extent
	// PerBlock is how many items a block does at a time. A smaller grid does the same work, since blocks go on with
	// what is left.
	PerBlock int64
	Threads  int   // of a block
	Shared   int64 // dynamic shared memory, in bytes
}

// DeviceAlign is the alignment of element 0 of every buffer, in bytes: that of the widest access.
const DeviceAlign = 16

// MaxBlocks is the most that a grid can have.
const MaxBlocks = math.MaxInt32

// Blocks is the size of the grid, where extent evaluates an extent; 0 when there is nothing to do.
func (l *DeviceLaunch) Blocks(extent func(Extent) int64) int64 {
	items := product(l.Items, extent)
	if items == 0 {
		return 0
	}
	return min((items-1)/max(l.PerBlock, 1)+1, MaxBlocks)
}

// ScratchBytes is the size of the scratch memory, where extent evaluates an extent; 0 when there is none.
func (k *DeviceKernel) ScratchBytes(extent func(Extent) int64) int64 {
	if len(k.Scratch) == 0 {
		return 0
	}
	return product(k.Scratch, extent)
}

// product multiplies extents; it is the largest number where the product has no room.
func product(extents []Extent, extent func(Extent) int64) int64 {
	n := int64(1)
	for _, e := range extents {
		if extent(e) <= 0 {
			return 0
		}
	}
	for _, e := range extents {
		x := extent(e)
		if n > math.MaxInt64/x {
			return math.MaxInt64
		}
		n *= x
	}
	return n
}

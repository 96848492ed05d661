package machine

import (
	"encoding/binary"
	"fmt"
	"sync"

	"healc/codegen/gpu/ptx"
)

// Options are the limits of a device and what it checks. The zero value has the limits of a small device and all
// checks.
type Options struct {
	Bytes        int64 // of memory; default 4 GiB
	SharedBytes  int   // of shared memory a block; default 227 KiB, as on sm_90
	StackBytes   int   // of local memory a thread; default 64 KiB
	CallBytes    int   // of it that a call takes besides variables; default and least 16, a multiple of 16
	Instructions int64 // that the threads of one launch execute, all together; default 1e11
	Workers      int   // how many blocks run at a time; default 1

	NoRaces bool // do not look for races
}

// Device is memory and what runs kernels on it. Its methods may be called from several goroutines; launches take turns.
type Device struct {
	opts Options

	mu       sync.Mutex
	top      uint64
	used     int64
	regions  []*Region // global and constant memory, by address
	freed    []span
	modules  map[*Module]*instance
	runs     uint32 // blocks that ran so far: their numbers in shadow cells
	workers  []*worker
	executed int64 // instructions of the last launch

	conditionMu sync.Mutex        // taken by kernels, which run under mu
	conditions  map[uint64]uint32 // of graphs that run, by handle
}

// The address space: global and constant memory begins at globalBase, and the windows of shared and local memory in
// generic addresses lie below. In its own state space shared memory begins at sharedBase and local memory at 0.
const (
	globalBase   = 0x7f00_0000_0000
	sharedBase   = 0x400
	sharedWindow = 0x0100_0000_0000
	localWindow  = 0x0200_0000_0000
	windowSize   = 1 << 32
)

// NewDevice makes a device without any allocation.
func NewDevice(opts Options) *Device {
	if opts.Bytes == 0 {
		opts.Bytes = 4 << 30
	}
	if opts.SharedBytes == 0 {
		opts.SharedBytes = 227 << 10
	}
	if opts.StackBytes == 0 {
		opts.StackBytes = 64 << 10
	}
	opts.CallBytes = max(opts.CallBytes, 16) // what the hardware needs at least
	if opts.Instructions == 0 {
		opts.Instructions = 1e11
	}
	opts.Workers = max(opts.Workers, 1)
	return &Device{opts: opts, top: globalBase, modules: map[*Module]*instance{}, conditions: map[uint64]uint32{}}
}

// instance is a module on a device: its global and constant variables have addresses.
type instance struct {
	addr map[*ptx.Variable]uint64
}

// SetStack changes how many bytes of local memory a thread has; every call takes at least Options.CallBytes of them.
func (d *Device) SetStack(bytes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opts.StackBytes = bytes
}

// load makes the instance of a module.
func (d *Device) load(m *Module) (*instance, error) {
	if in := d.modules[m]; in != nil {
		return in, nil
	}
	size := int64(0)
	for _, v := range m.Variables {
		if v.Space != ptx.Shared {
			size += int64(v.Size)
		}
	}
	if d.used+size > d.opts.Bytes {
		return nil, fmt.Errorf("out of memory: the variables of module %s have %d bytes, and %d of %d are in use",
			m.Name, size, d.used, d.opts.Bytes)
	}
	d.used += size
	in := &instance{addr: map[*ptx.Variable]uint64{}}
	regions := map[string]*Region{}
	for _, v := range m.Variables {
		if v.Space != ptx.Global && v.Space != ptx.Const {
			continue
		}
		r := d.place(v.Size, max(v.Align, 256))
		r.name, r.readOnly = fmt.Sprintf("%s variable %s", v.Space, v.Name), v.Space == ptx.Const
		copy(r.Data, v.Init) // without a value: zero, as the ISA says
		in.addr[v] = r.base
		regions[v.Name] = r
	}
	for _, v := range m.Variables {
		for _, ref := range v.Refs {
			binary.LittleEndian.PutUint64(regions[v.Name].Data[ref.Offset:], regions[ref.Name].base+uint64(ref.Add))
		}
	}
	d.modules[m] = in
	return in, nil
}

// Unload forgets a module and frees its variables.
func (d *Device) Unload(m *Module) {
	d.mu.Lock()
	defer d.mu.Unlock()
	in := d.modules[m]
	if in == nil {
		return
	}
	for _, addr := range in.addr {
		i := search(d.regions, addr)
		d.used -= int64(len(d.regions[i].Data))
		d.regions = append(d.regions[:i], d.regions[i+1:]...)
	}
	delete(d.modules, m)
	d.workers = nil
}

package memory

import (
	"sync"
	"sync/atomic"

	"healc/runtime/device"
)

// Device is a GPU, or the simulator of one, that has memory for tensors and runs programs. It may be used by several
// goroutines at once.
type Device struct {
	dev  device.Device
	pool *device.Pool

	noGraphs bool        // start kernels one by one
	noRepeat atomic.Bool // start graphs one by one

	unified atomic.Int64 // bytes of unified memory

	loading sync.Mutex // held while a kernel of the runtime's own is loaded

	mu        sync.Mutex
	functions map[string]device.Function // the runtime's own kernels, by entry
	queues    []*Queue                   // that are idle
	left      []*leftWork                // that goes on, and that nobody waits for
}

// NewDevice makes a device of a driver usable. All that has to do with one device goes through one Device.
func NewDevice(dev device.Device) *Device {
	return &Device{dev: dev, pool: device.NewPool(dev), functions: map[string]device.Function{}}
}

// Driver is the device as its driver has it.
func (d *Device) Driver() device.Device { return d.dev }

// Info describes the device.
func (d *Device) Info() device.Info { return d.dev.Info() }

// LiveBytes is the memory of the device that tensors and programs hold, in bytes.
func (d *Device) LiveBytes() int64 { return d.pool.Live() + d.unified.Load() }

// ReleaseUnused gives the memory of closed tensors, which is kept for the next ones, back to the device.
func (d *Device) ReleaseUnused() error { return d.pool.Trim() }

// UseGraphs says whether kernels that follow each other are started together where that is possible, as they are by
// default. It is called before programs run.
func (d *Device) UseGraphs(on bool) { d.noGraphs = !on }

// Graphs reports whether kernels are started together where that is possible.
func (d *Device) Graphs() bool { return !d.noGraphs }

// Repeats reports whether the device may have graphs that repeat their work: nobody has found out yet that it has none.
func (d *Device) Repeats() bool { return !d.noRepeat.Load() }

// CannotRepeat notes that the device has no graphs that repeat their work.
func (d *Device) CannotRepeat() { d.noRepeat.Store(true) }

// Function is a kernel of the runtime's own, by its entry. Its PTX text is asked for and loaded once.
func (d *Device) Function(entry string, text func() string) (device.Function, error) {
	if f := d.known(entry); f != nil {
		return f, nil
	}
	d.loading.Lock()
	defer d.loading.Unlock()
	if f := d.known(entry); f != nil {
		return f, nil
	}
	m, err := d.dev.Load(entry, []byte(text()))
	if err != nil {
		return nil, err
	}
	f, err := m.Function(entry, 0)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.functions[entry] = f
	return f, nil
}

// known is the kernel of an entry that is loaded, nil for none.
func (d *Device) known(entry string) device.Function {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.functions[entry]
}

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

	mu        sync.Mutex
	functions map[string]device.Function // the runtime's own kernels, by entry
	streams   []*Queue                   // that are idle
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
	d.mu.Lock()
	defer d.mu.Unlock()
	if f := d.functions[entry]; f != nil {
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
	d.functions[entry] = f
	return f, nil
}

// Queue is a stream with what copies between it and the host.
type Queue struct {
	device.Stream
	Transfer *device.Transfer
	Small    []byte // pinned, for what is read while a program runs
}

// smallBytes is the size of the memory for what a program reads as it runs: conditions, and the error.
const smallBytes = 4 << 10

// maxStreams bounds the streams that a device keeps.
const maxStreams = 16

// Queue returns a stream that nobody uses.
func (d *Device) Queue() (*Queue, error) {
	d.mu.Lock()
	if n := len(d.streams); n > 0 {
		q := d.streams[n-1]
		d.streams = d.streams[:n-1]
		d.mu.Unlock()
		return q, nil
	}
	d.mu.Unlock()
	s, err := d.dev.NewStream()
	if err != nil {
		return nil, err
	}
	small, err := d.dev.AllocHost(smallBytes)
	if err != nil {
		_ = s.Close() // the error that is returned tells more
		return nil, err
	}
	return &Queue{Stream: s, Transfer: device.NewTransfer(d.dev, s), Small: small}, nil
}

// GiveBack takes a stream back, on which nothing runs any more.
func (d *Device) GiveBack(q *Queue) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.streams) < maxStreams {
		d.streams = append(d.streams, q)
		return
	}
	// It is of no use any more; what does not go back to the driver now goes back with the process.
	_ = q.Transfer.Close()
	_ = d.dev.FreeHost(q.Small)
	_ = q.Close()
}

// With runs f with a stream, and waits until what it starts is done.
func (d *Device) With(f func(q *Queue) error) error {
	q, err := d.Queue()
	if err != nil {
		return err
	}
	defer d.GiveBack(q)
	if err := f(q); err != nil {
		_ = q.Sync() // before anything that is in use is freed; the first error counts
		return err
	}
	return q.Sync()
}

// Package sim is the device that executes PTX on the CPU, with every access checked: package ptxsim as a device.Driver.
package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	goruntime "runtime"
	"sync"
	"time"

	"healc/codegen/gpu/ptxsim"
	"healc/codegen/gpu/ptxsim/machine"
	"healc/runtime/device"
)

// Driver has one simulated device. It is a device.Driver; the zero value is ready.
type Driver struct {
	Memory    int64 // bytes of the device; 0 is 4 GiB
	Unmanaged bool  // the device has no managed memory

	once sync.Once
	dev  *dev
}

const (
	defaultMemory = 4 << 30
	defaultStack  = 64 << 10 // of the simulator, for each thread
)

// Version says what it is.
func (d *Driver) Version() string { return "PTX simulator" }

func (d *Driver) device() *dev {
	d.once.Do(func() {
		memory := d.Memory
		if memory == 0 {
			memory = defaultMemory
		}
		d.dev = &dev{sim: machine.NewDevice(machine.Options{Bytes: memory, Workers: goruntime.GOMAXPROCS(0)}),
			turn: make(chan struct{}, 1), memory: memory, unmanaged: d.Unmanaged, sizes: map[device.Ptr]int64{}}
	})
	return d.dev
}

// Devices describes the device.
func (d *Driver) Devices() ([]device.Info, error) { return []device.Info{d.device().Info()}, nil }

// Open returns the device; i is 0.
func (d *Driver) Open(i int) (device.Device, error) {
	if i != 0 {
		return nil, &device.MissingError{Why: fmt.Sprintf("there is no simulated device %d", i),
			Help: "the simulator has one, number 0"}
	}
	return d.device(), nil
}

// dev is the device. Its work is done when it is started, so Sync has nothing to wait for.
type dev struct {
	sim    *machine.Device
	turn   chan struct{} // full while the simulator works, which does one thing at a time
	memory int64

	unmanaged bool

	mu    sync.Mutex
	used  int64
	stack int64 // that was asked for
	sizes map[device.Ptr]int64
	later []func() error // what waits for the turn, and nobody waits for

	handles uint64 // of conditions, so far
}

func (d *dev) Info() device.Info {
	return device.Info{Name: "PTX simulator", Memory: d.memory, Major: 9, Minor: 0, Processors: 1, Threads: 2048,
		Shared: 227 << 10, Managed: !d.unmanaged, Checked: true}
}

func (d *dev) Alloc(bytes int64) (device.Ptr, error) {
	bytes = max(bytes, 1)
	_ = d.take(context.Background()) // which does not end
	defer d.leave()
	d.mu.Lock()
	defer d.mu.Unlock()
	if bytes > d.memory-d.used {
		return 0, &device.OutOfMemoryError{Device: d.Info().Name, Bytes: bytes, Available: d.memory - d.used}
	}
	at, err := d.sim.Alloc(bytes)
	if err != nil {
		return 0, d.failed("Alloc", err)
	}
	d.used += bytes
	d.sizes[device.Ptr(at)] = bytes
	return device.Ptr(at), nil
}

func (d *dev) AllocManaged(bytes int64) (device.Ptr, []byte, error) {
	bytes = max(bytes, 1)
	_ = d.take(context.Background()) // which does not end
	defer d.leave()
	d.mu.Lock()
	defer d.mu.Unlock()
	if bytes > d.memory-d.used {
		return 0, nil, &device.OutOfMemoryError{Device: d.Info().Name, Bytes: bytes, Available: d.memory - d.used}
	}
	at, b, err := d.sim.AllocManaged(bytes)
	if err != nil {
		return 0, nil, d.failed("AllocManaged", err)
	}
	d.used += bytes
	d.sizes[device.Ptr(at)] = bytes
	return device.Ptr(at), b, nil
}

// Free does not wait while the simulator works for others.
func (d *dev) Free(p device.Ptr) error {
	return d.inTurn(func() error {
		d.mu.Lock()
		defer d.mu.Unlock()
		if err := d.sim.Free(uint64(p)); err != nil {
			return d.failed("Free", err)
		}
		d.used -= d.sizes[p]
		delete(d.sizes, p)
		return nil
	})
}

// inTurn does something that gives back, now or where the simulator works for others, before it works again.
func (d *dev) inTurn(f func() error) error {
	select {
	case d.turn <- struct{}{}:
		defer d.leave()
		return f()
	default:
		d.mu.Lock()
		defer d.mu.Unlock()
		d.later = append(d.later, f)
		return nil
	}
}

// take waits for the turn, or until ctx ends, with its error. What waited for the turn is done then.
func (d *dev) take(ctx context.Context) error {
	select {
	case d.turn <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	d.mu.Lock()
	later := d.later
	d.later = nil
	d.mu.Unlock()
	for _, f := range later {
		if err := f(); err != nil {
			panic("BUG: the simulated device: " + err.Error())
		}
	}
	return nil
}

// leave gives the turn to others.
func (d *dev) leave() { <-d.turn }

// AllocHost is memory like any other: what the CPU reads need not be pinned.
func (d *dev) AllocHost(bytes int64) ([]byte, error) { return make([]byte, max(bytes, 1)), nil }

func (d *dev) FreeHost([]byte) error { return nil }

func (d *dev) Available() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.memory - d.used, nil
}

func (d *dev) SetStack(bytes int64) error {
	_ = d.take(context.Background()) // which does not end
	defer d.leave()
	d.mu.Lock()
	defer d.mu.Unlock()
	if bytes > max(d.stack, defaultStack) {
		d.stack = bytes
		d.sim.SetStack(int(bytes))
	}
	return nil
}

func (d *dev) Stack() (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return max(d.stack, defaultStack), nil
}

func (d *dev) NewStream() (device.Stream, error) {
	return &stream{dev: d, ctx: context.Background()}, nil
}

// failed is an error of the simulator. What kernels do wrong is a mistake of the compiler.
func (d *dev) failed(call string, err error) error {
	var fault *machine.Fault
	if errors.As(err, &fault) {
		return fmt.Errorf("BUG: the PTX simulator found a mistake in generated code: %w", err)
	}
	return &device.Error{Device: d.Info().Name, Call: call, Code: -1, Name: "simulator", Text: err.Error()}
}

// module is PTX that was parsed.
type module struct {
	dev *dev
	mod *machine.Module
}

func (d *dev) Load(name string, ptx []byte) (device.Module, error) {
	m, err := ptxsim.Parse(name, string(ptx))
	if err != nil {
		return nil, &device.Error{Device: d.Info().Name, Call: "Parse", Code: -1, Name: "simulator", Text: name +
			" cannot be loaded", Log: err.Error()}
	}
	return &module{d, m}, nil
}

func (m *module) Function(name string, shared int64) (device.Function, error) {
	for _, e := range m.mod.Entries() {
		if e == name {
			return &entry{m, name}, nil
		}
	}
	return nil, fmt.Errorf("the kernel %s: it is not in the code", name)
}

func (m *module) Close() error {
	return m.dev.inTurn(func() error {
		m.dev.sim.Unload(m.mod)
		return nil
	})
}

type entry struct {
	mod  *module
	name string
}

func (e *entry) Entry() string { return e.name }

// stream does what it is told at once, or notes it while it captures a graph.
type stream struct {
	dev       *dev
	capturing *graph
	ctx       context.Context
}

// job is work that looks at a context.
type job func(ctx context.Context) error

type graph struct{ work []job }

func (g *graph) Close() error { return nil }

func (s *stream) do(call string, work func() error) error {
	return s.doUntil(call, func(context.Context) error { return work() })
}

func (s *stream) doUntil(call string, work job) error {
	inTurn := func(ctx context.Context) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := s.dev.take(ctx); err != nil {
			return err
		}
		defer s.dev.leave()
		if err := work(ctx); err != nil {
			return s.dev.failed(call, err)
		}
		return nil
	}
	if s.capturing != nil {
		s.capturing.work = append(s.capturing.work, inTurn)
		return nil
	}
	return inTurn(s.ctx)
}

// Until implements device.Stream. Kernels end with the context.
func (s *stream) Until(ctx context.Context) { s.ctx = ctx }

func (s *stream) Upload(dst device.Ptr, src []byte) error {
	return s.now("Upload", func() error { return s.dev.sim.Write(uint64(dst), src) })
}

func (s *stream) Download(dst []byte, src device.Ptr) error {
	return s.now("Download", func() error { return s.dev.sim.Read(uint64(src), dst) })
}

// now is do for what cannot be captured.
func (s *stream) now(call string, work func() error) error {
	if s.capturing != nil {
		return fmt.Errorf("BUG: %s while a graph is captured", call)
	}
	return s.do(call, work)
}

func (s *stream) Copy(dst, src device.Ptr, bytes int64) error {
	return s.do("Copy", func() error { return s.dev.sim.Copy(uint64(dst), uint64(src), bytes) })
}

func (s *stream) Fill(dst device.Ptr, word uint32, n int64) error {
	return s.do("Fill", func() error {
		b := make([]byte, 4*n)
		for i := range n {
			binary.LittleEndian.PutUint32(b[4*i:], word)
		}
		return s.dev.sim.Write(uint64(dst), b)
	})
}

func (s *stream) Launch(f device.Function, blocks int64, threads int, shared int64, params []uint64) error {
	if blocks == 0 {
		return nil
	}
	e := f.(*entry)
	raw := make([]byte, 8*len(params))
	for i, w := range params {
		binary.LittleEndian.PutUint64(raw[8*i:], w)
	}
	grid := [3]int{int(min(blocks, math.MaxInt32)), 1, 1}
	return s.doUntil("Launch", func(ctx context.Context) error {
		var ended func() error
		if ctx.Done() != nil {
			ended = ctx.Err
		}
		return s.dev.sim.LaunchUntil(ended, e.mod.mod, e.name, grid, [3]int{threads, 1, 1}, int(shared), raw)
	})
}

func (s *stream) Sync() error { return nil }

func (s *stream) Done() (bool, error) { return true, nil }

func (s *stream) Close() error { return nil }

func (s *stream) Capture(record func() error) (device.Graph, error) {
	g := &graph{}
	s.capturing = g
	err := record()
	s.capturing = nil
	if err != nil {
		return nil, err
	}
	return g, nil
}

func (s *stream) CaptureLoop(record func(handle uint64) error) (device.Graph, error) {
	handle, while := s.dev.NewCondition()
	body, err := s.Capture(func() error { return record(handle) })
	if err != nil {
		return nil, err
	}
	return &graph{[]job{func(ctx context.Context) error {
		return while(func() error { return body.(*graph).run(ctx) })
	}}}, nil
}

func (g *graph) run(ctx context.Context) error {
	for _, work := range g.work {
		if err := work(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (s *stream) LaunchGraph(g device.Graph) error { return g.(*graph).run(s.ctx) }

// maxRepetitions is more than any test needs: a loop that does not end is found.
const maxRepetitions = 1 << 20

// NewCondition makes a condition: a handle that kernels name it by, and what does a body as long as it is not 0; it is
// 1 at first. Package cudatest makes the conditional nodes of the driver of it.
func (d *dev) NewCondition() (handle uint64, while func(body func() error) error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.handles++
	handle = 0xc0de0000 + d.handles
	return handle, func(body func() error) error {
		d.sim.BeginCondition(handle, 1)
		defer d.sim.EndCondition(handle)
		for n := 0; d.sim.Condition(handle) != 0; n++ {
			if n == maxRepetitions {
				return fmt.Errorf("BUG: a graph repeated its work %d times", n)
			}
			if err := body(); err != nil {
				return err
			}
		}
		return nil
	}
}

// event is a time of this process.
type event struct{ at time.Time }

func (s *stream) Record() (device.Event, error) { return event{time.Now()}, nil }

func (e event) Wait() error { return nil }

func (e event) Since(earlier device.Event) (time.Duration, error) {
	return e.at.Sub(earlier.(event).at), nil
}

func (e event) Close() error { return nil }

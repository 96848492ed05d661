package machine

import (
	"fmt"
	"sync"
	"sync/atomic"

	"healc/codegen/gpu/ptx"
	"healc/internal/caught"
)

// worker runs blocks, one after the other. It keeps what blocks need.
type worker struct {
	dev    *Device
	frames map[*Function][]*frame
	warps  []*Warp
	count  int64 // instructions of threads since the last look at the limit
	left   *atomic.Int64
	ended  func() error // nil: the launch goes on to its end
	locked *Region      // while a fault may happen
}

// limit stops when the launch executed too many instructions.
func (wk *worker) limit(w *Warp) {
	n := wk.count
	wk.count = 0
	if wk.ended != nil {
		if err := wk.ended(); err != nil {
			panic(stopped{err})
		}
	}
	if wk.left.Add(-n) < 0 {
		w.Fault(InstructionLimit, FirstLane(w.Live), "the threads of this launch executed %d instructions",
			wk.dev.opts.Instructions)
	}
}

// stopped is the panic of a launch that ends before its end.
type stopped struct{ err error }

// Launch runs a kernel: grid blocks of size threads each, with shared bytes of dynamic shared memory. params is the
// .param space of the entry: each parameter at the next multiple of its alignment. It returns when all blocks are done.
// The error is a *Fault when the kernel did something that it must not do.
func (d *Device) Launch(m *Module, entry string, grid, size [3]int, shared int, params []byte) error {
	return d.LaunchUntil(nil, m, entry, grid, size, shared, params)
}

// LaunchUntil is Launch that asks ended now and then, and ends with its error.
func (d *Device) LaunchUntil(ended func() error, m *Module, entry string, grid, size [3]int, shared int,
	params []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := m.Code[entry]
	if f == nil || !f.Entry || !f.Defined {
		return fmt.Errorf("ptxsim: module %s has no kernel %s", m.Name, entry)
	}
	if err := checkLaunch(f, grid, size, params); err != nil {
		return fmt.Errorf("ptxsim: launch of %s: %w", entry, err)
	}
	l, err := layoutShared(f, shared, d.opts.SharedBytes)
	if err != nil {
		return fmt.Errorf("ptxsim: launch of %s: %w", entry, err)
	}
	in, err := d.load(m)
	if err != nil {
		return fmt.Errorf("ptxsim: launch of %s: %w", entry, err)
	}
	blocks := grid[0] * grid[1] * grid[2]
	if int64(d.runs)+int64(blocks) >= 1<<32-1 {
		for _, r := range d.regions {
			r.races = shadow{}
		}
		d.runs, d.workers = 0, nil
	}
	k := &launch{
		proto: block{dev: d, m: m, inst: in, entry: f, params: params, grid: grid, size: size, layout: l,
			firstRun: d.runs + 1, races: !d.opts.NoRaces},
		ended: ended,
	}
	d.runs += uint32(blocks)
	k.left.Store(d.opts.Instructions)
	for len(d.workers) < d.opts.Workers {
		d.workers = append(d.workers, &worker{dev: d, frames: map[*Function][]*frame{}})
	}
	err = k.run(d.workers[:min(d.opts.Workers, blocks)], int64(blocks))
	d.executed = d.opts.Instructions - k.left.Load()
	return err
}

// launch is a grid that runs.
type launch struct {
	proto block        // without a number
	ended func() error // nil: never
	left  atomic.Int64 // instructions
	next  atomic.Int64 // block

	mu    sync.Mutex
	fault *Fault
	at    int64 // the block of fault
	over  error // why it ended before its end
	panic *caught.Panic
}

// run gives the blocks to the workers, in order. Of several faults, the one of the first block is the answer.
func (k *launch) run(workers []*worker, blocks int64) error {
	k.proto.parallel = len(workers) > 1
	var wait sync.WaitGroup
	for _, wk := range workers[1:] {
		wait.Add(1)
		go func() {
			defer wait.Done()
			k.work(wk, blocks)
		}()
	}
	k.work(workers[0], blocks)
	wait.Wait()
	if k.panic != nil {
		panic(k.panic)
	}
	if k.fault != nil && k.over == nil {
		return k.fault
	}
	return k.over
}

// work runs blocks until none is left or there was a fault.
func (k *launch) work(wk *worker, blocks int64) {
	wk.left, wk.count, wk.ended = &k.left, 0, k.ended
	var i int64
	defer func() {
		k.left.Add(-wk.count)
		if wk.locked != nil {
			wk.locked.mu.Unlock()
			wk.locked = nil
		}
		r := recover()
		if r == nil {
			return
		}
		k.next.Store(blocks)
		k.mu.Lock()
		defer k.mu.Unlock()
		switch r := r.(type) {
		case stopped:
			k.over = r.err
		case *Fault:
			if k.fault == nil || i < k.at {
				k.fault, k.at = r, i
			}
		default:
			k.panic = caught.By(r)
		}
	}()
	b := k.proto
	b.worker = wk
	b.prepare()
	for {
		if i = k.next.Add(1) - 1; i >= blocks {
			return
		}
		b.id = [3]int{int(i) % b.grid[0], int(i) / b.grid[0] % b.grid[1], int(i) / (b.grid[0] * b.grid[1])}
		b.run = b.firstRun + uint32(i)
		b.execute()
	}
}

// The limits of a launch that all devices have. Source: CUDA programming guide, technical specifications.
const (
	maxThreads = 1024
	maxGridX   = 1<<31 - 1
	maxGridYZ  = 65535
	maxBlockZ  = 64
)

// checkLaunch says what is wrong with the sizes.
func checkLaunch(f *Function, grid, block [3]int, params []byte) error {
	for i := range grid {
		limit := maxGridYZ
		if i == 0 {
			limit = maxGridX
		}
		if grid[i] < 1 || grid[i] > limit {
			return fmt.Errorf("a grid of %v blocks: between 1 and %d are possible", grid, limit)
		}
		if block[i] < 1 || block[i] > maxThreads || i == 2 && block[i] > maxBlockZ {
			return fmt.Errorf("a block of %v threads is not possible", block)
		}
	}
	n := block[0] * block[1] * block[2]
	if n > maxThreads {
		return fmt.Errorf("a block of %d threads: %d are possible", n, maxThreads)
	}
	if int64(grid[0])*int64(grid[1])*int64(grid[2]) > maxGridX {
		return fmt.Errorf("a grid of %v blocks is not supported", grid)
	}
	if f.MaxThreads > 0 && n > f.MaxThreads || f.Required != [3]int{} && f.Required != block {
		return fmt.Errorf("a block of %v threads: the kernel was compiled for %d", block, f.MaxThreads)
	}
	if len(params) != f.ParamBytes {
		return fmt.Errorf("%d bytes of parameters: the kernel has %d", len(params), f.ParamBytes)
	}
	return nil
}

// sharedLayout is where the shared variables of a kernel are.
type sharedLayout struct {
	offset map[*ptx.Variable]int
	sizes  []span // of the regions
	names  []string
}

// layoutShared places the variables of f and of what it calls, with gaps between them, and the dynamic memory.
func layoutShared(f *Function, dynamic, limit int) (*sharedLayout, error) {
	l := &sharedLayout{offset: map[*ptx.Variable]int{}}
	top, used := 0, 0
	place := func(size, align int, name string) int {
		top = ptx.AlignUp(top, max(align, 16))
		at := top
		l.sizes = append(l.sizes, span{uint64(at), uint64(size)})
		l.names = append(l.names, name)
		top += size + gap
		used = ptx.AlignUp(used, align) + size
		return at
	}
	var extern []*ptx.Variable
	seen := map[*Function]bool{}
	var visit func(f *Function) error
	visit = func(f *Function) error {
		if seen[f] {
			return nil
		}
		seen[f] = true
		if !f.Defined {
			return fmt.Errorf("function %s has no body", f.Name)
		}
		for _, v := range f.Symbols {
			if _, ok := l.offset[v]; ok || v.Space != ptx.Shared {
				continue
			}
			if v.Extern {
				extern = append(extern, v)
				l.offset[v] = -1
				continue
			}
			l.offset[v] = place(v.Size, v.Align, "shared variable "+v.Name)
		}
		for _, g := range f.Calls {
			if err := visit(g); err != nil {
				return err
			}
		}
		return nil
	}
	if err := visit(f); err != nil {
		return nil, err
	}
	if dynamic < 0 {
		return nil, fmt.Errorf("%d bytes of dynamic shared memory", dynamic)
	}
	if dynamic > 0 || len(extern) > 0 {
		align := 16
		for _, v := range extern {
			align = max(align, v.Align)
		}
		at := place(dynamic, align, "dynamic shared memory")
		for _, v := range extern {
			l.offset[v] = at
		}
	}
	if used > limit {
		return nil, fmt.Errorf("%d bytes of shared memory: a block has %d", used, limit)
	}
	return l, nil
}

// prepare makes the warps and the shared memory of a block.
func (b *block) prepare() {
	wk := b.worker
	n := (b.size[0]*b.size[1]*b.size[2] + 31) / 32
	for len(wk.warps) < n {
		wk.warps = append(wk.warps, &Warp{index: len(wk.warps)})
	}
	b.warps = wk.warps[:n]
	for i, s := range b.layout.sizes {
		b.shared = append(b.shared, &Region{
			base: sharedBase + s.base, Data: make([]byte, s.size), written: make([]uint64, (s.size+63)/64),
			name: b.layout.names[i],
		})
	}
}

// Executed is how many instructions the threads of the last launch executed, all together.
func (d *Device) Executed() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.executed
}

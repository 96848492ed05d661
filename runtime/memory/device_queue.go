package memory

import (
	"context"
	"slices"
	"time"

	"healc/internal/until"
	"healc/runtime/device"
)

// Note [Work that is left]
//
// A call whose context ends returns, and what it has started on the device goes on: a kernel cannot be ended. All that
// this work touches stays as it is until the work is done: its queue with the pinned memory and the events of that, the
// memory that the call has taken, the tensors of the caller on the device, the code. So whoever takes a resource for a
// queue says with Defer how it goes back, and Leave takes the queue together with all of it: a goroutine asks the
// device now and then whether the work is done, and gives everything back then. Before that it tells the kernels of the
// queue that have not begun that nobody wants them (Queue.Unwanted).
//
// Other work of the device uses other queues and other memory, so it need not wait. What uses a tensor that the work
// that was left uses, too, waits for the end of that work (Await); what ends the life of code or of managed memory,
// which the driver does only when the device has nothing to do, is put off until then (WhenDone).
//
// Calls of the driver that may wait for the device by themselves, which are those that allocate or load something, are
// made by another goroutine where a context may end: until.Before.

// Queue is a stream with what copies between it and the host, and with the resources of those who use it.
type Queue struct {
	device.Stream
	Transfer *device.Transfer
	Small    []byte // pinned, for what is read while a program runs
	// Unwanted starts, on another stream, what makes kernels of this one that have not begun do nothing. It is nil
	// where nothing does. Nobody waits for the kernels any more.
	Unwanted func(other device.Stream) error

	dev      *Device
	ctx      context.Context // of who uses it
	deferred []func()
}

const (
	smallBytes = 4 << 10               // of Queue.Small: conditions, and the error
	maxQueues  = 16                    // that a device keeps
	leftSleep  = 20 * time.Millisecond // between two looks at work that is left, at most
	patience   = 10 * time.Millisecond // with work that is about to end when the context does
)

// Queue returns a queue that nobody uses. What it is used for ends with ctx; nil does not end.
func (d *Device) Queue(ctx context.Context) (*Queue, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	q := d.idle()
	if q == nil {
		var err error
		if q, err = before(ctx, d.newQueue, (*Queue).close); err != nil {
			return nil, err
		}
	}
	q.ctx = ctx
	q.Until(ctx)
	return q, nil
}

// idle is a queue that was given back, nil for none.
func (d *Device) idle() *Queue {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := len(d.queues)
	if n == 0 {
		return nil
	}
	q := d.queues[n-1]
	d.queues = d.queues[:n-1]
	return q
}

func (d *Device) newQueue() (*Queue, error) {
	s, err := d.dev.NewStream()
	if err != nil {
		return nil, err
	}
	small, err := d.dev.AllocHost(smallBytes)
	if err != nil {
		_ = s.Close() // the error that is returned tells more
		return nil, err
	}
	q := &Queue{Stream: s, Small: small, dev: d, ctx: context.Background()}
	q.Transfer = device.NewTransfer(q, s)
	return q, nil
}

// close ends a queue. What does not go back to the driver now goes back with the process.
func (q *Queue) close() {
	_ = q.Transfer.Close()
	_ = q.dev.dev.FreeHost(q.Small)
	_ = q.Close()
}

// Defer says what is to be done when the queue is given back, last first: then all that was started on it is done.
func (q *Queue) Defer(f func()) { q.deferred = append(q.deferred, f) }

// Drop gives memory back that what was started uses: at once where the work is done, and after an error of it, which
// may have come before its end, with the queue.
func (q *Queue) Drop(s *Storage, err error) {
	if err != nil {
		q.Defer(s.Release)
		return
	}
	s.Release()
}

// GiveBack takes a queue back, on which nothing runs any more.
func (d *Device) GiveBack(q *Queue) {
	q.ctx, q.Unwanted = context.Background(), nil
	q.Until(q.ctx)
	for i := len(q.deferred) - 1; i >= 0; i-- {
		q.deferred[i]()
	}
	clear(q.deferred)
	q.deferred = q.deferred[:0]
	d.mu.Lock()
	if len(d.queues) < maxQueues {
		d.queues = append(d.queues, q)
		d.mu.Unlock()
		return
	}
	d.mu.Unlock()
	d.WhenDone(q.close)
}

// leftWork is what goes on though the call has ended that started it.
type leftWork struct {
	uses []*Storage // of others than the call
	done chan struct{}
}

// Leave is GiveBack for a queue on which something may run. It waits for that, but where the context of the queue has
// ended, or does meanwhile, hardly longer. uses is memory of others that the work touches.
func (d *Device) Leave(q *Queue, uses ...*Storage) {
	// An error of a device that has failed ends a wait as well: nothing runs there.
	if q.ctx.Err() == nil && (device.Poll(q.ctx, leftSleep, q.Done) == nil || q.ctx.Err() == nil) {
		d.GiveBack(q)
		return
	}
	soon, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if device.Poll(soon, leftSleep, q.Done) == nil || soon.Err() == nil {
		d.GiveBack(q)
		return
	}
	w := &leftWork{uses: slices.Clone(uses), done: make(chan struct{})}
	for _, s := range w.uses {
		s.Retain()
	}
	d.mu.Lock()
	d.left = append(d.left, w)
	d.mu.Unlock()
	go d.finish(q, w)
}

// finish gives back what work that was left has, when it is done.
func (d *Device) finish(q *Queue, w *leftWork) {
	if q.Unwanted != nil {
		// Where it does not come about the kernels do what they would have done.
		if other, err := d.Queue(context.Background()); err == nil {
			_ = q.Unwanted(other)
			d.Leave(other)
		}
	}
	_ = device.Poll(context.Background(), leftSleep, q.Done) // on a device that has failed nothing runs
	d.GiveBack(q)
	for _, s := range w.uses {
		s.Release()
	}
	d.mu.Lock()
	d.left = slices.DeleteFunc(d.left, func(o *leftWork) bool { return o == w })
	d.mu.Unlock()
	close(w.done)
}

// Await waits for all work that was left and that uses one of these, or until ctx ends, with its error. A ctx of nil
// does not end.
func (d *Device) Await(ctx context.Context, uses ...*Storage) error {
	if ctx == nil {
		ctx = context.Background()
	}
	for _, w := range d.leftNow() {
		if !slices.ContainsFunc(w.uses, func(s *Storage) bool { return slices.Contains(uses, s) }) {
			continue
		}
		select {
		case <-w.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// leftNow is the work that is left.
func (d *Device) leftNow() []*leftWork {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.left)
}

// WhenDone calls f at once, or where there is work that was left, when all of that is done.
func (d *Device) WhenDone(f func()) {
	left := d.leftNow()
	if len(left) == 0 {
		f()
		return
	}
	go func() {
		for _, w := range left {
			<-w.done
		}
		f()
	}()
}

// With runs f with a queue, and waits until what it starts is done, or until ctx ends; nil does not end. uses is the
// memory that it is about.
func (d *Device) With(ctx context.Context, f func(q *Queue) error, uses ...*Storage) error {
	if err := d.Await(ctx, uses...); err != nil {
		return err
	}
	q, err := d.Queue(ctx)
	if err != nil {
		return err
	}
	if err = f(q); err == nil {
		err = q.Sync()
	}
	if err != nil {
		d.Leave(q, uses...)
		return err
	}
	d.GiveBack(q)
	return nil
}

// before is until.Before with the error of the context.
func before[T any](ctx context.Context, f func() (T, error), drop func(T)) (T, error) {
	out, ended, err := until.Before(ctx, 0, f, drop)
	if ended {
		err = ctx.Err()
	}
	return out, err
}

// AllocHost implements device.HostMemory.
func (q *Queue) AllocHost(bytes int64) ([]byte, error) {
	dev := q.dev.dev
	return before(q.ctx, func() ([]byte, error) { return dev.AllocHost(bytes) },
		func(b []byte) { _ = dev.FreeHost(b) }) // what a device that is lost does not take back is gone with it
}

// FreeHost implements device.HostMemory.
func (q *Queue) FreeHost(b []byte) error {
	dev := q.dev.dev
	_, err := before(q.ctx, func() (struct{}, error) { return struct{}{}, dev.FreeHost(b) }, nil)
	return err
}

// Function is that of the device.
func (q *Queue) Function(entry string, text func() string) (device.Function, error) {
	if f := q.dev.known(entry); f != nil {
		return f, nil
	}
	return before(q.ctx, func() (device.Function, error) { return q.dev.Function(entry, text) }, nil)
}

// New is NewOn.
func (q *Queue) New(bytes int64) (*Storage, error) { return newOn(q.ctx, q.dev, bytes) }

// NewUnified is NewUnified for the device.
func (q *Queue) NewUnified(bytes int64) (*Storage, error) {
	return before(q.ctx, func() (*Storage, error) { return NewUnified(q.dev, bytes) }, (*Storage).Release)
}

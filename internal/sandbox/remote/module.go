// Package remote is a module that another process compiles and runs: the parent's side of heal.Sandbox. What that
// process says is verified (internal/sandbox/wire), and when it says anything else than it may it is ended.
package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/profile"
	"healc/internal/backend"
	"healc/internal/sandbox"
	"healc/internal/sandbox/wire"
	"healc/internal/until"
	"healc/lang/diag"
	"healc/runtime"
	"healc/runtime/pool"
	"healc/runtime/tensor"
)

// Error says that the process of a sandbox could not be started, or is gone. Its module can do nothing any more.
type Error struct{ Message string }

func (e *Error) Error() string { return "the process of the sandbox: " + e.Message }

// Options say what runs, and what it may use.
type Options struct {
	Program  wire.Program // but for its source
	Rules    sandbox.Rules
	Weaker   bool                              // what the system lacks is done without
	System   runtime.System                    // nil is runtime.OS, with which files are the child's own
	ReadFile func(path string) ([]byte, error) // nil: the child reads imports
}

// Module is a module in another process.
type Module struct {
	p    *process
	file *diag.File
	opts Options

	names  []string
	mostIn int64 // bytes of a tensor that the program saves

	lock chan struct{} // held by who writes
	w    *wire.Writer

	mu      sync.Mutex
	uses    until.Uses // calls
	waiting map[uint32]*request
	last    uint32
	asked   int // requests of the child that are answered just now
	funcs   map[string]*Func
	closed  bool
	failed  error
	gone    chan struct{} // closed when nothing is read any more; failed is set then
	errs    [64]numbered  // the latest errors of the System
	errors  uint32
}

type numbered struct {
	number uint32
	err    error
}

// request is what the child has been asked.
type request struct {
	kind  wire.Kind
	ctx   context.Context
	wants []wire.Want // of the answer
	reply chan reply
}

type reply struct {
	text    []byte
	tensors []*tensor.Tensor
	err     error
}

// defaultFile is the size of files where nothing says another.
const defaultFile = 16 << 30

// Compile starts a process and has it compile a source.
func Compile(file *diag.File, o Options) (*Module, error) {
	if missing := sandbox.Available().Missing(); missing != "" && !o.Weaker {
		return nil, &Error{"this system cannot make it: " + missing}
	}
	p := &o.Program
	if p.Backend == "" {
		p.Backend = backend.CPU
	}
	if p.Backend != backend.CPU && p.Backend != backend.Interp {
		return nil, fmt.Errorf("a sandbox has no backend %q: there are %s and %s", p.Backend, backend.CPU,
			backend.Interp)
	}
	if p.Backend == backend.CPU {
		if _, err := libllvm.Open(); err != nil { // the files of it are what Loaded finds
			return nil, err
		}
	}
	if p.Threads == 0 && p.Backend == backend.CPU { // those of this process, which the child does not know
		if n, err := pool.DefaultThreads(); err == nil {
			p.Threads = n
		}
	}
	p.Name, p.Text = file.Name, file.Text
	// A System of plain files would read and write those of this process, which are more.
	_, plain := o.System.(runtime.OS)
	p.Files, p.Imports = o.System != nil && !plain, o.ReadFile != nil
	for _, list := range []*[]string{&o.Rules.Read, &o.Rules.Write, &p.From} {
		var whole []string
		for _, folder := range *list {
			at, err := filepath.Abs(folder)
			if err != nil {
				return nil, err
			}
			whole = append(whole, at)
		}
		*list = whole
	}
	p.Read, p.Write = o.Rules.Read, o.Rules.Write
	if o.ReadFile == nil && !strings.HasPrefix(file.Name, "<") {
		dir, err := filepath.Abs(filepath.Dir(file.Name))
		if err != nil {
			return nil, err
		}
		o.Rules.Read = slices.Concat(o.Rules.Read, []string{dir}, p.From)
	}
	measured, env := profile.Host().Pass()
	o.Rules.Read = slices.Concat(o.Rules.Read, measured)
	o.Rules.Libraries = sandbox.Loaded()
	if o.Rules.File <= 0 {
		o.Rules.File = defaultFile
	}
	child, err := start(o.Rules, env)
	if err != nil {
		return nil, &Error{"it cannot be started: " + err.Error()}
	}
	if o.System == nil {
		o.System = runtime.OS{}
	}
	m := &Module{p: child, file: file, opts: o, mostIn: o.Rules.File, lock: make(chan struct{}, 1),
		w: wire.NewWriter(child.conn), waiting: map[uint32]*request{}, funcs: map[string]*Func{},
		gone: make(chan struct{})}
	go m.listen()
	text, err := m.ask(wire.Start, p)
	var compiled wire.Compiled
	if err == nil {
		err = m.decode(text, &compiled)
	}
	if err != nil {
		m.Close()
		return nil, err
	}
	m.names = compiled.Names
	return m, nil
}

// Names lists the functions, sorted.
func (m *Module) Names() []string { return append([]string(nil), m.names...) }

// System is what the program sees of the world.
func (m *Module) System() runtime.System { return m.opts.System }

// Backend is what it runs on.
func (m *Module) Backend() string { return m.opts.Program.Backend }

// Close waits for the calls that run, and ends the process.
func (m *Module) Close() {
	<-m.uses.Stop(nil)
	m.mu.Lock()
	m.closed = true
	m.mu.Unlock()
	m.p.kill()
	<-m.gone
}

// Func is the function called name.
func (m *Module) Func(name string) (*Func, error) { return m.find(&wire.Wanted{Name: name}) }

// Gradient is the derivative of a function; add says that it accumulates.
func (m *Module) Gradient(name string, wrt []string, add bool) (*Func, error) {
	return m.find(&wire.Wanted{Name: name, Gradient: true, Add: add, Wrt: wrt})
}

func (m *Module) find(w *wire.Wanted) (*Func, error) {
	key := string(wire.Encode(w))
	m.mu.Lock()
	f := m.funcs[key]
	m.mu.Unlock()
	if f != nil {
		return f, nil
	}
	text, err := m.ask(wire.Find, w)
	if err != nil {
		return nil, err
	}
	f = &Func{m: m}
	if err := m.decode(text, &f.is); err != nil {
		return nil, err
	}
	if err := f.is.Verify(); err != nil {
		return nil, m.abort(fmt.Sprintf("a function is described as nothing that there is: %v", err))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if first := m.funcs[key]; first != nil {
		return first, nil
	}
	m.funcs[key] = f
	return f, nil
}

// decode reads the text of an answer.
func (m *Module) decode(text []byte, v any) error {
	if err := wire.Decode(text, v); err != nil {
		return m.abort("what it says cannot be read")
	}
	return nil
}

// abort ends a process that does not keep to what there is to say.
func (m *Module) abort(why string) error {
	m.fail(&Error{why + "; it was ended"})
	return m.failure()
}

// ask sends a request that is a text and has one as its answer.
func (m *Module) ask(kind wire.Kind, v any) ([]byte, error) {
	r := m.request(context.Background(), &wire.Message{Kind: kind, Text: wire.Encode(v)}, nil)
	return r.text, r.err
}

// How long a child has to do what every child does at once.
const (
	patience = 100 * time.Millisecond // a call that is to end goes on without its caller after this
	stuck    = 5 * time.Second        // and one that has not ended after this is ended with its process
	lost     = time.Second            // a process is ended that has no connection for so long
)

// request sends a request and waits for its answer, or for the end of ctx.
func (m *Module) request(ctx context.Context, msg *wire.Message, wants []wire.Want) reply {
	q := &request{kind: msg.Kind, ctx: ctx, wants: wants, reply: make(chan reply, 1)}
	m.mu.Lock()
	if m.failed != nil || m.closed {
		m.mu.Unlock()
		return reply{err: m.failure()}
	}
	m.last++
	msg.ID = m.last
	m.waiting[msg.ID] = q
	m.mu.Unlock()
	if err := m.write(ctx, msg); err != nil {
		m.take(msg.ID)
		return reply{err: err}
	}
	select {
	case r := <-q.reply:
		return r
	case <-m.gone:
		return m.late(q)
	case <-ctx.Done():
	}
	go func() { _ = m.write(context.Background(), &wire.Message{Kind: wire.Stop, ID: msg.ID}) }()
	select {
	case r := <-q.reply:
		return r
	case <-m.gone:
		return m.late(q)
	case <-time.After(patience):
	}
	go m.abandon(q)
	return reply{err: runtime.Ended(ctx)}
}

// late is the answer to a request when nothing is read any more.
func (m *Module) late(q *request) reply {
	select {
	case r := <-q.reply:
		return r
	default:
		return reply{err: m.failure()}
	}
}

// abandon waits for the end of a call that nobody waits for any more.
func (m *Module) abandon(q *request) {
	select {
	case r := <-q.reply:
		closeAll(r.tensors)
	case <-m.gone:
		closeAll(m.late(q).tensors)
	case <-time.After(stuck):
		m.fail(&Error{"a call that was stopped does not end; it was ended with it"})
		closeAll(m.late(q).tensors)
	}
}

func closeAll(all []*tensor.Tensor) {
	for _, t := range all {
		t.Close()
	}
}

// write sends a message. A child reads all the time; when the end of ctx finds one that does not, it is ended.
func (m *Module) write(ctx context.Context, msg *wire.Message) error {
	select {
	case m.lock <- struct{}{}:
	case <-m.gone:
		return m.failure()
	case <-ctx.Done():
		return runtime.Ended(ctx)
	}
	defer func() { <-m.lock }()
	if ctx.Done() != nil {
		written := make(chan struct{})
		defer close(written)
		stop := context.AfterFunc(ctx, func() {
			select {
			case <-written:
			case <-time.After(stuck):
				m.fail(&Error{"it does not read what it is sent; it was ended"})
			}
		})
		defer stop()
	}
	if err := m.w.Send(msg); err != nil {
		m.fail(&Error{"the connection: " + err.Error()}) // perhaps in the middle of a message
		return m.failure()
	}
	return nil
}

// failure is why nothing can be asked any more.
func (m *Module) failure() error {
	m.mu.Lock()
	closed := m.closed
	m.mu.Unlock()
	if closed {
		return errors.New("the module is closed")
	}
	<-m.gone
	return m.failed
}

// fail ends the process for a reason, unless it has ended for another one. It waits until nothing is read any more.
func (m *Module) fail(why error) {
	m.mu.Lock()
	if m.failed == nil {
		m.failed = why
	}
	m.mu.Unlock()
	m.p.kill()
	<-m.gone
}

// take removes a request.
func (m *Module) take(id uint32) *request {
	m.mu.Lock()
	defer m.mu.Unlock()
	q := m.waiting[id]
	delete(m.waiting, id)
	return q
}

// listen reads what the child says until it ends, or says what it may not.
func (m *Module) listen() {
	err := m.messages(wire.NewReader(m.p.conn))
	m.mu.Lock()
	known := m.failed != nil || m.closed
	m.mu.Unlock()
	var said *refusal
	if !errors.As(err, &said) && !known {
		select {
		case <-m.p.ended: // by itself
		case <-time.After(lost):
			said = &refusal{"it closed its connection"}
		}
	}
	m.p.kill()
	m.mu.Lock()
	if m.failed == nil {
		m.failed = &Error{m.p.how(m.opts.Rules)}
		if said != nil {
			m.failed = &Error{said.why + "; it was ended"}
		}
	}
	m.mu.Unlock()
	close(m.gone)
}

// refusal is what a child may not say.
type refusal struct{ why string }

func (e *refusal) Error() string { return e.why }

func refuse(format string, args ...any) error { return &refusal{fmt.Sprintf(format, args...)} }

// messages reads messages until there are no more.
func (m *Module) messages(r *wire.Reader) error {
	for {
		h, err := r.Next()
		if err == nil {
			var text []byte
			if text, err = r.Text(h); err == nil {
				err = m.message(r, h, text)
			}
		}
		switch {
		case err == nil:
		case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
			return err
		default:
			var said *refusal
			var system interface{ Timeout() bool } // of the connection
			if errors.As(err, &said) || errors.As(err, &system) {
				return err
			}
			return refuse("%v", err)
		}
	}
}

// message takes one message. It does not wait for anybody.
func (m *Module) message(r *wire.Reader, h wire.Head, text []byte) error {
	switch h.Kind {
	case wire.Done, wire.Failed:
		return m.replied(r, h, text)
	case wire.Print, wire.LoadNpy, wire.SaveNpy, wire.SaveImage, wire.ReadFile:
		return m.serve(r, h, text)
	}
	return refuse("it sends what is no answer")
}

// replied takes an answer.
func (m *Module) replied(r *wire.Reader, h wire.Head, text []byte) error {
	q := m.take(h.ID)
	if q == nil {
		return refuse("it answers what nobody asked")
	}
	if h.Kind == wire.Failed {
		var f wire.Failure
		if h.Tensors > 0 || wire.Decode(text, &f) != nil {
			return refuse("an error cannot be read")
		}
		q.reply <- reply{err: f.Err(wire.Context{Main: m.file, Ctx: q.ctx, System: m.systemError})}
		return nil
	}
	if h.Tensors != len(q.wants) {
		return refuse("it answers with %d tensors in place of %d", h.Tensors, len(q.wants))
	}
	if q.kind == wire.Call && len(text) > 0 {
		return refuse("it answers a call with a text")
	}
	if most := m.opts.Rules.Memory; most > 0 && wire.Bytes(q.wants) > most {
		return refuse("it answers with more than its Memory allows")
	}
	a := reply{text: text}
	for _, w := range q.wants {
		t, err := r.Wanted(w)
		var room *wire.RoomError
		if errors.As(err, &room) {
			a.err = room.Err
			continue
		}
		if err != nil {
			closeAll(a.tensors)
			return err
		}
		a.tensors = append(a.tensors, t)
	}
	if a.err == nil {
		a.err = runtime.Ended(q.ctx) // as a call gives no results whose context has ended
	}
	if a.err != nil {
		closeAll(a.tensors)
		a.tensors = nil
	}
	q.reply <- a
	return nil
}

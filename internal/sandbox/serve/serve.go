// Package serve is the process in which a module with heal.Sandbox is compiled and run. It is the program that uses
// package heal, executed again: before main, Enter gives up what the sandbox does not have, and answers the requests of
// its parent (internal/sandbox/wire) until that closes the connection.
package serve

import (
	"context"
	"fmt"
	"os"
	"sync"
	"syscall"

	"healc/codegen/llvm/libllvm"
	"healc/codegen/target/tuned"
	"healc/internal/backend"
	"healc/internal/caught"
	"healc/internal/engine"
	"healc/internal/modules"
	"healc/internal/regular"
	"healc/internal/sandbox"
	"healc/internal/sandbox/wire"
	"healc/internal/testhook"
	"healc/ir"
	"healc/lang/diag"
	"healc/runtime"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// Variable is the environment variable that makes a program a server; its value is the number of the connection.
const Variable = "HEAL_SANDBOX_SERVE"

// Connection is the descriptor of the connection.
const Connection = 3

// Enter does nothing in a program that nobody executed as a server. In one it does not return.
func Enter() {
	if os.Getenv(Variable) == "" {
		return
	}
	if err := sandbox.Enter(); err != nil {
		fmt.Fprintln(os.Stderr, "cannot make the sandbox:", err)
		os.Exit(1)
	}
	if err := syscall.SetNonblock(Connection, true); err != nil {
		fmt.Fprintln(os.Stderr, "there is no connection:", err)
		os.Exit(1)
	}
	conn := os.NewFile(Connection, "connection")
	s := &server{r: wire.NewReader(conn), w: wire.NewWriter(conn), calls: map[uint32]context.CancelFunc{},
		asked: map[uint32]chan answer{}}
	s.listen() // its error is the end of the connection
	os.Exit(0)
}

type server struct {
	r    *wire.Reader
	main *diag.File

	write sync.Mutex
	w     *wire.Writer

	mu    sync.Mutex
	m     *engine.Module // nil: nothing is compiled yet
	funcs []*engine.Func
	calls map[uint32]context.CancelFunc
	asked map[uint32]chan answer
	last  uint32
}

// answer is what the parent answers.
type answer struct {
	text   []byte
	ok     bool // text is what was asked for, and no failure
	tensor *tensor.Tensor
	err    error
}

// listen reads messages until there are no more. It waits for nothing else, so that both sides may write at once.
func (s *server) listen() {
	for {
		h, err := s.r.Next()
		if err != nil {
			return
		}
		text, err := s.r.Text(h)
		if err != nil {
			return
		}
		var all []*tensor.Tensor
		var room error
		for range h.Tensors {
			t, err := s.r.Trusted()
			if e, ok := err.(*wire.RoomError); ok {
				room = e.Err
			} else if err != nil {
				return
			}
			all = append(all, t)
		}
		s.take(h, text, all, room)
	}
}

// take begins what a message asks for.
func (s *server) take(h wire.Head, text []byte, all []*tensor.Tensor, room error) {
	switch h.Kind {
	case wire.Start:
		go s.answer(h.ID, nil, func() ([]byte, []*tensor.Tensor, error) { return s.compile(text) })
	case wire.Find:
		go s.answer(h.ID, nil, func() ([]byte, []*tensor.Tensor, error) { return s.find(text) })
	case wire.Call:
		var ctx context.Context
		if len(text) > 0 {
			with, cancel := context.WithCancel(context.Background())
			ctx = with
			s.mu.Lock()
			s.calls[h.ID] = cancel
			s.mu.Unlock()
		}
		go s.answer(h.ID, all, func() ([]byte, []*tensor.Tensor, error) {
			if room != nil {
				return nil, nil, room
			}
			return s.call(ctx, h.Func, all)
		})
	case wire.Stop:
		s.mu.Lock()
		defer s.mu.Unlock()
		if cancel := s.calls[h.ID]; cancel != nil {
			cancel()
		}
	case wire.Answer:
		s.mu.Lock()
		to := s.asked[h.ID]
		delete(s.asked, h.ID)
		s.mu.Unlock()
		if to == nil {
			return
		}
		a := answer{text: text, ok: h.Func == 1, err: room}
		if len(all) > 0 {
			a.tensor = all[0]
		}
		to <- a
	}
}

// answer does what a request asks for, and sends what came of it.
func (s *server) answer(id uint32, args []*tensor.Tensor, do func() ([]byte, []*tensor.Tensor, error)) {
	text, out, err := func() (text []byte, out []*tensor.Tensor, err error) {
		defer func() {
			if p := recover(); p != nil {
				err = fmt.Errorf("BUG: %w", caught.By(p))
			}
		}()
		return do()
	}()
	s.mu.Lock()
	if cancel := s.calls[id]; cancel != nil {
		cancel()
		delete(s.calls, id)
	}
	s.mu.Unlock()
	if err == nil {
		err = s.send(&wire.Message{Kind: wire.Done, ID: id, Text: text, Tensors: out})
		if err != nil {
			os.Exit(1) // in the middle of a message
		}
	} else {
		err = s.send(&wire.Message{Kind: wire.Failed, ID: id, Text: wire.Encode(wire.FailureOf(err, s.main))})
		if err != nil {
			os.Exit(1)
		}
	}
	for _, t := range append(out, args...) {
		t.Close()
	}
}

func (s *server) send(m *wire.Message) error {
	s.write.Lock()
	defer s.write.Unlock()
	return s.w.Send(m)
}

// ask sends a request to the parent, and waits for the answer.
func (s *server) ask(kind wire.Kind, text string, all ...*tensor.Tensor) answer {
	to := make(chan answer, 1)
	s.mu.Lock()
	s.last++
	id := s.last
	s.asked[id] = to
	s.mu.Unlock()
	if len(text) > wire.MaxText {
		return answer{err: fmt.Errorf("a text of %d bytes is larger than what leaves a sandbox, %d", len(text),
			wire.MaxText)}
	}
	if err := s.send(&wire.Message{Kind: kind, ID: id, Text: []byte(text), Tensors: all}); err != nil {
		return answer{err: err}
	}
	a := <-to
	if a.err != nil || a.ok {
		return a
	}
	if len(a.text) > 0 {
		var f wire.Failure
		if a.err = wire.Decode(a.text, &f); a.err == nil {
			a.err = f.Err(wire.Context{Ctx: context.Background()})
			e := &wire.SystemError{Number: f.Number, Text: f.Text}
			if f.Cause != nil {
				e.Kind = f.Cause.Err(wire.Context{Ctx: context.Background()})
			}
			a.err = e
		}
	}
	return a
}

// compile is the answer to Start. Once it is given nothing is opened any more, unless the program uses files.
func (s *server) compile(text []byte) ([]byte, []*tensor.Tensor, error) {
	var p wire.Program
	if err := wire.Decode(text, &p); err != nil {
		return nil, nil, err
	}
	s.main = diag.NewFile(p.Name, p.Text)
	if p.Backend != backend.Interp {
		if _, err := libllvm.Open(); err != nil {
			return nil, nil, err
		}
	}
	im := &modules.Importer{Allow: p.From}
	if p.Imports {
		im.Read = s.readFile
	}
	file, err := tuned.ParseOption(p.Tuned)
	if err != nil {
		return nil, nil, err
	}
	m, err := engine.CompileFile(s.main, engine.Options{Tuned: file, RequireTuned: p.RequireTuned,
		Backend: p.Backend, Threads: p.Threads, Once: p.Once,
		Entry: p.Entry, SplitAll: p.SplitAll, Imports: im, Limits: runtime.Limits{Steps: p.Steps, Memory: p.Memory},
		System: &system{s: s, files: p.Files, read: p.Read, write: p.Write}})
	if err != nil {
		return nil, nil, err
	}
	if p.Files || !usesFiles(m.IR()) {
		if err := sandbox.Close(); err != nil {
			return nil, nil, err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.m = m
	return wire.Encode(&wire.Compiled{Names: m.Names()}), nil, nil
}

// usesFiles reports whether a module has operations that read or write files.
func usesFiles(m *ir.Module) (found bool) {
	for _, f := range m.Funcs {
		ir.Walk(f.Body, func(op *ir.Op) { found = found || op.Def.Traits.Has(ir.Files) })
	}
	return found
}

// find is the answer to Find.
func (s *server) find(text []byte) ([]byte, []*tensor.Tensor, error) {
	var w wire.Wanted
	if err := wire.Decode(text, &w); err != nil {
		return nil, nil, err
	}
	f, err := s.look(&w)
	if err != nil {
		return nil, nil, err
	}
	code := f.IR()
	out := &wire.Function{Name: code.Name, Signature: f.Signature(), Dims: code.Dims, Results: f.Memory().Results()}
	for i, p := range code.Params() {
		out.Params = append(out.Params, wire.Param{Name: p.Name, Type: f.Memory().Param(i)})
	}
	for _, k := range code.Updates {
		out.Params[k].Updated = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	out.Number = uint32(len(s.funcs))
	s.funcs = append(s.funcs, f)
	return wire.Encode(out), nil, nil
}

func (s *server) look(w *wire.Wanted) (*engine.Func, error) {
	s.mu.Lock()
	m := s.m
	s.mu.Unlock()
	switch {
	case m == nil:
		return nil, fmt.Errorf("nothing is compiled")
	case w.Gradient && w.Add:
		return m.AddGradient(w.Name, w.Wrt...)
	case w.Gradient:
		return m.Gradient(w.Name, w.Wrt...)
	}
	return m.Func(w.Name)
}

// call is the answer to Call: the results, and after them what is updated.
func (s *server) call(ctx context.Context, number uint32, args []*tensor.Tensor) ([]byte, []*tensor.Tensor, error) {
	s.mu.Lock()
	var f *engine.Func
	if int(number) < len(s.funcs) {
		f = s.funcs[number]
	}
	s.mu.Unlock()
	if f == nil {
		return nil, nil, fmt.Errorf("there is no function %d", number)
	}
	if testhook.Sandboxed != nil {
		if err := (&system{s: s}).Print(testhook.Sandboxed()); err != nil {
			return nil, nil, err
		}
	}
	out, err := f.CallAll(ctx, args...)
	if err != nil {
		return nil, nil, err
	}
	for _, k := range f.IR().Updates {
		v, err := args[k].View()
		if err != nil {
			return nil, nil, err
		}
		out = append(out, v)
	}
	return nil, out, nil
}

// readFile asks for the text of an import.
func (s *server) readFile(path string) ([]byte, error) {
	a := s.ask(wire.ReadFile, path)
	return a.text, a.err
}

// system is what programs see of the world.
type system struct {
	s           *server
	files       bool // the parent reads and writes them
	read, write []string
}

// Print implements runtime.System.
func (y *system) Print(text string) error { return y.s.ask(wire.Print, text).err }

// LoadNpy implements runtime.System.
func (y *system) LoadNpy(path string) (*tensor.Tensor, error) {
	if y.files {
		a := y.s.ask(wire.LoadNpy, path)
		return a.tensor, a.err
	}
	if err := allowed(path, "read", "Read or Write", append(y.read[:len(y.read):len(y.read)], y.write...)); err != nil {
		return nil, err
	}
	return runtime.OS{}.LoadNpy(path)
}

// SaveNpy implements runtime.System.
func (y *system) SaveNpy(path string, t *tensor.Tensor) error {
	if y.files {
		return y.s.ask(wire.SaveNpy, path, t).err
	}
	if err := allowed(path, "written", "Write", y.write); err != nil {
		return err
	}
	return runtime.OS{}.SaveNpy(path, t)
}

// SaveImage implements runtime.ImageSaver.
func (y *system) SaveImage(path string, form tensorfile.Image, t *tensor.Tensor) error {
	if y.files {
		return y.s.ask(wire.SaveImage, string(form)+":"+path, t).err
	}
	if err := allowed(path, "written", "Write", y.write); err != nil {
		return err
	}
	return runtime.OS{}.SaveImage(path, form, t)
}

func allowed(path, what, field string, folders []string) error {
	in, err := regular.InFolder(path, folders)
	if err == nil && !in {
		err = fmt.Errorf("%s may not be %s: it is in no folder of %s of the Sandbox", path, what, field)
	}
	return err
}

package remote

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"healc/internal/sandbox/wire"
	"healc/runtime"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// serve does what the child asks for: a call prints, or uses files, or an import is read. A child asks for one thing at
// a time in each call, and only while there is one.
func (m *Module) serve(r *wire.Reader, h wire.Head, text []byte) error {
	m.mu.Lock()
	calls, starting := 0, false
	for _, q := range m.waiting {
		starting = starting || q.kind == wire.Start
		if q.kind == wire.Call {
			calls++
		}
	}
	m.asked++
	asked := m.asked
	m.mu.Unlock()
	if h.Kind == wire.ReadFile {
		if !starting || asked > 1 || m.opts.ReadFile == nil {
			return refuse("it asks for a file that it may not ask for")
		}
	} else if asked > calls || h.Kind != wire.Print && !m.opts.Program.Files {
		return refuse("it asks for what no call does")
	}
	want := 0
	if h.Kind == wire.SaveNpy || h.Kind == wire.SaveImage {
		want = 1
	}
	if h.Tensors != want {
		return refuse("it asks with %d tensors", h.Tensors)
	}
	var saved *tensor.Tensor
	if want == 1 {
		t, err := r.Any(m.mostIn)
		var room *wire.RoomError
		switch {
		case errors.As(err, &room):
			go m.answer(&wire.Message{Kind: wire.Answer, ID: h.ID, Text: m.systemFailure(room.Err)})
			return nil
		case err != nil:
			return err
		case t == nil:
			return refuse("it saves no tensor")
		}
		saved = t
	}
	go func() {
		a := &wire.Message{Kind: wire.Answer, ID: h.ID}
		err := m.do(h.Kind, string(text), saved, a)
		if err != nil {
			a.Func, a.Tensors, a.Text = 0, nil, m.systemFailure(err)
		}
		m.answer(a)
		saved.Close()
		closeAll(a.Tensors)
	}()
	return nil
}

func (m *Module) do(kind wire.Kind, text string, saved *tensor.Tensor, a *wire.Message) (err error) {
	switch kind {
	case wire.Print:
		return m.opts.System.Print(text)
	case wire.SaveNpy:
		return m.opts.System.SaveNpy(text, saved)
	case wire.SaveImage:
		form, path, _ := strings.Cut(text, ":")
		return runtime.SaveImage(m.opts.System, path, tensorfile.Image(form), saved)
	case wire.ReadFile:
		a.Func = 1
		a.Text, err = m.opts.ReadFile(text)
		return err
	}
	t, err := m.opts.System.LoadNpy(text)
	if err != nil {
		return err
	}
	if err := t.HostErr(); err != nil {
		return err
	}
	a.Tensors = []*tensor.Tensor{t}
	return nil
}

// answer sends an answer. That the child is gone is found by who waits for it.
func (m *Module) answer(a *wire.Message) {
	m.mu.Lock()
	m.asked--
	m.mu.Unlock()
	_ = m.write(context.Background(), a)
}

// systemFailure is how the child learns of an error of the System, which stays here with its number.
func (m *Module) systemFailure(err error) []byte {
	m.mu.Lock()
	m.errors++
	n := m.errors
	m.errs[n%uint32(len(m.errs))] = numbered{n, err}
	m.mu.Unlock()
	f := wire.FailureOf(&wire.SystemError{Number: n, Text: err.Error()}, nil)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Cause = wire.FailureOf(fs.ErrNotExist, nil)
	case errors.Is(err, fs.ErrPermission):
		f.Cause = wire.FailureOf(fs.ErrPermission, nil)
	}
	return wire.Encode(f)
}

// systemError is the error of the System that had this number.
func (m *Module) systemError(n uint32) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e := m.errs[n%uint32(len(m.errs))]; n != 0 && e.number == n {
		return e.err
	}
	return nil
}

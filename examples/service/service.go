package main

import (
	"context"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	heal "healc"
)

//go:embed programs
var programs embed.FS

const (
	mostSource = 1 << 20  // bytes of a program that is sent
	mostInput  = 64 << 20 // bytes of the arguments of a call
	mostMemory = 1 << 30  // bytes of the tensors of a call, and of the process of a sandbox
)

// service has the programs by name.
type service struct {
	limit time.Duration // how long a call may take

	mu      sync.RWMutex
	modules map[string]*heal.Module
}

func newService(limit time.Duration) (*service, error) {
	s := &service{limit: limit, modules: map[string]*heal.Module{}}
	paths, err := fs.Glob(programs, "programs/*.heal")
	if err != nil {
		return nil, err
	}
	for _, p := range paths {
		text, err := programs.ReadFile(p)
		if err != nil {
			return nil, err
		}
		m, err := heal.Compile(string(text), heal.Options{MaxMemory: mostMemory, Cache: heal.DefaultCache()})
		if err != nil {
			s.close()
			return nil, fmt.Errorf("%s: %w", p, err)
		}
		s.modules[strings.TrimSuffix(path.Base(p), ".heal")] = m
	}
	return s, nil
}

// close waits for the calls that run.
func (s *service) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.modules {
		m.Close()
	}
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("PUT /{program}", s.put)
	mux.HandleFunc("POST /{program}/{function}", s.call)
	return mux
}

// list shows the functions of all programs.
func (s *service) list(w http.ResponseWriter, _ *http.Request) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, name := range slices.Sorted(maps.Keys(s.modules)) {
		m := s.modules[name]
		for _, f := range m.Names() {
			if f, err := m.Func(f); err == nil {
				fmt.Fprintf(w, "%s: %s\n", name, f.Signature())
			}
		}
	}
}

// put takes a program in the place of another. What is wrong with it is the answer, as healc prints it.
func (s *service) put(w http.ResponseWriter, r *http.Request) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, mostSource))
	if err != nil {
		fail(w, err)
		return
	}
	m, err := heal.Compile(string(text), heal.Options{MaxMemory: mostMemory, Sandbox: &heal.Sandbox{Memory: mostMemory},
		ReadFile: func(string) ([]byte, error) { return nil, fs.ErrNotExist }})
	if err != nil {
		fail(w, err)
		return
	}
	name := r.PathValue("program")
	s.mu.Lock()
	old := s.modules[name]
	s.modules[name] = m
	s.mu.Unlock()
	if old != nil {
		old.Close() // when the calls that run have ended; who has found it and not called yet finds the new one
	}
	w.WriteHeader(http.StatusNoContent)
}

// call calls a function with the arguments of a request, and answers with its results.
func (s *service) call(w http.ResponseWriter, r *http.Request) {
	var given []array
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostInput)).Decode(&given); err != nil {
		fail(w, err)
		return
	}
	limit := s.limit
	if text := r.URL.Query().Get("limit"); text != "" { // less, as `?limit=50ms`
		own, err := time.ParseDuration(text)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		limit = min(limit, own)
	}
	ctx, cancel := context.WithTimeout(r.Context(), limit) // ends with the connection, too
	defer cancel()
	results, err := s.compute(ctx, r.PathValue("program"), r.PathValue("function"), given)
	for errors.Is(err, heal.ErrClosed) && ctx.Err() == nil { // another program has come since
		results, err = s.compute(ctx, r.PathValue("program"), r.PathValue("function"), given)
	}
	if err != nil {
		fail(w, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(results) // an error is one of who reads
}

// errUnknown says that there is no such program or function.
var errUnknown = errors.New("unknown")

func (s *service) compute(ctx context.Context, program, function string, given []array) ([]array, error) {
	s.mu.RLock()
	m := s.modules[program]
	s.mu.RUnlock()
	if m == nil {
		return nil, fmt.Errorf("%w program %q", errUnknown, program)
	}
	if !slices.Contains(m.Names(), function) {
		return nil, fmt.Errorf("%w function %q of %s", errUnknown, function, program)
	}
	f, err := m.Func(function)
	if err != nil {
		return nil, err
	}
	args, err := tensors(f.Params(), given)
	defer closeAll(args)
	if err != nil {
		return nil, err
	}
	results, err := f.CallAll(ctx, args...)
	defer closeAll(results)
	if err != nil {
		return nil, err
	}
	out := make([]array, len(results))
	for i, t := range results {
		if out[i], err = arrayOf(t); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func closeAll(ts []*heal.Tensor) {
	for _, t := range ts {
		if t != nil {
			t.Close()
		}
	}
}

// fail answers with what is wrong, and whose fault it is.
func fail(w http.ResponseWriter, err error) {
	var (
		large    *http.MaxBytesError
		argument *heal.ArgumentError
		program  *heal.RuntimeError
		source   *heal.Diagnostics
		memory   *heal.MemoryLimitError
		steps    *heal.StepsError
		stopped  *heal.StoppedError
		syntax   *json.SyntaxError
		kind     *json.UnmarshalTypeError
		number   *json.UnsupportedValueError
	)
	code := http.StatusInternalServerError
	switch {
	case errors.Is(err, errUnknown):
		code = http.StatusNotFound
	case errors.As(err, &large):
		code = http.StatusRequestEntityTooLarge
	case errors.As(err, &source), errors.As(err, &syntax), errors.As(err, &kind), errors.Is(err, io.EOF),
		errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, errArray):
		code = http.StatusBadRequest
	case errors.As(err, &argument), errors.As(err, &program), errors.As(err, &memory), errors.As(err, &steps),
		errors.As(err, &number):
		code = http.StatusUnprocessableEntity
	case errors.As(err, &stopped), errors.Is(err, context.DeadlineExceeded):
		code = http.StatusRequestTimeout
	}
	http.Error(w, err.Error(), code)
}

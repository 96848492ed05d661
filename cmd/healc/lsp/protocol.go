package lsp

import (
	"context"
	"fmt"
	"io"
	"log"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

// codec writes messages as the protocol has them.
type codec struct{}

// Marshal implements jsonrpc2.Codec.
func (codec) Marshal(v any) ([]byte, error) {
	if raw, ok := v.(jsonrpc2.RawMessage); ok {
		if raw == nil {
			return []byte("null"), nil
		}
		return raw, nil
	}
	return protocol.Marshal(v)
}

// Unmarshal implements jsonrpc2.Codec.
func (codec) Unmarshal(data []byte, v any) error {
	if raw, ok := v.(*jsonrpc2.RawMessage); ok {
		*raw = append(jsonrpc2.RawMessage(nil), data...)
		return nil
	}
	return protocol.Unmarshal(data, v)
}

// pipe is a client's two ends.
type pipe struct {
	io.Reader
	io.Writer
}

// Close implements io.Closer: the process ends when its client has gone.
func (pipe) Close() error { return nil }

// state is what the editor has open at one time, and how it was set.
type state struct {
	docs     documents
	roots    []string // the folders that are open
	settings settings
}

// stateKey is where a request's state is in its context.
type stateKey struct{}

func stateOf(ctx context.Context) state {
	s, _ := ctx.Value(stateKey{}).(state)
	return s
}

// Serve talks to a client until it says `exit` or goes. The result is whether it asked to shut down before.
func Serve(ctx context.Context, in io.Reader, out io.Writer, version string) bool {
	conn := jsonrpc2.NewConn(jsonrpc2.NewStream(pipe{in, out}), jsonrpc2.WithCodec(codec{}))
	s := newServer(version, protocol.ClientDispatcher(conn))
	end := make(chan struct{})
	answer := protocol.ServerHandler(s, jsonrpc2.MethodNotFoundHandler)
	conn.Go(ctx, protocol.CancelHandler(func(ctx context.Context, r *jsonrpc2.Request) (any, error) {
		if r.Method() == "exit" {
			close(end)
			return nil, nil
		}
		if r.IsCall() { // see Note [Snapshots]
			s.mu.Lock()
			ctx = context.WithValue(ctx, stateKey{}, s.state)
			s.mu.Unlock()
			jsonrpc2.Async(ctx)
		}
		result, err := s.guarded(ctx, r, answer)
		if err != nil && !r.IsCall() {
			log.Printf("healc lsp: %s: %v", r.Method(), err)
			return nil, nil // nobody waits for an answer
		}
		return result, err
	}))
	select {
	case <-end:
	case <-conn.Done():
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	asked := s.down
	s.down = true
	return asked
}

// guarded answers a request. A bug ends the request and not the server: an editor starts a server again that ended, a
// few times, and then no more.
func (s *server) guarded(ctx context.Context, r *jsonrpc2.Request, answer jsonrpc2.Handler) (result any, err error) {
	defer func() {
		if e := recover(); e != nil {
			log.Printf("healc lsp: BUG: %s: %v", r.Method(), e)
			result, err = nil, jsonrpc2.NewError(jsonrpc2.InternalError, fmt.Sprintf("a bug in healc: %v", e))
		}
	}()
	return answer(ctx, r)
}

func newServer(version string, client protocol.Client) *server {
	return &server{version: version, client: client, state: state{docs: documents{}, settings: usual()},
		changed: newTimers(), told: map[uri.URI]bool{}}
}

// document is a request's document.
func (s *server) document(ctx context.Context, at uri.URI) (*document, error) {
	if d := stateOf(ctx).docs[pathOf(at)]; d != nil {
		return d, nil
	}
	return nil, notOpen(at)
}

func notOpen(at uri.URI) error { return refused("%s is not open", at) }

// refused is the error of a request that is well formed and cannot be done.
func refused(format string, args ...any) error {
	return jsonrpc2.NewError(jsonrpc2.Code(protocol.LSPErrorCodesRequestFailed), fmt.Sprintf(format, args...))
}

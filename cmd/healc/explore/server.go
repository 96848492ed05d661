package explore

import (
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"maps"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"healc/cmd/healc/driver"
	"healc/internal/backend"
	"healc/internal/engine"
	"healc/internal/modules"
	"healc/internal/regular"
	"healc/lang/diag"
)

// Note [Who may ask]. The page has a program's text and can make healc compile for any options, so only who was given
// its address may ask: the path begins with a random token, requests that name another host than this machine are
// refused, which keeps names that lead here for an attacker's page from working, and so are those that another page
// makes (Origin, Sec-Fetch-Site). Nothing that is asked changes a file.

// Server serves the page of a program.
type Server struct {
	name  string // of the file
	base  engine.Options
	opts  Options
	token string
	host  string        // address and port that it listens on
	every time.Duration // how often it looks whether the file has changed

	mu   sync.Mutex // one program is compiled at a time
	read map[string]stamp
}

// stamp tells whether a file has changed.
type stamp struct {
	size int64
	time time.Time
}

// NewServer makes the server of a file; it listens on l.
func NewServer(name string, base engine.Options, opts Options, l net.Listener) *Server {
	var token [16]byte
	_, _ = rand.Read(token[:]) // it never fails
	return &Server{name: name, base: base, opts: opts, token: hex.EncodeToString(token[:]),
		host: l.Addr().String(), every: 250 * time.Millisecond, read: map[string]stamp{}}
}

// URL is where the page is.
func (s *Server) URL() string { return "http://" + s.host + "/" + s.token + "/" }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("X-Frame-Options", "DENY")
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	rest, known := strings.CutPrefix(r.URL.Path, "/"+s.token+"/")
	switch {
	case r.Host != s.host, origin != "" && origin != "http://"+s.host,
		site != "" && site != "same-origin" && site != "none":
		http.Error(w, "this page is for who has its address", http.StatusForbidden)
		return
	case !known:
		http.NotFound(w, r)
		return
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		http.Error(w, "there is nothing to change", http.StatusMethodNotAllowed)
		return
	}
	switch rest {
	case "":
		h.Set("Content-Type", "text/html; charset=utf-8")
		_ = writePage(w, path.Base(s.name), live{true, path.Base(s.name), s.opts}, "'self'") // the reader may have gone
	case "data":
		s.data(w, r)
	case "events":
		s.events(w, r)
	default:
		http.NotFound(w, r)
	}
}

// data answers with what the page shows, for the options of the request.
func (s *Server) data(w http.ResponseWriter, r *http.Request) {
	opts, err := s.options(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	d, err := s.explore(opts)
	s.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(d) // the reader may have gone
}

// options are those of a request; what it leaves out is as on the command line.
func (s *Server) options(r *http.Request) (Options, error) {
	opts, q := s.opts, r.URL.Query()
	if q.Has("shape") {
		opts.Shape = map[string]int64{}
		if text := strings.TrimSpace(q.Get("shape")); text != "" {
			shape, err := driver.ParseShape([]string{strings.ReplaceAll(text, " ", "")})
			if err != nil {
				return opts, err
			}
			opts.Shape = shape
		}
	}
	if q.Has("target") {
		opts.Target = q.Get("target")
	}
	if q.Has("cpu") {
		opts.CPU = q.Get("cpu")
	}
	if opts.Target != backend.CPU && opts.Target != backend.GPU {
		return opts, errors.New("there is no target `" + opts.Target + "`")
	}
	return opts, nil
}

// explore reads the file and what it imports again.
func (s *Server) explore(opts Options) (*Data, error) {
	seen := &modules.Recorder{From: s.base.Imports}
	base := s.base
	base.Imports = seen
	s.read = map[string]stamp{s.name: stampOf(s.name)}
	if opts.Trace != "" {
		s.read[opts.Trace] = stampOf(opts.Trace)
	}
	text, err := regular.Read(s.name, regular.MaxSource)
	if err != nil {
		return nil, driver.NoFile(s.name, err)
	}
	d, err := Explore(diag.NewFile(s.name, string(text)), base, opts)
	files, _ := seen.Files()
	for _, f := range files {
		s.read[f.Name] = stampOf(f.Name)
	}
	if list := (*diag.List)(nil); errors.As(err, &list) {
		return d, nil // the page shows them
	}
	return d, err
}

// stampOf is that of a file, nothing for one that is not on the disk, such as one of the library.
func stampOf(name string) stamp {
	st, err := os.Stat(name)
	if err != nil {
		return stamp{}
	}
	return stamp{st.Size(), st.ModTime()}
}

// changed reports whether a file that was read last is another one now.
func (s *Server) changed(since map[string]stamp) bool {
	for name, was := range since {
		if stampOf(name) != was {
			return true
		}
	}
	return false
}

// events tells the page when to ask again.
func (s *Server) events(w http.ResponseWriter, r *http.Request) {
	flush, ok := w.(http.Flusher)
	if !ok {
		http.Error(w, "this connection cannot wait", http.StatusNotImplemented)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	flush.Flush()
	tick := time.NewTicker(s.every)
	defer tick.Stop()
	var told map[string]stamp // the stamps that the page was told are old
	for {
		select {
		case <-r.Context().Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		read := s.read
		s.mu.Unlock()
		now := map[string]stamp{}
		for name := range read {
			now[name] = stampOf(name)
		}
		if !s.changed(read) || maps.Equal(now, told) {
			continue
		}
		told = now
		if _, err := w.Write([]byte("event: changed\ndata: {}\n\n")); err != nil {
			return
		}
		flush.Flush()
	}
}

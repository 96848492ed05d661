package explore

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"healc/codegen/llvm/libllvm"
	"healc/internal/engine"
	"healc/internal/modules"
)

// served is a server of a file with this text; stop ends it.
func served(t *testing.T, text string) (s *Server, file string) {
	t.Helper()
	if _, err := libllvm.Open(); err != nil {
		t.Skip(err)
	}
	file = filepath.Join(t.TempDir(), "f.heal")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s = NewServer(file, engine.Options{Imports: &modules.Importer{}}, Options{Target: "cpu", CPU: "x86-64-v3"}, l)
	s.every = 10 * time.Millisecond
	server := &http.Server{Handler: s}
	go func() { _ = server.Serve(l) }()
	t.Cleanup(func() { _ = server.Close() })
	return s, file
}

// get asks, with a header if name is not "".
func get(t *testing.T, url, name, value string) (int, string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if name == "Host" {
		r.Host = value
	} else if name != "" {
		r.Header.Set(name, value)
	}
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(body)
}

// TestWhoMayAsk: only who has the address of the page may ask.
func TestWhoMayAsk(t *testing.T) {
	s, _ := served(t, "fn f(x: f32[8]) -> f32[8] = x .* 2.0\n")
	url := s.URL()
	for _, c := range []struct {
		url, name, value string
		want             int
	}{
		{url, "", "", 200},
		{url, "Origin", "http://" + s.host, 200},
		{url, "Sec-Fetch-Site", "none", 200},
		{url + "nothing", "", "", 404},
		{"http://" + s.host + "/", "", "", 404},
		{"http://" + s.host + "/data", "", "", 404},
		{"http://" + s.host + "/0123456789abcdef0123456789abcdef/data", "", "", 404},
		{url + "data", "Host", "attacker.example", 403},
		{url + "data", "Host", "localhost", 403},
		{url + "data", "Origin", "http://attacker.example", 403},
		{url + "data", "Origin", "null", 403},
		{url + "data", "Sec-Fetch-Site", "cross-site", 403},
		{url + "data?target=quantum", "", "", 400},
		{url + "data?shape=N", "", "", 400},
		{url + "data?shape=N=3", "", "", 422}, // it has no such parameter
		{url + "data?cpu=quantum", "", "", 422},
	} {
		if got, body := get(t, c.url, c.name, c.value); got != c.want {
			t.Errorf("%s with %s %s: %d and not %d: %s", c.url, c.name, c.value, got, c.want, body)
		}
	}
	a, err := http.Post(url+"data", "text/plain", strings.NewReader(""))
	if err != nil {
		t.Fatal(err)
	}
	if a.Body.Close(); a.StatusCode != http.StatusMethodNotAllowed {
		t.Error(a.Status)
	}
}

// TestReload: when the file changes the page is told, asks again, and gets mistakes as data and what is right again.
func TestReload(t *testing.T) {
	s, file := served(t, "fn f[N](x: f32[N]) -> f32[N] = x .* 2.0\n")
	data := func(query string) *Data {
		t.Helper()
		code, text := get(t, s.URL()+"data"+query, "", "")
		var d Data
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			t.Fatal(code, text)
		}
		return &d
	}
	if d := data("?shape=N=1000"); d.Entries[0].Kernels[0].Bytes != 8000 || !d.Entries[0].Kernels[0].Known {
		t.Errorf("%+v", d.Entries[0].Kernels[0])
	}
	a, err := http.Get(s.URL() + "events")
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	told := make(chan string, 16)
	go func() {
		for lines := bufio.NewScanner(a.Body); lines.Scan(); {
			if lines.Text() != "" {
				told <- lines.Text()
			}
		}
	}()
	change := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		select {
		case event := <-told:
			if event != "event: changed" {
				t.Fatal(event)
			}
			<-told // its data
		case <-time.After(30 * time.Second):
			t.Fatal("nobody says that the file has changed")
		}
	}
	change("fn f[N](x: f32[N]) -> f32[N] = x .* y\n")
	if d := data(""); len(d.Errors) != 1 || d.Errors[0].At.Col != 37 || d.Files[0].Text[:4] != "fn f" {
		t.Errorf("%+v", d)
	}
	change("fn f[N](x: f32[N]) -> f32[N] = exp(x .* 2.0)\n")
	if d := data(""); len(d.Errors) > 0 || len(d.Entries[0].Kernels[0].Fused) < 2 {
		t.Errorf("%+v", d)
	}
}

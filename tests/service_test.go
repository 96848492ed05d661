package tests

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	heal "healc"
	"healc/tests/sample"
)

// TestService builds and runs examples/service, an HTTP server of a module of its own: its answers, right and wrong;
// programs that take the place of others while 64 connections call them; its end. With HEAL_TEST_LONG it answers 20,000
// requests, below the race detector where there is a C compiler, and may not need more memory for the second half of
// them. It has a day of two.
func TestService(t *testing.T) {
	if !sample.Has(sample.Today(t), 1, 2) {
		t.Skip("another day")
	}
	if _, err := exec.LookPath("go"); err != nil {
		t.Skip("there is no go command")
	}
	s := serve(t)
	for _, c := range []struct {
		method, path, body string
		code               int
		want               string // in the answer
	}{
		{"GET", "/", "", 200, "softmax: softmax[M, N](x: f32[M, N]) -> f32[M, N]\n"},
		{"POST", "/softmax/softmax", `[{"shape": [1, 3], "data": [1, 2, 3]}]`, 200, softmax},
		{"POST", "/softmax/softmax", `[{"shape": [0, 3], "data": []}]`, 200, `[{"shape":[0,3],"data":[]}]`},
		{"POST", "/collatz/steps", `[{"shape": [3], "data": [27, 1, 2]}]`, 200, `[{"shape":[3],"data":[111,0,1]}]`},
		{"POST", "/moving/mean", `[{"shape": [3], "data": [1, 2, 6]}, {"shape": [2], "data": [1, 1]}]`, 200,
			`[{"shape":[2],"data":[1.5,4]}]`},
		{"POST", "/moving/mean", `[{"shape": [1], "data": [1e308]}, {"shape": [1], "data": [10]}]`, 422, "+Inf"},
		{"POST", "/moving/mean", `[{"shape": [1], "data": [1]}, {"shape": [3], "data": [1, 1, 1]}]`, 422, "extent -1"},
		{"POST", "/softmax/softmax", `[{"shape": [3], "data": [1, 2, 3]}]`, 422, "x"},
		{"POST", "/softmax/softmax", `[{"shape": [2, 2], "data": [1, 2, 3]}]`, 400, "4"},
		{"POST", "/softmax/softmax", `[{"shape": [1], "data": ["a"]}]`, 400, "string"},
		{"POST", "/softmax/softmax", `[]`, 400, "0 arrays for 1 parameters"},
		{"POST", "/softmax/softmax", `[{`, 400, "EOF"},
		{"POST", "/softmax/hardmax", `[]`, 404, "hardmax"},
		{"POST", "/none/softmax", `[]`, 404, "none"},
	} {
		if code, text := s.ask(t, c.method, c.path, c.body); code != c.code || !strings.Contains(text, c.want) {
			t.Errorf("%s %s %s: %d %s", c.method, c.path, c.body, code, text)
		}
	}
	if heal.SandboxMissing() == "" {
		s.takesPrograms(t)
	}
	n := 400
	if sample.All() {
		n = 20_000
	}
	s.load(t, n/2)
	half := s.resident(t)
	s.load(t, n/2)
	if end := s.resident(t); sample.All() && end > half+32<<10 {
		t.Errorf("%d KiB after %d requests, and %d KiB after twice as many", half, n/2, end)
	}
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Wait(); err != nil || strings.Contains(s.errs.String(), "DATA RACE") {
		t.Errorf("%v\n%s", err, &s.errs)
	}
}

const softmax = `[{"shape":[1,3],"data":[0.090030566,0.24472846,0.6652409]}]`

// service is the server.
type service struct {
	cmd  *exec.Cmd
	url  string
	errs bytes.Buffer
}

func serve(t *testing.T) *service {
	program := filepath.Join(t.TempDir(), "service")
	build := exec.Command("go", "build", "-ldflags=-w", "-o", program, ".")
	build.Dir = filepath.Join("..", "examples", "service")
	build.Env = append(os.Environ(), "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")
	if _, err := exec.LookPath("gcc"); err == nil && sample.All() {
		build.Args = slices.Insert(build.Args, 2, "-race")
		build.Env = append(build.Env, "CGO_ENABLED=1")
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	s := &service{cmd: exec.Command(program, "-listen", "127.0.0.1:0", "-limit", "1m")}
	s.cmd.Env = append(os.Environ(), "HEAL_CACHE="+t.TempDir())
	s.cmd.Stderr = &s.errs
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	if s.url, err = bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("%v\n%s", err, &s.errs)
	}
	s.url = strings.TrimSpace(s.url)
	return s
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}

// ask is the answer to a request.
func (s *service) ask(t *testing.T, method, path, body string) (int, string) {
	r, err := http.NewRequest(method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	answer, err := client.Do(r)
	if err != nil {
		t.Error(err)
		return 0, ""
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Error(err)
	}
	return answer.StatusCode, string(text)
}

// takesPrograms sends programs: one that is wrong, one that does not end, and others in the place of that which 64
// connections call.
func (s *service) takesPrograms(t *testing.T) {
	code, text := s.ask(t, "PUT", "/wrong", "pub fn f(x: f32) -> f32 = y")
	if code != 400 || !strings.Contains(text, "E0301") || !strings.Contains(text, "^") {
		t.Errorf("%d %s", code, text)
	}
	code, text = s.ask(t, "PUT", "/long", "pub fn f(x: f64) -> f64 = iterate(2147483647, x, |s| sin(s))")
	if code != 204 {
		t.Errorf("%d %s", code, text)
	}
	if code, text := s.ask(t, "POST", "/long/f?limit=50ms", `[{"data": 1}]`); code != 408 {
		t.Errorf("%d %s", code, text)
	}
	// A call whose client has gone ends: a new program waits for the calls of the old one, and this would take minutes.
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, "POST", s.url+"/long/f", strings.NewReader(`[{"data": 1}]`))
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := client.Do(r); err == nil {
		answer.Body.Close()
		t.Errorf("an answer after %v", ctx.Err())
	}
	if code, text := s.ask(t, "PUT", "/long", "pub fn f(x: f64) -> f64 = x"); code != 204 {
		t.Errorf("%d %s", code, text)
	}
	var calls sync.WaitGroup
	var done atomic.Bool
	for range 64 {
		calls.Go(func() {
			for !done.Load() {
				code, text := s.ask(t, "POST", "/twice/f", `[{"data": 21}]`)
				if code != 404 && (code != 200 || strings.TrimSpace(text) != `[{"shape":[],"data":42}]`) {
					t.Errorf("%d %s", code, text)
				}
			}
		})
	}
	for i := range 3 {
		source := fmt.Sprintf("pub fn f(x: f64) -> f64 = x * 2.0 + %d.0 - %d.0", i, i)
		if code, text := s.ask(t, "PUT", "/twice", source); code != 204 {
			t.Errorf("%d %s", code, text)
		}
	}
	done.Store(true)
	calls.Wait()
}

// load makes n requests to three programs over 64 connections.
func (s *service) load(t *testing.T, n int) {
	requests := make(chan int)
	var mu sync.Mutex
	var took []time.Duration
	var all sync.WaitGroup
	for range 64 {
		all.Go(func() {
			for i := range requests {
				path, body, want := "/softmax/softmax", `[{"shape": [1, 3], "data": [1, 2, 3]}]`, softmax
				switch i % 3 {
				case 1:
					path, body, want = "/collatz/steps", `[{"shape": [1], "data": [27]}]`, `[{"shape":[1],"data":[111]}]`
				case 2: // of many shapes
					k := 1 + i%50
					ones := strings.Repeat("1,", k)[:2*k-1]
					path, body = "/moving/mean", fmt.Sprintf(`[{"shape":[%d],"data":[%s]},{"shape":[1],"data":[1]}]`, k, ones)
					want = fmt.Sprintf(`[{"shape":[%d],"data":[%s]}]`, k, ones)
				}
				start := time.Now()
				code, text := s.ask(t, "POST", path, body)
				mu.Lock()
				took = append(took, time.Since(start))
				mu.Unlock()
				if code != 200 || strings.TrimSpace(text) != want {
					t.Errorf("%s %s: %d %s", path, body, code, text)
				}
			}
		})
	}
	start := time.Now()
	for i := range n {
		requests <- i
	}
	close(requests)
	all.Wait()
	slices.SortFunc(took, cmp.Compare)
	t.Logf("%d requests, %.0f a second; p50 %v, p99 %v; %d KiB", n, float64(n)/time.Since(start).Seconds(), took[n/2],
		took[n*99/100], s.resident(t))
}

// resident is how many KiB of the server are in memory; 0 where the system does not say.
func (s *service) resident(t *testing.T) (kib int) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		t.Log(err)
	}
	if _, rest, ok := strings.Cut(string(text), "VmRSS:"); ok {
		_, _ = fmt.Sscan(rest, &kib)
	}
	return kib
}

package trace

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"
)

// file is what Write writes.
type file struct {
	OtherData   struct{ Started, Dropped string }
	TraceEvents []struct {
		Ph, Name, Cat string
		Pid, Tid      int
		Ts, Dur       float64
		Args          map[string]any
	}
}

func written(t *testing.T, r *Recorder) file {
	t.Helper()
	var text strings.Builder
	if err := r.Write(&text); err != nil {
		t.Fatal(err)
	}
	var f file
	if err := json.Unmarshal([]byte(text.String()), &f); err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	return f
}

func TestWrite(t *testing.T) {
	r := New()
	r.Process(3, "rank \"3\"\n")
	a, b := r.Take("thread"), r.Take("thread")
	r.Give("thread", a)
	if c := r.Take("thread"); c != a {
		t.Errorf("track %d, and %d was free", c, a)
	}
	if c := r.Take("call"); c == a || c == b {
		t.Errorf("track %d of another kind is that of a thread", c)
	}
	r.Add(Event{Name: "k", Category: "kernel", Track: b, Start: r.start.Add(1500 * time.Nanosecond),
		Took: 2001 * time.Nanosecond, Numbers: []Number{{"indices", 7}, {"bytes", 1 << 60}}})
	r.Since(r.start, a, "stage", "é")
	f := written(t, r)
	var names []string
	for _, e := range f.TraceEvents {
		if e.Pid != 3 {
			t.Errorf("process %d", e.Pid)
		}
		if e.Name == "thread_name" {
			names = append(names, e.Args["name"].(string))
		}
	}
	if got := strings.Join(names, ", "); got != "thread 1, thread 2, call 1" {
		t.Errorf("tracks %s", got)
	}
	if e := f.TraceEvents[0]; e.Args["name"] != "rank \"3\"\n" {
		t.Errorf("the process is %q", e.Args["name"])
	}
	e := f.TraceEvents[len(f.TraceEvents)-2]
	if e.Name != "k" || e.Cat != "kernel" || e.Ph != "X" || e.Tid != b || e.Ts != 1.5 || e.Dur != 2.001 ||
		e.Args["indices"] != 7.0 || e.Args["bytes"] != float64(1<<60) {
		t.Errorf("%+v", e)
	}
	if last := f.TraceEvents[len(f.TraceEvents)-1]; last.Name != "é" || last.Args != nil || f.OtherData.Dropped != "0" {
		t.Errorf("%+v, %s dropped", last, f.OtherData.Dropped)
	}
}

// TestDropped: what is too much is counted.
func TestDropped(t *testing.T) {
	r := New()
	r.events = make([]Event, Most-10)
	var wait sync.WaitGroup
	for range 4 {
		wait.Go(func() {
			for range 5 {
				track := r.Take("thread")
				r.Since(time.Now(), track, "piece", "k")
				r.Give("thread", track)
			}
		})
	}
	wait.Wait()
	if kept, dropped := r.Events(); kept != Most || dropped != 10 {
		t.Errorf("%d kept, %d dropped", kept, dropped)
	}
}

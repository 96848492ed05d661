// Package trace records what a program does and when: stages of its compilation, steps of its plan, pieces of kernels
// on threads. The form is that of Chrome's trace events, which https://ui.perfetto.dev and chrome://tracing show
// (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU, "Trace Event Format").
package trace

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"sync"
	"time"
)

// Most is how many events a recorder keeps: those of the first calls, some 100 MB of text.
const Most = 1 << 20

// Recorder keeps events. It may be used by several goroutines at once.
type Recorder struct {
	start time.Time

	mu      sync.Mutex
	name    string
	process int
	events  []Event
	dropped int
	tracks  []string
	free    map[string][]int // tracks that nothing uses now, by kind
	of      map[string]int   // how many of a kind there are
}

// Event is something that took time.
type Event struct {
	Name     string
	Category string // "compile", "call", "kernel", "piece", "host", "loop", ...
	Track    int    // events of a track lie beside or within each other
	Start    time.Time
	Took     time.Duration
	Numbers  []Number // what is known about it
}

// Number is a number about an event.
type Number struct {
	Name  string
	Value int64
}

// New starts a recorder.
func New() *Recorder {
	return &Recorder{start: time.Now(), name: "healc", free: map[string][]int{}, of: map[string]int{}}
}

// Process names what is recorded, and numbers it: a rank of several.
func (r *Recorder) Process(number int, name string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.process, r.name = number, name
}

// Take gives a track of a kind that nobody else has; Give gives it back. So there are as many of a kind as there were
// at once.
func (r *Recorder) Take(kind string) (track int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if free := r.free[kind]; len(free) > 0 {
		track, r.free[kind] = free[len(free)-1], free[:len(free)-1]
		return track
	}
	r.of[kind]++
	r.tracks = append(r.tracks, fmt.Sprintf("%s %d", kind, r.of[kind]))
	return len(r.tracks) - 1
}

// Give gives a track back.
func (r *Recorder) Give(kind string, track int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.free[kind] = append(r.free[kind], track)
}

// Add adds an event. Beyond Most they are only counted.
func (r *Recorder) Add(e Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.events) >= Most {
		r.dropped++
		return
	}
	r.events = append(r.events, e)
}

// Since adds an event that ends now.
func (r *Recorder) Since(start time.Time, track int, category, name string, numbers ...Number) {
	r.Add(Event{Name: name, Category: category, Track: track, Start: start, Took: time.Since(start), Numbers: numbers})
}

// Events is how many events are kept, and how many were too many.
func (r *Recorder) Events() (kept, dropped int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.events), r.dropped
}

// Write writes a JSON object. Times are in microseconds since the recorder was started.
func (r *Recorder) Write(w io.Writer) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"started\": %s, \"dropped\": \"%d\"}, "+
		"\"traceEvents\": [\n", quoted(r.start.UTC().Format(time.RFC3339Nano)), r.dropped)
	fmt.Fprintf(b, "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": %d, \"args\": {\"name\": %s}}", r.process,
		quoted(r.name))
	for i, name := range r.tracks {
		fmt.Fprintf(b, ",\n{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %d, \"tid\": %d, "+
			"\"args\": {\"name\": %s}}", r.process, i, quoted(name))
		fmt.Fprintf(b, ",\n{\"ph\": \"M\", \"name\": \"thread_sort_index\", \"pid\": %d, \"tid\": %d, "+
			"\"args\": {\"sort_index\": %[2]d}}", r.process, i)
	}
	for _, e := range r.events {
		fmt.Fprintf(b, ",\n{\"ph\": \"X\", \"name\": %s, \"cat\": %s, \"pid\": %d, \"tid\": %d, "+
			"\"ts\": %s, \"dur\": %s", quoted(e.Name), quoted(e.Category), r.process, e.Track,
			micros(e.Start.Sub(r.start)), micros(e.Took))
		for i, n := range e.Numbers {
			before := ", \"args\": {"
			if i > 0 {
				before = ", "
			}
			fmt.Fprintf(b, "%s%s: %d", before, quoted(n.Name), n.Value)
		}
		if len(e.Numbers) > 0 {
			b.WriteByte('}')
		}
		b.WriteByte('}')
	}
	b.WriteString("\n]}\n")
	return b.Flush()
}

// micros is a time in microseconds, to the nanosecond.
func micros(d time.Duration) string {
	return strconv.FormatFloat(float64(d.Nanoseconds())/1000, 'f', 3, 64)
}

func quoted(s string) string {
	text, err := json.Marshal(s)
	if err != nil {
		panic(err) // no string has one
	}
	return string(text)
}

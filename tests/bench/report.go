package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"
)

// row is the result of one contender in one case; times are in seconds.
type row struct {
	Case      string  `json:"case"`
	Contender string  `json:"contender"`
	Threads   int     `json:"threads,omitempty"`
	Median    float64 `json:"median_s"`
	Low       float64 `json:"p25_s"`
	High      float64 `json:"p75_s"`
	Runs      int     `json:"runs"`
	GBs       float64 `json:"gb_per_s,omitempty"`
}

// report collects the rows of a run.
type report struct {
	Time     string `json:"time"`
	Commit   string `json:"commit"`
	CPU      string `json:"cpu"`
	Cores    int    `json:"cores"`
	Go       string `json:"go"`
	Versions string `json:"peers"`
	Rounds   int    `json:"rounds"`
	Load     string `json:"load"`
	Rows     []row  `json:"rows"`
}

func newReport(rounds int, versions string) *report {
	r := &report{
		Time: time.Now().UTC().Format(time.RFC3339), CPU: cpuName(), Cores: runtime.NumCPU(),
		Go: runtime.Version(), Versions: versions, Rounds: rounds, Commit: "unknown", Load: load(),
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				r.Commit = s.Value
			}
		}
	}
	return r
}

// cpuName is the processor as Linux names it.
func cpuName() string {
	text, _ := os.ReadFile("/proc/cpuinfo") // elsewhere there is none, and the architecture has to do
	for _, line := range strings.Split(string(text), "\n") {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			return strings.TrimLeft(name, " \t:")
		}
	}
	return runtime.GOARCH
}

// load is the machine's load average over a minute, which the benchmark itself raises to 1 or 2. A larger one
// means that the numbers are those of a busy machine.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

// add takes the times of a contender; bytes is what one run moves at least, 0 where that says nothing.
func (r *report) add(name, contender string, threads int, times []time.Duration, bytes int64) {
	slices.Sort(times)
	at := func(q float64) float64 { return times[int(q*float64(len(times)-1)+0.5)].Seconds() }
	w := row{Case: name, Contender: contender, Threads: threads, Median: at(0.5), Low: at(0.25), High: at(0.75), Runs: len(times)}
	if bytes > 0 {
		w.GBs = float64(bytes) / w.Median / 1e9
	}
	r.Rows = append(r.Rows, w)
}

// print writes the table. The last columns say how many times as long each contender takes as healc with
// one thread and with two: above 1, healc is faster.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d cores; %s; %s\n", r.CPU, r.Cores, r.Go, r.Versions)
	fmt.Fprintf(w, "median of %d rounds, contenders in turns; load average %s\n\n", r.Rounds, r.Load)
	fmt.Fprintln(w, "| case | contender | threads | median | middle half | GB/s | against healc, 1 thread | 2 threads |")
	fmt.Fprintln(w, "|---|---|---:|---:|---:|---:|---:|---:|")
	for _, x := range r.Rows {
		threads, gbs := "", ""
		if x.Threads > 0 {
			threads = fmt.Sprint(x.Threads)
		}
		if x.GBs > 0 {
			gbs = fmt.Sprintf("%.1f", x.GBs)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s to %s | %s | %s | %s |\n", x.Case, x.Contender, threads,
			duration(x.Median), duration(x.Low), duration(x.High), gbs, r.against(x, 1), r.against(x, 2))
	}
}

// against is the time of x over that of healc in the same case.
func (r *report) against(x row, threads int) string {
	if x.Contender == "healc" {
		return ""
	}
	for _, h := range r.Rows {
		if h.Case == x.Case && h.Contender == "healc" && h.Threads == threads {
			return fmt.Sprintf("%.2f", x.Median/h.Median)
		}
	}
	return ""
}

func duration(s float64) string {
	switch {
	case s < 1e-5:
		return fmt.Sprintf("%.0f ns", s*1e9)
	case s < 1e-2:
		return fmt.Sprintf("%.3f ms", s*1e3)
	}
	return fmt.Sprintf("%.2f ms", s*1e3)
}

func (r *report) write(path string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}

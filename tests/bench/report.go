package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"

	"healc/cmd/healc/measure"
)

// line is the result of one contender in one row; times are in seconds.
type line struct {
	Row       string  `json:"row"`
	Contender string  `json:"contender"`
	Threads   int     `json:"threads,omitempty"`
	Median    float64 `json:"median_s"`
	Low       float64 `json:"p25_s"`
	High      float64 `json:"p75_s"`
	Runs      int     `json:"runs"`
	Bytes     float64 `json:"bytes,omitempty"`
	Ops       float64 `json:"operations,omitempty"`
}

// report collects the lines of a run.
type report struct {
	Host    measure.Host      `json:"host"`
	Command []string          `json:"command"`
	Peers   string            `json:"peers"`
	Limits  []measure.Figures `json:"limits"`
	Rows    []line            `json:"rows"`
	Sizes   []series          `json:"sizes,omitempty"`
}

// add books the samples of a contender; bytes and ops are those that no contender can avoid, 0 where they say nothing.
func (r *report) add(row, contender string, threads int, s measure.Samples, bytes, ops float64) {
	r.Rows = append(r.Rows, line{
		Row: row, Contender: contender, Threads: threads, Runs: len(s), Bytes: bytes, Ops: ops,
		Median: s.Median(), Low: s.Quantile(0.25), High: s.Quantile(0.75),
	})
}

// find returns the median of a contender, 0 for none.
func (r *report) find(row, contender string, threads int) float64 {
	for _, x := range r.Rows {
		if x.Row == row && x.Contender == contender && x.Threads == threads {
			return x.Median
		}
	}
	return 0
}

// print writes the table. `of the limit` is the time of the limit on as many threads over that of the contender:
// 1 is as fast as the machine. `healc's time` is that of healc on as many threads over the contender's: below 1,
// healc is faster.
func (r *report) print(w io.Writer) {
	fmt.Fprintf(w, "%s, %d cores; %s; commit %.12s; peers: %s; load average %s\n\n", r.Host.CPU, r.Host.Cores,
		r.Host.Go, r.Host.Commit, r.Peers, r.Host.Load)
	for _, m := range r.Limits {
		fmt.Fprintf(w,
			"%s: reads %.1f GB/s, copies %.1f GB/s; multiplies and adds %.1f G f32/s, %.1f G f64/s, %.1f G i32/s\n\n",
			threadCount(m.Threads), m.Read, m.Copy, m.F32, m.F64, m.I32)
	}
	fmt.Fprintln(w, "| row | contender | threads | median | middle half | rate | of the limit | healc's time |")
	fmt.Fprintln(w, "|---|---|---:|---:|---:|---:|---:|---:|")
	for _, x := range r.Rows {
		threads, rate, of, ours := "", "", "", ""
		if x.Threads > 0 {
			threads = fmt.Sprint(x.Threads)
		}
		switch {
		case x.Ops > 0:
			rate = fmt.Sprintf("%.1f Gop/s", x.Ops/x.Median/1e9)
		case x.Bytes > 0:
			rate = fmt.Sprintf("%.1f GB/s", x.Bytes/x.Median/1e9)
		}
		if l := r.find(x.Row, "limit", x.Threads); l > 0 && x.Contender != "limit" {
			of = fmt.Sprintf("%.2f", l/x.Median)
		}
		if h := r.find(x.Row, "healc", x.Threads); h > 0 && x.Contender != "healc" && x.Contender != "limit" {
			ours = fmt.Sprintf("%.2f", h/x.Median)
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s to %s | %s | %s | %s |\n", x.Row, x.Contender, threads,
			duration(x.Median), duration(x.Low), duration(x.High), rate, of, ours)
	}
}

// The comments in a document between which results stand.
const (
	docBegin = "<!-- results: make bench -->\n"
	docEnd   = "<!-- end of results -->\n"
)

// publish replaces the results in a document.
func (r *report) publish(path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(text), docBegin)
	_, tail, ok2 := strings.Cut(rest, docEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the results, between %q and %q", path, docBegin, docEnd)
	}
	var b strings.Builder
	b.WriteString(head + docBegin + "Measured " + r.Host.Time + " by `" + strings.Join(r.Command, " ") + "`:\n\n")
	r.print(&b)
	b.WriteString(docEnd + tail)
	return os.WriteFile(path, []byte(b.String()), 0o644)
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

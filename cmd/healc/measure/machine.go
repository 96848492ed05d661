package measure

import (
	"context"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// Host says what figures were measured on.
type Host struct {
	CPU    string `json:"cpu"`
	Cores  int    `json:"cores"`
	Go     string `json:"go"`
	Commit string `json:"commit"` // of this program, "unknown" when it was built without
	Load   string `json:"load"`   // the load average of a minute when measuring began; above 1 others were at work
	Time   string `json:"time"`
}

// ThisHost describes this machine, now.
func ThisHost() Host {
	h := Host{CPU: runtime.GOARCH, Cores: runtime.NumCPU(), Go: runtime.Version(), Commit: "unknown", Load: Load(),
		Time: time.Now().UTC().Format(time.RFC3339)}
	text, _ := os.ReadFile("/proc/cpuinfo") // elsewhere there is none, and the architecture has to do
	for line := range strings.Lines(string(text)) {
		if name, ok := strings.CutPrefix(line, "model name"); ok {
			h.CPU = strings.Trim(name, " \t:\n")
			break
		}
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			if s.Key == "vcs.revision" {
				h.Commit = s.Value
			}
		}
	}
	return h
}

// Load is the machine's load average over a minute, "unknown" where the system does not tell.
func Load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := strings.Cut(string(text), " ")
	return one
}

// Figures are what the machine does at most on so many threads, measured: bytes and operations per nanosecond,
// which are GB/s and GFLOP/s. A multiplication and an addition are two operations.
type Figures struct {
	Threads int     `json:"threads"`
	Read    float64 `json:"read_gb_s"`
	Copy    float64 `json:"copy_gb_s"` // reads and writes together, with non-temporal stores
	F32     float64 `json:"f32_gflop_s"`
	F64     float64 `json:"f64_gflop_s"`
	I32     float64 `json:"i32_gop_s"`
}

// Figures measures the machine on each number of threads in turns, on arrays of 64 MiB, for so long each.
func (m *Machine) Figures(ctx context.Context, threads []int, budget time.Duration) ([]Figures, error) {
	const bytes, ops = 64 << 20, 1e8
	var all []Contender
	for _, n := range threads {
		add := func(f func() error) { all = append(all, Contender{Threads: n, Time: Repeat(f)}) }
		_, read, err := m.Move(bytes, 0, n)
		if err != nil {
			return nil, err
		}
		add(read)
		_, stream, err := m.Move(bytes, bytes, n)
		if err != nil {
			return nil, err
		}
		add(stream)
		for _, k := range []Arithmetic{F32, F64, I32} {
			f, err := m.Compute(k, ops, n)
			if err != nil {
				return nil, err
			}
			add(f)
		}
	}
	times, err := Race(ctx, all, Plan{Budget: budget})
	if err != nil {
		return nil, err
	}
	var out []Figures
	for i, n := range threads {
		rate := func(k int, amount float64) float64 { return amount / times[5*i+k].Median() / 1e9 }
		out = append(out, Figures{n, rate(0, bytes), rate(1, 2*bytes), rate(2, ops), rate(3, ops), rate(4, ops)})
	}
	return out, nil
}

package shardings

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"healc"
	"healc/codegen/target/profile"
	"healc/internal/engine"
	"healc/internal/scaling"
	"healc/ir"
	"healc/passes/shard"
	"healc/runtime/abi"
	"healc/runtime/cluster"
	"healc/tests/random"
	"healc/tests/sample"
	"healc/tests/ways"
)

// counted counts what a rank sends and gets.
type counted struct {
	cluster.Comm
	scaling.Traffic
	meetings int64
}

func (c *counted) AllGather(all []byte, counts []int) error {
	for r, n := range counts {
		if own := counts[c.Rank()]; r != c.Rank() && own > 0 {
			c.Sent += int64(own)
			c.Sends++
		}
		c.got(r, n)
	}
	return c.Comm.AllGather(all, counts)
}

func (c *counted) got(from, n int) {
	if from != c.Rank() && n > 0 {
		c.Received += int64(n)
		c.Receives++
	}
}

func (c *counted) AllToAll(send []byte, to []int, recv []byte, from []int) error {
	for r, n := range to {
		if r != c.Rank() && n > 0 {
			c.Sent += int64(n)
			c.Sends++
		}
		c.got(r, from[r])
	}
	return c.Comm.AllToAll(send, to, recv, from)
}

func (c *counted) Begin(out, in [][]byte) error {
	for r := range out {
		if out[r] != nil {
			c.Sent += int64(len(out[r]))
			c.Sends++
		}
		c.got(r, len(in[r]))
	}
	return c.Comm.Begin(out, in)
}

func (c *counted) SendRecv(send []byte, to int, recv []byte, from int) error {
	if to != cluster.Nobody {
		c.Sent += int64(len(send))
		c.Sends++
	}
	if from != cluster.Nobody {
		c.Received += int64(len(recv))
		c.Receives++
	}
	return c.Comm.SendRecv(send, to, recv, from)
}

func (c *counted) Meet(words []uint64) error {
	c.meetings++
	return c.Comm.Meet(words)
}

// countedRanks are n ranks of this process.
func countedRanks(t *testing.T, n int) ([]cluster.Comm, []*counted) {
	t.Helper()
	comms, err := heal.LocalCluster(n)
	if err != nil {
		t.Fatal(err)
	}
	counts := make([]*counted, n)
	for r, c := range comms {
		counts[r] = &counted{Comm: c}
		comms[r] = counts[r]
	}
	return comms, counts
}

// predicted is what the plan of one rank says about n, for arguments of these shapes.
func predicted(t *testing.T, n int, source, entry string, shapes ...[]int64) *scaling.Prediction {
	t.Helper()
	m, err := engine.Compile(source, engine.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	f, err := m.Func(entry)
	if err != nil {
		t.Fatal(err)
	}
	bind, err := ir.BindDims(f.IR(), shapes)
	if err != nil {
		t.Fatal(err)
	}
	// Additions at positions of a cut axis take as many rounds as there are ranks at most.
	s := scaling.Setting{Ranks: n, Threads: 1, Rounds: int64(n), Network: scaling.DefaultNetwork,
		Profile: &profile.Host().Profile.Threads,
		Moves:   func(*abi.Launch) float64 { return 0 }}
	km, err := m.ForRank(shard.Ranks{Rank: s.Rank(), Size: n}).Kernels(entry, bind, nil)
	if err != nil {
		t.Fatal(err)
	}
	p, err := scaling.Predict(km.Plan, s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestTraffic: what each rank sends and gets is what the plan of one of them says, message by message and byte by byte;
// where it depends on data it is no more.
func TestTraffic(t *testing.T) {
	day, exact := sample.Today(t), 0
	for k, p := range programs {
		for i, n := range sizes {
			if n == 1 || !sample.All() && (day+k+i)%len(sizes) > 0 || testing.Short() && k%4 != day%4 {
				continue
			}
			t.Run(p.name+" on "+strconv.Itoa(n), func(t *testing.T) {
				input := p.input()
				comms, counts := countedRanks(t, n)
				o := engine.Options{Threads: 1}
				ways.Least.Set(&o)
				together(t, comms, o, func(o engine.Options) (*random.Outcome, error) {
					return outcome(p.source, input, o)
				})
				exact += fits(t, predicted(t, n, p.source, "f", p.shapes...), counts, false)
			})
		}
	}
	files, err := filepath.Glob(filepath.Join(examples, "*.heal"))
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for k, path := range files {
		for i, n := range sizes {
			if n == 1 || !sample.All() && (day+k+i)%len(sizes) > 0 || testing.Short() && k%4 != day%4 {
				continue
			}
			t.Run(filepath.Base(path)+" on "+strconv.Itoa(n), func(t *testing.T) {
				source, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				comms, counts := countedRanks(t, n)
				text := string(source)
				o := engine.Options{Threads: 1}
				ways.Least.Set(&o)
				if _, err := printedTogether(t, comms, text, o); err != nil {
					t.Fatal(err)
				}
				exact += fits(t, predicted(t, n, text, "main"), counts, strings.Contains(text, "save_npy"))
			})
		}
	}
	if exact == 0 {
		t.Error("no program sends what is known before")
	}
}

// fits compares; it gives 1 where the numbers do not depend on data. Ranks meet more often where they write files.
func fits(t *testing.T, p *scaling.Prediction, counts []*counted, writes bool) int {
	t.Helper()
	if p.Unknown {
		t.Log("there are steps of which nothing is known")
		return 0
	}
	for r, c := range counts {
		want, got := p.Ranks[r], c.Traffic
		if c.meetings < p.Meetings || c.meetings > p.Meetings && !writes {
			t.Errorf("rank %d meets others %d times, not %d", r, c.meetings, p.Meetings)
		}
		switch {
		case !p.AtMost && !p.Guessed && got != want:
			t.Errorf("rank %d: %+v, and predicted are %+v", r, got, want)
		case p.AtMost && (got.Sent > want.Sent || got.Received > want.Received || got.Sends > want.Sends ||
			got.Receives > want.Receives):
			t.Errorf("rank %d: %+v, and predicted are at most %+v", r, got, want)
		}
	}
	if p.AtMost || p.Guessed {
		t.Logf("at most %v, guessed %v: %+v of %+v", p.AtMost, p.Guessed, counts[0].Traffic, p.Ranks[0])
		return 0
	}
	return 1
}

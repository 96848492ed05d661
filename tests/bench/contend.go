package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"healc"
	"healc/cmd/healc/measure"
	"healc/runtime/tensor"
	"healc/runtime/tensorfile"
)

// bench is one run of the benchmark.
type bench struct {
	peer    *peer // nil when there is no Python with NumPy
	machine *measure.Machine
	threads []int
	budget  time.Duration
	report  *report
}

// program is an entry of a source, compiled for a number of threads, with memory for its results.
type program struct {
	m   *heal.Module
	f   *heal.Func
	out []*tensor.Tensor
}

func compile(source, entry string, threads int, args []*tensor.Tensor) (*program, error) {
	m, err := heal.Compile(source, heal.Options{Threads: threads, Cache: heal.DefaultCache()})
	if err != nil {
		return nil, err
	}
	p := &program{m: m}
	if p.f, err = m.Func(entry); err == nil {
		p.out, err = p.f.CallAll(context.Background(), args...)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *program) close() {
	closeAll(p.out)
	p.m.Close()
}

func closeAll(list []*tensor.Tensor) {
	for _, t := range list {
		t.Close()
	}
}

// inputs are the arguments of the row.
func (r row) inputs() ([]*tensor.Tensor, error) {
	var args []*tensor.Tensor
	for i, in := range r.args {
		t, err := in.make(uint64(7 + i))
		if err != nil {
			closeAll(args)
			return nil, err
		}
		args = append(args, t)
	}
	return args, nil
}

// contender is who is in a race: healc, a limit, or a peer.
type contender struct {
	measure.Contender
	limit bool
}

// row measures a row: results are compared first.
func (b *bench) row(r row) error {
	dir, err := os.MkdirTemp("", "heal-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	args, err := r.inputs()
	if err != nil {
		return err
	}
	defer closeAll(args)
	var files []string
	if b.peer != nil {
		for i, t := range args {
			files = append(files, filepath.Join(dir, strconv.Itoa(i)+".npy"))
			if err := tensorfile.WriteNpyFile(files[i], t); err != nil {
				return err
			}
		}
	}
	var peers []peerRun
	if b.peer != nil {
		if peers, err = b.peer.open(strings.TrimSuffix(r.name, "_16k"), files); err != nil {
			return err
		}
	}
	read, write := r.read, int64(0)
	if read == 0 {
		for _, t := range args {
			read += t.Bytes()
		}
	}
	var all []contender
	for _, n := range b.threads {
		p, err := compile(rowsSource, r.entry, n, args)
		if err != nil {
			return err
		}
		defer p.close()
		write = 0
		results := make([]string, len(p.out))
		for i, t := range p.out {
			write += t.Bytes()
			results[i] = filepath.Join(dir, "result"+strconv.Itoa(i)+".npy")
			if len(peers) > 0 {
				if err := tensorfile.WriteNpyFile(results[i], t); err != nil {
					return err
				}
			}
		}
		if len(peers) > 0 {
			if err := b.peer.check(results, r.rel); err != nil {
				return fmt.Errorf("healc with %d threads: %w", n, err)
			}
		}
		all = append(all, contender{Contender: measure.Contender{Name: "healc", Threads: n,
			Time: measure.Repeat(func() error {
				return p.f.CallInto(context.Background(), p.out, args...)
			})}})
		limits, err := b.limits(r, read, write, n)
		if err != nil {
			return err
		}
		all = append(all, limits...)
	}
	for _, q := range peers {
		if q.Threads <= b.threads[len(b.threads)-1] {
			all = append(all, contender{Contender: measure.Contender{Name: q.Name, Threads: q.Threads,
				Time: func(n int) (time.Duration, error) {
					return b.peer.time(q, n)
				}}})
		}
	}
	return b.race(r.name, all, float64(read+write), r.ops)
}

// limits are what the row cannot go below on so many threads: its arithmetic, or else its bytes, with plain stores
// or with non-temporal ones.
func (b *bench) limits(r row, read, write int64, threads int) ([]contender, error) {
	limit := func(f func() error) contender {
		return contender{measure.Contender{Name: "limit", Threads: threads, Time: measure.Repeat(f)}, true}
	}
	plain, stream, err := b.machine.Move(read, write, threads)
	if err != nil {
		return nil, err
	}
	out := []contender{limit(plain), limit(stream)}
	if r.ops > 0 && r.kind != "" {
		f, err := b.machine.Compute(r.kind, r.ops, threads)
		if err != nil {
			return nil, err
		}
		out = append(out, limit(f))
	}
	return out, nil
}

// race measures the contenders and books the result: of the limits on each number of threads the one that counts.
func (b *bench) race(name string, all []contender, bytes, ops float64) error {
	list := make([]measure.Contender, len(all))
	for i, c := range all {
		list[i] = c.Contender
	}
	times, err := measure.Race(context.Background(), list, measure.Plan{Budget: b.budget})
	if err != nil {
		return err
	}
	limits := map[int][]measure.Samples{}
	for i, c := range all {
		if c.limit {
			limits[c.Threads] = append(limits[c.Threads], times[i])
		}
	}
	for i, c := range all {
		if !c.limit {
			b.report.add(name, c.Name, c.Threads, times[i], bytes, ops)
		}
	}
	for _, n := range b.threads {
		if l := limits[n]; l != nil {
			b.report.add(name, "limit", n, hardest(l), bytes, ops)
		}
	}
	return nil
}

// hardest is the limit that counts: the faster way to move the bytes, or the arithmetic when that takes longer. One
// alone is the arithmetic, of a row whose bytes stay in the caches.
func hardest(l []measure.Samples) measure.Samples {
	best := l[0]
	if len(l) == 1 {
		return best
	}
	if l[1].Median() < best.Median() {
		best = l[1]
	}
	if len(l) > 2 && l[2].Median() > best.Median() {
		best = l[2]
	}
	return best
}

package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"

	"healc/cmd/healc/ranks"
	"healc/runtime/cluster"
	"healc/runtime/dynlib"
)

// names are those of what is measured, in the order of comm.c.
var names = []string{"all-gather", "all-to-all", "send-receive"}

// sizes are those of messages, in bytes.
var sizes = []int{8, 64, 512, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 16 << 20, 64 << 20}

const (
	allGather = iota
	allToAll
	sendReceive
)

// rank is a process that measures.
type rank struct {
	options
	cluster.Comm
	c          func(what int32, bytes int, times int32, send, recv unsafe.Pointer) float64 // nil: there is none for it
	send, recv []byte
	socket     *os.File // of the loop in C, which has its number
}

// rank is this process as one of several; the result is its exit code.
func (o options) rank() int {
	var me *ranks.Rank
	var err error
	if o.connect == "tcp" {
		me, err = ranks.Join(func(int) { os.Exit(1) })
	} else {
		me, err = ranks.Launched()
	}
	if err == nil {
		err = (&rank{options: o, Comm: me}).measure()
	}
	return me.End(0, err, func(w io.Writer, err error) int {
		fmt.Fprintln(w, "ranks:", err)
		return 1
	})
}

// measure measures everything, and prints a table.
func (r *rank) measure() error {
	if err := r.load(); err != nil {
		return err
	}
	r.say("| | bytes | C, median | healc, median | ratio | C, least | healc, least | ratio |\n|---|%s\n",
		strings.Repeat("---:|", 7))
	r.send, r.recv = make([]byte, r.largest*r.Size()), make([]byte, r.largest*r.Size())
	for i := 0; i < len(r.send); i += 4096 {
		r.send[i], r.recv[i] = 1, 2
	}
	for what, name := range names {
		for _, bytes := range sizes {
			if bytes > r.largest {
				break
			}
			if err := r.row(what, name, bytes); err != nil {
				return err
			}
		}
	}
	return nil
}

// say prints on one rank.
func (r *rank) say(format string, args ...any) {
	if r.Rank() == 0 {
		fmt.Printf(format, args...)
	}
}

// row measures one kind of exchange of so many bytes to each rank.
func (r *rank) row(what int, name string, bytes int) error {
	contenders := []func(times int) (time.Duration, error){
		func(times int) (time.Duration, error) { return r.healc(what, bytes, times) }}
	if r.c != nil {
		contenders = append(contenders, func(times int) (time.Duration, error) {
			s := r.c(int32(what), bytes, int32(times), unsafe.Pointer(&r.send[0]), unsafe.Pointer(&r.recv[0]))
			if s < 0 {
				return 0, fmt.Errorf("%s of %d bytes in C has failed", name, bytes)
			}
			return time.Duration(s * 1e9 * float64(times)), nil
		})
	}
	times := min(max(1<<20/bytes, 1), 500)
	if r.Size() > runtime.NumCPU() { // a rank that waits does not give way
		times = min(times, 3)
	}
	var took [2][]float64
	for i := -1; i < r.rounds; i++ { // the first round does not count
		for k := range contenders {
			k = (k + i + 1) % len(contenders)
			if err := r.Barrier(); err != nil {
				return err
			}
			d, err := contenders[k](times)
			if err != nil {
				return err
			}
			slowest := make([]uint64, r.Size())
			slowest[r.Rank()] = uint64(d)
			if err := r.Meet(slowest); err != nil {
				return err
			}
			if i >= 0 {
				took[k] = append(took[k], float64(slices.Max(slowest))/1000/float64(times))
			}
		}
	}
	r.say("| %s | %d | %s |\n", name, bytes, columns(took[1], took[0]))
	return nil
}

// columns are medians, the median of the ratios of turns that follow each other, least times and their ratio. Two
// medians may be of different states of the machine, which a ratio of them would blame on one of the two.
func columns(c, healc []float64) string {
	var ratios []float64
	for i := range c {
		ratios = append(ratios, healc[i]/c[i])
	}
	slices.Sort(c)
	slices.Sort(healc)
	slices.Sort(ratios)
	half := len(healc) / 2
	if len(c) == 0 {
		return fmt.Sprintf("| %.2f | | | %.2f |", healc[half], healc[0])
	}
	return fmt.Sprintf("%.2f | %.2f | %.2f | %.2f | %.2f | %.2f", c[half], healc[half], ratios[half], c[0], healc[0],
		healc[0]/c[0])
}

// healc makes so many calls.
func (r *rank) healc(what, bytes, times int) (time.Duration, error) {
	n, me := r.Size(), r.Rank()
	counts := slices.Repeat([]int{bytes}, n)
	send, recv := r.send[:n*bytes], r.recv[:n*bytes]
	start := time.Now()
	for range times {
		var err error
		switch what {
		case allGather:
			err = r.AllGather(recv, counts)
		case allToAll:
			err = r.AllToAll(send, counts, recv, counts)
		case sendReceive:
			err = r.SendRecv(send[:bytes], (me+1)%n, recv[:bytes], (me+n-1)%n)
		}
		if err != nil {
			return 0, err
		}
	}
	return time.Since(start), nil
}

// load opens the library in C.
func (r *rank) load() error {
	dl, err := dynlib.Open(r.library, dynlib.Now|dynlib.Global)
	if err != nil {
		return err
	}
	if r.connect != "tcp" {
		purego.RegisterLibFunc(&r.c, dl, "exchange")
		return nil
	}
	return r.sockets(dl)
}

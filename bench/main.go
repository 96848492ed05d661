// Command bench times modular arithmetic against Lattigo v6.2.0 in one process: forward and inverse transforms of 8
// channels, and products and sums of vectors. It is a module of its own, so that the compiler does not depend on
// Lattigo. Contenders take turns; a row gives the medians and the ratio of Lattigo's to healc's.
//
//	go run . [-rows PATTERN] [-rounds N] [-threads 1,2] [-best]
package main

import (
	"flag"
	"fmt"
	"log"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// row is a computation that both do, for so many threads. The functions compute it once.
type row struct {
	name     string
	heal     func(threads int) (func(), error)
	lattigo  func(threads int) func()
	products bool // report how often it runs in a second
}

func main() {
	pattern := flag.String("rows", "*", "the rows to run, as a pattern of package path")
	rounds := flag.Int("rounds", 15, "how often contenders take turns")
	best := flag.Bool("best", false, "report the fastest rounds and not the medians: for a machine that others use")
	threads := flag.String("threads", "1,2", "numbers of threads")
	flag.Parse()
	fmt.Printf("%-28s %7s %12s %12s %8s\n", "row", "threads", "healc us", "lattigo us", "ratio")
	for _, r := range rows() {
		if ok, err := path.Match(*pattern, r.name); err != nil || !ok {
			continue
		}
		for _, word := range strings.Split(*threads, ",") {
			n, err := strconv.Atoi(word)
			if err != nil || n < 1 {
				log.Fatalf("%q is no number of threads", word)
			}
			if err := r.run(n, *rounds, *best); err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", r.name, err)
				os.Exit(1)
			}
		}
	}
}

// run times a row and prints it.
func (r row) run(threads, rounds int, best bool) error {
	ours, err := r.heal(threads)
	if err != nil {
		return err
	}
	theirs := r.lattigo(threads)
	a, b := calibrate(ours), calibrate(theirs)
	var x, y []float64
	for range rounds {
		x, y = append(x, measure(ours, a)), append(y, measure(theirs, b))
	}
	h, l := median(x), median(y)
	if best {
		h, l = slices.Min(x), slices.Min(y)
	}
	fmt.Printf("%-28s %7d %12.2f %12.2f %8.2f", r.name, threads, h, l, l/h)
	if r.products {
		fmt.Printf("   %.0f products a second", 1e6/h)
	}
	fmt.Println()
	return nil
}

// calibrate is the number of calls that take about 2 ms.
func calibrate(f func()) int {
	for n := 1; ; n *= 2 {
		start := time.Now()
		for range n {
			f()
		}
		if d := time.Since(start); d > 2*time.Millisecond {
			return n
		}
	}
}

// measure is the time of a call in microseconds.
func measure(f func(), n int) float64 {
	start := time.Now()
	for range n {
		f()
	}
	return float64(time.Since(start).Nanoseconds()) / 1000 / float64(n)
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}

// share runs f for channels 0 to k-1 on so many goroutines.
func share(threads, k int, f func(ch int)) {
	if threads == 1 {
		for ch := range k {
			f(ch)
		}
		return
	}
	var wait sync.WaitGroup
	for t := range threads {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for ch := t; ch < k; ch += threads {
				f(ch)
			}
		}()
	}
	wait.Wait()
}

package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"healc/cmd/healc/measure"
	"healc/lang/types"
)

// sweepSource has the rows of the sweep, for any extents.
//
//go:embed sweep.heal
var sweepSource string

const (
	// The sizes of the sweep are the powers of four of elements up to 2^sweepMost.
	sweepMost  = 24
	sweepSteps = 2
	// sweepSample is how long each has the machine in a turn: long beside the time for which a thread polls for work,
	// since one that still polls after the turn of two threads is in the way of the next turn.
	sweepSample = 2 * time.Millisecond
	sweepBudget = 60 * time.Millisecond
	// slower is what two threads may take of the time of one.
	slower = 1.03
)

// sweptRow is a function of sweep.heal, and its arguments for so many elements, m rows of n.
type sweptRow struct {
	name, entry string
	args        func(elements, m, n int64) []input
	most        int // the exponent of 2 up to which it is measured; 0 is sweepMost
}

// Primes below 2^30, 2^50 and 2^59.
const (
	prime30 = 1<<30 - 35
	prime50 = 1<<50 - 27
	prime59 = 1<<59 - 55
)

// vectors are so many f32[n].
func vectors(count int) func(elements, _, _ int64) []input {
	return func(elements, _, _ int64) []input { return slices.Repeat([]input{positive(elements)}, count) }
}

// matrix is one of f32, and so many rows.
func matrix(rows int) func(_, m, n int64) []input {
	return func(_, m, n int64) []input {
		return []input{f32(m, n), f32(n), f32(n)}[:1+rows]
	}
}

// twoOf are the factors of a product.
func twoOf(d types.DType) func(_, m, n int64) []input {
	return func(_, m, n int64) []input {
		if d == types.F32 {
			return []input{f32(m, n), f32(n, m)}
		}
		return []input{ints(d, 128, m, n), ints(d, 128, n, m)}
	}
}

// residues are two vectors of them and their modulus.
func residues(d types.DType, p int64) func(n, _, _ int64) []input {
	return func(n, _, _ int64) []input {
		return []input{ints(d, p, n), ints(d, p, n), integer(d, p)}
	}
}

var swept = []sweptRow{
	{name: "E1", entry: "e1", args: func(n, _, _ int64) []input {
		return []input{f32(n), scalar(1.5), scalar(-0.75), scalar(2.25), scalar(0.125)}
	}},
	{name: "E2", entry: "e2", args: func(_, m, n int64) []input {
		return []input{f32(m, n), f32(n), f32(m), f32(n), f32(m)}
	}},
	{name: "E3", entry: "e3", args: vectors(1)},
	{name: "E4_exp", entry: "e4_exp", args: vectors(1)},
	{name: "E4_tanh", entry: "e4_tanh", args: vectors(1)},
	{name: "E4_sigmoid", entry: "e4_sigmoid", args: vectors(1)},
	{name: "E4_log", entry: "e4_log", args: vectors(1)},
	{name: "R1_sum", entry: "r1", args: vectors(1)},
	{name: "R2_dot", entry: "r2", args: vectors(2)},
	{name: "R3_rowsum", entry: "r3_rows", args: matrix(0)},
	{name: "R3_colsum", entry: "r3_columns", args: matrix(0)},
	{name: "R3_rowsum_turned", entry: "r3_turned", args: matrix(0)},
	{name: "R4_meanvar", entry: "r4", args: vectors(1)},
	{name: "R5_argmax", entry: "r5", args: vectors(1)},
	{name: "R6_sqdist", entry: "r6", args: vectors(2)},
	{name: "S1_softmax", entry: "s1", args: matrix(0)},
	{name: "S2_layernorm", entry: "s2", args: matrix(2)},
	{name: "M1_f32", entry: "m1", args: twoOf(types.F32), most: 20},
	{name: "M1_i8", entry: "m1_i8", args: twoOf(types.I8), most: 20},
	{name: "M1_bf16", entry: "m1_bf16", args: twoOf(types.I8), most: 20},
	{name: "M2_gemv", entry: "m2", args: matrix(1)},
	{name: "T1_transpose", entry: "t1", args: matrix(0)},
	{name: "G1_gather", entry: "g1", args: func(_, m, n int64) []input {
		return []input{f32(m, n), ints(types.I64, m, m)}
	}},
	{name: "F1_fft", entry: "f1", args: func(_, m, n int64) []input { return []input{f64(m, n), f64(m, n)} }, most: 20},
	{name: "O1_sort", entry: "o1", args: vectors(1), most: 20},
	{name: "O1_sort_rows", entry: "o1_rows", args: matrix(0), most: 20},
	{name: "H1_modmul_i64", entry: "h1", args: residues(types.I64, prime59)},
	{name: "H1_modmul_i64_p50", entry: "h1", args: residues(types.I64, prime50)},
	{name: "H1_modsum_i64", entry: "h1_sum", args: residues(types.I64, prime59)},
	{name: "H2_modmul_i32", entry: "h2", args: residues(types.I32, prime30)},
	{name: "H5_gadget", entry: "h5", args: func(n, _, _ int64) []input { return []input{ints(types.I64, prime59, n)} }},
}

// pair is a row at one size, on one thread and on two.
type pair struct {
	row       string
	size      int             // the exponent of 2
	once      float64         // seconds on one thread
	wall      measure.Samples // of each round: the time on two threads over that on one
	again     measure.Samples // that of one thread again, which says how far equal things are apart
	processor float64         // the processor time on two threads over that on one
}

// sweep measures each row at each size.
func (b *bench) sweep(match *regexp.Regexp) error {
	fmt.Printf("load average %s\n\n", measure.Load())
	var all []pair
	for _, r := range swept {
		if !match.MatchString(r.name) {
			continue
		}
		most := r.most
		if most == 0 {
			most = sweepMost
		}
		for e := 0; e <= most; e += sweepSteps {
			progress("%s, 2^%d ...", r.name, e)
			p, err := b.pair(r, e)
			if err != nil {
				return fmt.Errorf("%s of 2^%d: %w", r.name, e, err)
			}
			all = append(all, p)
		}
	}
	progress("")
	printSweep(os.Stdout, all)
	return nil
}

// pair is the race of a row at one size: on one thread, on two, and on one again.
func (b *bench) pair(r sweptRow, size int) (pair, error) {
	out := pair{row: r.name, size: size}
	n, m := int64(1)<<size, int64(1)<<(size/2)
	args, err := row{args: r.args(n, m, n/m)}.inputs()
	if err != nil {
		return out, err
	}
	defer closeAll(args)
	var race [3]measure.Contender
	var spent [3]usage
	for i, threads := range []int{1, 2, 1} {
		p, err := compile(sweepSource, r.entry, threads, args)
		if err != nil {
			return out, err
		}
		defer p.close()
		race[i].Time = spent[i].of(measure.Repeat(func() error {
			return p.f.CallInto(context.Background(), p.out, args...)
		}))
	}
	times, err := measure.Race(context.Background(), race[:],
		measure.Plan{Budget: min(b.budget, sweepBudget), Sample: sweepSample})
	if err != nil {
		return out, err
	}
	out.once = times[0].Median()
	out.wall, out.again = times[1].Over(times[0], times[2]), times[2].Over(times[0])
	out.processor = 2 * spent[1].each() / (spent[0].each() + spent[2].each())
	return out, nil
}

// usage is the processor time of some runs of all threads of the process.
type usage struct {
	runs int
	took time.Duration
}

// of is a contender's Time that counts.
func (u *usage) of(f func(n int) (time.Duration, error)) func(n int) (time.Duration, error) {
	return func(n int) (time.Duration, error) {
		before, _ := measure.Spent()
		d, err := f(n)
		after, _ := measure.Spent()
		u.took += after - before
		u.runs += n
		return d, err
	}
}

func (u *usage) each() float64 { return u.took.Seconds() / float64(max(u.runs, 1)) }

// printSweep writes the ratios, a line for each row, and what is slower on two threads.
func printSweep(w io.Writer, all []pair) {
	fmt.Fprintln(w, "The time on two threads over that on one, medians of the rounds, by the elements; "+
		"in brackets the processor time.")
	var head, rule strings.Builder
	for e := 0; e <= sweepMost; e += sweepSteps {
		fmt.Fprintf(&head, " 2^%d |", e)
		rule.WriteString("---:|")
	}
	fmt.Fprintf(w, "\n| row |%s\n|---|%s", head.String(), rule.String())
	for i, p := range all {
		if i == 0 || p.row != all[i-1].row {
			fmt.Fprintf(w, "\n| %s |", p.row)
		}
		fmt.Fprintf(w, " %.2f (%.2f) |", p.wall.Median(), p.processor)
	}
	fmt.Fprintf(w, "\n\nOver %.2f, with the interval that holds the median with a probability of 95 %%:\n\n"+
		"| row | elements | 1 thread | 2 threads | the same calls again |\n|---|---:|---:|---:|---:|\n", slower)
	none := true
	for _, p := range all {
		if p.wall.Median() > slower {
			none = false
			fmt.Fprintf(w, "| %s | 2^%d | %s | %s | %s |\n", p.row, p.size, duration(p.once), middle(p.wall),
				middle(p.again))
		}
	}
	if none {
		fmt.Fprintln(w, "| none | | | | |")
	}
}

// Command bench measures healc beside the limits of this machine and beside NumPy, numexpr and what else the Python at
// hand has, in one run: the rows of docs/results, a chart over sizes, the cost of a small call, and whole
// processes. `make bench` runs it.
//
// Contenders take turns, one sample each, round after round, so that a change of the machine's clock or load
// meets all of them; what is shown are medians. Before anything is timed, all contenders of a row have to agree on its
// result. No time is asserted: the table and the files of -json and -svg are for people.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"time"

	"healc/cmd/healc/measure"
)

func main() {
	budget := flag.Duration("time", 500*time.Millisecond, "how long to measure each contender of a row")
	python := flag.String("python", "/usr/bin/python3", "a Python with numpy and numexpr; \"\" for none")
	healc := flag.String("healc", "bin/healc", "the program whose processes are timed")
	out := flag.String("json", "", "where to write the results")
	svg := flag.String("svg", "", "where to draw times over sizes")
	doc := flag.String("doc", "", "a Markdown file whose results, between the two comments, are replaced")
	only := flag.String("run", "",
		"only rows whose name matches this regular expression; sizes, call, compile and process are names, too")
	stops := flag.Bool("stops", false, "nothing but what it costs that a context can stop a call, in each row")
	sweep := flag.Bool("sweep", false,
		"nothing but two threads beside one, from one element to 2^24, in each row of sweep.heal")
	flag.Parse()
	var instead func(*bench, *regexp.Regexp) error
	switch {
	case *stops:
		instead = (*bench).stops
	case *sweep:
		instead = (*bench).sweep
	}
	if err := run(*budget, *python, *healc, *out, *svg, *doc, *only, instead); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// run measures everything, or what there is to do instead.
func run(budget time.Duration, python, healc, out, svg, doc, only string,
	instead func(*bench, *regexp.Regexp) error) error {
	match, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	b := &bench{threads: []int{1, 2}, budget: budget,
		report: &report{Host: measure.ThisHost(), Command: os.Args, Peers: "none"}}
	if instead != nil {
		return instead(b, match)
	}
	if python != "" {
		if b.peer, err = startPeer(python); err != nil {
			return err
		}
		defer b.peer.close()
		b.report.Peers = b.peer.versions
	}
	if b.machine, err = measure.NewMachine(); err != nil {
		return err
	}
	defer b.machine.Close()
	if b.report.Limits, err = b.machine.Figures(context.Background(), b.threads, budget); err != nil {
		return err
	}
	step := func(name string, do func() error) error {
		if !match.MatchString(name) {
			return nil
		}
		progress("%s ...", name)
		if err := do(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	}
	for _, r := range rows {
		if err := step(r.name, func() error { return b.row(r) }); err != nil {
			return err
		}
	}
	for _, n := range networks {
		if err := step(n.name, func() error { return b.train(n) }); err != nil {
			return err
		}
	}
	if err := step("sizes", func() error { return b.sizes(svg) }); err != nil {
		return err
	}
	if err := step(smallCall, b.calls); err != nil {
		return err
	}
	if err := step(compiles, b.compiling); err != nil {
		return err
	}
	if err := step(processes, func() error { return b.processes(healc) }); err != nil {
		return err
	}
	progress("")
	b.report.Host.Load += " before, " + measure.Load() + " after"
	b.report.print(os.Stdout)
	if out != "" {
		if err := b.report.write(out); err != nil {
			return err
		}
	}
	if doc == "" {
		return nil
	}
	return b.report.publish(doc)
}

// progress shows what is measured, on a terminal.
func progress(format string, args ...any) {
	if st, err := os.Stderr.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, "\r\x1b[K"+format, args...)
	}
}

// Command bench measures healc beside NumPy and numexpr in one run: kernels on large tensors, the cost of
// a small call, and whole processes. `make bench` runs it.
//
// Contenders take turns, one execution each, round after round, so that a change of the machine's clock or
// load meets all of them; what is shown are medians. Before anything is timed, all contenders of a case
// have to agree on its result. No time is asserted: the table and the file of -json are for people.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	rounds := flag.Int("rounds", 15, "how often each contender runs")
	python := flag.String("python", "/usr/bin/python3", "a Python with numpy and numexpr")
	healc := flag.String("healc", "bin/healc", "the program whose processes are timed")
	out := flag.String("json", "", "where to write the results")
	only := flag.String("run", "", "only cases whose name has this")
	flag.Parse()
	if err := bench(*rounds, *python, *healc, *out, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func bench(rounds int, python, healc, out, only string) error {
	peer, err := startPeer(python)
	if err != nil {
		return err
	}
	defer peer.close()
	report := newReport(rounds, peer.versions)
	for _, c := range cases {
		if !strings.Contains(c.name, only) {
			continue
		}
		progress("%s ...", c.name)
		if err := c.measure(peer, rounds, report); err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	if strings.Contains(smallCall, only) {
		progress("%s ...", smallCall)
		if err := measureCalls(peer, rounds, report); err != nil {
			return err
		}
	}
	if strings.Contains(processes, only) {
		progress("%s ...", processes)
		if err := measureProcesses(healc, max(rounds, 10), report); err != nil {
			return err
		}
	}
	progress("")
	report.Load += " before, " + load() + " after"
	report.print(os.Stdout)
	if out == "" {
		return nil
	}
	return report.write(out)
}

// progress shows what is measured, on a terminal.
func progress(format string, args ...any) {
	if st, err := os.Stderr.Stat(); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		fmt.Fprintf(os.Stderr, "\r\x1b[K"+format, args...)
	}
}

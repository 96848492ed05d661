package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/bench"
	"healc/internal/engine"
)

type benchFlags struct {
	entry   string
	in      []string
	threads []int
	time    time.Duration
	json    string
	compare string
	importFlags
	tuneFileFlags
}

func (a *app) benchCommand() *cobra.Command {
	var flags benchFlags
	c := &cobra.Command{
		Use:   "bench FILE [flags]",
		Short: "Measure a function: time, GB/s and GFLOP/s against the limits of this machine",
		Long: "Compiles FILE and runs its main function, or the one of --entry, again and again: after a warm-up, " +
			"samples on each\n" +
			"number of threads in turns with this machine's limits, which move the same bytes or do as many " +
			"operations. Output of the\n" +
			"program is dropped. With --compare, the differences from an earlier --json that are significant. FILE " +
			"may itself be such\n" +
			"a result, which is then shown again.",
		Example: "  healc bench f.heal --entry f --in x='f32[16777216]:rand(1)' --json old.json\n" +
			"  healc bench f.heal --entry f --in x='f32[16777216]:rand(1)' --compare old.json\n" +
			"  healc bench new.json --compare old.json",
		Args: exactly("FILE"),
		RunE: func(c *cobra.Command, args []string) error { return a.bench(c, args[0], &flags) },
	}
	fs := c.Flags()
	flags.importFlags.register(fs)
	flags.tuneFileFlags.register(fs)
	fs.StringVar(&flags.entry, "entry", "", "the function to measure instead of main")
	fs.StringArrayVar(&flags.in, "in", nil, "`NAME=VALUE`, an input, as for `healc run`")
	fs.IntSliceVar(&flags.threads, "threads", nil,
		"the numbers of threads to measure (default 1 and HEAL_THREADS, else one a core)")
	fs.DurationVar(&flags.time, "time", 2*time.Second, "how long to measure for each number of threads")
	fs.StringVar(&flags.json, "json", "", "write the results, every sample among them, to this `FILE`")
	fs.StringVar(&flags.compare, "compare", "", "a `FILE` that --json wrote: say what has changed since")
	return c
}

func (a *app) bench(c *cobra.Command, path string, flags *benchFlags) error {
	for _, n := range flags.threads {
		if n < 1 {
			return &driver.UsageError{Message: fmt.Sprintf("--threads %d: at least 1 thread is needed", n)}
		}
	}
	if flags.time <= 0 {
		return &driver.UsageError{Message: fmt.Sprintf("--time %v is no time to measure for", flags.time)}
	}
	var old, report *bench.Report
	var err error
	if flags.compare != "" {
		if old, err = bench.Read(flags.compare); err != nil {
			return err
		}
	}
	if strings.HasSuffix(path, ".json") {
		report, err = bench.Read(path)
	} else {
		report, err = a.measure(c, path, flags)
	}
	if err != nil {
		return err
	}
	if flags.json != "" {
		if err := report.Write(flags.json); err != nil {
			return err
		}
	}
	return report.Print(a.out, old)
}

// measure runs a program's benchmark.
func (a *app) measure(c *cobra.Command, path string, flags *benchFlags) (*bench.Report, error) {
	imports, err := flags.importer()
	if err != nil {
		return nil, err
	}
	file, err := a.source(path)
	if err != nil {
		return nil, err
	}
	programs, err := a.cache()
	if err != nil {
		return nil, err
	}
	b := &bench.Bench{
		Job: &driver.Job{
			File: file, Entry: flags.entry, Inputs: flags.in,
			Opts:   engine.Options{Cache: programs, Imports: imports},
			Loaded: a.loaded(flags.entry),
		},
		Threads: flags.threads, Budget: flags.time,
	}
	if err := flags.apply(path, &b.Job.Opts); err != nil {
		return nil, err
	}
	b.Progress = func(done float64) { a.line.Say("measuring %3.0f%%", 100*done) }
	defer a.line.Done()
	return b.Run(c.Context())
}

package cli

import (
	"encoding/json"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	heal "healc"
	"healc/cmd/healc/driver"
	"healc/cmd/healc/driver/suite"
)

type testFlags struct {
	backends []string
	run      string
	json     bool
	verbose  bool
	workers  int
	importFlags
}

func (a *app) testCommand() *cobra.Command {
	var flags testFlags
	c := &cobra.Command{
		Use:   "test [PATH...]",
		Short: "Run test files and test blocks",
		Long: "Runs the .heal files among PATH (files and folders; the working folder when there is none) that have " +
			"`test` blocks,\n" +
			"each block as a test of its own, and those whose head comment says what to expect, on each backend, in " +
			"parallel:\n\n" +
			"  # expect exit 42                   # expect error E0203\n" +
			"  # expect stdout \"1\\n2\\n\"           # expect compile-error \"text\"\n" +
			"  # args --entry f --in x=@x.npy     # expect runtime-error \"text\"\n" +
			"  # backend cpu interp\n\n" +
			"Paths in a test start at its folder. All backends have to print the same. The exit code is 3 when a " +
			"test fails.",
		RunE: func(c *cobra.Command, args []string) error { return a.test(c, args, &flags) },
	}
	fs := c.Flags()
	flags.importFlags.register(fs)
	fs.StringSliceVar(&flags.backends, "backend", []string{heal.Interp, heal.CPU}, "the backends to run on")
	fs.StringVar(&flags.run, "run", "", "run only files whose path, and test blocks whose name, matches this `REGEX`")
	fs.BoolVar(&flags.json, "json", false, "print the results as JSON")
	fs.BoolVarP(&flags.verbose, "verbose", "v", false, "print the tests that pass, too")
	fs.IntVarP(&flags.workers, "parallel", "j", runtime.GOMAXPROCS(0), "how many tests run at one time")
	return c
}

func (a *app) test(c *cobra.Command, paths []string, flags *testFlags) error {
	for _, b := range flags.backends {
		if err := checkBackend(b); err != nil {
			return err
		}
	}
	imports, err := flags.importer()
	if err != nil {
		return err
	}
	programs, err := a.cache()
	if err != nil {
		return err
	}
	s := &suite.Suite{Import: imports.Allow, Backends: flags.backends,
		Workers: flags.workers, Cache: programs, Args: applyArgs}
	if flags.run != "" {
		var err error
		if s.Run, err = regexp.Compile(flags.run); err != nil {
			return &driver.UsageError{Message: "--run is no regular expression: " + err.Error()}
		}
	}
	if !flags.json {
		s.Done = a.tested
	}
	if len(paths) == 0 {
		paths = []string{"."}
	}
	start := time.Now()
	results, err := s.Test(c.Context(), paths)
	if err != nil {
		return err
	}
	a.line.Done()
	failed, err := a.printTests(results, flags, time.Since(start))
	if err != nil {
		return err
	}
	for _, r := range results {
		if r.Bug != nil {
			return exitCode(a.bug(r.Bug))
		}
	}
	if failed > 0 {
		return exitCode(exitRuntime)
	}
	return nil
}

// applyArgs applies the words of `# args` to a job.
func applyArgs(words []string, job *driver.Job) error {
	var flags runFlags
	fs := pflag.NewFlagSet("args", pflag.ContinueOnError)
	fs.Usage = func() {}
	flags.register(fs)
	if err := fs.Parse(words); err != nil {
		return err
	}
	if fs.NArg() > 0 {
		return fmt.Errorf("`%s` is no flag", fs.Arg(0))
	}
	if err := flags.check(fs); err != nil {
		return err
	}
	job.Entry, job.Inputs, job.Outs = flags.entry, flags.in, flags.out
	if flags.threads > 0 {
		job.Opts.Threads = flags.threads
	}
	return nil
}

// tested shows how far the tests are.
func (a *app) tested(done, all int, name string) {
	const width = 60
	if len(name) > width {
		name = "..." + name[len(name)-width+3:]
	}
	a.line.Say("%d/%d %s", done, all, name)
}

// printTests prints the results and returns how many tests failed.
func (a *app) printTests(results []suite.Result, flags *testFlags, elapsed time.Duration) (failed int, err error) {
	counts := map[string]int{}
	for _, r := range results {
		counts[r.Result]++
	}
	if flags.json {
		if results == nil {
			results = []suite.Result{}
		}
		text, err := json.MarshalIndent(map[string]any{
			"passed": counts[suite.Passed], "failed": counts[suite.Failed], "skipped": counts[suite.Skipped],
			"seconds": elapsed.Seconds(), "tests": results,
		}, "", "  ")
		if err != nil {
			return 0, err
		}
		_, err = fmt.Fprintf(a.out, "%s\n", text)
		return counts[suite.Failed], err
	}
	for _, r := range results {
		a.warnings(r.Warnings)
	}
	for _, r := range results {
		if r.Result == suite.Passed && !flags.verbose {
			continue
		}
		name := r.Name
		if r.Test != "" {
			name += ": " + r.Test
		}
		if r.Backend != "" {
			name += " (" + r.Backend + ")"
		}
		fmt.Fprintf(a.out, "%-7s %s\n", r.Result, name)
		for line := range strings.Lines(r.Message) {
			fmt.Fprintf(a.out, "    %s\n", strings.TrimRight(line, "\n"))
		}
	}
	_, err = fmt.Fprintf(a.out, "%d passed, %d failed, %d skipped in %.2f s\n",
		counts[suite.Passed], counts[suite.Failed], counts[suite.Skipped], elapsed.Seconds())
	return counts[suite.Failed], err
}
